#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# jobs.sh - the pages of jobs, of a job, of the queue and of nodes, of a real controller with a played node: filters, pages of a long list, what a
# job cost and would cost in other queues, who sees which job on the map of cores, hostile names; the same as CSV and JSON. TAP.
# shellcheck disable=SC2317 # functions are called by soon
set -u
cd "$(dirname "$0")/../../.." || exit 1
. tests/cluster/lib/tap_lib.sh
. tests/cluster/lib/live_lib.sh
. tests/cluster/lib/past_lib.sh
. tests/cluster/lib/play_lib.sh
[ "$(id -u)" = 0 ] || { echo "1..0 # SKIP needs root to exchange as several users"; exit 0; }
live_dir jobs
live_munge
cp build/bin/reeve "$dir/reeve"
configure() {
	cat >"$dir/controller.conf" <<-CONF
		$(live_controller)
		[Policy]
		PriorityWeightFairshare = 1000
		PriorityWeightAge = 500
		GpuIdleMinutes = 5
		[Cluster main]
		BundleCores = 1
		BundleMemory = 4GB
		GpuBundleGpus = 1
		Queues = normal, express
		DefaultResources = jobfs=100MB,walltime=1:00:00
		[Queue express]
		Factor = 3
		[Account physics]
		Users = daemon
		[Account chemistry]
		Users = bin
	CONF
	printf '[Client]\nController = %s\nMungeSocket = %s/munge.sock\n' "$url" "$dir" >"$dir/reeve.conf"
	chmod 644 "$dir/reeve.conf"
}
live_open configure
backdate_dispatch "$dir/ledger.db" 1
games=5
enter() { web_enter "$dir/jar.$1" "$(as "$1" "$dir/reeve" web --print --config "$dir/reeve.conf")" >/dev/null; } # UID
get() { curl -s -b "$dir/jar.$1" "$url/web$2"; }                                                                   # UID PATH
text() { get "$1" "$2" | sed -e 's/<[^>]*>/ /g' | tr -s ' \n\t' ' '; }                                             # UID PATH: without markup
status() { curl -s -o /dev/null -w '%{http_code}' -b "$dir/jar.$1" "$url/web$2"; }
like() { # NAME REGEX TEXT
	grep -qE -- "$2" <<<"$3"
	tap_result $? "$1" "$3"
}
unlike() { # NAME REGEX TEXT
	! grep -qE -- "$2" <<<"$3"
	tap_result $? "$1" "$3"
}
jobs_of() { get "$1" "/jobs.json?$2" | python3 -c 'import json,sys; print(*[j["job"] for j in json.load(sys.stdin)["jobs"]["jobs"]])'; } # UID QUERY
submit() { # UID NAME QUEUE ACCOUNT RESOURCES
	job_number "$(ask "$1" POST /v1/jobs '{"schema":"reeve/1","request":{"cluster":"main","account":"'"$4"'","queue":"'"$3"'","name":"'"$2"'",
"resources":{'"$5"'},"argv":["/bin/true"],"env":[],"workdir":"/"}}')"
}
amounts='"ncpus":16,"mem_bytes":64000000000,"jobfs_bytes":100000000000,"ngpus":2'
ask 0 POST /v1/accounts '{"schema":"reeve/1","revision":0,"text":"[Account physics]\nUsers = daemon\nCoordinators = games\n[Account chemistry]\nUsers = bin\n"}' >/dev/null
for u in 0 $daemon $bin $games; do enter "$u"; done
node_sync >/dev/null
submit $daemon 'Align_1' normal physics '"ncpus":4,"vmem_bytes":8000000000,"mem_bytes":8000000000' >/dev/null
submit $daemon align_2 express physics '"ncpus":1,"vmem_bytes":1000000000' >/dev/null
submit $daemon bold normal physics '"ncpus":1,"vmem_bytes":1000000000' >/dev/null
submit $bin secret normal chemistry '"ncpus":2,"vmem_bytes":1000000000' >/dev/null
submit $daemon waits normal physics '"ncpus":16,"vmem_bytes":1000000000' >/dev/null
is_started() { [[ $(node_sync wait=1) == *'"job":4'* ]]; }
for _ in $(seq 20); do is_started && break; done
at=$(date +%s)
use='"cpu_ns":8640000000000,"rss_peak_bytes":2000000000,"vmem_peak_bytes":4000000000,"jobfs_peak_bytes":50000000'
use+=',"cores":[{"cpu":0,"ns":3600000000000},{"cpu":1,"ns":1800000000000},{"cpu":2,"ns":3240000000000},{"cpu":3,"ns":0}]'
run() { job_entry "$1" running; }
node_sync jobs="$(run 1),$(run 2),$(run 3),$(run 4)" reports="$(job_report 1 1 running started_s=$((at - 3600)) running_s=3600 cpus=0-3 usage="$use"),$(
	job_report 2 1 running cpus=4),$(job_report 3 1 running cpus=5),$(job_report 4 1 running cpus=6-7)" >/dev/null
node_sync jobs="$(job_entry 1 ended),$(run 2),$(run 3),$(run 4)" reports="$(job_report 1 2 ended started_s=$((at - 3600)) running_s=3600 cpus=0-3 usage="$use")" >/dev/null

# As jobs of Slurm and of older ledgers are named.
sqlite3 "$dir/ledger.db" "UPDATE jobs SET name = 'align%2' WHERE job = 2; UPDATE jobs SET name = '<b>\"x' WHERE job = 3"

# ---- the list ----
is "all of the user's jobs" '5 3 2 1' "$(jobs_of $daemon '')"
is "by a part of the name, capital or not" '2 1' "$(jobs_of $daemon 'name=ALIGN')"
is "what LIKE would take for any text is a character" '2' "$(jobs_of $daemon 'name=%25')"
is "so is what it would take for any character" '1' "$(jobs_of $daemon 'name=n_1')"
is "by queue" '2' "$(jobs_of $daemon 'queue=express')"
is "by name, queue and state" '1' "$(jobs_of $daemon 'queue=normal&name=align&state=ended')"
is "submitted from today on" '5 3 2 1' "$(jobs_of $daemon "start=$(date -u +%F)")"
is "none before" '' "$(jobs_of $daemon "end=$(date -u +%F)")"
is "none of a later day" '' "$(jobs_of $daemon "start=$(date -u -d '+2 days' +%F)")"
like "an end before its start is an error" 'end is not behind start' "$(get $daemon '/jobs?start=2026-02-02&end=2026-02-01')"
like "a name longer than any job's is an error" 'no job.s name is longer' "$(get $daemon "/jobs?name=$(printf 'a%.0s' {1..64})")"
is "bytes that are no text find nothing, and break nothing" 200 "$(status $daemon '/jobs?name=%ff%fe')"
is "nor do they in a queue's name" 200 "$(status $daemon '/jobs?queue=%ff')"
like "the form keeps what was typed, as text" '&lt;b&gt;.*x' "$(get $daemon '/jobs?name=%3Cb%3E%22x')"
is "and finds the job of that name" 3 "$(jobs_of $daemon 'name=%3Cb%3E%22x')"
unlike "whose name is no markup" '<b>' "$(get $daemon /jobs)"
like "what was used of a request" '>60\.0 %<' "$(get $daemon /jobs)"
like "the columns say of what" 'of CPU.*of mem.*of vmem.*of jobfs' "$(text $daemon /jobs)"
is "other users' jobs are in no list" '' "$(jobs_of $bin 'name=align')"
like "a coordinator sees those of the account" '^5 3 2 1$' "$(jobs_of $games 'account=physics')"
is "CSV has the jobs of the page" '2 1' "$(get $daemon '/jobs.csv?name=align' | sed 1d | cut -d, -f1 | tr '\n' ' ' | sed 's/ $//')"

# ---- a long list ----
sqlite3 "$dir/ledger.db" "INSERT INTO jobs(state, uid, user, account, cluster, queue, name, ncpus, vmem_bytes, mem_bytes, jobfs_bytes, walltime_s, ngpus, submitted_ns,
 pool, decided_by, rate_num, rate_den, bundle_gpus_num, bundle_gpus_den, bundle_cores_num, bundle_cores_den, bundle_memory_num, bundle_memory_den, request, ended_ns, array_index)
 SELECT 5, 2, 'bin', 'chemistry', 'main', 'normal', CASE WHEN value = 7 THEN 'needle' ELSE 'hay' END, 1, 0, 0, 0, 60, 0,
 (1700000000 + value) * 1000000000, 0, 1, 1, 1, 0, 1, 1, 1, 0, 1, '{}', 1, -1 FROM generate_series(1, 25000)"
like "a search looks at a bounded number of jobs, and says where to go on" '[0-9]' "$(get $bin '/jobs.json?name=needle' | grep -o '"next": *[0-9]*')"
like "the page too" 'Search older jobs' "$(get $bin '/jobs?name=needle')"
next=$(get $bin '/jobs.json?name=needle' | grep -o '"next": *[0-9]*' | grep -o '[0-9]*')
next=$(get $bin "/jobs.json?name=needle&before=$next" | grep -o '"next": *[0-9]*' | grep -o '[0-9]*')
is "and finds it there" 12 "$(jobs_of $bin "name=needle&before=$next")"
is "with no more behind it" '' "$(get $bin "/jobs.json?name=needle&before=$next" | grep -o '"next": *[0-9]*')"
is "a day of long ago is found at once" 12 "$(jobs_of $bin 'name=needle&end=2023-11-15')"
like "a page has 50 jobs and a link to the next" 'before=[0-9]*">Older jobs' "$(get $bin /jobs)"
is "which keeps the filter" 1 "$(get $bin '/jobs?queue=normal' | grep -c 'queue=normal&amp;before=')"
[ "$(get $bin /jobs | wc -c)" -lt 204800 ]; tap_result $? "a page of jobs has less than 200 KB"

# ---- a job ----
page=$(text $daemon /job/1)
like "what a job cost, and the resource that set it" 'cores 4 1 4 yes: the largest' "$page"
like "the other resource, that did not" 'memory 8.00 GB 4.00 GB 2 no' "$page"
like "its price in its own queue" 'normal \(this job\) 1 4 4.000 4.000 core-equivalent hours' "$page"
like "and in the other" 'express 3 12 12.0 12.0' "$page"
like "what to request next" 'What to request next' "$page"
like "with the options" 'next time -l|The same again' "$page"
has "which of its cores were busy" "Its cores Busy, of the time it ran. core 0: 100.0 % core 1: 50.0 % core 2: 90.0 % core 3: 0.0 %" "$page"
is "a coordinator sees it" 200 "$(status $games /job/1)"
is "another user does not" 404 "$(status $bin /job/1)"
is "nor its price" 404 "$(ask $bin GET /v1/jobs/1/price | head -n 1)"
is "nor what it used" 404 "$(ask $bin GET /v1/jobs/1/eff | head -n 1)"
like "its document says the same" '"decided_by": *"cores"' "$(ask $daemon GET /v1/jobs/1/price)"

# ---- the queue ----
page=$(text $daemon /queue)
like "the queue has every factor that weighs" 'Priority.*fairshare.*age' "$page"
like "and why a job waits" '5 in [0-9].* waits daemon physics normal .* This job is next' "$page"
like "and when it starts at the latest" '5 in [0-9:]+ [0-9]{4}-[0-9-]+ [0-9:]+ waits daemon' "$page"
is "its own page has one estimate, that of the forecast" "Estimated start: in" "$(grep -oE 'Estimated start: in' <<<"$(text $daemon /job/5)")"
is "its own page has the same time" "$(ask $daemon GET '/v1/prio?job=5&why=1' | grep -oE '"starts_at_ns": *[0-9]{10}')" \
	"$(ask $daemon GET /v1/jobs/5/why | grep -oE '"starts_at_ns": *[0-9]{10}')"
unlike "not others' jobs" 'secret' "$page"
for i in 1 2 3; do ask $daemon POST /v1/jobs "$(job_request resources='"ncpus":16,"vmem_bytes":1073741824,"walltime_s":72000')" >/dev/null; done
ask $daemon POST /v1/jobs/5/hold >/dev/null
sleep 1
best=$(ask $daemon GET '/v1/prio?best=1&limit=2' | sed -n 2p)
is "the first of the queue are those of the highest priority, and a held job is none of them" 2 "$(grep -oE '"job": *[0-9]+' <<<"$best" | grep -vc ' 5$')"
like "which says how many are left out" '"left_out": *2' "$best"
like "the page has it last, with what holds it" ' 4 5 - waits daemon .*(held|hold)' "$(text $daemon /queue)"
ask $daemon POST /v1/jobs/5/release >/dev/null

# ---- nodes ----
like "which job has which cores" '2 align%2: 4 ?; 3 &lt;b&gt;"x: 5' "$(text $daemon /nodes)"
like "of another's job the cores alone" "another's job *: 6-7" "$(text $daemon /nodes)"
unlike "not its name" 'secret' "$(get $daemon /nodes)"
unlike "nor in the document" 'secret|"bin"|chemistry' "$(get $daemon /nodes.json)"
like "an operator sees it" 'secret *of bin *: 6-7' "$(text 0 /nodes)"
idle='"cpu_ns":60000000000,"gpus_used":0,"gpu_idle_ns":1200000000000'
for j in $(jobs_of $daemon state=queued); do ask $daemon POST "/v1/jobs/$j/cancel" >/dev/null; done
submit $daemon gpus normal physics '"ncpus":1,"vmem_bytes":1000000000,"ngpus":1' >/dev/null
gpu_job=$(jobs_of $daemon 'name=gpus')
gpu_is_started() { [[ $(node_sync wait=1 jobs="$(run 2),$(run 3),$(run 4)") == *"\"job\":$gpu_job"* ]]; }
for _ in $(seq 20); do gpu_is_started && break; done
at=$(date +%s)
node_sync node=n2 state=drain >/dev/null
node_sync jobs="$(run 2),$(run 3),$(run 4),$(run "$gpu_job")" reports="$(job_report 2 2 running at_s=$((at - 400)) started_s=$((at - 4000)) running_s=3600 cpus=4 usage='"cpu_ns":3000000000000'),$(
	job_report "$gpu_job" 1 running started_s=$((at - 3600)) running_s=3600 cpus=8 usage="$idle")" >/dev/null
sqlite3 "$dir/ledger.db" "UPDATE nodes SET last_ns = last_ns - 7200000000000 WHERE node = 'n2'"
page=$(text $daemon /nodes)
like "a node that is not heard of is named first, with for how long" '1 silent: n2 for 2:00:' "$page"
like "the ingest lag: how old the oldest figures are, and of which node" 'the oldest figures of a running job are 0:06:[0-9]+ old; later than three minutes, by node: n1 0:06:' "$page"
like "a GPU that does nothing, and whose" "Allocated GPUs that do nothing: job $gpu_job of daemon on n1 , for 0:20:00" "$page"
like "running jobs whose cores idle most, the most idle first" "idle most .*$gpu_job gpus daemon physics n1 1 0\.98.* 2 align%2 daemon physics n1 1 0\.16" "$page"
like "figures of all nodes: up, drained, cores" '1 of 2 nodes are up, 1 drained. Jobs have [0-9]+ of 32 cores' "$page"
is "another user sees none of these jobs" '[] []' "$(get $bin /nodes.json | python3 -c 'import json,sys; w=json.load(sys.stdin)["watch"]; print(w["idle_gpus"], w["waste"])')"
nodes() { ask 0 GET "/v1/nodes?$1" | sed -n 2p | python3 -c 'import json,sys; d=json.load(sys.stdin); print(*[n["node"] for n in d["nodes"]], d.get("left_out"), d.get("next"))'; } # QUERY
is "a page of nodes has the name of the next" 'n1 1 n2' "$(nodes limit=1)"
is "which is where that begins" 'n2 None None' "$(nodes 'limit=1&from=n2')"
is "the node with most jobs first" 'n1 n2 None None' "$(nodes 'sort=jobs&order=descending')"
is "the one that is silent for longest" 'n2 n1 None None' "$(nodes 'sort=last_ns&order=ascending')"
is "the sums of all are those of the nodes" True "$(ask 0 GET '/v1/nodes?totals=1' | sed -n 2p | python3 -c '
import json,sys; d=json.load(sys.stdin); t=d["totals"]
print(all(sum(n[k][m] for n in d["nodes"]) == t[k][m] for k in ("held", "capacity") for m in t[k]) and sum(n["jobs"] for n in d["nodes"]) == t["jobs"])')"
is "an unknown order is refused" 400 "$(status 0 '/nodes?sort=nothing')"
like "a node's own page" 'n1' "$(text 0 '/nodes?node=n1')"
like "one that is not there" "no node.*n9" "$(text 0 '/nodes?node=n9')"
is "a name of bytes that are no text breaks nothing" 404 "$(status 0 '/nodes?node=%ff')"

# ---- a cancelled job whose GPU did nothing, and one that never ran ----
ask $daemon POST "/v1/jobs/$gpu_job/cancel" >/dev/null
node_sync jobs="$(run 2),$(run 3),$(run 4),$(job_entry "$gpu_job" ended)" reports="$(
	job_report "$gpu_job" 2 ended kind=cancelled exit_status=-1 signal=15 started_s=$((at - 3600)) running_s=3600 cpus=8 usage="$idle")" >/dev/null
like "a cancelled job is called so, in the colour of jobs that ended" '<span class="state ended">cancelled</span>' "$(get $daemon "/job/$gpu_job")"
unlike "not by the signal that ended it" 'signal 15' "$(text $daemon "/job/$gpu_job") $(text $daemon '/jobs?state=ended')"
like "its idle GPU is named in the advice" 'What to request next its GPUs did nothing: leave ngpus out' "$(text $daemon "/job/$gpu_job")"
unlike "which is not the same request again" '[Tt]he same again' "$(text $daemon "/job/$gpu_job")"
never=$(submit $daemon never normal physics '"ncpus":16,"vmem_bytes":1000000000')
like "a job that has not run yet has no charge, and the price of an hour" 'Nothing was charged yet: it has not run. Each hour that it runs will cost 16 core-equivalent hours' "$(text $daemon "/job/$never")"
ask $daemon POST "/v1/jobs/$never/cancel" >/dev/null
like "one that never ran neither" 'Nothing was charged: it did not run' "$(text $daemon "/job/$never")"
unlike "and no sentence on 0 that were charged" '0 core-equivalent hours were charged' "$(text $daemon "/job/$never")"

# ---- a suspended job ----
why() { as $daemon "$dir/reeve" why "$1" --config "$dir/reeve.conf" | head -n 1; } # JOB
sqlite3 "$dir/ledger.db" "UPDATE attempts SET started_ns = started_ns - 7200000000000 WHERE job = 3"
ask $daemon POST /v1/jobs/3/suspend >/dev/null
node_sync jobs="$(run 2),$(job_entry 3 suspended),$(run 4)" reports="$(job_report 3 2 suspended started_s=$((at - 7200)) running_s=60 cpus=5)" >/dev/null
since=$(why 3)
like "reeve why has the time at which its owner suspended it" "job 3 suspended, since $(date -u +%F)" "$since"
[ $(($(date +%s) - $(date -u -d "$(sed 's/.*since //' <<<"$since")" +%s))) -lt 600 ]; tap_result $? "which is not that of its start" "$since"
ask $daemon POST /v1/jobs/3/resume >/dev/null
node_sync jobs="$(run 2),$(run 3),$(run 4)" reports="$(job_report 3 3 running started_s=$((at - 7200)) running_s=61 cpus=5)" >/dev/null

# ---- the overview ----
for i in $(seq 25); do submit $daemon "q$i" normal physics '"ncpus":16,"vmem_bytes":1000000000' >/dev/null; done
page=$(text $daemon /)
like "jobs that run are shown before however many that wait" 'Running Job State .* 3 running .* 2 running .* Queued Job State' "$page"
like "of which the newest are shown, as it says" 'The newest 20 are shown. All queued jobs' "$page"
like "an account has a row for each pool, which the row names" 'Account Pool Jobs Charged, equivalent hours .*physics your own usage cpu .*physics your own usage gpu' "$page"
like "a coordinator reads that the jobs are their own, and where those of the project are" 'Your own jobs. Those of all users of the projects that you coordinate: physics' "$(text $games /)"
like "on the page of jobs too" 'Your own jobs. Those of all users of the projects that you coordinate: physics' "$(text $games /jobs)"
like "a user who coordinates none reads the first alone" 'Your own jobs. Running' "$(text $bin /)"
unlike "an operator sees all" 'Your own jobs' "$(text 0 /)"
like "and a coordinator the usage of all of the project" 'physics cpu [1-9]' "$(text $games /)"
is "jobs that are started and not ended" '4 3 2' "$(jobs_of 0 state=started)"
tap_end
