# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# slurm_lib.sh - a Slurm cluster inside the test machine, or over several, with the daemons of Debian: MariaDB, slurmdbd, slurmctld,
# slurmd, and Reeve's agent beside each slurmd with Engine=slurm. Sourced by guests, after node_lib.sh; as root.
slurm_address=10.0.2.15

# slurm_join NUMBER NODES: this machine is nNUMBER of a network of n1 to nNODES; n1 has the daemons of the cluster.
slurm_join() {
	local i
	slurm_address=10.77.0.$1
	hostname "n$1"
	echo 127.0.0.1 localhost >/etc/hosts
	for ((i = 1; i <= $2; i++)); do echo "10.77.0.$i n$i" >>/etc/hosts; done
	install -o munge -g munge -m 400 /usr/local/lib/reeve-tests/munge.key /etc/munge/munge.key
}

# slurm_configure [NODE...]: every configuration file, as docs/slurm.md has them. The first node, or this machine, has the daemons of the
# cluster.
slurm_configure() {
	local host head nodes=$* list
	host=$(hostname)
	head=${1:-$host}
	list=${nodes:-$host}
	list=${list// /,}
	# getaddrinfo() of Slurm finds no address on a host that has the loopback alone: the suite boots with --net host.
	[ "$nodes" ] || { echo 127.0.0.1 localhost; echo "$slurm_address $host"; } >/etc/hosts
	printf '[Match]\nType=ether\n[Network]\nAddress=%s/24\n' "$slurm_address" >/etc/systemd/network/host.network
	mkdir -p /etc/slurm /var/spool/slurmctld /var/spool/slurmd /var/log/slurm
	cat >/etc/slurm/slurm.conf <<-CONF
		ClusterName=vc
		SlurmctldHost=$head
		SlurmUser=slurm
		StateSaveLocation=/var/spool/slurmctld
		SlurmdSpoolDir=/var/spool/slurmd
		ProctrackType=proctrack/cgroup
		TaskPlugin=task/cgroup,task/affinity
		PrologFlags=Contain
		SelectType=select/cons_tres
		SelectTypeParameters=CR_Core_Memory
		DefMemPerCPU=200
		AccountingStorageType=accounting_storage/slurmdbd
		AccountingStorageHost=$head
		JobAcctGatherType=jobacct_gather/cgroup
		SlurmctldLogFile=/var/log/slurm/slurmctld.log
		SlurmdLogFile=/var/log/slurm/slurmd.log
		ReturnToService=2
		MpiDefault=none
		NodeName=$list CPUs=4 RealMemory=1500 State=UNKNOWN
		PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
	CONF
	printf '%s\n' CgroupPlugin=cgroup/v2 ConstrainCores=yes ConstrainRAMSpace=yes >/etc/slurm/cgroup.conf
	printf '%s\n' AuthType=auth/munge "DbdHost=$head" SlurmUser=slurm StorageType=accounting_storage/mysql StorageHost=localhost \
		StorageUser=slurm StoragePass=slurm StorageLoc=slurm_acct_db LogFile=/var/log/slurm/slurmdbd.log \
		PidFile=/run/slurmdbd.pid >/etc/slurm/slurmdbd.conf
	slurm_plugin max-vmem=1G default-vmem=500M max-jobfs=1G
	chown slurm /etc/slurm/slurmdbd.conf /var/spool/slurmctld /var/log/slurm
	chmod 600 /etc/slurm/slurmdbd.conf
	printf '%s\n' '[Agent]' "Node = $host" 'Engine = slurm' 'ReportInterval = 1s' 'SampleInterval = 1s' \
		'StrayExemptUnits = reeve-vm.service' >/etc/reeve/agent.conf
}

# slurm_plugin WORD...: the site's words behind the plugin's name.
slurm_plugin() { echo "required reeve_spank.so $*" >/etc/slurm/plugstack.conf; }

slurm_has_address() { ip addr | grep -qF "$slurm_address/"; }
slurm_has_dbd() { sacctmgr -n show cluster >/dev/null; }
slurm_is_idle() { [ "$(sinfo -h -o %T)" = idle ]; }

# slurm_has_network: this machine has its address, and munge runs with the key of the cluster.
slurm_has_network() {
	systemctl restart systemd-networkd munge
	wait_for 20 slurm_has_address
}

slurm_start_agent() {
	systemd-sysusers >/dev/null 2>&1
	systemd-tmpfiles --create >/dev/null 2>&1
	systemctl daemon-reload
	systemctl reload dbus 2>/dev/null
	systemctl start reeve-agent || { journalctl -u reeve-agent -o cat -n 20 --no-pager; return 1; }
}

# slurm_start: everything; the account physics with alice and bob.
slurm_start() {
	slurm_has_network && systemctl start mariadb || return 1
	mysql -e "CREATE USER slurm@localhost IDENTIFIED BY 'slurm'; GRANT ALL ON slurm_acct_db.* TO slurm@localhost" || return 1
	systemctl start slurmdbd
	wait_for 60 slurm_has_dbd || { cat /var/log/slurm/slurmdbd.log; return 1; }
	sacctmgr -i add cluster vc >/dev/null
	sacctmgr -i add account physics >/dev/null
	sacctmgr -i add user alice,bob account=physics >/dev/null
	slurm_start_agent || return 1
	systemctl start slurmctld slurmd
	wait_for 60 slurm_is_idle || { sinfo; tail -n 20 /var/log/slurm/*.log; return 1; }
}

# slurm_report_to HOST: the agent of this machine reports to the controller there; after slurm_configure.
slurm_report_to() {
	printf '%s\n' "Controller = http://$1:8640" 'ControllerUser = reeve' >>/etc/reeve/agent.conf
}

# slurm_with_controller: a controller of Reeve on the same host, whose cluster is Slurm's; after slurm_configure.
slurm_with_controller() {
	sed -i '/^\[Cluster/,$d' /etc/reeve/controller.conf
	printf '%s\n' '[Cluster vc]' 'Engine = slurm' 'Queues = main' '[Account physics]' 'Users = alice, bob' >>/etc/reeve/controller.conf
	slurm_report_to 127.0.0.1
	systemd-sysusers >/dev/null 2>&1
	systemd-tmpfiles --create >/dev/null 2>&1
	systemctl daemon-reload
	systemctl start munge reeve-controller
}

slurm_is_over() { [ -z "$(squeue -h -j "$1" 2>/dev/null)" ]; }

# slurm_batch USER OPTION... <<< SCRIPT: submits, waits for the end; $job, and its output in $out.
slurm_batch() {
	local user=$1
	shift
	printf '#!/bin/bash\n%s\n' "$(cat)" >/tmp/script.$$
	chmod 755 /tmp/script.$$
	job=$(as "$user" sbatch --parsable -o "/home/$user/job-%j.out" "$@" /tmp/script.$$ 2>/tmp/sbatch.err) || return 1
	wait_for 60 slurm_is_over "$job"
	out=$(cat "/home/$user/job-$job.out")
}

slurm_comment() { scontrol show job "$1" | sed -n 's/^ *AdminComment=//p'; }
