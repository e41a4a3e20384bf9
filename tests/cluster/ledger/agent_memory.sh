#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# agent_memory.sh [STEP [PART]|each] - an allocation of the agent fails, whichever it is: while it starts, while it starts a job, and from a job's cancellation
# until the job is forgotten. It goes on, or ends with a message and is started again: no job is lost, started twice or left running. A real agent with
# real jobs on this machine; the controller is played. One allocation at each place in the code, that is each chain of callers; at every STEP-th of
# them, those of PART from 1 to STEP (STEP), and several parts may run at once; or "each" allocation there is, which takes hours. TAP.
set -u
cd "$(dirname "$0")/../../.." || exit 1
. tests/cluster/lib/tap_lib.sh
. tests/cluster/lib/live_lib.sh
[ "$(id -u)" = 0 ] || { echo "1..0 # SKIP needs root"; exit 0; }
. tests/cluster/lib/faults/store_lib.sh
store_possible || { echo "1..0 # SKIP no cgroup v2 that jobs may be made in"; exit 0; }
store_open memory
for how in "-shared -fPIC -o $dir/alloc.so" "-DCONTROL -o $dir/alloc"; do
	# shellcheck disable=SC2086 # words
	${CC:-cc} -std=gnu17 -D_GNU_SOURCE -O1 $how tests/cluster/lib/faults/alloc_fault.c || bail "alloc_fault.c does not compile"
done
export ALLOC_FAULT=$dir/alloc.words ALLOC_FAULT_PROGRAM=reeve-agent
store_preload=:$dir/alloc.so
memory() { "$dir/alloc" "$@"; }
memory off
agent_start
mkdir -m 777 "$node/ran"

step=1
case ${1:-} in [0-9]*) step=$1 ;; esac
part=${2:-$step}
job=$((part * 10000)) # pgrep tells the jobs of several parts apart
# numbers: of the allocations since "memory 0" those that are to fail, one after the other
numbers() { if [ "${arg:-}" = each ]; then seq "$(memory count)"; else memory places | awk -v s="$step" -v p="$part" 'NR % s == p % s'; fi; }
arg=${1:-}
at=0 crashed='' ended=0 silent='' of_library=0
# Libraries that do not look at all of their allocations: libhwloc 2.9 while it reads the topology, munge_decode() and munge_encode() of libmunge 0.5.15, and
# the look-up of users and groups of glibc 2.36. An agent that they crash is started again. In the backtrace that alloc_fault.c prints:
in_library='^/.*(/libhwloc\.so|/libmunge\.so[^(]*\(munge_(de|en)code|/libc\.so[^(]*\(__nss_)'
# revive: starts an agent again that has ended. By itself, it must have said why.
revive() {
	local status
	kill -0 "$agent" 2>/dev/null && return
	wait "$agent" 2>/dev/null
	status=$?
	case $status in # not SIGHUP, which may come before it is handled
	13[24568] | 139)
		if tail -n 40 "$dir/agent.log" | grep -qE "$in_library"; then of_library=$((of_library + 1)); else crashed="$crashed $at(signal $((status - 128)))"; fi
		;;
	esac
	tail -n 1 "$dir/agent.log" | grep -q . || silent="$silent $at"
	ended=$((ended + 1))
	agent_spawn
	for _ in $(seq 40); do
		said '"node":"n1"' 1 && return
		kill -0 "$agent" 2>/dev/null || agent_spawn # what fails may have been left to the new one
	done
	bail "the agent does not start: $(tail -n 5 "$dir/agent.log")"
}
until_agent() { # COMMAND...: succeeds, with an agent that is started again where it ended; 1: not within 30 s
	local end=$((SECONDS + 30))
	until "$@"; do
		[ $SECONDS -lt $end ] || return 1
		revive
	done 2>/dev/null
}
# each NAME COMMAND: COMMAND N for each number; afterwards the node must be as before
each() {
	local name=$1 bad='' list hit=0
	shift
	list=$(numbers)
	memory off
	crashed='' ended=0 silent='' of_library=0
	for at in $list; do
		"$@" "$at" || bad="$bad $at"
		memory failed && hit=$((hit + 1))
		memory off
		revive
		answer '' 2>/dev/null
		[ "$name" = start ] || [ "$name" = tick ] || until_agent is_gone || bad="$bad $at(left)"
	done
	all_of "$name: no job is lost, started twice or left running ($(wc -w <<<"$list") places, $hit allocations failed, the agent ended $ended times)" "$bad"
	all_of "... and no crash ($of_library in libraries that do not look at an allocation)" "$crashed"
	all_of "... and it says why it ends" "$silent"
	[ $hit -gt $(($(wc -w <<<"$list") / 2)) ]; is "... and most of these allocations were made again, and failed" 0 $?
}

# ---- from the order to cancel a job until it is forgotten ----
finish() { # N
	order 60 / sleep "98$((job + 1))"
	until_agent said "\"reports\":\[.*\"job\":$job,[^{]*\"state\":\"running\"" 1 || return 1
	memory "$1"
	cancel
	until_agent is_reported cancelled 1 && is_killed || return 1
	settle 2>/dev/null
	until_agent is_gone
}
finish 0; is "a job that is cancelled is killed, reported and gone" 0 $?
each "a job's end" finish

# ---- from the order to run a job until it runs, or its failure is reported ----
begin() { # N
	memory "$1"
	order 60 / sh -c "echo ran >>$node/ran/$((job + 1)); exec sleep 98$((job + 1))"
	until_agent said "\"reports\":\[.*\"job\":$job,[^{]*\"state\":\"(running|ended)\"" 1 || return 1
	cancel
	until_agent is_reported '[a-z]*' 1 && is_killed || return 1
	[ "$(cat "$node/ran/$job" 2>/dev/null | wc -l)" -le 1 ] || return 1
	settle 2>/dev/null
	until_agent is_gone
}
begin 0; is "a job runs" 0 $?
each "a job's begin" begin

# ---- ticks, and samples and reports of a job that runs ----
order 600 / sleep "98$((job + 1))"
runs; is "a job runs on" 0 $?
lasts() { said "\"jobs\":\[[^]]*\"job\":$job,[^]]*\"state\":\"running\"" "${1:-1}" && pgrep -f "sleep 98$job" >/dev/null; }
tick() { # N: two samples and two reports
	: >"$log"
	memory "$1"
	sleep 2.1
	: >"$log"
	kill -HUP "$agent" 2>/dev/null
	until_agent lasts
}
tick 0; is "it is listed at each exchange" 0 $?
each tick tick

# ---- the agent starts, and finds the job ----
start() { # N
	kill -9 "$agent"
	wait "$agent" 2>/dev/null
	memory "$1"
	: >"$log"
	agent_spawn
	until_agent lasts
}
start 0; is "an agent that starts again finds it" 0 $?
each start start
cancel
until_agent is_reported cancelled 1; is "in the end it is cancelled" 0 $?
tap_end
