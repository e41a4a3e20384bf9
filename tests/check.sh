#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# check.sh [LEVEL] [NAME|GLOB]... - run the test suites of tests/suites.txt and count what they say.
#   LEVEL   quick, check (default) or all, which includes the one before; `list` prints the suites of all levels
#   NAME    only these, of any level: `tests/check.sh cluster-cli 'unit-test_q*'`
# A suite is a command that prints TAP and exits 0 when all of it passed. Its whole output is kept in build/check/NAME.log;
# only what failed is shown. Suites run on as many lanes as there are cores (REEVE_LANES), the longest first; those that
# compare speeds run alone at the end. A suite that hangs is ended and counts as failed.
# The last line is "N passed, N failed, N skipped in TIME". Exit: 0 when none failed.
set -uo pipefail
unset MAKEFLAGS MFLAGS MAKELEVEL # of the make that called: its jobs are not ours
cd "$(dirname "$0")/.." || exit 1
O=build
level=check
case ${1:-} in
quick | check | all | list) level=$1 && shift ;;
-h | --help) sed -n '3,10s/^# \{0,1\}//p' "$0" && exit 0 ;;
esac
lanes=${REEVE_LANES:-$(nproc)}
mkdir -p $O/check
declare -A how_of=() seconds_of=() command_of=() lane_of=() log_of=() began_of=()
names=() ended=() passed=0 failed=0 skipped=0 shown=

# add LEVEL HOW SECONDS NAME COMMAND: keep it if this run wants it.
add() {
	local l=$1 how=$2 seconds=$3 name=$4 pattern wanted=0
	shift 4
	if [ ${#only[@]} -gt 0 ]; then
		for pattern in "${only[@]}"; do
			# shellcheck disable=SC2053
			[[ $name == $pattern ]] && wanted=1
		done
	else
		case $level-$l in all-* | list-* | check-check | *-quick) wanted=1 ;; esac
	fi
	((wanted)) || return 0
	names+=("$name") how_of[$name]=$how seconds_of[$name]=$seconds command_of[$name]=$*
	[ "$level" != list ] || printf '%-6s %-6s %4d s  %-28s %s\n' "$l" "$how" "$seconds" "$name" "$*"
}
only=("$@")
# These suites run once more over programs under the address sanitizer, which are slower: asan-NAME. Those that measure memory or speed
# (bombs, attack, growth) and exit statuses of commands with threads (tls) do not.
address='submit queue exec pages web-usage web-jobs quota slurm pbs parts dispatch interactive store authz protocol
	usage share accounts eff cost import hooks gpus metrics qos web-cluster listing billed each series balances immediate select suspended stored signed'
# And these over a controller and a reeve under valgrind, which are slower still: valgrind-NAME. Not those that measure (authz, share).
valgrind='submit queue usage accounts quota qos balances billed each web-jobs signed'
add_watched() { # TOOL-OF-sanitized.sh PREFIX TIMES-AS-LONG HOW SECONDS NAME COMMAND
	case " ${!1//[[:space:]]/ } " in *" ${6#cluster-} "*) [ "$6" = "${6#cluster-}" ] || add all "$4" $(($5 * $3)) "$2-${6#cluster-}" "tests/sanitized.sh $1 $7" ;; esac
}
while read -r l how seconds name command; do
	case $l in '' | '#'*) continue ;; esac
	add "$l" "$how" "$seconds" "$name" "$command"
	add_watched address asan 3 "$how" "$seconds" "$name" "$command"
	add_watched valgrind valgrind 20 "$how" "$seconds" "$name" "$command"
done <tests/suites.txt
for t in $(find tests/unit -name 'test_*.c' -printf '%f\n' | sort); do
	t=${t%.c}
	add quick any 1 "unit-$t" "$O/tests/unit/$t"
	add check any 2 "sanitize-$t" "$O/sanitize/tests/unit/$t"
done
[ "$level" != list ] || exit 0
[ ${#names[@]} -gt 0 ] || { echo "check: no suite is named ${only[*]}; tests/check.sh list shows them" >&2; exit 64; }

# build TARGET: what the suites need, before any of them starts.
build() { make -s --no-print-directory -j"$lanes" "$@" || { echo "check: make $* failed" >&2; exit 1; }; }
build all
[[ " ${names[*]}" != *' unit-'* && " ${names[*]}" != *' ingest-memory '* ]] || build unit-tests
[[ " ${names[*]}" != *' sanitize-'* ]] || build sanitized-tests
[[ " ${names[*]}" != *' asan-'* ]] || build sanitized-programs
[[ " ${names[*]}" != *' tsan-'* ]] || build O=$O/tsan SANITIZE=thread all $O/tsan/tests/unit/test_resolve $O/tsan/tests/unit/test_http_loop $O/tsan/tests/unit/test_workers
[[ " ${names[*]}" != *' bpf-'* && " ${names[*]}" != *' node-'* ]] || build bpf-tests
[[ " ${names[*]}" != *' node-'* ]] || tests/vm/vm.sh prepare # or the first suite would pay for it

# count LOG STATUS: read TAP out of a log. A suite that fails, or says nothing, is one failure.
count() {
	local ok bad skip
	ok=$(grep -cE '^ok ' "$1")
	# cmocka says "not ok" of what was skipped
	bad=$(grep -E '^not ok ' "$1" | grep -cviE '^not ok [0-9]+ # SKIP')
	skip=$(grep -ciE '^(ok .*|not ok [0-9]+ )# *SKIP|^1\.\.0 # *SKIP' "$1")
	ok=$((ok + $(grep -ciE '^not ok [0-9]+ # SKIP|^1\.\.0 # *SKIP' "$1")))
	((bad == 0 && $2 != 0)) && bad=1
	((ok + bad == 0)) && bad=1
	passed=$((passed + ok - skip)) failed=$((failed + bad)) skipped=$((skipped + skip))
	printf '%4d ok' $((ok - skip))
	((skip)) && printf ', %d skipped' "$skip"
	((bad)) && printf ', %d FAILED (%s, %s)' "$bad" "$([ "$2" = 124 ] && echo 'took too long' || echo "exit $2")" "$1"
	return $((bad != 0))
}

# start NAME: in the background, ended with all that it started when it hangs.
start() {
	local name=$1 limit=$((seconds_of[$1] * 8 > 400 ? seconds_of[$1] * 8 : 400))
	[ ! -t 2 ] || printf '  %-28s ...\r' "$name" >&2
	log_of[$name]=$O/check/$name.log
	# shellcheck disable=SC2086
	CMOCKA_MESSAGE_OUTPUT=TAP timeout -k 20 "$limit" ${command_of[$name]} >"${log_of[$name]}" 2>&1 </dev/null &
	lane_of[$!]=$name began_of[$name]=$SECONDS
}
# finish: wait for one to end and tell.
finish() {
	local pid status name
	wait -n -p pid "${!lane_of[@]}"
	status=$?
	name=${lane_of[$pid]}
	unset "lane_of[$pid]"
	ended+=("$name")
	printf '  %-28s ' "$name"
	count "${log_of[$name]}" $status || shown="$shown ${log_of[$name]}"
	printf '  %ds\n' $((SECONDS - began_of[$name]))
}
# nodes: how many suites with virtual nodes run now.
nodes() {
	local n=0 name
	for name in "${lane_of[@]}"; do [ "${how_of[$name]}" != node ] || n=$((n + 1)); done
	echo $n
}
# report: what failed, what was skipped and why, the sum.
report() {
	local log name
	for log in $shown; do
		printf '\n--- %s\n' "$log"
		# What a suite ran within itself stands indented.
		grep -E '^ *not ok|^ *#|[Ee]rror|lint:' "$log" |
			grep -vE '^ *ok ' | grep -viE '# *skip' | tail -n 40
	done
	for name in "${ended[@]}"; do
		grep -hiE '^(ok .*|1\.\.0 )# *SKIP' "${log_of[$name]}" | sed "s/^ok [0-9]* *-* *//; s/^1\.\.0 /all of $name /; s/^/skipped: /"
	done | sort -u
	printf '%d passed, %d failed, %d skipped in %d min %02d s\n' $passed $failed $skipped $((SECONDS / 60)) $((SECONDS % 60))
}
# A run of two hours that is broken off has told something all the same.
end_all() {
	local pid
	trap '' INT TERM
	for pid in "${!lane_of[@]}"; do kill "$pid" 2>/dev/null; done
	wait
	report
	echo "check: ended early: $((${#names[@]} - ${#ended[@]})) of ${#names[@]} suites are not in these figures"
	exit 130
}
trap end_all INT TERM

longest_first() { for n in "${names[@]}"; do [[ ${how_of[$n]} == "$1" ]] && echo "${seconds_of[$n]} $n"; done | sort -rns | cut -d' ' -f2; }
mapfile -t node_queue < <(longest_first node)
mapfile -t queue < <(longest_first any)
mapfile -t alone < <(longest_first alone)
while [ $((${#queue[@]} + ${#node_queue[@]})) -gt 0 ]; do
	while [ ${#lane_of[@]} -ge "$lanes" ]; do finish; done
	# One lane for virtual nodes, a second one when nothing else is left.
	if [ ${#node_queue[@]} -gt 0 ] && { [ "$(nodes)" -lt 1 ] || { [ ${#queue[@]} -eq 0 ] && [ "$(nodes)" -lt 2 ]; }; }; then
		start "${node_queue[0]}"
		node_queue=("${node_queue[@]:1}")
	elif [ ${#queue[@]} -gt 0 ]; then
		start "${queue[0]}"
		queue=("${queue[@]:1}")
	else
		finish
	fi
done
while [ ${#lane_of[@]} -gt 0 ]; do finish; done
for name in "${alone[@]}"; do
	start "$name"
	finish
done

report
[ $failed -eq 0 ]
