#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# series.sh - the use of jobs over their time, from a node's report to API, page and CSV, on a real controller: replaced by later reports, added up
# over nodes, kept apart by attempt, refused to other users; what is no series is dropped, and the report counts. TAP.
set -u
cd "$(dirname "$0")/../../.." || exit 1
. tests/cluster/lib/tap_lib.sh
. tests/cluster/lib/live_lib.sh
. tests/cluster/lib/play_lib.sh
[ "$(id -u)" = 0 ] || { echo "1..0 # SKIP needs root to exchange as several users"; exit 0; }
live_dir series
live_munge
cp build/bin/reeve "$dir/reeve" # where other users may reach it
configure() {
	cat >"$dir/controller.conf" <<-CONF
		$(live_controller)
		[Policy]
		PriorityWeightFairshare = 1000
		[Cluster main]
		DefaultResources = jobfs=100MB,walltime=1:00:00
		[Account physics]
		Users = daemon
		[Account chemistry]
		Users = bin
	CONF
	printf '[Client]\nController = %s\nMungeSocket = %s/munge.sock\n' "$url" "$dir" >"$dir/reeve.conf"
	chmod 644 "$dir/reeve.conf"
}
live_open configure
link() { as "$1" "$dir/reeve" web --print --config "$dir/reeve.conf" 2>&1; }   # UID
enter() { web_enter "$dir/jar.$1" "$(link "$1")" >/dev/null; }             # UID
get() { curl -s -b "$dir/jar.$1" "$url/web$2"; }                                # UID PATH
status() { curl -s -o /dev/null -w '%{http_code}' -b "$dir/jar.$1" "$url/web$2"; }
amounts='"ncpus":16,"mem_bytes":64000000000,"jobfs_bytes":100000000000,"ngpus":0'

# of DOCUMENT EXPRESSION - a Python expression of the answer d
of() { sed -n '2,$p' <<<"$1" | python3 -c "import json, sys; d = json.load(sys.stdin); print($2)" 2>&1; }
series() { ask "$1" GET "/v1/jobs/$2/series"; } # UID JOB
submit() { job_number "$(ask "$1" POST /v1/jobs "$2")"; }

node_sync >/dev/null
job=$(submit $daemon "$(job_request resources='"ncpus":2,"mem_bytes":2097152,"vmem_bytes":8388608')")
until_has "\"job\":$job" node_sync || tap_result 1 "the job is dispatched" "$out"
is "a job that has not run has no points" "0" "$(of "$(series $daemon "$job")" 'len(d["points"])')"

report() { # SEQ STATE SERIES RUNNING_S
	local jobs
	jobs=$(job_entry "$job" running)
	[ "$2" != ended ] || jobs=''
	node_sync jobs="$jobs" \
		reports="$(job_report "$job" "$1" "$2" running_s="$4" usage="\"cpu_ns\":$4000000000" more="$3")"
}
first=$(encode_series 10000 25000 0=15000,20000,5000 1=1024,-,512 6=0,4000,0)
report 1 running ",\"series\":\"$first\"" 25 >/dev/null
doc=$(series $daemon "$job")
is "three points" 3 "$(of "$doc" 'len(d["points"])')"
is "cores are CPU time by the length of the interval" "[1.5, 2.0, 1.0]" "$(of "$doc" '[p["cores"] for p in d["points"]]')"
is "what was not measured is null" "[1048576, None, 524288]" "$(of "$doc" '[p["mem_bytes"] for p in d["points"]]')"
is "a metric that is not measured has no figures" False "$(of "$doc" '"jobfs_bytes" in d["points"][0]')"
is "suspended time" 4.0 "$(of "$doc" 'd["suspended_s"]')"
is "requested, largest, and mean of the time in which it ran" "2.0 2.0 1.9" "$(of "$doc" '" ".join(str(round(d["metrics"][0][k], 2)) for k in ("requested", "most", "mean"))')"
is "CPU time of the node" 40.0 "$(of "$doc" 'd["nodes"][0]["cpu_s"]')"
is "which node" n1 "$(of "$doc" 'd["nodes"][0]["node"]')"

report 2 running '' 30 >/dev/null
is "a report without a series keeps the one before" 3 "$(of "$(series $daemon "$job")" 'len(d["points"])')"
is "a report whose series is none is acknowledged" 3 \
	"$(of "$(report 3 running ',"series":"AAAA"' 31)" 'd["acks"][0]["seq"]')"
is "one whose series is no base64" 4 "$(of "$(report 4 running ',"series":"%%%"' 32)" 'd["acks"][0]["seq"]')"
is "one whose series is a number" 5 "$(of "$(report 5 running ',"series":7' 33)" 'd["acks"][0]["seq"]')"
is "one whose series is too large" 6 \
	"$(of "$(report 6 running ",\"series\":\"$(printf 'A%.0s' {1..20000})\"" 34)" 'd["acks"][0]["seq"]')"
is "the series is the one before" 3 "$(of "$(series $daemon "$job")" 'len(d["points"])')"
grep -q 'series of jobs are not readable' "$dir/controller.log" 2>/dev/null || grep -rq 'series of jobs are not readable' "$dir"
tap_result $? "the controller's log says that one was dropped"
last=$(encode_series 20000 40000 0=35000,10000 1=1024,2048)
report 7 ended ",\"series\":\"$last\"" 40 >/dev/null
is "the final report replaces the series" "[1.75, 0.5]" "$(of "$(series $daemon "$job")" '[p["cores"] for p in d["points"]]')"

# ---- rights ----
grep -q '200 OK\|"points"' <<<"$(series 0 "$job")"
tap_result $? "an operator reads it"
is "another user gets no points" 0 "$(grep -c '"points"' <<<"$(series $bin "$job")")"

# ---- the command ----
points() { as "$1" "$dir/reeve" job "$job" --series --config "$dir/reeve.conf" "${@:2}" 2>&1; } # UID [ARG]...
is "reeve job --series: a row for each point" "0:00:00 0:00:20 1.75 1.00 MiB 0:00:20 0:00:40 0.50 2.00 MiB" \
	"$(points $daemon -n | sed -n 1,2p | xargs)"
has "and the largest of each metric" "cores: at most 1.75, 1.12 on average" "$(points $daemon)"
is "as CSV: every column" 0,20000,1.75,1048576,,,,, "$(points $daemon --csv | sed -n 2p | tr -d '\r')"
is "as JSON: the controller's document" 1.75 "$(of "$(echo; points $daemon --json)" 'd["points"][0]["cores"]')"
has "another user has no such job" "no job $job" "$(points $bin)"
waiting=$(submit $daemon "$(job_request resources='"ncpus":1,"vmem_bytes":8388608')")
has "a job that has not run" "no points: the job has not run" "$(job=${waiting:-2} points $daemon)"

# ---- the page ----
enter $daemon
enter $bin
page=$(get $daemon "/job/$job")
grep -q '<h2>Use over time</h2>' <<<"$page"
tap_result $? "the job's page has its use over time" "$page"
grep -q 'at most 1.75 cores\|at most 1.75' <<<"$page"
tap_result $? "a sentence says the largest" "$page"
grep -qE 'd="M0 100V12.5h1V100zM1 100V75h1V100z"' <<<"$page"
tap_result $? "the path has a box for each point" "$(grep -o '<path[^>]*>' <<<"$page")"
is "no style in the page" 0 "$(grep -c 'style=' <<<"$page")"
is "the page of the series" 200 "$(status $daemon "/series/$job")"
is "its CSV has a line for each point" 3 "$(get $daemon "/series/$job.csv" | wc -l)"
is "with the figures of the document" 0,20,1.75,1048576 "$(get $daemon "/series/$job.csv" | sed -n 2p | tr -d '\r')"

# ---- a job of 100 MB that was refused 104 MB ----
job=$(submit $daemon "$(job_request resources='"ncpus":1,"vmem_bytes":100000000')")
until_has "\"job\":$job" node_sync || tap_result 1 "the second job is dispatched" "$out"
killed=$(encode_series 10000 10000 1=45000 2=90625)
node_sync reports="$(job_report "$job" 1 ended running_s=10 kind=limit exit_status=-1 limit=vmem requested=100000000 reached=104000000 host=n1 \
	usage='"cpu_ns":1000000000,"rss_peak_bytes":46080000,"vmem_peak_bytes":104000000' more=",\"series\":\"$killed\"")" >/dev/null
doc=$(series $daemon "$job")
is "what was refused is in no point, but known" "92800000 104000000.0" "$(of "$doc" '"%d %s" % (d["points"][0]["vmem_bytes"], [m for m in d["metrics"] if m["name"] == "vmem_bytes"][0]["refused"])')"
page=$(get $daemon "/job/$job")
has "the chart draws it as tried" 'class="refused"' "$page"
has "and names it" '104 MB tried and refused (dotted line)' "$page"
units() { grep -oE '[0-9.]+ [KMGT]i?B' <<<"$1" | sed 's|.*[KMGT]|.|' | sort -u | xargs; }
is "one family of units in all of the page: the one that was typed" .B "$(units "$page")"
is "in the command's table" .B "$(units "$(as $daemon "$dir/reeve" job "$job" --config "$dir/reeve.conf")")"
is "in its points" .B "$(units "$(points $daemon)")"
is "and in the list, also of what was not requested" "104 MB 46.1 MB" \
	"$(as $daemon "$dir/reeve" jobs -a -n --columns job,vmem_bytes,vmem_peak_bytes,rss_peak_bytes --config "$dir/reeve.conf" | awk -v j="$job" '$1 == j { print $4, $5, $6, $7 }')"
is "another user's page of it" 404 "$(status $bin "/series/$job")"
is "a job that is not there" 404 "$(status $daemon /series/99)"
tap_end
