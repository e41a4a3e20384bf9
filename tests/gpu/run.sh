#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# run.sh - agent/gpu against simulated GPUs, TAP: each test with the sanitizers, and once more under
# valgrind. No GPU is needed; with one, see hardware.sh.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
make --no-print-directory -s gpu-tests || exit 1
export CMOCKA_MESSAGE_OUTPUT=TAP
bad=0
for t in nvml faults drm; do
	build/tests/gpu/${t}_test_asan || bad=1
	# the long one of these makes no new kind of access
	valgrind -q --leak-check=full --errors-for-leak-kinds=definite --error-exitcode=9 \
		build/tests/gpu/${t}_test any_call_may_fail_with_any_code >build/tests/gpu/$t.valgrind 2>&1
	rc=$?
	if [ $rc = 0 ]; then
		echo "ok - $t under valgrind"
	else
		sed 's/^/# /' build/tests/gpu/$t.valgrind | tail -n 40
		echo "not ok - $t under valgrind (status $rc)"
		bad=1
	fi
done
# What the thread that calls the driver shares with the agent's own; one that hangs is left behind on purpose.
for t in nvml faults; do
	TSAN_OPTIONS=exitcode=9:report_thread_leaks=0 build/tests/gpu/${t}_test_tsan || bad=1
done
build/tests/gpu/meter_test || bad=1
build/tests/gpu/mig_test || bad=1
build/tests/gpu/allocs_test || bad=1
# What hardware.sh runs on a real GPU: here on the simulated one, where a load is what it says.
dir=$(mktemp -d /tmp/reeve-gpu-XXXXXX)
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/loads"
cat >"$dir/world" <<WORLD
clock real
period 0.1
loads $dir/loads
gpu 0 uuid=GPU-0 name=H100_80GB_HBM3 mem=81559 bus=0000:3B:00.0 watts=400 accounting=on
WORLD
REEVE_NVML_DOUBLE=$dir/world REEVE_CUDA_LOADS=$dir/loads LD_LIBRARY_PATH=build/tests/gpu \
	build/tests/gpu/hardware_test build/tests/gpu/load build/tests/gpu/libcuda.so.1 \
		build/tests/gpu/r535/libnvidia-ml.so.1 || bad=1
exit $bad
