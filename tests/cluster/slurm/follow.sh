#!/bin/bash
# follow.sh [sqlite|postgres] - reeve-slurm beside the real slurmctld, slurmdbd, slurmd and MariaDB: every job of Slurm is in Reeve's
# ledger once, with Slurm's seconds, whatever happens to the daemons. No agent runs. TAP.
set -u
cd "$(dirname "$0")/../../.." || exit 1
. tests/cluster/lib/tap_lib.sh
. tests/cluster/lib/live_lib.sh
. tests/cluster/lib/slurm_lib.sh
why=$(slurm_why_not)
[ -z "$why" ] || { echo "1..0 # SKIP $why"; exit 0; }
live_dir follow
live_munge
reeve=$PWD/build/bin/reeve
configure() {
	cat >"$dir/controller.conf" <<-CONF
		[Controller]
		Listen = 127.0.0.1:$port
		Database = $dir/ledger.db
		MungeSocket = $dir/munge.sock
		Operators = root
		[Cluster vc]
		Engine = slurm
		SlurmUser = root
		SlurmForgotten = 60
		Queues = batch,low
		[Cluster main]
		[Queue low]
		Factor = 0.5
		[Account physics]
		Users = root,daemon,bin
	CONF
	printf '%s\n' '[Slurm]' 'Cluster = vc' "SlurmConf = $dir/slurm/slurm.conf" "Controller = $url" 'ControllerUser = root' \
		"MungeSocket = $dir/munge.sock" 'LiveInterval = 1s' 'ProgressInterval = 1s' 'AccountingInterval = 1s' >"$dir/reeve-slurm.conf"
}
sql() { sqlite3 "$dir/ledger.db" "$1"; }
follower=
follow_start() {
	build/bin/reeve-slurm --config "$dir/reeve-slurm.conf" 2>>"$dir/reeve-slurm.log" &
	follower=$!
}
follow_kill() { [ -z "$follower" ] || { kill -9 "$follower"; wait "$follower" 2>/dev/null; }; follower=; }
once() { build/bin/reeve-slurm --config "$dir/reeve-slurm.conf" --once 2>&1; }
job() { sql "SELECT $2 FROM jobs JOIN slurm_attempts a USING(job) WHERE a.id = $1 ORDER BY a.attempt DESC LIMIT 1"; } # ID EXPRESSION
submit() { sbatch --parsable -o /dev/null -A physics "$@"; }
is_over() { [ -z "$(squeue -h -j "$1" 2>/dev/null)" ]; }
is_state() { [ "$(squeue -h -j "$1" -o %T 2>/dev/null)" = "$2" ]; }
over() { slurm_wait 60 is_over "$1"; }
# What slurmdbd has of attempts that ran, and what the ledger has: id, start, end, suspended seconds, CPUs, state.
of_slurm() {
	sacct -X -D -n -P -S now-1hour -E now -s CD,CA,F,TO,NF,PR,RQ,OOM,DL -o JobIDRaw,Start,End,Suspended,AllocCPUS,NodeList |
		grep -v 'None assigned' | cut -d'|' -f1-5 | sort
}
of_ledger() {
	sql "SELECT a.id, strftime('%Y-%m-%dT%H:%M:%S', t.started_ns / 1000000000, 'unixepoch'),
		strftime('%Y-%m-%dT%H:%M:%S', t.ended_ns / 1000000000, 'unixepoch'),
		strftime('%H:%M:%S', t.suspended_ns / 1000000000, 'unixepoch'), j.ncpus
		FROM slurm_attempts a JOIN attempts t ON t.job = a.job AND t.attempt = a.attempt JOIN jobs j ON j.job = a.job
		WHERE t.ended_ns > 0" | sort
}
are_equal() { [ -n "$(of_slurm)" ] && [ "$(of_slurm)" = "$(of_ledger)" ]; }

live_open configure
slurm_open "n1 n2" 'PreemptType=preempt/partition_prio' 'PreemptMode=REQUEUE' \
	"PartitionName=high Nodes=ALL PriorityTier=9 PreemptMode=off" "PartitionName=low Nodes=ALL PriorityTier=1 PreemptMode=requeue"
export TZ=UTC

# ---- one job, twice told ----
a=$(submit -n 2 --wrap 'sleep 2' -J first -t 5)
over "$a"
out=$(once)
tap_result $? "all tasks end well" "$out"
is "a job that ran on nodes without an agent is in the ledger" "1" "$(sql 'SELECT COUNT(*) FROM jobs')"
is "of its user, account, queue and name" "root|physics|batch|first" "$(job "$a" 'user, account, queue, name')"
slurm_wait 20 is_over "$a"
once >/dev/null
is "with Slurm's start, end, suspended seconds and CPUs" "$(of_slurm)" "$(of_ledger)"
is "charged for these seconds" "$(sacct -X -n -P -j "$a" -o ElapsedRaw | awk '{ print $1 * 2000 }')" \
	"$(sql "SELECT charge_requested_ms FROM attempts")"
before=$(sql "SELECT * FROM attempts")
once >/dev/null
is "told again it changes nothing" "$before" "$(sql "SELECT * FROM attempts")"
echo "# $(sql 'SELECT * FROM slurm_marks')"
live_stop
tap_end
