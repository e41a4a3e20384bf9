#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# options.sh - what is off unless the site asks for it: SwitchProfile, PidsAction=kill,
# MaxProcesses.
# shellcheck source=tests/node/agent/agent_lib.sh
. "${AGENT_LIB:-/usr/local/lib/reeve-tests/agent_lib.sh}"

restart_with() { # LINE...
	systemctl stop reeve-agent
	agent_configure systemd "$@"
	agent_start || { echo "Bail out! the agent does not start with: $*"; exit 1; }
}
is_attached() { progs | grep -q '^prof_switch'; }
is_not_attached() { ! is_attached; }
figure_is() { # ID NAME LEAST
	local v
	v=$(field "$1" "$2")
	[ -n "$v" ] && [ "$v" -ge "$3" ]
}
SLEEPS='i=0; while [ $i -lt 100 ]; do sleep 0.02; i=$((i + 1)); done'

# By default nothing is attached and no figure appears.
agent_configure systemd
agent_start || { echo "Bail out! the agent does not start"; exit 1; }
progs | grep -q scan_exit; ok $? "the programs of the agent can be listed" "$(progs)"
is_not_attached; ok $? "by default nothing is attached to context switches"
has "$(reeve-agent --status)" '^switch profile: off' "and the status shows it"
submit 1 "$SMALL" '' sh -c "$SLEEPS"
wait_state 1 ended 30
has "$(job 1)x" '"cpu_ns":[1-9]' "a job is measured"
job 1 | grep -q ctx_ && r=1 || r=0
ok $r "without figures of its switches" "$(job 1)"

# The bound of processes contains.
submit 2 "$SMALL,\"pids\":20" '' "$LOAD" bomb 3
wait_state 2 ended 60
has "$(job 2)" '"kind":"exited"' "PidsAction=contain: a fork bomb lives" "$(job 2)"
has "$(job 2)" 'reached its limit of 20 processes' "and its report says what was refused"

restart_with 'SwitchProfile = yes' 'PidsAction = kill'
is_attached; ok $? "SwitchProfile=yes: the program is attached" "$(reeve-agent --status)"
status=$(reeve-agent --status)
has "$status" '^switch profile: on' "the status shows it"
has "$status" '^note: switch profile: on' "and the node's notes, for the controller"
submit 3 "$SMALL" '' sh -c "$SLEEPS"
submit 4 "$SMALL" '' sh -c 'while :; do sleep 0.05; done'
wait_state 3 ended 30
figure_is 3 ctx_switches 100; ok $? "each switch of a job is counted" "$(job 3)"
has "$(job 3)" '"ctx_preemptions":[0-9]+' "and how many were not its own will"
has "$(job 3)" '"cpu_migrations":0' "a job of one core stays on it"
has "$(job 3)" '"run_delay_max_ns":[1-9]' "and the longest wait for a cpu"

# The counts go on while the agent is away.
wait_state 4 running
wait_for 20 figure_is 4 ctx_switches 10
before=$(field 4 ctx_switches)
systemctl kill -s KILL reeve-agent
sleep 2
wait_for 30 agent_up && wait_state 4 running 20
wait_for 10 figure_is 4 ctx_switches $((before + 30))
ok $? "an agent that was killed goes on with the counts" "$before, then $(field 4 ctx_switches)"

# A fork bomb is killed, with the sentence, and the neighbour is not.
submit 5 "$SMALL,\"pids\":20" '' "$LOAD" bomb 60
wait_state 5 ended 30
has "$(job 5)" '"limit":"pids"' "PidsAction=kill: a fork bomb is killed" "$(job 5)"
has "$(cat $HOME_DIR/t.e5)" 'pids limit exceeded.*requested 20, reached 21' "its error file says why"
[ "$(field 5 running_ns)" -lt 50000000000 ]; ok $? "long before its own end" "$(field 5 running_ns)"
pgrep -u alice -x load >/dev/null && r=1 || r=0
ok $r "and nothing of it is left"
state_is 4 running; ok $? "its neighbour runs on"
submit 6 "$SMALL,\"pids\":20" '' sh -c 'for i in 1 2 3 4 5 6 7 8; do sleep 2 & done; wait'
wait_state 6 ended 30
has "$(job 6)" '"kind":"exited"' "a job below its bound is left alone"

# Switched off under a running job.
restart_with
wait_for 10 is_not_attached; ok $? "switched off: nothing stays attached" "$(progs)"
state_is 4 running; ok $? "and the job runs on"
for i in 4 5 6; do want $i cancel; done
wait_state 4 ended 20; ok $? "to its end"

# The processes of all jobs together: what does not fit waits, what never can is refused.
restart_with 'MaxProcesses = 200'
status=$(reeve-agent --status)
has "$status" '^processes: 200 for all jobs together; address spaces: [0-9]+ of [0-9]+ in use' "the status says for how many processes the table is made"
has "$(journalctl -u reeve-agent --no-pager | tail -n 60)" 'jobs may have 200 processes together, the table has room for [0-9]+ address spaces' "and so does the log"
submit 20 "$SMALL,\"pids\":150" '' sleep 1000
wait_state 20 running
submit 21 "$SMALL,\"pids\":100" '' sleep 1000
submit 22 "$SMALL,\"pids\":4194304" '' true
wait_state 22 ended
has "$(job 22)" 'needs 4194304 processes; this node has 200' "a request that the node can never hold ends with both numbers" "$(job 22)"
waits() { job 21 | grep -q 'needs 100 processes; 50 of 200 are free'; }
wait_for 10 waits; ok $? "one that fits later waits, and says for what" "$(job 21)"
want 20 cancel
wait_state 21 running 30; ok $? "until others have ended"
submit 23 "$SMALL,\"pids\":100" '' sleep 1000
wait_state 23 running 30; ok $? "a job that fills the rest runs beside it"
submit 24 "$SMALL,\"pids\":2" '' true
want 24 cancel
wait_state 24 ended 20
has "$(job 24)" '"kind":"cancelled"' "one that waits can be cancelled"
for i in 21 23; do want $i cancel; done
wait_state 23 ended 20
[ $tap_bad = 0 ] || journalctl --no-pager -u reeve-agent | tail -n 100 | sed 's/^/# /'
tap_end
