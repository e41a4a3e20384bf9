#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
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
	printf '[Client]\nController = %s\nMungeSocket = %s/munge.sock\nControllerUser = root\n' "$url" "$dir" >"$dir/client.conf"
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
slurm_open "n1 n2 n3" MaxArraySize=5000 'PreemptType=preempt/partition_prio' 'PreemptMode=REQUEUE' \
	"PartitionName=high Nodes=n3 PriorityTier=9 PreemptMode=off" "PartitionName=low Nodes=n3 PriorityTier=1 PreemptMode=requeue"
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

# ---- what Slurm does to jobs, live ----
follow_start
soon_equal() { # NAME
	slurm_wait 30 are_equal
	is "$1" "$(of_slurm)" "$(of_ledger)"
}
has_rows() { [ "$(sql "SELECT COUNT(*) FROM slurm_attempts WHERE $1")" -ge "${2:-1}" ]; }
state_is() { [ "$(job "$1" 'jobs.state')" = "$2" ]; }
run=$(submit -n 3 --wrap 'sleep 600' -J long -t 90)
slurm_wait 20 state_is "$run" 2
is "a running job is in the ledger, running, with its walltime" "2|5400" "$(job "$run" 'jobs.state, walltime_s')"
charge_of() { sql "SELECT t.charge_requested_ms FROM attempts t JOIN slurm_attempts a USING(job, attempt) WHERE a.id = $1 ORDER BY attempt DESC LIMIT 1"; }
was=$(charge_of "$run")
has_grown() { [ "$(charge_of "$run")" -gt "$was" ]; }
slurm_wait 20 has_grown
tap_result $? "its charge grows while it runs" "$(charge_of "$run")"
scontrol suspend "$run"
slurm_wait 20 state_is "$run" 3
tap_result $? "suspended by Slurm it is suspended here" "$(job "$run" 'jobs.state')"
sleep 3
scontrol resume "$run"
slurm_wait 20 state_is "$run" 2
tap_result $? "and runs again" "$(job "$run" 'jobs.state')"
requeued=$(submit --requeue --wrap 'sleep 600' -J again)
slurm_wait 20 state_is "$requeued" 2
scontrol requeue "$requeued"
slurm_wait 60 has_rows "id = $requeued AND attempt = 2 AND state = 1"
tap_result $? "a job that Slurm queues again is the next attempt of the same job" "$(sql "SELECT * FROM slurm_attempts WHERE id = $requeued")"
timeout=$(submit --wrap 'sleep 600' -t 0:01 -J timeout)
array=$(submit --array=1-6 --wrap 'sleep 1' -J array)
het=$(submit --wrap 'sleep 1' -n 1 : -n 2 -J het)
waits=$(submit --begin now+1hour --wrap true)
fails=$(submit --wrap 'exit 3')
low=$(submit -p low -n 8 --requeue --wrap 'sleep 600' -J low)
scancel "$waits"
over "$array"
over "$het"
scancel "$run"
slurm_wait 40 state_is "$waits" 5
is "a job that was cancelled while it waited is there, without an attempt" "5|0" "$(job "$waits" 'jobs.state, jobs.attempt')"
slurm_wait 20 has_rows "array_job = $array AND end_s > 0" 6
is "each task of an array is a job, with its array and index" "1 2 3 4 5 6" \
	"$(sql "SELECT array_task FROM slurm_attempts WHERE array_job = $array ORDER BY array_task" | tr '\n' ' ' | sed 's/ $//')"
slurm_wait 20 has_rows "het_job = $het AND end_s > 0" 2
is "each component of a heterogeneous job is a job" "0|1 1|2" \
	"$(sql "SELECT a.het_offset, j.ncpus FROM slurm_attempts a JOIN jobs j USING(job) WHERE het_job = $het ORDER BY 1" | tr '\n' ' ' | sed 's/ $//')"
slurm_wait 20 state_is "$fails" 5
has "a failure has its exit status" '"exit_status":3' "$(job "$fails" 'jobs.end')"
scancel "$requeued"
slurm_wait 30 state_is "$low" 2
high=$(submit -p high -n 8 --wrap 'sleep 2')
over "$high"
slurm_wait 60 has_rows "id = $low AND attempt = 2"
has "a preempted job is charged, and its next attempt follows" preempted "$(sql "SELECT t.end FROM attempts t JOIN slurm_attempts a USING(job, attempt) WHERE a.id = $low AND a.attempt = 1")"
soon_equal "the ledger has the seconds of slurmdbd, row by row"

# ---- daemons that die ----
echo "# daemons that die"
b=$(submit --wrap 'sleep 3')
follow_kill
slurm_stop slurmdbd
c=$(submit --wrap 'sleep 1')
over "$c"
follow_start
slurm_wait 20 state_is "$c" 5
tap_result $? "without slurmdbd, slurmctld tells of a job that has ended" "$(job "$c" 'jobs.state')"
follow_kill
d=$(submit --wrap 'sleep 1') # seen by no poll: slurmctld forgets it while reeve-slurm is away
over "$b"
over "$d"
slurm_start slurmdbd
live_stop
follow_start
e=$(submit --array=1-5 --wrap 'sleep 2')
sleep 3
live_start || bail "the controller does not start: $(cat "$dir/controller.log")"
slurm_kill slurmdbd
sleep 1
slurm_start slurmdbd
for _ in 1 2 3 4 5; do
	follow_kill
	follow_start
	sleep 0.$((RANDOM % 10))
	kill -9 "$controller"
	wait "$controller" 2>/dev/null
	live_start || bail "the controller does not start: $(cat "$dir/controller.log")"
done
over "$e"
over "$timeout"
scancel "$low"
over "$low"
soon_equal "killed at any moment, nothing is lost and nothing twice"
slurm_wait 30 state_is "$timeout" 5
has "a timeout is an end by the limit of walltime" '"limit":"walltime"' "$(job "$timeout" 'jobs.end')"
is "no job has two numbers" "" "$(sql "SELECT id FROM slurm_attempts GROUP BY id HAVING COUNT(DISTINCT job) > 1")"
reconcile() { "$reeve" admin reconcile --config "$dir/client.conf" --reeve-slurm "$PWD/build/bin/reeve-slurm" \
	--slurm-config "$dir/reeve-slurm.conf" --from "@$(($(date +%s) - 3600))" --to "@$(date +%s)" "$@" 2>&1; }
out=$(reconcile)
tap_result $? "reconcile finds the ledger equal to slurmdbd" "$out"
echo "# $out"
sqlite3 "$dir/ledger.db" "UPDATE attempts SET ended_ns = ended_ns + 1000000000 WHERE job IN (SELECT job FROM slurm_attempts WHERE id = $a)"
out=$(reconcile)
is "a second too many is a difference" 1 $?
has "and named" "job $a: end: ledger " "$out"
has "as a document too" '"what":"end"' "$(reconcile --json | tr -d ' \n')"
sqlite3 "$dir/ledger.db" "UPDATE attempts SET ended_ns = ended_ns - 1000000000 WHERE job IN (SELECT job FROM slurm_attempts WHERE id = $a)"
mariadb --no-defaults -u root --socket="$dir/mariadb.sock" slurm_acct_db -e "DELETE FROM vc_job_table WHERE id_job = $c"
has "so is a job that slurmdbd does not have" "job $c (completed) is not in slurmdbd" "$(reconcile)"
out=$("$reeve" admin verify --ledger "$dir/ledger.db" 2>&1)
tap_result $? "the sums of the ledger are those of its jobs" "$out"
follow_kill

# ---- slurmctld's load ----
echo "# slurmctld's load"
questions() { sdiag | awk '$1 == "REQUEST_JOB_INFO" { sub("count:", "", $4); n = $4 } END { print n + 0 }'; }
asked=$(questions)
once >/dev/null
is "the live list and the priorities share one question to slurmctld" 1 $(($(questions) - asked))
id=$(submit -H --array=1-3000 --wrap true)
scontrol update "jobid=${id}_[1-2999]" comment=single
echo 'LoadLimit = 1' >>"$dir/reeve-slurm.conf"
follow_start
sleep 2
asked=$(questions)
for _ in $(seq 12); do # else it answers with no data
	submit -H --wrap true >/dev/null
	sleep 0.4
done
asked=$(($(questions) - asked))
[ $asked -le 2 ]
tap_result $? "with many jobs slurmctld has a rest after each question" "$asked questions"
has "and the log says how long" "LoadLimit=1 ms a second" "$(cat "$dir/reeve-slurm.log")"

# ---- a controller that is started again: the jobs that wait are in its memory alone ----
knows_waiting() { ask 0 GET "/v1/jobs/$id/why?cluster=vc" | grep -q JobHeld; }
slurm_wait 70 knows_waiting
tap_result $? "a job that waits in Slurm is known, with slurmctld's reason" "$(ask 0 GET "/v1/jobs/$id/why?cluster=vc")"
asked=$(questions)
live_stop
live_start || bail "the controller does not start: $(cat "$dir/controller.log")"
begun=$SECONDS
slurm_wait 30 knows_waiting
tap_result $? "a controller that was started again has it at once, and not after PriorityInterval (1 min)" "after $((SECONDS - begun)) s"
echo "# after $((SECONDS - begun)) s"
[ $(($(questions) - asked)) -le 1 ]
tap_result $? "and slurmctld is not asked for that: it has its rest" "$(($(questions) - asked)) questions"
follow_kill
live_stop
tap_end
