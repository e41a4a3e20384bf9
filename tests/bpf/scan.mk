# The tests of sampling, events and guard: static, so that they run on the bare kernel of
# tests/bpf/vmtest.sh as well as here.
SCAN_OBJS := agent/sample/sample.c agent/sample/scan.c agent/sample/files.c \
	     agent/enforce/kern.c agent/enforce/slots.c common/err.c tests/bpf/testjob.c
EVENTS_OBJS := agent/enforce/events.c agent/enforce/events_files.c agent/enforce/kern.c \
	       agent/enforce/slots.c common/err.c tests/bpf/testjob.c
GUARD_OBJS := agent/enforce/guard.c agent/enforce/dquot.c agent/enforce/kern.c \
	      agent/enforce/slots.c common/err.c tests/bpf/testjob.c
PROF_OBJS := agent/sample/prof.c common/err.c tests/bpf/testjob.c

define SCAN_TEST
$$O/tests/bpf/$1: $$(call objs,$2 $3)
	$$(call say,LINK,$$@)
	$$(Q)mkdir -p $$(@D) && $$(CC) -static -o $$@ $$^ -lbpf -lelf -lz -lpthread
endef
$(eval $(call SCAN_TEST,scan_test,tests/bpf/scan_test.c,$(SCAN_OBJS)))
$(eval $(call SCAN_TEST,events_test,tests/bpf/events_test.c,$(EVENTS_OBJS)))
$(eval $(call SCAN_TEST,guard_test,tests/bpf/guard_test.c,$(GUARD_OBJS)))
$(eval $(call SCAN_TEST,prof_test,tests/bpf/prof_test.c,$(PROF_OBJS)))
$(eval $(call SCAN_TEST,../bench/sample_bench,tests/bench/sample_bench.c,$(SCAN_OBJS)))
