#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# stalled.sh - jobs that end while their agent is stopped: none is charged for the time until the agent sees it, nor ended for its
# walltime afterwards. A real agent and a real controller. TAP.
set -u
cd "$(dirname "$0")/../../.." || exit 1
. tests/cluster/lib/tap_lib.sh
. tests/cluster/lib/live_lib.sh
. tests/cluster/lib/play_lib.sh
. tests/cluster/monitoring/agent_lib.sh
agent_site stalled
job() { ask 0 GET "/v1/jobs/$1"; }
value() { # JOB EXPRESSION of its answer j
	job "$1" | tail -n 1 | python3 -c 'import json, sys; j = json.load(sys.stdin)["job"]; print(eval(sys.argv[1]))' "$2"
}
submit() { # REQUEST OPTION... -- PROGRAM ARGUMENT...
	reeve submit -A physics --workdir / -l "vmem=50MB,jobfs=1MB,$1" -o /dev/null -e /dev/null "${@:2}" || bail "no job is submitted"
}
mkfifo -m 666 "$agent_dir/begun"
stall() { # N WALLTIME SECONDS: $ran (in milliseconds) and $kinds of N jobs of 1.5 s, whose agent is stopped SECONDS after they began, until after their end
	local array a
	array=$(submit "ncpus=1,walltime=$2" --array "1-$1" -- /bin/sh -c "echo > '$agent_dir/begun'; exec sleep 1.5")
	exec 7<>"$agent_dir/begun"
	for a in $(seq "$1"); do read -r _ <&7; done
	sleep "$3"
	kill -STOP "$agent_pid"
	sleep 4
	kill -CONT "$agent_pid"
	ran='' kinds=''
	for a in $(seq $((array + 1)) $((array + $1))); do
		until_has '"state":"ended"' job "$a" || bail "the job does not end: $out"
		ran="$ran $(value "$a" 'j["running_ns"] // 1000000')"
		kinds="$kinds $(value "$a" 'j["end"]["kind"]')"
	done
}
in_time() { # in milliseconds ...
	local ms
	for ms; do [ "$ms" -ge 1400 ] && [ "$ms" -lt 2500 ] || return 1; done
}
over='' all=''
for after in 0.001 0.005 0.01 0.015 1; do # their first reports are due 25 ms after they began
	stall 2 1:00:00 $after
	in_time $ran || over="$over $ran"
	all="$all $ran"
done
is "jobs of 1.5 s that ended while their agent was stopped ran for that long (ms:$all)" "" "$over"
over='' all=''
for count in 1 2; do
	stall $count 3 1
	in_time $ran || over="$over $ran"
	all="$all$kinds"
done
is "so did those whose walltime was over when the agent went on" "" "$over"
is "... and they ended by themselves" " exited exited exited" "$all"
tap_end
