#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# series.sh - how the use of real jobs went over their time: the points equal what the job did, add up to what the ledger has,
# and go on after the agent was killed.
. "$(dirname "$0")/node_lib.sh"
node_start || { ok 1 "the node starts"; tap_end; }
field() { as alice reeve job "$1" --json | json "$2"; }
state_is() { [ "$(field "$1" state)" = "$2" ]; }
submit() { as alice reeve submit -o /dev/null -j oe "$@" | grep -oE '[0-9]+' | tail -n 1; }
points() { as alice reeve job "$1" --series --json; }
# of JOB EXPRESSION: a Python expression of the document d, its points p
of() { points "$1" | python3 -c "import json, sys; d = json.load(sys.stdin); p = d['points']; print($2)"; }
holds() { # JOB EXPRESSION NAME
	[ "$(of "$1" "$2")" = True ]
	ok $? "$3" "$(points "$1")"
}
wait_ended() { wait_for 90 state_is "$1" ended; }

# Ten seconds of one core, ten of nothing, then 60 MiB.
id=$(submit -l ncpus=2,vmem=400MB,jobfs=10MB,walltime=0:05:00 -- \
	sh -c "$LOAD work 10 8; sleep 10; head -c 4000000 /dev/zero >\$REEVE_JOBFS/file; $LOAD work 6 60; sleep 2")
wait_for 30 state_is "$id" running; ok $? "a job runs"
seen() { [ "$(of "$id" 'len(p)')" -ge 3 ]; }
wait_for 100 seen; ok $? "its points are seen while it runs"
wait_ended "$id"; ok $? "it ends"
cpu=$(field "$id" cpu_ns)
holds "$id" "abs(sum((q['to_s'] - q['from_s']) * q['cores'] for q in p) - $cpu / 1e9) < 0.01" \
	"the points of its cores add up to the CPU time in the ledger ($cpu ns)"
holds "$id" "max(q['cores'] for q in p) < 2 and sum(q['cores'] > 0.7 for q in p[:12]) >= 5" "one core was busy at first"
holds "$id" "sum(q['cores'] < 0.3 for q in p[10:22]) >= 5" "then none"
holds "$id" "max(q['mem_bytes'] or 0 for q in p[:10]) < 30 << 20 and 60 << 20 <= max(q['mem_bytes'] or 0 for q in p) < 80 << 20" \
	"memory grew at the end"
holds "$id" "(p[2]['jobfs_bytes'] or 0) < 1000000 and 4000000 <= max(q['jobfs_bytes'] or 0 for q in p) < 5000000" "so did its disk"
holds "$id" "sum(q['mem_bytes'] is None for q in p[1:-1]) == 0" "no point is missing"
holds "$id" "abs(d['elapsed_s'] - $(field "$id" running_ns) / 1e9) < 1.5" "it lasted as long as it ran"

# Suspended for eight seconds; meanwhile the agent is killed.
id=$(submit -l ncpus=1,vmem=400MB,jobfs=10MB,walltime=0:05:00 -- "$LOAD" work 14 20)
wait_for 30 state_is "$id" running
sleep 5
as alice reeve suspend "$id" >/dev/null
wait_for 30 state_is "$id" suspended
sleep 4
systemctl kill -s KILL reeve-agent
sleep 4
wait_for 60 systemctl is-active reeve-agent
wait_for 60 node_is_up
as alice reeve resume "$id" >/dev/null
wait_ended "$id"; ok $? "a job that was suspended ends, though the agent was killed"
suspended=$(field "$id" suspended_ns) cpu=$(field "$id" cpu_ns)
holds "$id" "abs(d['suspended_s'] - $suspended / 1e9) < 1.5" "its points have its suspended time ($suspended ns)"
holds "$id" "sum(q.get('suspended_s', 0) > 0.9 and q['cores'] < 0.3 for q in p) >= 5" "in which no core was busy"
holds "$id" "abs(sum((q['to_s'] - q['from_s']) * q['cores'] for q in p) - $cpu / 1e9) < 0.01" \
	"and they add up to the CPU time in the ledger ($cpu ns), over the agent's death too"

# Shorter than a sample: what the kernel knows is there.
id=$(submit -l ncpus=1,vmem=400MB,jobfs=10MB,walltime=0:01:00 -- true)
wait_ended "$id"
holds "$id" "len(p) == 1 and all(q['mem_bytes'] is None or q['mem_bytes'] > 0 for q in p if 'mem_bytes' in q)" \
	"a job of a moment has one point, and no memory of 0"
tap_end
