#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# clock.sh - only running time counts: suspension is neither charged nor walltime, whatever program
# suspends; the last slice of the shortest job is charged.
. "$(dirname "$0")/node_lib.sh"
node_start || { ok 1 "the node starts"; tap_end; }
RES=vmem=100MB,jobfs=10MB

field() { as alice reeve job "$1" --json | json "$2"; }
state_is() { [ "$(field "$1" state)" = "$2" ]; }
submit() { as alice reeve submit -o /dev/null -j oe "$@" | grep -oE '[0-9]+' | tail -n 1; }
charge_is_rate_times_running() { # ID CORES: milli-core-seconds = cores x running, rounded once
	local run charge
	run=$(field "$1" running_ns) charge=$(field "$1" charge_requested_ms)
	awk -v r="$run" -v c="$charge" -v n="$2" 'BEGIN { d = r * n / 1000000 - c; exit !(d > -1 && d < 1) }'
	ok $? "$3: charged $charge milli-core-seconds for $run ns on $2 cores"
}

id=$(submit -l ncpus=2,$RES,walltime=0:10:00 -- sh -c 'until [ -e $HOME/go ]; do sleep 0.2; done')
wait_for 30 state_is "$id" running; ok $? "a job runs"
sleep 1
as alice reeve suspend "$id" >/dev/null
wait_for 30 state_is "$id" suspended; ok $? "reeve suspend suspends it"
begin=$(field "$id" running_ns)
cores_are_free() { [ "$(reeve nodes --csv -n --columns ncpus_free)" = 4 ]; }
wait_for 10 cores_are_free; ok $? "its cores are given back"
other=$(submit -l ncpus=4,$RES,walltime=0:01:00 -- sleep 1)
wait_for 40 state_is "$other" ended; ok $? "another job runs on them meanwhile"
sleep 2
[ $(($(field "$id" running_ns) - begin)) -eq 0 ]; ok $? "its running time stands still"
as alice reeve resume "$id" >/dev/null
wait_for 30 state_is "$id" running; ok $? "reeve resume resumes it"
touch /home/alice/go
wait_for 60 state_is "$id" ended; ok $? "it ends"
has "$(as alice reeve job "$id" --json)" '"kind": *"exited"' "by itself"
suspended=$(field "$id" suspended_ns)
[ "${suspended:-0}" -ge 3000000000 ]; ok $? "suspended time is recorded ($suspended ns)"
charge_is_rate_times_running "$id" 2 "a suspended job"

id=$(submit -l ncpus=1,$RES,walltime=0:00:15 -- sleep 300)
wait_for 30 state_is "$id" running
unit=$(systemctl list-units 'reeve-job-*' --no-legend --plain | awk '{ print $1 }' | head -n 1)
systemctl freeze "$unit"; ok $? "another program freezes the unit ($unit)"
is_beyond() { [ "$(field "$id" suspended_ns)" -ge 16000000000 ]; }
wait_for 60 is_beyond; ok $? "counted as suspended"
state_is "$id" ended; ok $((!$?)) "frozen by others for longer than its walltime: not killed"
systemctl thaw "$unit"
wait_for 30 state_is "$id" ended
has "$(as alice reeve job "$id" --json | json line)" "walltime limit exceeded.*requested 0:00:15, reached 0:00:(1[5-9]|2[0-9])" "then held to the running time that was left"
charge_is_rate_times_running "$id" 1 "a job frozen by others"

# Twenty of the shortest jobs: every one is charged.
for _ in $(seq 20); do submit -l ncpus=1,$RES,walltime=0:01:00 -- true; done >/tmp/short
last=$(tail -n 1 /tmp/short)
wait_for 120 state_is "$last" ended
free=0
for id in $(cat /tmp/short); do
	wait_for 30 state_is "$id" ended
	c=$(field "$id" charge_requested_ms)
	[ "${c:-0}" -gt 0 ] || free=$((free + 1))
done
ok $free "the shortest jobs are all charged ($free of 20 were free)"
charge_is_rate_times_running "$last" 1 "the shortest job"
tap_end
