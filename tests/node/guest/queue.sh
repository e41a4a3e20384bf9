#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# queue.sh NODE PORT - a node of tests/node/queue.sh, whose controller is on the host: munge
# and the agent, until the power is cut. Tells on standard output what it sees of the jobs' cgroups,
# whatever the agent says of them:
#	up				the agent runs
#	NODE JOB running|frozen CPUS	since now
#	NODE JOB gone
#	NODE JOB counted N		see /usr/local/bin/counter
#	NODE overlap JOB JOB		both run, on a core that both may use
set -u
node=$1
install -o munge -g munge -m 400 /usr/local/lib/reeve-tests/munge.key /etc/munge/munge.key
sed -i "s/@NODE@/$1/; s/@PORT@/$2/" /etc/reeve/agent.conf
systemd-tmpfiles --create >/dev/null 2>&1
systemctl daemon-reload
systemctl reload dbus
systemctl start systemd-networkd
if ! systemctl restart munge || ! systemctl start reeve-agent; then
	journalctl -n 40 --no-pager -u systemd-networkd -u munge -u reeve-agent
	exit 1
fi
echo up
journalctl -f -n all --no-pager -o cat -u reeve-agent | sed -u "s/^/# $node: /" &

declare -A state cpus counted
bits() { # CPULIST; sets $mask
	local range
	mask=0
	for range in ${1//,/ }; do
		mask=$((mask | ((2 << ${range#*-}) - (1 << ${range%-*}))))
	done
}
look() { # CGROUP; sets $now to what its job does, and on which cores; 1: it is not there
	local word value
	now='' on=''
	{ while read -r word value; do
		[ "$word" != frozen ] || { now=running && [ "$value" = 0 ] || now=frozen; }
	done <"$1/cgroup.events"; } 2>/dev/null
	{ read -r on <"$1/cpuset.cpus"; } 2>/dev/null
	[ -n "$now" ]
}
shared() { # A B: do both run now, on one core? The first is looked at again: it may have gone meanwhile.
	local a
	look "$1" && [ $now = running ] && bits "$on" && a=$mask &&
		look "$2" && [ $now = running ] && bits "$on" && [ $((a & mask)) != 0 ] &&
		look "$1" && [ $now = running ] && bits "$on" && [ "$a" = $mask ]
}
look_all() {
	local dir file other job n seen=' '
	for dir in /sys/fs/cgroup/reeve.slice/reeve-job-*.service; do
		look "$dir" || continue
		job=${dir##*/reeve-job-}
		job=${job%%-*}
		seen+="$job "
		if [ "${state[$job]:-}/${cpus[$job]:-}" != "$now/$on" ]; then
			state[$job]=$now cpus[$job]=$on
			echo "$node $job $now $on"
		fi
		n=
		for file in /var/lib/reeve/jobfs/"$job"-*/tmp/count."$job"; do read -r n <"$file"; done
		if [ -n "$n" ] && [ "${counted[$job]:-}" != "$n" ]; then
			counted[$job]=$n
			echo "$node $job counted $n"
		fi
		for other in /sys/fs/cgroup/reeve.slice/reeve-job-*.service; do
			[[ $other > $dir ]] && shared "$dir" "$other" &&
				echo "$node overlap $job ${other##*/}"
		done
	done
	for job in "${!state[@]}"; do
		[[ $seen = *" $job "* ]] && continue
		unset "state[$job]" "cpus[$job]"
		echo "$node $job gone"
	done
}
shopt -s nullglob
exec 7<> <(:)
while :; do
	look_all
	read -r -t 0.2 -u 7
done
