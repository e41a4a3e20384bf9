#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC1091
# units.sh - the daemons as systemd's units: what a reload says and does, an address that systemd keeps, and an agent that does its work
# on a node whose cores are all busy. TAP.
. "$(dirname "$0")/node_lib.sh"
node_start || { ok 1 "the node starts"; tap_end; }
RES=ncpus=1,vmem=200MB,jobfs=1MB
agent_conf=/etc/reeve/agent.conf controller_conf=/etc/reeve/controller.conf
said() { # UNIT: what it has logged of its last reload
	journalctl --sync
	journalctl -u "$1" --since "$since" REEVE_EVENT=reload -o cat --no-pager
}
mark() { since=@$(date +%s.%6N); } # not --after-cursor: with a match it skips the first entry
reload() { mark; systemctl reload "$1"; }
has_said() { said "$1" | grep -qF -- "$2"; }
pid_of() { systemctl show -p MainPID --value "$1"; }
job_is() { as alice reeve job "$1" --json | grep -q "\"state\": *\"$2\""; }

# ---- a reload ----
agent_pid=$(pid_of reeve-agent) controller_pid=$(pid_of reeve-controller)
sleeper=$(as alice reeve submit -A physics -l $RES,walltime=1:00:00 -- sleep 3000)
wait_for 60 job_is "$sleeper" running
sed -i 's/^KillGrace.*/KillGrace = 3s\nReservedCores = 1/' $agent_conf
reload reeve-agent
ok $? "systemctl reload reeve-agent"
wait_for 10 has_said reeve-agent "configuration reloaded: 2 keys changed, 1 needs a restart"
ok $? "the journal has how many keys changed" "$(said reeve-agent)"
has "$(said reeve-agent)" '^\[Agent\] KillGrace: 0:00:02 -> 0:00:03$' "each with its old and new value"
has "$(said reeve-agent)" '^\[Agent\] ReservedCores: 0 -> 1; takes effect at the next restart$' "and whether it needs a restart"
sed -i '/^ReservedCores/d; s/^KillGrace.*/KillGrace = soon/' $agent_conf
! reload reeve-agent
ok $? "with a mistake systemctl reload fails"
journalctl --sync
has "$(journalctl -u reeve-agent --since "$since" -o cat --no-pager)" "agent.conf, line [0-9]+: KillGrace = soon: .*for example: KillGrace = 30s" "the journal has file, line, key, value and remedy"
sed -i 's/^KillGrace.*/KillGrace = 2s/' $agent_conf
reload reeve-agent
ok $? "mended it is read again"
sed -i 's/^Operators.*/Operators = root, bob\nNodeLost = 5:00/' $controller_conf
reload reeve-controller
ok $? "systemctl reload reeve-controller"
wait_for 10 has_said reeve-controller "configuration reloaded: 2 keys changed"
ok $? "the journal has how many keys changed" "$(said reeve-controller)"
wait_for 10 sh -c 'runuser -u bob -- reeve jobs --all --json | grep -q alice'
ok $? "the new operator sees others' jobs"
sed -i 's/^NodeLost.*/NodeLost = soon/' $controller_conf
! reload reeve-controller
ok $? "with a mistake systemctl reload fails"
sed -i 's/^NodeLost.*/NodeLost = 5:00/' $controller_conf
[ "$agent_pid $controller_pid" = "$(pid_of reeve-agent) $(pid_of reeve-controller)" ]
ok $? "both are the same processes"
job_is "$sleeper" running
ok $? "and the job runs"
journalctl --update-catalog 2>/dev/null
has "$(journalctl -x -u reeve-agent REEVE_EVENT=reload --no-pager -n 3)" 'A daemon read its configuration again' "the catalogue explains it"

# ---- the address ----
systemctl stop reeve-controller
systemctl start reeve-controller.socket
ok $? "systemd opens the socket"
systemctl start reeve-controller
journalctl --sync
has "$(journalctl -u reeve-controller -o cat --no-pager -n 40)" "the socket 0.0.0.0:8640 is systemd's" "the controller uses it"
has "$(journalctl -u reeve-controller -o cat --no-pager -n 40)" 'it is used in place of Listen = 127.0.0.1:8640' "and says that Listen is another"
good=0
for _ in 1 2 3 4 5; do
	systemctl kill -s KILL reeve-controller
	as alice reeve job "$sleeper" >/dev/null 2>>/tmp/refused && good=$((good + 1))
	wait_for 20 systemctl is-active reeve-controller
done
[ $good = 5 ]
ok $? "five times killed: each command behind it is answered" "$(cat /tmp/refused)"
systemctl restart reeve-controller
as alice reeve job "$sleeper" >/dev/null
ok $? "a restart refuses none either"
systemctl stop reeve-controller 2>/dev/null
as alice reeve job "$sleeper" >/dev/null
ok $? "stopped, the next command starts it"
wait_for 60 node_is_up
ok $? "the node is connected again"
job_is "$sleeper" running
ok $? "its job has run on"
as alice reeve cancel "$sleeper" >/dev/null
wait_for 60 job_is "$sleeper" ended

# ---- the agent's share ----
group=/sys/fs/cgroup$(systemctl show -p ControlGroup --value reeve-agent)
[ "$group" = /sys/fs/cgroup/reeve_agent.slice/reeve-agent.service ]
ok $? "the agent runs in a slice of its own" "$group"
[ "$(cat "${group%/*}/cpu.weight")" = 1000 ]
ok $? "which has ten times their weight" "$(cat "${group%/*}/cpu.weight")"
[ "$(cat "${group%/*}/memory.min" "$group/memory.min" | sort -u)" = 100663296 ]
ok $? "and memory that is not reclaimed"
[ "$(cat "/proc/$(pid_of reeve-agent)/oom_score_adj")" = -900 ]
ok $? "the kernel ends others before it"

bound_ms=3000 walltime=20
[ "$(systemd-detect-virt)" != qemu ] || bound_ms=12000 walltime=90 # emulated cpus share the cores of a busy machine
# Each job: 25 busy processes, which ignore SIGTERM. Submitted at once, as the command itself is slow on full cores.
fill() { # JOBS: sets ids; all run at the same time
	local id
	cat >/tmp/busy.sh <<-BUSY
		#!/bin/sh
		#REEVE -A physics -l $RES,walltime=$walltime -o /dev/null -e /dev/null
		trap '' TERM
		for i in \$(seq 24); do while :; do :; done & done
		while :; do :; done
	BUSY
	chmod 644 /tmp/busy.sh
	ids=$(for _ in $(seq "$1"); do as alice reeve submit --hold /tmp/busy.sh; done)
	# shellcheck disable=SC2086 # words
	as alice reeve release $ids >/dev/null
	for id in $ids; do wait_for 20 job_is "$id" running || return; done
}
late_ms() { # of all jobs: the longest time beyond walltime and grace
	for id in $ids; do as alice reeve job "$id" --json | json running_ns; done | sort -n | tail -n 1 |
		awk -v s="$1" '{ printf "%d", $1 / 1e6 - s * 1000 }'
}
killed_in_time() { # CORES
	local id late
	for id in $ids; do wait_for $walltime job_is "$id" ended; done
	late=$(late_ms $((walltime + 2)))
	[ "$late" -lt $bound_ms ] && [ "$late" -ge -2500 ]
	ok $? "$1 cores with 25 busy processes each: the last of the jobs beyond walltime and grace was killed $late ms late ($bound_ms at most)"
	has "$(as alice reeve job "$id")" 'walltime limit exceeded' "with the reason"
}
fill 4
ok $? "four jobs fill all four cores"
start=$(date +%s%3N)
timeout 30 reeve-agent --status >/dev/null
ok $? "the agent answers meanwhile: in $(($(date +%s%3N) - start)) ms"
reload reeve-agent
wait_for 10 has_said reeve-agent "configuration reloaded"
ok $? "and reads its configuration"
killed_in_time 4

# ---- cores for the system ----
sed -i 's/^KillGrace.*/&\nReservedCores = 1/' $agent_conf
systemctl restart reeve-agent
wait_for 60 sh -c 'reeve nodes --json | grep -q "\"ncpus\": *3"'
[ "$(cat /sys/fs/cgroup/reeve.slice/cpuset.cpus)" = 1-3 ]
ok $? "ReservedCores = 1: no job may run on the first core" "$(cat /sys/fs/cgroup/reeve.slice/cpuset.cpus)"
[ "$(systemctl show -p AllowedCPUs --value reeve.slice)" = 1-3 ]
ok $? "as systemd knows it" "$(systemctl show -p AllowedCPUs --value reeve.slice)"
has "$(as alice reeve run -A physics -l $RES,walltime=60 -- sh -c 'taskset -pc 0 $$ 2>&1; grep Cpus_allowed_list /proc/self/status' 2>&1)" 'Cpus_allowed_list:.[123]$' "a job cannot go there"
fill 3
fourth=$(as alice reeve submit -A physics -l $RES,walltime=60 -- true)
before=$(awk '/^cpu0 / { print $2 + $3 + $4 + $7 + $8 }' /proc/stat)
sleep 8
used=$(($(awk '/^cpu0 / { print $2 + $3 + $4 + $7 + $8 }' /proc/stat) - before))
[ $used -lt $((8 * $(getconf CLK_TCK) * 9 / 10)) ]
ok $? "three full jobs leave the first core to the system: busy for $used of $((8 * $(getconf CLK_TCK))) ticks"
job_is "$fourth" queued
ok $? "a fourth waits: the node has three cores for jobs"
systemctl daemon-reload
[ "$(cat /sys/fs/cgroup/reeve.slice/cpuset.cpus)" = 1-3 ]
ok $? "daemon-reload changes nothing of it"
killed_in_time 3
sed -i '/^ReservedCores/d' $agent_conf
systemctl restart reeve-agent
wait_for 60 grep -qx 0-3 /sys/fs/cgroup/reeve.slice/cpuset.cpus
ok $? "without it they have all four again"

# ---- exposure, as docs/security.md has it ----
for unit in reeve-controller:1.4 reeve-agent:6.2; do
	is=$(systemd-analyze security --no-pager "${unit%:*}.service" 2>/dev/null | sed -nE 's/.*Overall exposure level for .*: ([0-9.]+) .*/\1/p')
	awk -v a="${is:-99}" -v b="${unit#*:}" 'BEGIN { exit !(a <= b) }'
	ok $? "${unit%:*}.service here is rated ${unit#*:} at most: $is"
done
tap_end
