#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# agent_store.sh [all] - a job is killed, ended and reported whatever its node's store does, whatever bytes it
# is called by, and however many there are: a real agent with real jobs on this machine; the controller
# is played. "all": every change of the store fails once and for ever, which takes minutes. TAP.
set -u
cd "$(dirname "$0")/../../.." || exit 1
. tests/cluster/lib/tap_lib.sh
. tests/cluster/lib/live_lib.sh
[ "$(id -u)" = 0 ] || { echo "1..0 # SKIP needs root"; exit 0; }
. tests/cluster/lib/faults/store_lib.sh
store_possible || { echo "1..0 # SKIP no cgroup v2 that jobs may be made in"; exit 0; }
store_open store
agent_start

# ---- any bytes ----
letters=$(printf 'Ж%.0s' $(seq 120))
for shift in '' x; do
	order 60 "/$shift$letters" true
	is_reported failed; is "a job whose directory is missing ends, named by 120 letters of two bytes${shift:+ and one more}" 0 $?
	has "... and the words are cut between letters" "ЖЖЖ" "$(report)"
	settle
	is_gone; is "... and is gone" 0 $?
done
order 60 / sh -c "printf '\\\\377\\\\376' >/proc/self/comm; sleep 0.3"
is_reported exited && settle && is_gone; is "so does one that calls itself by bytes that are no text" 0 $?

# ---- a store that fails at the n-th change, from when the job runs until it is forgotten ----
life() { # N once|forever: 1: the job was not killed, not reported or not gone
	order 60 / sleep "98$((job + 1))"
	runs || return 1
	fault "$1" "$2"
	cancel
	is_reported cancelled && is_killed || return 1
	settle
	is_gone
}
life 0 once; is "a job that is cancelled is killed, reported and gone" 0 $?
last=$(fault count)
[ "$last" -gt 20 ]; is "... and the store changed some times in that ($last)" 0 $?
if [ "${1:-}" = all ]; then step=1; else step=13; fi
for how in forever once; do
	bad=
	for at in $(seq 1 $step "$last"); do
		life "$at" $how || bad="$bad $at"
		fault off
		answer ''
		is_gone || bad="$bad $at(left)"
	done
	all_of "the same with a store that fails $how from any change on" "$bad"
done

# ---- the same from before it is to run: it starts later, or not at all ----
begin() { # N once|forever: 1: the job did not start, nor did the node say why; or as above
	fault "$1" "$2"
	order 60 / sleep "98$((job + 1))"
	said "(\"job\":$job,[^{]*\"state\":\"running\"|\"state\":\"drain\")" 20 || return 1
	cancel
	is_reported cancelled && is_killed || return 1
	settle
	is_gone
}
fault 0 once
order 60 / sleep "98$((job + 1))"
runs; is "a job runs" 0 $?
last=$(fault count)
[ "$last" -gt 10 ]; is "... and the store changed some times until then ($last)" 0 $?
cancel; is_reported cancelled; settle; is_gone
for how in forever once; do
	bad=
	for at in $(seq 1 $step "$last"); do
		begin "$at" $how || bad="$bad $at"
		fault off
		answer ''
		is_gone && said '"state":"up"' || bad="$bad $at(left)"
	done
	all_of "a job that is cancelled while it starts is gone, with a store that fails $how from any change on" "$bad"
done

# ---- kill -9 instead of the n-th change: a job runs once, whichever step the agent was at ----
mkdir -m 777 "$node/ran"
until_agent() { # COMMAND...: succeeds, with an agent that is started again where it was killed; 1: not within 30 s
	local end=$((SECONDS + 30))
	until kill -0 "$agent" 2>/dev/null && "$@"; do
		[ $SECONDS -lt $end ] || return 1
		kill -0 "$agent" 2>/dev/null && continue
		wait "$agent" 2>/dev/null
		killed=$((killed + 1))
		agent_start
	done
}
ended_once() { # N: 1: the job ran never or twice, its end is not known, or it is not gone
	fault "$1" kill
	order 60 / sh -c "echo ran >>$node/ran/$((job + 1)); exit 3"
	until_agent is_reported exited 1 || return 1
	[ "$(wc -l <"$node/ran/$job")" = 1 ] && report | grep -q 'exit status 3' || return 1
	settle 2>/dev/null
	until_agent is_gone
}
killed=0
ended_once 0; is "a job that exits is reported and gone" 0 $?
last=$(fault count)
bad=
for at in $(seq 1 $step "$last"); do
	ended_once "$at" || bad="$bad $at"
	fault off
	answer '' 2>/dev/null
	until_agent is_gone || bad="$bad $at(left)"
done
all_of "it runs once, and its end is known, with the agent killed instead of any of $last changes of the store" "$bad"
[ $killed -ge $((last / step / 2)) ]; is "... which happened ($killed times)" 0 $?

# ---- while no change is possible ----
order 2 / sleep "98$((job + 1))"
runs
fault 1 forever
is_reported limit; is "walltime ends a job whose state cannot be saved" 0 $?
has "... in its words" "walltime limit exceeded" "$(report)"
is_killed; is "... and it is killed" 0 $?
settle; is_gone; is "... and gone" 0 $?
fault off
order 60 / sh -c 'sleep 1; exit 3'
runs
fault 1 forever
is_reported exited; is "the end of a job that exits meanwhile is reported" 0 $?
has "... as it was" "exit status 3" "$(report)"
kill -9 "$agent"; wait "$agent" 2>/dev/null
fault off
: >"$log"
agent_start
is_reported exited; is "... and once more by the agent that comes back" 0 $?
has "... as it was" "exit status 3" "$(report)"
settle; is_gone; is "... until it is acknowledged" 0 $?
fault 1 forever
order 60 / sleep "98$((job + 1))"
said '"state":"drain"'; is "a node that cannot save takes no new jobs" 0 $?
said '"store: the state of jobs cannot be saved'; is "... and says why" 0 $?
is_killed; is "what cannot be saved is not started" 0 $?
cancel
is_reported cancelled; is "... but cancelled, and that is reported" 0 $?
settle; is_gone; is "... and gone" 0 $?
order 60 / sleep "98$((job + 1))"
sleep 1
fault off
runs; is "what waited for the store starts when that works again" 0 $?
said '"state":"up"'; is "... and the node takes jobs" 0 $?
cancel; is_reported cancelled; settle; is_gone

# ---- a disk that is really full ----
order 60 / sleep "98$((job + 1))"
runs
dd if=/dev/zero of="$node/state/full" bs=4k 2>/dev/null
cancel
is_reported cancelled; is "a job is ended and reported on a full disk" 0 $?
settle; is_gone; is "... and gone" 0 $?
rm "$node/state/full"
agent_end
: >"$log"
agent_start
settle; is_gone; is "... also for the agent that comes back when there is room" 0 $?

# ---- jobs that are due at once are saved together ----
orders() { # N: jobs that end as they come; 1: not all of them are reported
	local first=$((job + 1)) list='' i
	job=$((job + $1))
	for i in $(seq $first $job); do list="$list,{\"job\":$i,\"attempt\":1,\"want\":\"run\",\"request\":{}}"; done
	: >"$log"
	fault 0 once
	answer "\"jobs\":[${list#,}]"
	for i in $(seq $first $job); do said "\"reports\":\[.*\"job\":$i,[^{]*\"state\":\"ended\"" || return 1; done
	changes=$(fault count)
	settle
	is_gone
}
orders 1; is "one job that cannot run is reported" 0 $?
one=$changes
orders 10; is "ten of them are" 0 $?
[ "$changes" -lt $((one * 6)) ]; is "... with fewer than six times as many changes of the store ($one, $changes)" 0 $?

# ---- more jobs than any list was long ----
many=4100 list=''
for i in $(seq 100001 $((100000 + many))); do list="$list,{\"job\":$i,\"attempt\":1,\"want\":\"run\",\"request\":{}}"; done
: >"$log"
answer "\"jobs\":[${list#,}]"
listed() { tail -n 2 "$log" | head -n 1 | sed 's/.*"jobs":\[//; s/\].*//' | grep -o '"job"' | wc -l; }
for _ in $(seq 100); do [ "$(listed)" = $many ] && break; sleep 0.1; done
is "a node lists every job that it has" $many "$(listed)"
is "the version is that of all programs" "reeve-agent $(build/bin/reeve --version | cut -d' ' -f2)" "$("$agent_binary" --version)"
tap_end
