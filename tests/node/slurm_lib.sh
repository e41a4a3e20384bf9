# shellcheck shell=bash
# slurm_lib.sh - a Slurm cluster of one node inside the test machine, with the daemons of Debian: MariaDB, slurmdbd, slurmctld,
# slurmd, and Reeve's agent beside it with Engine=slurm. Sourced by guests, after node_lib.sh; as root.

# slurm_configure: every configuration file, as docs/slurm.md has them.
slurm_configure() {
	local host
	host=$(hostname)
	# getaddrinfo() of Slurm finds no address on a host that has the loopback alone: the suite boots with --net host.
	{ echo 127.0.0.1 localhost; echo "10.0.2.15 $host"; } >/etc/hosts
	printf '[Match]\nType=ether\n[Network]\nAddress=10.0.2.15/24\nGateway=10.0.2.2\n' >/etc/systemd/network/host.network
	mkdir -p /etc/slurm /var/spool/slurmctld /var/spool/slurmd /var/log/slurm
	cat >/etc/slurm/slurm.conf <<-CONF
		ClusterName=vc
		SlurmctldHost=$host
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
		AccountingStorageHost=localhost
		JobAcctGatherType=jobacct_gather/cgroup
		SlurmctldLogFile=/var/log/slurm/slurmctld.log
		SlurmdLogFile=/var/log/slurm/slurmd.log
		ReturnToService=2
		MpiDefault=none
		NodeName=$host CPUs=4 RealMemory=1500 State=UNKNOWN
		PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
	CONF
	printf '%s\n' CgroupPlugin=cgroup/v2 ConstrainCores=yes ConstrainRAMSpace=yes >/etc/slurm/cgroup.conf
	printf '%s\n' AuthType=auth/munge DbdHost=localhost SlurmUser=slurm StorageType=accounting_storage/mysql StorageHost=localhost \
		StorageUser=slurm StoragePass=slurm StorageLoc=slurm_acct_db LogFile=/var/log/slurm/slurmdbd.log \
		PidFile=/run/slurmdbd.pid >/etc/slurm/slurmdbd.conf
	slurm_plugin max-vmem=1G default-vmem=500M max-jobfs=1G
	chown slurm /etc/slurm/slurmdbd.conf /var/spool/slurmctld /var/log/slurm
	chmod 600 /etc/slurm/slurmdbd.conf
	printf '%s\n' '[Agent]' "Node = $host" 'Engine = slurm' 'ReportInterval = 1s' 'SampleInterval = 1s' >/etc/reeve/agent.conf
}

# slurm_plugin WORD...: the site's words behind the plugin's name.
slurm_plugin() { echo "required reeve_spank.so $*" >/etc/slurm/plugstack.conf; }

slurm_has_address() { ip addr | grep -q 10.0.2.15; }
slurm_has_dbd() { sacctmgr -n show cluster >/dev/null; }
slurm_is_idle() { [ "$(sinfo -h -o %T)" = idle ]; }

# slurm_start: everything; the account physics with alice and bob.
slurm_start() {
	systemctl start systemd-networkd munge mariadb || return 1
	wait_for 20 slurm_has_address || return 1
	mysql -e "CREATE USER slurm@localhost IDENTIFIED BY 'slurm'; GRANT ALL ON slurm_acct_db.* TO slurm@localhost" || return 1
	systemctl start slurmdbd
	wait_for 60 slurm_has_dbd || { cat /var/log/slurm/slurmdbd.log; return 1; }
	sacctmgr -i add cluster vc >/dev/null
	sacctmgr -i add account physics >/dev/null
	sacctmgr -i add user alice,bob account=physics >/dev/null
	systemd-sysusers >/dev/null 2>&1
	systemd-tmpfiles --create >/dev/null 2>&1
	systemctl daemon-reload
	systemctl reload dbus 2>/dev/null
	systemctl start reeve-agent || { journalctl -u reeve-agent -o cat -n 20 --no-pager; return 1; }
	systemctl start slurmctld slurmd
	wait_for 60 slurm_is_idle || { sinfo; tail -n 20 /var/log/slurm/*.log; return 1; }
}

# slurm_with_controller: a controller of Reeve on the same host, whose cluster is Slurm's; after slurm_configure.
slurm_with_controller() {
	sed -i '/^\[Cluster/,$d' /etc/reeve/controller.conf
	printf '%s\n' '[Cluster vc]' 'Engine = slurm' '[Account physics]' 'Users = alice, bob' >>/etc/reeve/controller.conf
	printf '%s\n' 'Controller = http://127.0.0.1:8640' 'ControllerUser = reeve' >>/etc/reeve/agent.conf
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
