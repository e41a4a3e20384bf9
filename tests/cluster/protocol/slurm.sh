#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# slurm.sh - jobs that Slurm starts and agents report: numbers, rows, charges, ends, requeues, and what the controller never orders. A real
# controller; agents with Engine=slurm are played. TAP.
set -u
cd "$(dirname "$0")/../../.." || exit 1
. tests/cluster/lib/tap_lib.sh
. tests/cluster/lib/live_lib.sh
. tests/cluster/lib/play_lib.sh
[ "$(id -u)" = 0 ] || { echo "1..0 # SKIP needs root to exchange as several users"; exit 0; }
live_dir slurm
live_munge
reeve=$PWD/build/bin/reeve
configure() {
	cat >"$dir/controller.conf" <<-CONF
		[Controller]
		Listen = 127.0.0.1:$port
		Database = $dir/ledger.db
		MungeSocket = $dir/munge.sock
		Operators = root
		NodeLost = 5
		[Cluster main]
		DefaultResources = jobfs=100MB,walltime=1:00:00
		[Cluster east]
		Engine = slurm
		Queues = batch,express
		[Cluster west]
		Engine = slurm
		[Queue express]
		Factor = 3
		[Account physics]
		Users = daemon
		[Node n1]
		[Node e1]
		Cluster = east
		[Node e2]
		Cluster = east
		[Node w1]
		Cluster = west
	CONF
}
live_open configure
printf '[Client]\nController = %s\nMungeSocket = %s/munge.sock\n' "$url" "$dir" >"$dir/client.conf"
cli() { "$reeve" "$@" --config "$dir/client.conf" 2>&1; }
amounts='"ncpus":8,"mem_bytes":16000000000,"jobfs_bytes":10000000000,"ngpus":0'
now=$(date +%s)
start=$((now - 1000)) # of the jobs
told() { # ID [KEY=VALUE]...: an element of slurm_jobs
	local id=$1 attempt=1 uid=$daemon user=daemon account=physics queue=batch ncpus=2 nodes=1 job_ncpus=0 vmem=0 started=$start
	shift
	[ $# = 0 ] || local "$@"
	printf '{"job":%s,"attempt":%s,"uid":%s,"user":"%s","account":"%s","queue":"%s","name":"run","ncpus":%s,' \
		"$id" "$attempt" "$uid" "$user" "$account" "$queue" "$ncpus"
	printf '"mem_bytes":1000000,"vmem_bytes":%s,"jobfs_bytes":0,"nodes":%s,"job_ncpus":%s,"started_ns":%s}' "$vmem" "$nodes" "$job_ncpus" "$((started * 1000000000))"
}
speak() { # NODE [TOLD [JOBS [REPORTS]]]
	node_sync node="$1" jobs="${3:-}" reports="${4:-}" more=",\"engine\":\"slurm\",\"slurm_jobs\":[${2:-}]"
}
report() { # ID SEQ STATE RUNNING_S [KEY=VALUE]...
	local id=$1 seq=$2 state=$3 running=$4 from=$start
	shift 4
	[ $# = 0 ] || local "$@"
	job_report "$id" "$seq" "$state" started_s="$from" at_s=$((from + running)) running_s="$running" "$@"
}
sql() { sqlite3 "$dir/ledger.db" "$1"; }
origin() { sql "SELECT id FROM origins WHERE cluster = '$1'"; }
number() { echo $((($(origin "$1") << 40) + (${3:-0} << 26) + $2)); } # CLUSTER ID [GENERATION]
job() { ask 0 GET "/v1/jobs/$1"; }
charged() { ask 0 GET "/v1/usage?by=account" | grep -o '"charge_requested_ms":[0-9]*' | head -n 1 | cut -d: -f2; }
rows() { sql "SELECT (SELECT COUNT(*) FROM jobs) || ' ' || (SELECT COUNT(*) FROM attempts)"; }

# ---- engines ----
out=$(node_sync node=e1)
has "an agent with Engine=reeve on a Slurm cluster is refused" wrong-engine "$out"
has "with both engines" "node 'e1' has Engine=reeve, and cluster 'east' has Engine=slurm" "$out"
has "and the files to change" 'agent.conf of the node and Engine= of its [Cluster] in controller.conf' "$out"
has "an agent with Engine=slurm elsewhere likewise" "node 'n1' has Engine=slurm, and cluster 'main' has Engine=reeve" "$(speak n1)"
has "an unknown engine is named" engine "$(node_sync node=n1 more=',"engine":"pbs"')"
has "a job of Slurm from an agent with Engine=reeve" "slurm_jobs: the node's engine is reeve" "$(node_sync node=n1 more=",\"slurm_jobs\":[$(told 7)]")"
has "a number that is no id of Slurm" 'is no job id of Slurm' "$(speak e1 "" "$(job_entry $((1 << 26)) running)")"
has "reeve submit to a Slurm cluster is refused" "Slurm runs the jobs of cluster 'east'" \
	"$(ask "$daemon" POST /v1/jobs "$(job_request queue=batch | sed 's/"cluster":"main"/"cluster":"east"/')")"
is "nothing is in the ledger" "0 0" "$(rows)"

# ---- a job appears, runs, is charged, ends ----
speak e1 >/dev/null
out=$(speak e1 "$(told 7)" "$(job_entry 7 running)" "$(report 7 1 running 10)")
has "the report of a job that Slurm started is acknowledged by Slurm's id" '"acks":[{"job":7,"attempt":1,"seq":1}]' "$out"
lacks "nothing is refused" '"why"' "$out"
lacks "and nothing ordered" '"want"' "$out"
a=$(number east 7)
out=$(job "$a")
has "it is in the ledger" '"state":"running"' "$out"
has "with Slurm's id" '"slurm_job":7' "$out"
has "of its user and account" '"user":"daemon","account":"physics","cluster":"east","queue":"batch"' "$out"
is "charged: 10 s of 2 cores" 20000 "$(charged)"
before=$(rows)
speak e1 "$(told 7)" "$(job_entry 7 running)" "$(report 7 1 running 10)" >/dev/null
is "the same document twice makes no other row" "$before" "$(rows)"
is "and charges nothing" 20000 "$(charged)"
has "its owner sees it" "east:7 " "$(cli jobs --all 2>&1)"
out=$(cli job "$a")
has "its page names Slurm's id" 'slurm job  7' "$out"
has "reeve job takes CLUSTER:ID, and shows it" "job east:7  run  running" "$(cli job east:7)"
has "and names a cluster that there is not" "no cluster 'nowhere' of Slurm" "$(cli job nowhere:7)"
has "or a job that no agent has reported" "no agent of cluster 'west' has reported job 7" "$(cli job west:7)"
has "reeve neither suspends it" 'neither suspends nor resumes' "$(ask "$daemon" POST "/v1/jobs/$a/suspend")"
has "nor starts programs in it" srun "$(ask "$daemon" POST "/v1/jobs/$a/steps" '{"schema":"reeve/1","argv":["true"],"env":[]}')"
out=$(speak e1 "$(told 7)" "$(job_entry 7 ended)" \
	"$(report 7 2 ended 20 kind=limit limit=vmem requested=100 reached=200 host=e1 exit_status=-1)")
has "its end is acknowledged" '"job":7,"attempt":1,"seq":2' "$out"
has "it ended, by its limit" 'vmem limit exceeded' "$(cli job "$a")"
is "charged: 20 s of 2 cores" 40000 "$(charged)"
out=$(speak e1 "$(told 7)" "$(job_entry 7 ended)" \
	"$(report 7 2 ended 20 kind=limit limit=vmem requested=100 reached=200 host=e1 exit_status=-1)")
has "the end, said again, is acknowledged again" '"job":7,"attempt":1,"seq":2' "$out"
is "and makes no other row" "$before" "$(rows)"
has "the share tree and the usage have it" '"jobs_ended":1' "$(ask 0 GET '/v1/usage?by=account')"

# ---- requeue ----
speak e1 "$(told 7 attempt=2 started=$((start + 100)))" "$(job_entry 7 running 2)" \
	"$(report 7 1 running 5 attempt=2 from=$((start + 100)))" >/dev/null
is "a requeue is another attempt of the same job" "1 2" "$(rows)"
has "which runs again" '"state":"running"' "$(job "$a")"
is "charged beside the first" 50000 "$(charged)"
speak e1 "" "" "$(report 7 2 ended 6 attempt=2 from=$((start + 100)))" >/dev/null
has "a last report without a description finds its job" '"kind":"exited"' "$(job "$a")"
is "charged: 26 s" 52000 "$(charged)"

# ---- the queue's price, unknown names ----
speak e1 "$(told 8 queue=express),$(told 9 queue=odd account=nowhere)" "$(job_entry 8 running),$(job_entry 9 running)" \
	"$(report 8 1 running 10),$(report 9 1 running 10)" >/dev/null
is "a queue has its price" 60000 "$(sql "SELECT charge_requested_ms FROM attempts WHERE job = $(number east 8)")"
is "an unknown queue that of the default" 20000 "$(sql "SELECT charge_requested_ms FROM attempts WHERE job = $(number east 9)")"
out=$(cli job "$(number east 9)")
has "a note names the account" "its account 'nowhere' is unknown to Reeve" "$out"
has "and the queue" "its queue 'odd' is unknown to Reeve: it is charged as in the cluster's default queue" "$out"
has "both names are kept" '"account":"nowhere","cluster":"east","queue":"odd"' "$(job "$(number east 9)")"

# ---- two clusters with the same id, and a job of Reeve's own beside them ----
speak w1 "$(told 8 queue=normal)" "$(job_entry 8 running)" "$(report 8 1 running 4)" >/dev/null
is "the same id on another cluster is another job" 8000 "$(sql "SELECT charge_requested_ms FROM attempts WHERE job = $(number west 8)")"
has "each of its cluster" '"cluster":"west"' "$(job "$(number west 8)")"
node_sync node=n1 >/dev/null
b=$(job_number "$(ask "$daemon" POST /v1/jobs "$(job_request)")")
is "Reeve's own numbers go on from its own" 1 "$b"
until_has '"argv"' node_sync node=n1
tap_result $? "and its jobs are dispatched" "$out"
lacks "a node of Slurm gets no order while its job runs" '"want"' "$(speak e1 "$(told 8 queue=express)" "$(job_entry 8 running)")"
lacks "nor for a job that it does not list" '"want"' "$(speak e1)"

# ---- an id that comes again ----
later=$((now - 100))
speak e1 "$(told 7 started=$later)" "$(job_entry 7 running)" "$(report 7 1 running 3 from=$later)" >/dev/null
is "an id whose job has ended, with a later start, is the next generation" 6000 \
	"$(sql "SELECT charge_requested_ms FROM attempts WHERE job = $(number east 7 1)")"
has "the job of before is as it was" '"kind":"exited"' "$(job "$a")"
out=$(speak e1 "$(told 7 started=$later)" "$(job_entry 7 ended)" "$(report 7 2 ended 4 from=$later)")
has "its end is acknowledged by the same id" '"job":7,"attempt":1,"seq":2' "$out"
speak e1 "$(told 8 uid=2 user=bin queue=express)" "$(job_entry 8 running)" "$(report 8 1 running 1)" >/dev/null
has "an id of another owner is another job, too" '"user":"bin"' "$(job "$(number east 8 1)")"

# ---- two nodes ----
two='nodes=2 job_ncpus=6' # of which each agent reports its own
# shellcheck disable=SC2086
{
	speak e1 "$(told 21 $two)" "$(job_entry 21 running)" "$(report 21 1 running 10)" >/dev/null
	out=$(speak e2 "$(told 21 $two ncpus=4)" "$(job_entry 21 running)" "$(report 21 1 running 9)")
	has "the report of a job's second node is acknowledged" '"job":21,"attempt":1,"seq":1' "$out"
	d=$(number east 21)
	is "charged are the cores of both, for the time of the first" 60000 "$(sql "SELECT charge_requested_ms FROM attempts WHERE job = $d")"
	has "its page has a part on each" '"node":"e2"' "$(job "$d")"
	lacks "and no note" 'it also runs' "$(cli job "$d")"
	out=$(speak e2 "$(told 21 $two ncpus=4)" "$(job_entry 21 ended)" \
		"$(report 21 2 ended 12 kind=limit limit=vmem requested=100 reached=200 host=e2 exit_status=-1)")
	has "a limit on the second node ends the job on the first" '"job":21,"attempt":1,"want":"cancel"' \
		"$(speak e1 "$(told 21 $two)" "$(job_entry 21 running)" "$(report 21 2 running 11)")"
	speak e1 "$(told 21 $two)" "$(job_entry 21 ended)" "$(report 21 3 ended 12 kind=cancelled exit_status=-1)" >/dev/null
	has "and is its end" 'vmem limit exceeded on e2' "$(cli job "$d")"
}
speak e1 "$(told 20)" "$(job_entry 20 running)" "$(report 20 1 running 10)" >/dev/null
out=$(speak e2 "$(told 20)" "$(job_entry 20 running)" "$(report 20 4 running 11)")
lacks "a second node that an older agent did not announce is not refused" '"why"' "$out"
has "its report is acknowledged" '"job":20,"attempt":1,"seq":4' "$out"
is "and charges nothing" 20000 "$(sql "SELECT charge_requested_ms FROM attempts WHERE job = $(number east 20)")"
has "a note says what is counted" 'it also runs on node e2: what it uses and holds is counted on node e1 alone' "$(cli job "$(number east 20)")"

# ---- silence, and cancel ----
c=$(number east 20)
until_has '"state":"lost"' ask 0 GET /v1/nodes
tap_result $? "a node that is silent is lost" "$out"
sleep 1
has "its job of Slurm is not given up" '"state":"running"' "$(job "$c")"
out=$(speak e1 "$(told 20)" "$(job_entry 20 running)" "$(report 20 2 running 15)")
lacks "nor killed when the node is back" '"why"' "$out"
is "what it ran meanwhile is charged" 30000 "$(sql "SELECT charge_requested_ms FROM attempts WHERE job = $c")"
out=$(speak e1 "$(told 20 started=0),$(told 30 started=0)" "$(job_entry 20 running),$(job_entry 30 starting)")
lacks "a job that has not started any task is no reason for an order" '"want"' "$out"
cli cancel east:20 >/dev/null
has "an operator's cancel is ordered by Slurm's id" '"job":20,"attempt":1,"want":"cancel"' "$(speak e1 "$(told 20)" "$(job_entry 20 running)")"
live_stop
live_start || bail "the controller does not start: $(cat "$dir/controller.log")"
has "also after a restart of the controller" '"job":20,"attempt":1,"want":"cancel"' "$(speak e1 "$(told 20)" "$(job_entry 20 running)")"

# ---- what reeve-slurm tells ----
batch() { # KEY=VALUE...: the document of one job of cluster west
	local id=50 attempt=1 state=running start=$((now - 200)) end= more= user=daemon account=physics nodes=m1 suspended=0 whole=
	[ $# = 0 ] || local "$@"
	printf '{"schema":"reeve/1","cluster":"west","source":"slurmctld","at_s":%s,%s"jobs":[{"job":%s,"attempt":%s,"uid":%s,' \
		"$((now - 100))" "$whole" "$id" "$attempt" "$daemon"
	printf '"state":"%s","user":"%s","account":"%s","queue":"normal","name":"run","nodes":"%s","node":"%s","ncpus":4,' \
		"$state" "$user" "$account" "$nodes" "$nodes"
	printf '"submit_s":%s,"start_s":%s,%s%s"suspended_s":%s}]}' "$((now - 300))" "$start" "${end:+\"end_s\":$end,}" "$more" "$suspended"
}
tell() { ask 0 POST /v1/slurm/jobs "$(batch "$@")"; }
charge() { sql "SELECT charge_requested_ms FROM attempts WHERE job = $(number west "$1")"; }
has "what Slurm says of jobs: its own user alone may send it" "user 'daemon' may not tell of the jobs of cluster 'west'" \
	"$(ask "$daemon" POST /v1/slurm/jobs "$(batch)")"
has "of a cluster of Slurm" "no cluster 'main' with Engine=slurm" "$(ask 0 POST /v1/slurm/jobs "$(batch | sed 's/west/main/')")"
has "an unknown state is named" "jobs[0]: state: 'dreaming'" "$(tell state=dreaming)"
has "a job that Slurm runs on a node without an agent" '"n_changed":1' "$(tell)"
is "is charged from Slurm's start to what Slurm said last" 400000 "$(charge 50)"
has "and runs" '"state":"running"' "$(job "$(number west 50)")"
tell state=suspended suspended=50 >/dev/null
has "suspended it is shown so" '"state":"suspended"' "$(job "$(number west 50)")"
tell state=completed end=$((now - 90)) suspended=60 >/dev/null
is "suspended seconds are not charged, nor is any second charged twice" 400000 "$(charge 50)"
has "its end is Slurm's" '"kind":"exited"' "$(job "$(number west 50)")"
tell id=51 state=completed end=$((now - 150)) suspended=20 >/dev/null
is "of one that was sent once: 30 s" 120000 "$(charge 51)"
tell id=51 state=running >/dev/null
has "an end is never taken back" '"state":"ended"' "$(job "$(number west 51)")"
tell id=52 state=completed end=$((now - 250)) >/dev/null
has "an end before the start is noted" 'ended before it started' "$(cli job "$(number west 52)")"
is "and charged nothing" 0 "$(charge 52)"
tell id=53 state=completed start=0 end=$((now - 250)) >/dev/null
has "an end without a start is noted" 'it ran, but not from when' "$(cli job "$(number west 53)")"
tell id=54 state=cancelled end=$((now - 250)) nodes= >/dev/null
has "a job that was cancelled while it waited is in the ledger" 'cancelled: in Slurm' "$(cli job "$(number west 54)")"
is "without an attempt" "" "$(charge 54)"
tell id=$(((3 << 26) + 56)) more='"array_job":50,"array_task":7,"het_job":40,"het_offset":1,' >/dev/null
out=$(cli job "$(number west 56)")
has "a federated id counts without its cluster" "its id in Slurm's federation is $(((3 << 26) + 56))" "$out"
has "an element of an array names both" "task 7 of Slurm's array 50" "$out"
has "a component its leader" "component 1 of Slurm's heterogeneous job 40" "$out"
tell id=$(((2 << 26) + 56)) >/dev/null
is "the same id of another cluster of the federation is another job" 2 "$(sql "SELECT COUNT(DISTINCT job) FROM slurm_attempts WHERE id % 67108864 = 56")"
has "what the ledger has of them: operators alone" '"code":"not-permitted"' "$(ask "$daemon" GET '/v1/slurm/attempts?cluster=west')"
has "to compare with slurmdbd" '"job":51' "$(ask 0 GET '/v1/slurm/attempts?cluster=west')"
has "what slurmctld no longer has is wanted of slurmdbd" '"wanted":[{"job":'"$(((2 << 26) + 56))"',"attempt":1},{"job":'"$(((3 << 26) + 56))"',"attempt":1}]' \
	"$(tell id=51 whole='"whole":true,"present":[],')"

# ---- an agent and reeve-slurm ----
east() { ask 0 POST /v1/slurm/jobs "$(batch "$@" | sed 's/"cluster":"west"/"cluster":"east"/')"; }
recent=$((now - 60))
ms() { sql "SELECT running_ns / 1000000 FROM attempts WHERE job = $(number east "$1")"; }
east id=60 whole='"whole":true,"present":[],' >/dev/null
speak e1 "$(told 61 started=$recent)" "$(job_entry 61 running)" "$(report 61 1 running 10 from=$recent)" >"$dir/said.e1"
lacks "where reeve-slurm follows the cluster, an agent's first report waits for slurmctld's row" '"job":61' "$(cat "$dir/said.e1")"
east id=61 start=$((recent - 1)) nodes=e1 more='"walltime_s":3600,"n_nodes":1,' >/dev/null
out=$(speak e1 "$(told 61 started=$recent vmem=300000000)" "$(job_entry 61 running)" "$(report 61 1 running 10 from=$recent)")
has "the request gets the limits that only the agent knows" '"vmem_bytes":300000000' "$(job "$(number east 61)")"
has "then it is acknowledged" '"job":61,"attempt":1,"seq":1' "$out"
is "its time is the agent's, its cores and walltime are Slurm's" "10000 4 3600" \
	"$(ms 61) $(sql "SELECT ncpus || ' ' || walltime_s FROM jobs WHERE job = $(number east 61)")"
east id=61 state=completed start=$((recent - 1)) end=$((recent + 30)) nodes=e1 >/dev/null
has "Slurm's end waits for the agent's last report" '"state":"running"' "$(job "$(number east 61)")"
speak e1 "" "" "$(report 61 2 ended 28 from=$recent)" >/dev/null
is "which is what counts" "28000" "$(ms 61)"
east id=61 state=completed start=$((recent - 1)) end=$((recent + 30)) nodes=e1 suspended=1 >/dev/null
is "whatever Slurm says later" "28000" "$(ms 61)"

# ---- a log of sacct beside them ----
utc() { date -u -d "@$1" +%FT%T; }
sacct_line() { # ID START END
	echo "$1|$1|east|batch|normal|physics|g|1|daemon|1|$(utc $(($2 - 5)))|x|$(utc "$2")|$(utc "$3")|x|0:0|COMPLETED|1|2|2|1Gn|t|cpu=2|1:00:00|e1|run"
}
{ sacct_line 61 $((recent - 1)) $((recent + 30)); sacct_line 80 $start $((start + 50)); } >"$dir/sacct.log"
out=$("$reeve" import sacct "$dir/sacct.log" --ledger "$dir/ledger.db" 2>&1)
has "a job that reeve-slurm or an agent brought is known, and not imported" "jobs          2 (1 new, 1 known)" "$out"
has "the import counts it" "1 of the known came from reeve-slurm or an agent" "$out"
rows_before=$(rows)
speak e1 "$(told 80)" "$(job_entry 80 ended)" "$(report 80 5 ended 50)" >/dev/null
has "an agent's report of a job that was imported is acknowledged" '"job":80,"attempt":1,"seq":5' \
	"$(speak e1 "$(told 80)" "$(job_entry 80 ended)" "$(report 80 5 ended 50)")"
east id=80 state=completed start=$start end=$((start + 50)) nodes=e1 >/dev/null
is "and neither it nor reeve-slurm makes it a job again" "$rows_before" "$(rows)"
out=$("$reeve" admin verify --ledger "$dir/ledger.db" 2>&1)
tap_result $? "the sums of the ledger are those of its jobs" "$out"
live_stop
tap_end
