# SPDX-License-Identifier: GPL-2.0-or-later
# The conformance test of the two managers, with the agent's own objects; no BPF in it.
# make -f Makefile -f tests/node/manager/conformance.mk build/tests/node/manager/conformance
CONFORMANCE := $(wildcard tests/node/manager/*.c agent/enforce/manager/*.c agent/enforce/manager/*/*.c) \
	       agent/enforce/final.c agent/admit/cpulist.c agent/job/handshake/plan.c agent/job/gpus/env.c \
	       agent/job/handshake/env.c agent/job/handshake/hosts.c \
	       common/err.c common/log.c common/process/clone_into.c common/views/views.c common/views/datagram.c \
	       $(patsubst %,common/model/%.c,usage request resources features array after select amount mail)
$O/tests/node/manager/conformance: $(call objs,$(CONFORMANCE))
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(LDFLAGS) -o $@ $^ -lsystemd -lcgroup
-include $(patsubst %.c,$O/%.d,$(CONFORMANCE))
