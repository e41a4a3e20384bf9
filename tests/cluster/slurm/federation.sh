#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# federation.sh - two clusters of Slurm in a federation, with one slurmdbd, and a reeve-slurm beside each slurmctld: a job that Slurm offers
# to both clusters, and runs on one, is in Reeve's ledger once, as a job of the cluster that ran it. Real slurmctld (two), slurmdbd, slurmd and
# MariaDB. TAP.
set -u
cd "$(dirname "$0")/../../.." || exit 1
. tests/cluster/lib/tap_lib.sh
. tests/cluster/lib/live_lib.sh
. tests/cluster/lib/slurm_lib.sh
why=$(slurm_why_not)
[ -z "$why" ] || { echo "1..0 # SKIP $why"; exit 0; }
live_dir federation
live_munge
reeve=$PWD/build/bin/reeve
other=$dir/slurm/other.conf
follow_conf() { # CLUSTER SLURM_CONF
	printf '%s\n' '[Slurm]' "Cluster = $1" "SlurmConf = $2" "Controller = $url" 'ControllerUser = root' "MungeSocket = $dir/munge.sock" \
		'LiveInterval = 1s' 'AccountingInterval = 1s' >"$dir/follow-$1.conf"
}
configure() {
	{
		live_controller
		printf '%s\n' '[Cluster vc]' 'Engine = slurm' 'SlurmUser = root' 'Queues = batch' '[Cluster vd]' 'Engine = slurm' 'SlurmUser = root' \
			'Queues = other' '[Queue other]' '[Account physics]' 'Users = root,daemon,bin'
	} >"$dir/controller.conf"
	printf '[Client]\nController = %s\nMungeSocket = %s/munge.sock\nControllerUser = root\n' "$url" "$dir" >"$dir/client.conf"
	follow_conf vc "$dir/slurm/slurm.conf"
	follow_conf vd "$other"
}
sql() { sqlite3 "$dir/ledger.db" "$1"; }
# The second cluster: its own slurmctld and node, the same slurmdbd.
open_other() {
	sed -e 's/^ClusterName=.*/ClusterName=vd/' -e "s/^SlurmctldPort=.*/SlurmctldPort=$((slurm_port + 20))/" \
		-e "s,^SlurmctldPidFile=.*,SlurmctldPidFile=$dir/other.pid," -e 's,slurmctld\.log,other.log,' \
		-e "s,^StateSaveLocation=.*,StateSaveLocation=$dir/slurm/other-state," \
		-e "s/^NodeName=n1 .*/NodeName=m1 NodeHostname=$(hostname -s) NodeAddr=127.0.0.1 Port=$((slurm_port + 21)) CPUs=8 RealMemory=1000 State=UNKNOWN/" \
		-e 's/^PartitionName=.*/PartitionName=batch Nodes=m1 Default=YES MaxTime=INFINITE State=UP/' "$SLURM_CONF" >"$other"
	mkdir -p "$dir/slurm/other-state"
	sacctmgr -i add cluster vd && sacctmgr -i add account physics cluster=vd && sacctmgr -i add user root account=physics cluster=vd || return
	SLURM_CONF=$other slurmctld 2>>"$dir/slurm/other.err" && SLURM_CONF=$other slurm_wait 30 scontrol ping || return
	SLURM_CONF=$other slurmd -N m1 -d "$(command -v slurmstepd || echo /usr/sbin/slurmstepd)" 2>>"$dir/slurm/m1.err"
	SLURM_CONF=$other slurm_wait 30 slurm_has_idle
}
is_federated() { scontrol show federation | grep -q 'Sibling: *vd.*PersistConnSend/Recv:Yes/Yes'; }
once() { build/bin/reeve-slurm --config "$dir/follow-$1.conf" --once 2>&1; }

export TZ=UTC
live_open configure
slurm_open n1
open_other >"$dir/slurm/sacctmgr.log" 2>&1 || bail "the second cluster does not start: $(cat "$dir"/slurm/other.err "$dir"/slurm/other.log "$dir/slurm/sacctmgr.log")"
sacctmgr -i add federation both clusters=vc,vd >"$dir/slurm/sacctmgr.log" 2>&1
slurm_wait 30 is_federated
tap_result $? "two clusters are a federation" "$(scontrol show federation; cat "$dir/slurm/sacctmgr.log")"
# Each runs four at a time, so that both run some of them.
first=''
for _ in $(seq 12); do
	job=$(sbatch --parsable -n 2 -A physics -o /dev/null --wrap 'sleep 2' | cut -d';' -f1)
	first=${first:-$job}
done
waits=$(sbatch --parsable -A physics --begin now+1hour -o /dev/null --wrap true | cut -d';' -f1)
is_quiet() { [ -z "$(squeue -h)" ] && [ -z "$(SLURM_CONF=$other squeue -h)" ]; }
live() { sql "SELECT COUNT(*) FROM slurm_attempts WHERE end_s = 0"; }
once vc >/dev/null
once vd >/dev/null
is "while some run, those and no others are in the ledger as running" "$(live)" "$(sql 'SELECT COUNT(*) FROM jobs WHERE state = 2')"
scancel "$waits"
slurm_wait 120 is_quiet
tap_result $? "every job of the federation has ended" "$(squeue; SLURM_CONF=$other squeue)"
sleep 2
for cluster in vc vd vc vd; do # twice: told again it changes nothing
	out=$(once $cluster)
	tap_result $? "reeve-slurm follows $cluster" "$out"
done
ran() { # CLUSTER: id, start and end of what it ran
	sacct -X -D -n -P -M "$1" -S now-1hour -E now -s CD -o JobIDRaw,Start,End | sort
}
of_ledger() { # ORIGIN
	sql "SELECT id, strftime('%Y-%m-%dT%H:%M:%S', start_s, 'unixepoch'), strftime('%Y-%m-%dT%H:%M:%S', end_s, 'unixepoch')
		FROM slurm_attempts WHERE origin = $1 AND nodes <> ''" | sort
}
[ -n "$(ran vc)" ] && [ -n "$(ran vd)" ]
tap_result $? "both clusters ran some" "$(ran vc; echo; ran vd)"
is "what vc ran is in the ledger as vc's, with its seconds" "$(ran vc)" "$(of_ledger 1)"
is "what vd ran is in the ledger as vd's" "$(ran vd)" "$(of_ledger 2)"
is "each of the twelve once" "12|12" "$(sql "SELECT COUNT(*), COUNT(DISTINCT id) FROM slurm_attempts WHERE nodes <> ''")"
is "the one that was cancelled while it waited is there, without an attempt" "0" \
	"$(sql "SELECT j.attempt FROM slurm_attempts s JOIN jobs j USING(job) WHERE s.id = $waits")"
is "and each is charged once" "12" "$(sql 'SELECT COUNT(*) FROM attempts WHERE charge_requested_ms > 0')"
is "no job of the ledger is open" 0 "$(sql 'SELECT COUNT(*) FROM jobs WHERE state < 5')"
[ "$first" -gt $((1 << 26)) ]
tap_result $? "their ids name the cluster in the bits above 26" "$first"
ran_first=$(sql "SELECT CASE origin WHEN 1 THEN 'vc' ELSE 'vd' END FROM slurm_attempts WHERE id = $first")
out=$("$reeve" job "$ran_first:$((first & 0x3ffffff))" --config "$dir/client.conf" 2>&1)
has "a job has its short number for Reeve, which tells the whole one" "its id in Slurm's federation is $first" "$out"
for cluster in vc vd; do
	out=$("$reeve" admin reconcile --config "$dir/client.conf" --reeve-slurm "$PWD/build/bin/reeve-slurm" \
		--slurm-config "$dir/follow-$cluster.conf" --from "@$(($(date +%s) - 3600))" --to "@$(date +%s)" 2>&1)
	tap_result $? "reconcile finds the ledger equal to slurmdbd, of $cluster" "$out"
	echo "# $out"
done
live_stop
tap_end
