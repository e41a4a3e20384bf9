# SPDX-License-Identifier: GPL-2.0-or-later
# The tests of vmem: static, so that they run on the bare kernel of tests/bpf/vmtest.sh as well as
# here.
VMEM_OBJS := $(wildcard agent/enforce/vmem/*.c) common/err.c tests/bpf/testjob.c \
	     tests/bpf/vmem_test.c
VMEM_BINS := $O/tests/bpf/vmem_storm $O/tests/bpf/vmem_attack $O/tests/bpf/vmem_restart $O/tests/bpf/vmem_room \
	     $O/tests/bpf/vmem_moves $O/tests/bpf/vmem_idle $O/tests/bpf/vmem_refused $O/tests/bpf/vmem_places \
	     $O/tests/bench/agent/vmem_bench

define VMEM_TEST
$$O/tests/$1: $$(call objs,tests/$1.c $(VMEM_OBJS))
	$$(call say,LINK,$$@)
	$$(Q)mkdir -p $$(@D) && $$(CC) -static -o $$@ $$^ -lbpf -lelf -lz -lpthread 2>$$@.log \
		|| { cat $$@.log >&2; exit 1; }
endef
$(eval $(call VMEM_TEST,bpf/vmem_storm))
$(eval $(call VMEM_TEST,bpf/vmem_attack))
$(eval $(call VMEM_TEST,bpf/vmem_restart))
$(eval $(call VMEM_TEST,bpf/vmem_room))
$(eval $(call VMEM_TEST,bpf/vmem_moves))
$(eval $(call VMEM_TEST,bpf/vmem_idle))
$(eval $(call VMEM_TEST,bpf/vmem_refused))
$(eval $(call VMEM_TEST,bpf/vmem_places))
$(eval $(call VMEM_TEST,bench/agent/vmem_bench))
vmem-tests: $(VMEM_BINS)
.PHONY: vmem-tests
# The skeleton is a system header to the compiler, so that no dependency file names it.
$O/agent/enforce/vmem/kernel.o: $O/bpf-skel/vmem.skel.h
# The kernel side in several files.
$O/bpf/vmem.bpf.o: bpf/vmem_core.h bpf/vmem_maps.h bpf/vmem_room.h bpf/vmem_call.h bpf/vmem_op.h bpf/vmem_refused.h bpf/lib/ancestor.h bpf/lib/call.h
