#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen.sh - a job that was suspended is not charged for that when the agent is killed meanwhile, or afterwards, on a kernel without BPF: a real agent
# and a real controller. TAP.
set -u
cd "$(dirname "$0")/../../.." || exit 1
. tests/cluster/lib/tap_lib.sh
. tests/cluster/lib/live_lib.sh
. tests/cluster/lib/play_lib.sh
. tests/cluster/monitoring/agent_lib.sh
agent_site frozen
job() { ask 0 GET "/v1/jobs/$1"; }
tenths() { # KEY: of the job, in tenths of a second
	job "$a" | tail -n 1 | python3 -c 'import json, sys; print(json.load(sys.stdin)["job"][sys.argv[1]] // 100000000)' "$1"
}
becomes() { until_has "\"state\":\"$1\"" job "$a" || bail "the job does not become $1: $out"; }
kill_agent() { # ... for 3 s, and until its figures have come
	local before
	kill -9 "$agent_pid"
	wait "$agent_pid" 2>/dev/null
	sleep 3
	agent_start
	before=$(grep -c 'found again' "$agent_dir/log")
	for _ in $(seq 200); do [ "$(grep -c 'found again' "$agent_dir/log")" -gt "$before" ] && break; sleep 0.1; done
	sleep 2.5 # two reports
}

a=$(reeve submit -A physics --workdir / -l ncpus=1,vmem=300MB,jobfs=1MB -o /dev/null -e /dev/null -- /bin/sleep 600) || bail "no job is submitted"
becomes running
suspended=$(date +%s%N)
reeve suspend "$a" >/dev/null
becomes suspended
sleep 2.5
ran=$(tenths running_ns)
kill_agent
is "killed while the job is suspended: the job has run for as long as before" 0 $((($(tenths running_ns) - ran) / 10))
was=$(tenths suspended_ns)
[ "$was" -ge 50 ]
tap_result $? "and was suspended meanwhile ($((was / 10)) s)"
reeve resume "$a" >/dev/null
resumed=$(date +%s%N)
becomes running
was=-1
until now=$(tenths suspended_ns); [ "$now" = "$was" ]; do # until reports from after the resumption have come
	was=$now
	sleep 2.5
done
most=$((resumed / 100000000 - suspended / 100000000 + 10))
[ "$was" -le $most ]
tap_result $? "resumed it was suspended for no longer than it was" "$was tenths of a second, of at most $most"
kill_agent
is "killed after it was resumed: the job was suspended for as long as before" 0 $((($(tenths suspended_ns) - was) / 10))
now=$(tenths running_ns)
most=$(($(date +%s%N) / 100000000 - resumed / 100000000 + 10))
[ $((now - ran)) -ge 40 ] && [ $((now - ran)) -le $most ]
tap_result $? "and has run since it was resumed, no longer" "$((now - ran)) tenths of a second, of at most $most"
reeve cancel "$a" >/dev/null
becomes ended
has "its end" '"kind":"cancelled"' "$(job "$a")"
is "the suspended time stays" 0 $((($(tenths suspended_ns) - was) / 10))
tap_end
