# SPDX-License-Identifier: GPL-2.0-or-later
# make -f Makefile -f tests/bench/agent/agent_memory.mk: what agent_memory.sh needs beside the agent.
$O/tests/bench/agent/agent_memory: tests/bench/agent/agent_memory.c $(MODEL) $(WIRE) $(call objs,$(wildcard common/db/*.c)) \
		$O/agent/admit/cpulist.o $O/agent/enforce/manager/manager.o \
		$(patsubst %,$O/agent/report/%.o,store packed state)
	$(call say,TEST,$<)
	$(Q)mkdir -p $(@D) && $(CC) $(ALLFLAGS) $(LDFLAGS) -o $@ $(filter-out %.h,$^) -lsqlite3 -ljansson -lnettle
