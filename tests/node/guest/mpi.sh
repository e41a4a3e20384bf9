#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# mpi.sh NODE PORT - a node of tests/node/mpi.sh, whose controller is on the host and whose other
# node is at the end of a cable: names and addresses, munge and the agent, until the power is cut. Tells
# on standard output what it sees of the jobs, whatever the agent says of them:
#	NODE has PROGRAM...		those that start others on other machines
#	up				the agent runs
#	NODE JOB running|frozen CPUS	since now
#	NODE JOB process COMM UID CPUS	in the job's cgroup, and on which cores it may run
#	NODE JOB rank R counted N	see mpi_ring.c
#	NODE JOB gone			its cgroup and its disk
#	NODE stray PID COMM		a process of the user in no job's cgroup
#	NODE agent killed PID		since a job wrote "kill-agent" on its disk
set -u
node=$1
user=bin
hostname "$node"
# Two networks, told apart by their cards.
for dir in /sys/class/net/*; do
	read -r mac <"$dir/address"
	case $mac in
	52:54:*) address=10.0.2.15/24 gateway=Gateway=10.0.2.2 name=host ;;
	02:*) address=10.77.0.${node#n}/24 gateway='' name=cable ;;
	*) continue ;;
	esac
	printf '[Match]\nMACAddress=%s\n[Network]\nAddress=%s\n%s\n' "$mac" "$address" "$gateway" \
		>"/etc/systemd/network/$name.network"
done
printf '127.0.0.1 localhost\n10.77.0.1 n1\n10.77.0.2 n2\n' >/etc/hosts
# As on any machine with a network of its own for MPI.
printf '%s_tcp_if_include = 10.77.0.0/24\n' oob btl >>/etc/openmpi/openmpi-mca-params.conf
install -o munge -g munge -m 400 /usr/local/lib/reeve-tests/munge.key /etc/munge/munge.key
sed -i "s/@NODE@/$1/; s/@PORT@/$2/" /etc/reeve/agent.conf /etc/reeve/reeve.conf
systemd-tmpfiles --create >/dev/null 2>&1
systemctl daemon-reload
systemctl reload dbus
systemctl start systemd-networkd
if ! systemctl restart munge || ! systemctl start reeve-agent; then
	journalctl -n 40 --no-pager -u systemd-networkd -u munge -u reeve-agent
	exit 1
fi
has=$(for p in ssh rsh rlogin rexec remsh mpirun; do command -v $p; done)
echo "$node has ${has//$'\n'/ }"
echo up
journalctl -f -n all --no-pager -o cat -u reeve-agent | sed -u "s/^/# $node: /" &

declare -A state process rank stray
look_process() { # JOB PID
	local comm word value cpus='' uid=''
	{ read -r comm <"/proc/$2/comm"; } 2>/dev/null || return
	[ "${process[$2]:-}" != "$comm" ] || return
	process[$2]=$comm
	{ while read -r word value; do
		case $word in
		Uid:) uid=${value%%[[:space:]]*} ;;
		Cpus_allowed_list:) cpus=$value ;;
		esac
	done <"/proc/$2/status"; } 2>/dev/null
	echo "$node $1 process $comm $uid $cpus"
}
look_processes() { # JOB CGROUP
	local file pid
	for file in "$2"/cgroup.procs "$2"/*/cgroup.procs "$2"/*/*/cgroup.procs; do
		{ while read -r pid; do look_process "$1" "$pid"; done <"$file"; } 2>/dev/null
	done
}
look_ranks() { # JOB
	local file value key
	for file in /var/lib/reeve/jobfs/"$1"-*/work/rank.*; do
		{ read -r value <"$file"; } 2>/dev/null || continue
		key=$1.${file##*.}
		[ "${rank[$key]:-}" != "$value" ] || continue
		rank[$key]=$value
		echo "$node $1 rank ${file##*.} counted $value"
	done
}
look_job() { # JOB CGROUP
	local word value now='' on=''
	{ while read -r word value; do
		[ "$word" != frozen ] || { now=running && [ "$value" = 0 ] || now=frozen; }
	done <"$2/cgroup.events"; } 2>/dev/null
	{ read -r on <"$2/cpuset.cpus"; } 2>/dev/null
	[ -n "$now" ] || return
	look_processes "$@"
	look_ranks "$1"
	# Last: who reads "frozen" has read all that was counted before.
	if [ "${state[$1]:-}" != "$now $on" ]; then
		state[$1]="$now $on"
		echo "$node $1 $now $on"
	fi
}
look_for_strays() {
	local pid comm cgroup
	for pid in $(pgrep -u $user); do
		{ read -r cgroup <"/proc/$pid/cgroup" && read -r comm <"/proc/$pid/comm"; } 2>/dev/null || continue
		# The agent itself, which writes a killed job's sentence into its file as the user.
		[ "$comm $cgroup" != "reeve-agent 0::/reeve_agent.slice/reeve-agent.service" ] || continue
		if [[ $cgroup = */reeve-job-* ]] || [ -n "${stray[$pid]:-}" ]; then continue; fi
		stray[$pid]=1
		echo "$node stray $pid $comm in $cgroup"
	done
}
look_for_gone() {
	local job left
	for job in "${!state[@]}"; do
		left=$(echo /sys/fs/cgroup/reeve.slice/reeve-job-"$job"-* /var/lib/reeve/jobfs/"$job"-*)
		[ -z "$left" ] || continue
		unset "state[$job]"
		echo "$node $job gone"
	done
}
kill_agent() { # when a job asks for it
	local file pid
	for file in /var/lib/reeve/jobfs/*/work/kill-agent; do
		pid=$(systemctl show -P MainPID reeve-agent)
		rm "$file" && kill -9 "$pid" && echo "$node agent killed $pid"
	done
}
shopt -s nullglob
exec 7<> <(:)
while :; do
	for dir in /sys/fs/cgroup/reeve.slice/reeve-job-*.service; do
		job=${dir##*/reeve-job-}
		look_job "${job%%-*}" "$dir"
	done
	look_for_gone
	look_for_strays
	kill_agent
	read -r -t 0.2 -u 7
done
