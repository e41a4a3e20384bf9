# The tests of agent/gpu: `make check-gpu`. No GPU is needed.
GPU := $(patsubst %,$O/agent/gpu/%.o,gpu model book fdinfo drm drm_scan drm_sample pci nvml nvml_source \
	nvml_source_sample nvml_source_account) $O/common/err.o
$O/tests/unit/test_model: $O/agent/gpu/model.o $O/common/err.o \
	$(patsubst %,$O/common/model/%.o,amount resources request script)
$O/tests/unit/test_gpu_fdinfo: $O/agent/gpu/fdinfo.o
