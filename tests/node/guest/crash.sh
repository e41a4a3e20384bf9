#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# crash.sh - kill -9 of agent and controller under a running mix: nothing is lost, nothing
# charged twice, limits hold throughout.       KILLS: how often the agent is killed (100)
. "$(dirname "$0")/node_lib.sh"
KILLS=${KILLS:-100}
RES=vmem=200MB,jobfs=20MB
node_start || { ok 1 "the node starts"; tap_end; }
mkdir -p /etc/systemd/system/reeve-agent.service.d /etc/systemd/system/reeve-controller.service.d
for d in agent controller; do
	printf '[Service]\nRestartSec=100ms\n' >/etc/systemd/system/reeve-$d.service.d/test.conf
done
systemctl daemon-reload

field() { as alice reeve job "$1" --json | json "$2"; }
state_is() { [ "$(field "$1" state)" = "$2" ]; }
submit() { as alice reeve submit -o /dev/null -j oe "$@" | grep -oE '[0-9]+' | tail -n 1; }
agent_up() { busctl call org.reeve.Agent1 /org/reeve/Agent1 org.freedesktop.DBus.Peer Ping; }
kill9() { local pid; pid=$(systemctl show -P MainPID "$1"); [ "${pid:-0}" -gt 0 ] && kill -9 "$pid"; }

long=$(submit -N long -l ncpus=1,$RES,walltime=1:00:00 -- "$LOAD" work 3400 16)
paused=$(submit -N paused -l ncpus=1,$RES,walltime=1:00:00 -- sleep 3000)
wait_for 30 state_is "$long" running; wait_for 30 state_is "$paused" running
pid=$(pgrep -u alice -x load | head -n 1)
as alice reeve suspend "$paused" >/dev/null; wait_for 30 state_is "$paused" suspended
ok $? "a running and a suspended job"
begin=$(field "$paused" running_ns)
reported=$(field "$long" running_ns)
reported_first=$reported
others=
for i in $(seq "$KILLS"); do
	case $((i % 10)) in
	1) others="$others $(submit -N short -l ncpus=1,$RES,walltime=0:10:00 -- "$LOAD" work 1 16)" ;;
	4) others="$others $(submit -N big -l ncpus=1,$RES,walltime=0:10:00 -- "$LOAD" map 400)" ;;
	7) kill9 reeve-controller ;;
	esac
	kill9 reeve-agent
	# On a slow node most kills are of an agent that still starts: every fourth is of one that works.
	((i % 4)) || wait_for 15 agent_up
	sleep "0.$((RANDOM % 9 + 1))"
	((i % 10)) && continue
	now=$(field "$long" running_ns) # nothing while the controller is away
	reported=${now:-$reported}
	echo "# $i kills, long job at $reported ns"
done
[ "$reported" -gt "$reported_first" ]; ok $? "between the kills the agent has reported"
wait_for 60 node_is_up; ok $? "agent and controller are there after $KILLS kills"
kill -0 "$pid"; ok $? "the long job's process ran through all of it"
[ "$(field "$paused" running_ns)" = "$begin" ]; ok $? "the suspended job's running time stood still"
bad=0
for id in $others; do
	wait_for 120 state_is "$id" ended || { bad=$((bad + 1)); echo "# job $id: $(field "$id" state) $(field "$id" why)"; continue; }
	line=$(field "$id" line) name=$(field "$id" name)
	case $name in
	short) [[ $line == "ended by itself with exit status 0" ]] || { bad=$((bad + 1)); echo "# $id: $line"; } ;;
	big) [[ $line == "vmem limit exceeded"* ]] || { bad=$((bad + 1)); echo "# $id: $line"; } ;;
	esac
done
ok $bad "every other job ended as it should ($(wc -w <<<"$others") jobs)"
as alice reeve cancel "$long" "$paused" >/dev/null
wait_for 60 state_is "$long" ended; wait_for 60 state_is "$paused" ended
begin=$(field "$long" started_ns) end=$(field "$long" ended_ns) run=$(field "$long" running_ns)
awk -v b="$begin" -v e="$end" -v r="$run" 'BEGIN { d = (e - b - r) / 1e9; print "# long: wall minus running " d " s"; exit !(d > -0.5 && d < 0.5) }'
ok $? "the long job's running time is its wall time"
bad=0
for id in $long $paused $others; do
	run=$(field "$id" running_ns) charge=$(field "$id" charge_requested_ms)
	awk -v r="$run" -v c="$charge" 'BEGIN { d = r / 1000000 - c; exit !(d > -1 && d < 1) }' ||
		{ bad=$((bad + 1)); echo "# job $id: $run ns charged $charge"; }
done
ok $bad "every charge is its running time, once"
sum=0
for id in $long $paused $others; do sum=$((sum + $(field "$id" charge_requested_ms))); done
total=$(as alice reeve usage --by account --json | json charge_requested_ms)
[ "$sum" = "$total" ]; ok $? "the account's total ($total) is the sum of its jobs ($sum)"
systemctl list-units --all 'reeve-job-*' --no-legend | grep -q .; ok $((!$?)) "no unit is left"
ls /var/lib/reeve/jobfs | grep -qE '^[0-9]'; ok $((!$?)) "nothing is left in jobfs"

# ---- the agent's database is gone, or garbage: running jobs are recovered as they run ----
runs_as() { [ "$(field "$1" state)" = running ] && kill -0 "$2" && node_is_up; }
for how in lost garbage; do
	id=$(submit -N "$how" -l ncpus=1,$RES,walltime=1:00:00 -- "$LOAD" work 3400 16)
	wait_for 30 state_is "$id" running; wait_for 30 pgrep -u alice -x load
	pid=$(pgrep -u alice -x load | head -n 1)
	began=$(field "$id" started_ns)
	systemctl stop reeve-agent
	rm -f /var/lib/reeve/agent.db*
	[ $how = lost ] || head -c 65536 /dev/urandom >/var/lib/reeve/agent.db
	systemctl start reeve-agent
	sleep 3
	wait_for 60 runs_as "$id" "$pid"; ok $? "database $how: the job's process runs on, and the agent has it again" "$(as alice reeve job "$id" 2>&1; journalctl -n 20 --no-pager -u reeve-agent)"
	[ $how = lost ] || has "$(reeve nodes 2>&1)" 'agent.db' "... and says that it set the garbage aside"
	systemctl kill -s KILL reeve-agent
	wait_for 60 node_is_up
	wait_for 60 runs_as "$id" "$pid"; ok $? "... and knows it after a kill"
	as alice reeve cancel "$id" >/dev/null
	wait_for 60 state_is "$id" ended; ok $? "... and ends it by order"
	has "$(field "$id" line)" cancelled "... in these words"
	kill -0 "$pid" 2>/dev/null; ok $((!$?)) "... and its process is gone"
	run=$(field "$id" running_ns) wall=$(($(field "$id" ended_ns) - began))
	awk -v r="$run" -v w="$wall" 'BEGIN { d = (w - r) / 1e9; print "# wall minus running " d " s"; exit !(d > -3 && d < 1.5) }'
	ok $? "... charged from the start of its main process, which is the launcher's"
done
reeve admin verify --ledger /var/lib/reeve-controller/ledger.db >/tmp/verify 2>&1; ok $? "and the ledger's sums are right" "$(cat /tmp/verify)"
tap_end
