# SPDX-License-Identifier: GPL-2.0-or-later
# The tests of sampling, events and guard: static, so that they run on the bare kernel of
# tests/bpf/vmtest.sh as well as here.
SCAN_OBJS := agent/sample/sample.c agent/sample/scan.c agent/sample/files.c \
	     agent/kernel/skeleton.c agent/kernel/slots.c common/err.c tests/bpf/testjob.c
EVENTS_OBJS := agent/enforce/events.c agent/enforce/events_files.c agent/kernel/skeleton.c \
	       agent/kernel/slots.c common/err.c tests/bpf/testjob.c
GUARD_OBJS := agent/enforce/guard.c agent/enforce/jobfs/dquot.c agent/kernel/skeleton.c \
	      agent/kernel/slots.c common/err.c tests/bpf/testjob.c
DEVICES_OBJS := agent/enforce/devices.c agent/kernel/skeleton.c agent/kernel/slots.c common/err.c \
		tests/bpf/testjob.c
PROF_OBJS := agent/sample/prof.c agent/kernel/skeleton.c common/err.c tests/bpf/testjob.c
GPUWORK_OBJS := agent/sample/gpuwork.c agent/kernel/skeleton.c agent/kernel/slots.c common/err.c \
		tests/bpf/testjob.c

define SCAN_TEST
$$O/tests/$1: $$(call objs,$2 $3)
	$$(call say,LINK,$$@)
	$$(Q)mkdir -p $$(@D) && $$(CC) -static -o $$@ $$^ -lbpf -lelf -lz -lpthread
endef
$(eval $(call SCAN_TEST,bpf/scan_test,tests/bpf/scan_test.c tests/bpf/scan/changes.c,$(SCAN_OBJS)))
$(eval $(call SCAN_TEST,bpf/events_test,tests/bpf/events_test.c,$(EVENTS_OBJS)))
$(eval $(call SCAN_TEST,bpf/guard_test,tests/bpf/guard_test.c,$(GUARD_OBJS)))
$(eval $(call SCAN_TEST,bpf/devices_test,tests/bpf/devices_test.c,$(DEVICES_OBJS)))
$(eval $(call SCAN_TEST,bpf/prof_test,tests/bpf/prof_test.c,$(PROF_OBJS)))
$(eval $(call SCAN_TEST,bpf/gpuwork_test,tests/bpf/gpuwork_test.c,$(GPUWORK_OBJS)))
SCAN_BINS := $O/tests/bpf/scan_test $O/tests/bpf/events_test $O/tests/bpf/guard_test \
	     $O/tests/bpf/devices_test $O/tests/bpf/prof_test $O/tests/bpf/gpuwork_test $O/tests/bench/agent/sample_bench
$(eval $(call SCAN_TEST,bench/agent/devices_bench,tests/bench/agent/devices_bench.c,$(DEVICES_OBJS)))
$(eval $(call SCAN_TEST,bench/agent/sample_bench,tests/bench/agent/sample_bench.c,$(SCAN_OBJS)))
# The skeletons are system headers to the compiler, so that no dependency file names them.
$O/agent/sample/scan.o: $O/bpf-skel/scan.skel.h
$O/agent/sample/prof.o: $O/bpf-skel/prof.skel.h
$O/agent/sample/gpuwork.o: $O/bpf-skel/gpuwork.skel.h
$O/agent/enforce/events.o: $O/bpf-skel/events.skel.h
$O/agent/enforce/guard.o: $O/bpf-skel/guard.skel.h
$O/agent/enforce/devices.o: $O/bpf-skel/devices.skel.h
# Shared by the kernel side alone, beside kernel.h.
$O/bpf/scan.bpf.o $O/bpf/events.bpf.o $O/bpf/guard.bpf.o $O/bpf/devices.bpf.o $O/bpf/gpuwork.bpf.o: bpf/lib/find.h bpf/lib/ancestor.h bpf/lib/jobs.h bpf/lib/ring.h bpf/lib/rss.h
$O/bpf/guard.bpf.o: bpf/lib/call.h
$(SCAN_BINS:=.o): | $(SKELS)
