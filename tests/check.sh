#!/bin/bash
# check.sh - run the test suites of tests/suites.txt and count what they say.
#   usage: tests/check.sh [STAGE...]        stages: lint unit sanitize cluster bpf fuzz quiet node (all by default)
# A suite is a command that prints TAP and exits 0 when all of it passed. Its whole output is kept
# in build/check/NAME.log; only what failed is shown. Suites of the stages "cluster" and "node" run two
# at a time, the latter each on a virtual node of its own; those of "quiet" compare speeds and run alone. The last line is "N passed, N failed, N skipped".
set -uo pipefail
cd "$(dirname "$0")/.."
O=build
mkdir -p $O/check
stages=${*:-lint unit sanitize cluster bpf fuzz quiet node}
passed=0 failed=0 skipped=0

# count LOG STATUS: read TAP out of a log. A suite that fails, or says nothing, is one failure.
count() {
	local ok bad skip
	ok=$(grep -cE '^ok ' "$1")
	# cmocka says "not ok" of what was skipped
	bad=$(grep -E '^not ok ' "$1" | grep -cviE '^not ok [0-9]+ # SKIP')
	skip=$(grep -ciE '^(ok .*|not ok [0-9]+ )# *SKIP' "$1")
	ok=$((ok + $(grep -ciE '^not ok [0-9]+ # SKIP' "$1")))
	((bad == 0 && $2 != 0)) && bad=1
	((ok + bad == 0)) && bad=1
	passed=$((passed + ok - skip)) failed=$((failed + bad)) skipped=$((skipped + skip))
	printf '%4d ok' $((ok - skip))
	((skip)) && printf ', %d skipped' "$skip"
	((bad)) && printf ', %d FAILED (exit %d, %s)' "$bad" "$2" "$1"
	return $((bad != 0))
}

# start STAGE NAME COMMAND...: run it, keep log, status and seconds. report STAGE NAME: count it.
start() {
	local log=$O/check/$1-$2.log begin=$SECONDS
	shift 2
	CMOCKA_MESSAGE_OUTPUT=TAP "$@" >"$log" 2>&1 </dev/null
	echo "$? $((SECONDS - begin))" >"$log.rc"
}
report() {
	local log=$O/check/$1-$2.log rc seconds
	read -r rc seconds <"$log.rc"
	printf '  %-8s %-28s ' "$1" "$2"
	count "$log" "$rc" || shown="$shown $log"
	printf '  %ds\n' "$seconds"
}
run_suite() { # STAGE NAME COMMAND...
	[ -t 2 ] && printf '  %-8s %-28s ...\r' "$1" "$2" >&2
	start "$@"
	report "$1" "$2"
}

# run_units STAGE TARGET DIR: make the unit tests there, and run each.
run_units() {
	local t
	make --no-print-directory -j2 "$2" || { failed=$((failed + 1)); return; }
	for t in "$3"/tests/unit/test_*; do
		case $t in *.d) continue ;; esac
		[ -f "tests/unit/$(basename "$t").c" ] && run_suite "$1" "$(basename "$t")" "$t"
	done
}

shown= pending=
run_stage() {
	local stage=$1 kind name command
	case $stage in
	unit) run_units unit unit-tests $O ;;
	sanitize) run_units sanitize sanitized-tests $O/sanitize ;;
	esac
	if [ "$stage" = bpf ] || [ "$stage" = node ]; then
		make --no-print-directory -s -j2 bpf-tests || { failed=$((failed + 1)); return; }
	fi
	while read -r kind name command <&3; do
		[ "$kind" = "$stage" ] || continue
		# shellcheck disable=SC2086
		if [ "$stage" = node ] || [ "$stage" = cluster ]; then
			[ "$(jobs -rp | wc -l)" -lt 2 ] || wait -n
			[ -t 2 ] && printf '  %-8s %-28s ...\r' "$stage" "$name" >&2
			start "$stage" "$name" $command &
			pending="$pending $name"
		else
			run_suite "$stage" "$name" $command
		fi
	done 3< <(grep -v '^#' tests/suites.txt)
	wait
	for name in $pending; do
		report "$stage" "$name"
	done
	pending=
}

for s in $stages; do
	run_stage "$s"
done
for log in $shown; do
	printf '\n--- %s\n' "$log"
	# What a suite ran within itself stands indented.
	grep -E '^ *not ok|^ *#|[Ee]rror|lint:' "$log" |
		grep -vE '^ *ok ' | grep -viE '# *skip' | tail -n 40
done
grep -hiE '^ok .*# *SKIP' $O/check/*.log 2>/dev/null | sed 's/^ok [0-9]* *-* */skipped: /' | sort -u
printf '%d passed, %d failed, %d skipped\n' $passed $failed $skipped
[ $failed -eq 0 ]
