#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# maintenance.sh - what an administrator or an upgrade of the system does to a node while jobs run and begin: systemd is reloaded and executed
# again, and journald, munge, D-Bus and logind are restarted or killed. Jobs run on, are held, begin and end as always. TAP.
. "$(dirname "$0")/node_lib.sh"
node_start || { ok 1 "the node starts"; tap_end; }
RES=ncpus=1,vmem=100MB,jobfs=5MB
field() { as alice reeve job "$1" --json | json "$2"; }
state_is() { [ "$(field "$1" state)" = "$2" ]; }
submit() { as alice reeve submit -A physics -o /dev/null -j oe "$@" | grep -oE '[0-9]+' | tail -n 1; }
agent_answers() { timeout 10 reeve-agent --status; }

long=$(submit -N long -l $RES,mem=80MB,walltime=1:00:00 -- sleep 3300)
wait_for 60 state_is "$long" running
group=/sys/fs/cgroup$(systemctl show -P ControlGroup "reeve-job-$long-1.service")
limits() { # what the kernel holds the long job to, and its process
	(cd "$group" && grep -H . cpuset.cpus cpuset.mems memory.max memory.swap.max memory.oom.group pids.max work/memory.oom.group 2>/dev/null)
	pgrep -u alice -xf 'sleep 3300'
}
before=$(limits)
has "$before" 'memory.max:[0-9]' "a job runs, and is held"

# NAME: the long job is as it was, another one is held and ended with its reason, and everyone learns of it.
holds() {
	local id
	wait_for 30 agent_answers; ok $? "$1: the agent answers" "$(agent_answers 2>&1; journalctl -u reeve-agent -o cat -n 10)"
	wait_for 30 node_is_up; ok $? "$1: the node is up"
	id=$(submit -N big -l $RES,walltime=0:10:00 -- "$LOAD" map 400)
	wait_for 30 state_is "$id" ended
	has "$(field "$id" line)" '^vmem limit exceeded' "$1: a job that begins then is held, and its end has a reason"
	in_journal() { journalctl -u reeve-agent -o cat --no-pager | grep -q "job $id: vmem limit exceeded"; }
	wait_for 10 in_journal; ok $? "$1: so does the journal"
	unchanged() { [ "$(limits)" = "$before" ]; }
	wait_for 10 unchanged; ok $? "$1: the job that ran before runs on within its limits" "$(diff <(echo "$before") <(limits))"
}
# NAME COMMAND...: the command is repeated while jobs begin, one after the other.
begin_while() {
	local name=$1 ids='' id bad=''
	shift
	(for _ in 1 2 3 4; do sleep 1.5; "$@"; done) >/dev/null 2>&1 &
	while [ "$(wc -w <<<"$ids")" -lt 8 ]; do
		id=$(submit -N short -l $RES,walltime=0:10:00 -- true) && [ "$id" ] && ids="$ids $id"
	done
	wait $!
	for id in $ids; do
		wait_for 60 state_is "$id" ended
		[ "$(field "$id" line)" = 'ended by itself with exit status 0' ] || bad="$bad $id: $(field "$id" state) $(field "$id" line);"
	done
	[ -z "$bad" ]; ok $? "$name: jobs that begin meanwhile run" "$bad $(journalctl -u reeve-agent -o cat -n 40)"
	holds "$name"
}
kill_main() { systemctl kill -s KILL --kill-whom=main "$1"; }
kill_munge() { kill_main munge; sleep 0.2; systemctl start munge; }
# Its socket starts it for the next connection.
kill_dbus() { kill -9 "$(systemctl show -P MainPID dbus)"; }

begin_while 'systemctl daemon-reload' systemctl daemon-reload
begin_while 'systemctl daemon-reexec' systemctl daemon-reexec
begin_while 'munge is restarted' systemctl restart munge
begin_while 'munge is killed' kill_munge
begin_while 'journald is restarted' systemctl restart systemd-journald
begin_while 'journald is killed' kill_main systemd-journald
begin_while 'D-Bus is reloaded' systemctl reload dbus
begin_while 'D-Bus is restarted' systemctl restart dbus
begin_while 'D-Bus is killed' kill_dbus
begin_while 'logind and udevd are restarted' systemctl restart systemd-logind systemd-udevd

# All units are stopped that the target does not want: this one, which the suite is, must not be.
own=$(sed -nE 's|^0::.*/([^/]+\.service).*|\1|p' /proc/self/cgroup)
mkdir -p "/run/systemd/system/$own.d"
printf '[Unit]\nIgnoreOnIsolate=yes\n' >"/run/systemd/system/$own.d/isolate.conf"
systemctl daemon-reload
systemctl enable -q munge reeve-agent reeve-controller
systemctl isolate multi-user.target
holds 'systemctl isolate multi-user.target'

# ---- what fails for longer than systemd's patience ----
for _ in 1 2 3 4 5 6 7 8; do
	kill_main reeve-agent
	kill_main reeve-controller
	sleep 1.2
done
holds 'both are killed eight times'
is_failing() { [ "$(systemctl show -P NRestarts reeve-controller)" -ge $((restarts + 7)) ]; }
cp -a /etc/reeve/controller.conf /tmp/controller.conf
sed -i "s|^Database = .*|Database = postgresql:///reeve?host=/run/no-server|" /etc/reeve/controller.conf
restarts=$(systemctl show -P NRestarts reeve-controller)
systemctl restart reeve-controller
wait_for 60 is_failing; ok $? "a controller without its database is started again and again" "$(systemctl status reeve-controller)"
cp -a /tmp/controller.conf /etc/reeve/controller.conf
holds 'its database came late'
for d in agent controller; do
	cp -a /etc/reeve/$d.conf /tmp/saved.conf
	sed -i '1i No = sense' /etc/reeve/$d.conf
	systemctl restart reeve-$d
	is_left() { [ "$(systemctl show -P ActiveState reeve-$d) $(systemctl show -P ExecMainStatus reeve-$d)" = 'failed 78' ]; }
	wait_for 10 is_left; ok $? "reeve-$d with a mistake in its configuration is not started again" "$(systemctl status reeve-$d)"
	cp -a /tmp/saved.conf /etc/reeve/$d.conf
	systemctl start reeve-$d
done
holds 'mended'

has "$(reeve admin verify --ledger /var/lib/reeve-controller/ledger.db 2>&1)" ' 0 differences' "the sums of the ledger are those of its jobs"
as alice reeve cancel "$long" >/dev/null
wait_for 60 state_is "$long" ended; ok $? "the job that ran through all of it is cancelled"
tap_end
