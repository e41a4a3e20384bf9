# SPDX-License-Identifier: GPL-2.0-or-later
# slurm_lib.sh - a Slurm cluster with the real daemons in a directory of the test's own: MariaDB, slurmdbd, slurmctld, slurmd. To be
# sourced after live_lib.sh, as root. Nothing of it uses the machine's own configuration, ports or sockets. shellcheck shell=bash
#
#	slurm_why_not			says why the daemons cannot run here; nothing: they can
#	slurm_open NODES [LINE]...	all daemons, cluster vc, accounts physics and chem with daemon and bin; LINEs are added to slurm.conf.
#					Partition batch is on all but the last of several NODES, which have 8 CPUs each
#	slurm_stop WHAT, slurm_kill WHAT, slurm_start WHAT	one of: mariadb, slurmdbd, slurmctld, n1 ...
#	slurm_wait SECONDS COMMAND...	until the command succeeds
# $SLURM_NODE_CPUS: CPUs of a node, else 8. $SLURM_CONF is exported, so that sbatch, scontrol, sacct ... speak with this cluster.
slurm_nodes=
slurm_why_not() {
	local p
	[ "$(id -u)" = 0 ] || { echo "needs root"; return; }
	for p in slurmctld slurmd slurmdbd sbatch munged mariadbd mariadb-install-db; do
		command -v $p >/dev/null || [ -x /usr/sbin/$p ] || { echo "$p is not installed"; return; }
	done
	[ -x "$PWD/build/bin/reeve-slurm" ] || echo "reeve-slurm was not built: libslurm-dev is missing"
}
slurm_wait() {
	local end=$((SECONDS + $1))
	shift
	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.1
	done
}
slurm_configure() { # [LINE]...
	local p=$slurm_port
	mkdir -p "$dir/slurm/state" "$dir/slurm/dbd" && chmod 755 "$dir/slurm"
	cat >"$dir/slurm/slurm.conf" <<-CONF
		ClusterName=vc
		SlurmctldHost=$(hostname -s)(127.0.0.1)
		SlurmUser=root
		AuthType=auth/munge
		AuthInfo=socket=$dir/munge.sock,cred_expire=5
		CredType=cred/munge
		SlurmctldPort=$p
		SlurmctldPidFile=$dir/slurmctld.pid
		SlurmdPidFile=$dir/%n.pid
		SlurmctldLogFile=$dir/slurm/slurmctld.log
		SlurmdLogFile=$dir/slurm/%n.log
		StateSaveLocation=$dir/slurm/state
		SlurmdSpoolDir=$dir/slurm/%n
		ProctrackType=proctrack/linuxproc
		TaskPlugin=task/none
		JobAcctGatherType=jobacct_gather/none
		AccountingStorageType=accounting_storage/slurmdbd
		AccountingStorageHost=127.0.0.1
		AccountingStoragePort=$((p + 1))
		AccountingStoragePass=$dir/munge.sock
		SelectType=select/cons_tres
		SelectTypeParameters=CR_Core
		ReturnToService=2
		MpiDefault=none
		SwitchType=switch/none
		SchedulerParameters=bf_interval=1,sched_min_interval=0
		SlurmdParameters=config_overrides
		KillWait=1
		CompleteWait=0
		MailProg=/bin/true
	CONF
	local i=0 n
	for n in $slurm_nodes; do
		i=$((i + 1))
		echo "NodeName=$n NodeHostname=$(hostname -s) NodeAddr=127.0.0.1 Port=$((p + 1 + i)) CPUs=${SLURM_NODE_CPUS:-8} RealMemory=1000 State=UNKNOWN"
	done >>"$dir/slurm/slurm.conf"
	printf '%s\n' "PartitionName=batch Nodes=$(echo "${slurm_nodes% *}" | tr " " ,) Default=YES MaxTime=INFINITE State=UP PriorityTier=1" "$@" >>"$dir/slurm/slurm.conf"
	cat >"$dir/slurm/slurmdbd.conf" <<-CONF
		AuthType=auth/munge
		AuthInfo=socket=$dir/munge.sock
		DbdHost=$(hostname -s)
		DbdAddr=127.0.0.1
		DbdPort=$((p + 1))
		SlurmUser=root
		PidFile=$dir/slurmdbd.pid
		LogFile=$dir/slurm/slurmdbd.log
		StorageType=accounting_storage/mysql
		StorageHost=127.0.0.1
		StoragePort=$((p + 50))
		StorageUser=slurm
		StoragePass=slurm
		StorageLoc=slurm_acct_db
	CONF
	chmod 600 "$dir/slurm/slurmdbd.conf"
	export SLURM_CONF=$dir/slurm/slurm.conf
}
# The pid files of the daemons are $dir/NAME.pid, which live_end reads too.
slurm_start() {
	local what=$1
	rm -f "$dir/$what.pid"
	case $what in
	mariadb)
		mariadbd --no-defaults --user=root --datadir="$dir/slurm/mysql" --socket="$dir/mariadb.sock" --port=$((slurm_port + 50)) \
			--bind-address=127.0.0.1 --pid-file="$dir/mariadb.pid" --innodb-buffer-pool-size=64M --skip-log-bin \
			--innodb-lock-wait-timeout=900 --innodb-flush-log-at-trx-commit=2 >"$dir/slurm/mariadb.log" 2>&1 &
		slurm_wait 30 mariadb-admin --no-defaults -u root --socket="$dir/mariadb.sock" ping
		;;
	slurmdbd)
		SLURM_CONF=$dir/slurm/slurm.conf slurmdbd 2>>"$dir/slurm/slurmdbd.err"
		slurm_wait 10 sacctmgr -n show cluster || { sacctmgr -n show cluster; return 1; }
		;;
	slurmctld)
		slurmctld 2>>"$dir/slurm/slurmctld.err"
		slurm_wait 30 scontrol ping
		;;
	*) slurmd -N "$what" -d "$(command -v slurmstepd || echo /usr/sbin/slurmstepd)" 2>>"$dir/slurm/$what.err" ;;
	esac
}
slurm_pid() { cat "$dir/$1.pid" 2>/dev/null; }
slurm_stop() { [ -z "$(slurm_pid "$1")" ] || live_end_pid "$(slurm_pid "$1")"; rm -f "$dir/$1.pid"; }
slurm_kill() {
	local pid
	pid=$(slurm_pid "$1")
	[ -z "$pid" ] || kill -9 "$pid"
	for _ in $(seq 200); do kill -0 "$pid" 2>/dev/null || break; sleep 0.02; done
	rm -f "$dir/$1.pid"
}
slurm_has_idle() { [ "$(sinfo -h -N -o %T | sort -u)" = idle ]; }
slurm_say() { tail -n 5 "$dir"/slurm/*.err "$dir"/slurm/*.log; }
slurm_open() { # NODES [LINE]...
	local n
	slurm_nodes=$1
	shift
	slurm_port=$((12000 + RANDOM % 7000))
	export PATH=$PATH:/usr/sbin
	slurm_configure "$@"
	mariadb-install-db --no-defaults --user=root --datadir="$dir/slurm/mysql" --auth-root-authentication-method=normal \
		--skip-test-db >"$dir/slurm/install.log" 2>&1 || bail "no database: $(tail -n 3 "$dir/slurm/install.log")"
	slurm_start mariadb || bail "mariadbd does not start: $(slurm_say)"
	mariadb --no-defaults -u root --socket="$dir/mariadb.sock" \
		-e "CREATE USER slurm@'%' IDENTIFIED BY 'slurm'; CREATE USER slurm@localhost IDENTIFIED BY 'slurm';
		GRANT ALL ON slurm_acct_db.* TO slurm@'%'; GRANT ALL ON slurm_acct_db.* TO slurm@localhost" || bail "no user in the database"
	slurm_start slurmdbd || bail "slurmdbd does not start: $(slurm_say)"
	{
		sacctmgr -i add cluster vc
		sacctmgr -i add account physics,chem
		sacctmgr -i add user root,daemon,bin account=physics
		sacctmgr -i add user daemon account=chem
	} >"$dir/slurm/sacctmgr.log" 2>&1
	slurm_start slurmctld || bail "slurmctld does not start: $(slurm_say)"
	for n in $slurm_nodes; do slurm_start "$n"; done
	slurm_wait 30 slurm_has_idle || bail "the nodes do not come up: $(sinfo -N; slurm_say)"
}
