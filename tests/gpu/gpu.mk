# SPDX-License-Identifier: GPL-2.0-or-later
# The tests of agent/gpu: `make check-gpu`. No GPU is needed.
GPU := $(patsubst %,$O/agent/gpu/%.o,gpu asker allocs model book drm/fdinfo drm/drm drm/scan drm/sample pci nvml/nvml nvml/source nvml/source_sample nvml/source_account nvml/source_lost) $O/common/err.o $O/common/utf8.o $O/agent/admit/cpulist.o
GPU_LIBS := -lbpf -lelf -lz -lpthread
$O/tests/unit/test_model: $O/agent/gpu/model.o $O/common/err.o \
	$(patsubst %,$O/common/model/%.o,amount resources features request array after mail select script)
$O/tests/unit/test_fdinfo: $O/agent/gpu/drm/fdinfo.o
$O/tests/unit/test_book: $O/agent/gpu/book.o $O/common/utf8.o

# The simulated driver library, as several releases of the real one.
DOUBLES := $(patsubst %,$O/tests/gpu/r%/libnvidia-ml.so.1,535 450 331)
$O/tests/gpu/r%/libnvidia-ml.so.1: tests/gpu/nvml_double.c tests/gpu/world.c \
		tests/gpu/nvml_double.h tests/gpu/world.h agent/gpu/nvml/nvml_abi.h
	$(call say,DOUBLE,$@)
	$(Q)mkdir -p $(@D) && $(CC) -std=gnu17 -D_GNU_SOURCE $(WARN) -O1 -g -I. -fPIC -shared \
		-fvisibility=hidden -DDOUBLE_RELEASE=$* -Wl,-soname,libnvidia-ml.so.1 -Wl,-z,defs \
		-o $@ $(filter %.c,$^)

# Once as it is (for valgrind), once with the sanitizers.
GPU_SRC := $(patsubst $O/%.o,%.c,$(GPU))
GPU_TESTS := $(patsubst %,$O/tests/gpu/%,nvml_test nvml_test_asan faults_test faults_test_asan drm_test drm_test_asan nvml_test_tsan faults_test_tsan)
$O/tests/gpu/faults_test $O/tests/gpu/faults_test_asan $O/tests/gpu/faults_test_tsan: GPU_LIBS += -Wl,--wrap=calloc,--wrap=reallocarray
$O/tests/gpu/%_test: tests/gpu/%_test.c tests/gpu/rig.c tests/gpu/rig.h $(GPU)
	$(call say,TEST,$<)
	$(Q)mkdir -p $(@D) && $(CC) $(ALLFLAGS) $(LDFLAGS) -o $@ $(filter %.c %.o,$^) -lcmocka $(GPU_LIBS)
$O/tests/gpu/%_test_asan: tests/gpu/%_test.c tests/gpu/rig.c tests/gpu/rig.h $(GPU_SRC) $(wildcard agent/gpu/*.h agent/gpu/*/*.h) | $O/bpf-skel/gpu.skel.h
	$(call say,TEST,$@)
	$(Q)mkdir -p $(@D) && $(CC) -std=gnu17 -D_GNU_SOURCE $(WARN) -O1 -g -I. -iquote $O/bpf-skel -rdynamic \
		-fsanitize=address,undefined -fno-sanitize-recover=all -o $@ $(filter %.c,$^) -lcmocka $(GPU_LIBS)
# The driver is called in a thread: what it shares with the agent's own, under the thread sanitizer.
$O/tests/gpu/%_test_tsan: tests/gpu/%_test.c tests/gpu/rig.c tests/gpu/rig.h $(GPU_SRC) $(wildcard agent/gpu/*.h agent/gpu/*/*.h) | $O/bpf-skel/gpu.skel.h
	$(call say,TEST,$@)
	$(Q)mkdir -p $(@D) && $(CC) -std=gnu17 -D_GNU_SOURCE $(WARN) -O1 -g -I. -iquote $O/bpf-skel -rdynamic \
		-fsanitize=thread -o $@ $(filter %.c,$^) -lcmocka $(GPU_LIBS)
# What jobs used of them: the agent's meter on the simulated driver.
METER := $O/agent/job/gpus/meter.o $(patsubst %,$O/common/model/%.o,gpu_use usage) $(WIRE) $(MODEL)
$O/tests/gpu/meter_test: tests/gpu/meter_test.c tests/gpu/rig.c tests/gpu/rig.h $(GPU) $(METER)
	$(call say,TEST,$<)
	$(Q)mkdir -p $(@D) && $(CC) $(ALLFLAGS) $(LDFLAGS) -o $@ $(sort $(filter %.c %.o,$^)) -Wl,--wrap=realloc -lcmocka -ljansson -lnettle -lbpf -lelf -lz -lpthread -lm
# What a job may open of MIG instances: the inventory, the device gate, cgroups.
MIG := $(patsubst %,$O/%.o,agent/enforce/devices agent/kernel/skeleton agent/kernel/slots tests/bpf/testjob)
$O/tests/gpu/mig_test: tests/gpu/mig_test.c tests/gpu/rig.c tests/gpu/rig.h $(GPU) $(MIG)
	$(call say,TEST,$<)
	$(Q)mkdir -p $(@D) && $(CC) $(ALLFLAGS) $(LDFLAGS) -o $@ $(sort $(filter %.c %.o,$^)) -lcmocka $(GPU_LIBS)
gpu-tests: $(DOUBLES) $(GPU_TESTS) $O/tests/gpu/meter_test $O/tests/gpu/mig_test
check-gpu: gpu-tests
	$(Q)tests/gpu/run.sh
.PHONY: gpu-tests check-gpu
$O/tests/bench/agent/gpu_bench: tests/bench/agent/gpu_bench.c $(GPU)
	$(call say,BENCH,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(ALLFLAGS) $(LDFLAGS) -o $@ $(filter %.c %.o,$^) $(GPU_LIBS)

# For a machine with a GPU: `make check-gpu-hardware`; without one it skips, and says why. The test runs on the
# simulated driver too, with a CUDA library that does nothing.
$O/tests/gpu/libcuda.so.1: tests/gpu/cuda_double.c tests/gpu/nvml_double.h
	$(call say,DOUBLE,$@)
	$(Q)mkdir -p $(@D) && $(CC) -std=gnu17 -D_GNU_SOURCE $(WARN) -O1 -g -I. -fPIC -shared \
		-fvisibility=hidden -Wl,-soname,libcuda.so.1 -o $@ $<
$O/tests/gpu/load: tests/gpu/load.c
	$(call say,TEST,$@)
	$(Q)mkdir -p $(@D) && $(CC) -std=gnu17 -D_GNU_SOURCE $(WARN) -O1 -g -o $@ $< -ldl
$O/tests/gpu/hardware_test $O/tests/gpu/inventory: $O/tests/gpu/%: tests/gpu/%.c $(GPU)
	$(call say,TEST,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(ALLFLAGS) $(LDFLAGS) -o $@ $(filter %.c %.o,$^) -lcmocka $(GPU_LIBS)
GPU_HARDWARE := $(patsubst %,$O/tests/gpu/%,load hardware_test inventory)
gpu-hardware: $(GPU_HARDWARE)
check-gpu-hardware: gpu-hardware
	$(Q)tests/gpu/hardware.sh $O/tests/gpu
gpu-tests: $(GPU_HARDWARE) $O/tests/gpu/libcuda.so.1
.PHONY: gpu-hardware check-gpu-hardware

# Memory by uprobes, on the CUDA double.
$O/agent/gpu/allocs.o: $O/bpf-skel/gpu.skel.h
$O/tests/gpu/allocs_test: tests/gpu/allocs_test.c $O/agent/gpu/allocs.o $O/common/err.o $O/tests/gpu/libcuda.so.1
	$(call say,TEST,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(ALLFLAGS) $(LDFLAGS) -o $@ $(filter %.c %.o,$^) -lcmocka -lbpf -lelf -lz -lpthread
gpu-tests: $O/tests/gpu/allocs_test
