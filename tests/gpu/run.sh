#!/bin/bash
# run.sh - agent/gpu against simulated GPUs, TAP: each test with the sanitizers, and once more under
# valgrind. No GPU is needed; with one, see hardware.sh.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
make --no-print-directory -s gpu-tests || exit 1
export CMOCKA_MESSAGE_OUTPUT=TAP
bad=0
for t in nvml drm; do
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
exit $bad
