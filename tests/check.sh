#!/bin/bash
# check.sh - run the test suites of tests/suites.txt and count what they say.
#   usage: tests/check.sh [STAGE...]        stages: lint unit bpf cluster node fuzz (all by default)
# A suite is a command that prints TAP and exits 0 when all of it passed. Its whole output is kept
# in build/check/NAME.log; only what failed is shown. The last line is "N passed, N failed, N skipped".
set -uo pipefail
cd "$(dirname "$0")/.."
O=build
mkdir -p $O/check
stages=${*:-lint unit bpf cluster node fuzz}
passed=0 failed=0 skipped=0

# count LOG STATUS: read TAP out of a log. A suite that fails, or says nothing, is one failure.
count() {
	local ok bad skip
	ok=$(grep -cE '^ok ' "$1")
	bad=$(grep -cE '^not ok ' "$1")
	skip=$(grep -ciE '^ok .*# *SKIP' "$1")
	((bad == 0 && $2 != 0)) && bad=1
	((ok + bad == 0)) && bad=1
	passed=$((passed + ok - skip)) failed=$((failed + bad)) skipped=$((skipped + skip))
	printf '%4d ok' $((ok - skip))
	((skip)) && printf ', %d skipped' "$skip"
	((bad)) && printf ', %d FAILED (exit %d, %s)' "$bad" "$2" "$1"
	return $((bad != 0))
}

run_suite() { # STAGE NAME COMMAND...
	local stage=$1 name=$2 log start=$SECONDS rc
	shift 2
	log=$O/check/$stage-$name.log
	[ -t 2 ] && printf '  %-8s %-28s ...\r' "$stage" "$name" >&2
	CMOCKA_MESSAGE_OUTPUT=TAP "$@" >"$log" 2>&1 </dev/null
	rc=$?
	printf '  %-8s %-28s ' "$stage" "$name"
	count "$log" $rc || shown="$shown $log"
	printf '  %ds\n' $((SECONDS - start))
}

shown=
run_stage() {
	local stage=$1 kind name command
	if [ "$stage" = unit ]; then
		make --no-print-directory -j2 unit-tests || { failed=$((failed + 1)); return; }
		for t in "$O"/tests/unit/test_*; do
			case $t in *.d) continue ;; esac
			[ -f "tests/unit/$(basename "$t").c" ] && run_suite unit "$(basename "$t")" "$t"
		done
	fi
	while read -r kind name command <&3; do
		[ "$kind" = "$stage" ] || continue
		# shellcheck disable=SC2086
		run_suite "$stage" "$name" $command
	done 3< <(grep -v '^#' tests/suites.txt)
}

for s in $stages; do
	run_stage "$s"
done
for log in $shown; do
	printf '\n--- %s\n' "$log"
	grep -E '^not ok|^#|[Ee]rror|lint:' "$log" | grep -viE '# *skip' | tail -n 40
done
grep -hiE '^ok .*# *SKIP' $O/check/*.log 2>/dev/null | sed 's/^ok [0-9]* *-* */skipped: /' | sort -u
printf '%d passed, %d failed, %d skipped\n' $passed $failed $skipped
[ $failed -eq 0 ]
