# SPDX-License-Identifier: GPL-2.0-or-later
# slurmctld_lib.sh - a slurmctld of Debian in the suite's directory, without accounting and without nodes that run anything. To be
# sourced after live_lib.sh, as root. shellcheck shell=bash
#
#	slurmctld_open [LINE]...	writes $dir/slurm.conf, with these lines besides, and starts slurmctld; SLURM_CONF is set
#	slurmctld_close			and ends it
#	slurmctld_log NEEDLE		lines of its log
ctld_port=''
slurmctld_configure() {
	local host
	host=$(hostname -s)
	ctld_port=$((12000 + RANDOM % 7000))
	cat >"$dir/slurm.conf" <<-CONF
		ClusterName=vc
		SlurmctldHost=$host(127.0.0.1)
		SlurmctldPort=$ctld_port
		SlurmdPort=$((ctld_port + 1))
		SlurmUser=slurm
		AuthType=auth/munge
		AuthInfo=socket=$dir/munge.sock
		StateSaveLocation=$dir/ctld/state
		SlurmdSpoolDir=$dir/ctld/spool
		SlurmctldPidFile=$dir/slurmctld.pid
		SlurmctldLogFile=$dir/ctld/log
		ProctrackType=proctrack/pgid
		TaskPlugin=task/none
		SelectType=select/cons_tres
		SelectTypeParameters=CR_Core_Memory
		MpiDefault=none
		GresTypes=gpu
		NodeName=n1 NodeHostname=$host NodeAddr=127.0.0.1 CPUs=64 RealMemory=256000 Gres=gpu:4 State=UNKNOWN
	CONF
	printf '%s\n' "$@" >>"$dir/slurm.conf"
}
slurmctld_start() {
	slurmctld -f "$dir/slurm.conf" || bail "slurmctld does not start: $(cat "$dir/ctld/log")"
	for _ in $(seq 200); do
		scontrol ping 2>/dev/null | grep -q UP && return
		sleep 0.05
	done
	bail "slurmctld does not answer: $(cat "$dir/ctld/log")"
}
slurmctld_open() {
	export SLURM_CONF=$dir/slurm.conf
	mkdir -p "$dir/ctld/state" "$dir/ctld/spool"
	chown -R slurm "$dir/ctld"
	chmod 711 "$dir"
	slurmctld_configure "$@"
	slurmctld_start
}
slurmctld_close() {
	[ ! -s "$dir/slurmctld.pid" ] || live_end_pid "$(cat "$dir/slurmctld.pid")"
	rm -f "$dir/slurmctld.pid"
}
slurmctld_log() { grep -a -e "$1" "$dir/ctld/log"; }
