#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# valgrind.sh [test_NAME...] - the unit tests under valgrind: values that were never set, which the sanitizers do not see, accesses that are wrong, leaks.
# TAP. Two at a time. Tests over random worlds have REEVE_WORLDS=3 of them.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
make -s --no-print-directory unit-tests || exit 1
logs=build/analysis/valgrind
mkdir -p $logs
# valgrind does not know clone3() into a cgroup. Those that make allocations fail stand before valgrind's own; the others would take minutes each and do what shorter tests do.
# It calculates 80-bit numbers with 64 (test_fairshare_level), and does not know openat2() and pidfd_open() (test_jobfs_unlimited, test_launch).
left_out='test_fairshare_level test_jobfs_unlimited test_launch
	test_calendar test_clone_into test_load test_no_memory test_policy_memory test_schedule_memory test_sim_memory test_ingest_memory test_plans test_schedule_load'
tests=("$@")
[ ${#tests[@]} -gt 0 ] || mapfile -t tests < <(find tests/unit -name 'test_*.c' -printf '%f\n' | sed 's/\.c$//' | sort)
run_one() {
	local log=build/analysis/valgrind/$1
	REEVE_WORLDS=3 CMOCKA_MESSAGE_OUTPUT=TAP timeout 300 valgrind -q --track-origins=yes --leak-check=full --errors-for-leak-kinds=definite \
		--suppressions=tests/analysis/valgrind.supp --error-exitcode=9 --log-file="$log" "build/tests/unit/$1" >"$log.out" 2>&1 </dev/null
	case $? in
	0) echo "ok - $1 under valgrind" ;;
	124) echo "not ok - $1 under valgrind takes more than 300 s" ;;
	*)
		grep -E '^not ok' "$log.out" | sed 's/^/# /'
		sed 's/^/# /' "$log" | head -n 40
		echo "not ok - $1 under valgrind"
		;;
	esac
}
export -f run_one
for t in "${tests[@]}"; do
	[[ " ${left_out//[[:space:]]/ } " == *" $t "* ]] || echo "$t"
done | xargs -P 2 -I {} bash -c 'run_one {}' | tee $logs/all
echo "1..$(grep -cE '^(not )?ok' $logs/all)"
! grep -q '^not ok' $logs/all
