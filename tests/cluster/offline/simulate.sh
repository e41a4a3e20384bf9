#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# simulate.sh [FILES] - `reeve simulate`: job by job as an independent oracle says, over random
# histories (FILES x 100, default 25) and, in $REEVE_TRACES, over real ones; figures, forms, faults.
# With fewer than 25 files the shorter real trace alone, and fewer seeds of what groups get.
# TAP on standard output. Needs build/bin/reeve only: no controller, no configuration.
set -u
cd "$(dirname "$0")/../../.." || exit 1
. tests/cluster/lib/tap_lib.sh
reeve=$PWD/build/bin/reeve
oracle=$PWD/tests/oracle
files=${1:-25}
whole=$((files >= 25))
dir=$(mktemp -d /tmp/reeve-simulate-XXXXXX)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
export HOME=$dir XDG_CONFIG_HOME=$dir LC_ALL=C.UTF-8
unset REEVE_CONTROLLER

# The live system's scheduler without a weight: in order of submission, with backfill: easy, by another way.
printf '[Cluster c]\nUnit = core-hours\n' >live.conf
printf '[Policy]\nScheduler = fifo\n[Cluster c]\nUnit = core-hours\n' >strict.conf
printf '[Policy]\nScheduler = suspend\n[Cluster c]\nUnit = core-hours\n' >cycle.conf
# agrees TRACE [CORES]: both baselines, job by job
agrees() {
	local p rc=0
	"$reeve" simulate "$1" ${2:+--cores "$2"} --profile fcfs --profile easy --profile ./live.conf --profile ./strict.conf --jobs got.csv --json >out.json || return 1
	cmp got.fcfs.csv got.strict.csv || { diff got.strict.csv got.fcfs.csv | head -n 5; rc=1; }
	cmp got.easy.csv got.live.csv || { diff got.live.csv got.easy.csv | head -n 5; rc=1; }
	for p in fcfs easy; do
		"$oracle/replay.py" $p "$1" ${2:+"$2"} >want.csv || return 1
		[ "$(wc -l <want.csv)" -gt 1 ] || { echo "the oracle has no jobs" && return 1; }
		cmp got.$p.csv want.csv || { diff got.$p.csv want.csv | head -n 5; rc=1; }
	done
	return $rc
}
# trace [ROW...]: "SUBMIT RUN CORES ASKED" of jobs 1, 2, ... on 4 cores
trace() {
	local i=0 row
	printf '; UnixStartTime: 0\n; MaxProcs: 4\n'
	for row; do
		# shellcheck disable=SC2086
		set -- $row
		i=$((i + 1))
		echo "$i $1 -1 $2 $3 -1 -1 $3 $4 -1 1 1 1 -1 -1 -1 -1 -1"
	done
}
# starts PROFILE ROW... [OPTION VALUE]: when the jobs start, in the order of the file
starts() {
	local p=$1 rows=()
	shift
	while [ $# -gt 0 ] && [ "${1#--}" = "$1" ]; do rows+=("$1") && shift; done
	trace "${rows[@]}" >t.swf
	"$reeve" simulate t.swf --profile "$p" "$@" --jobs j.csv --json >out.json || return 1
	tail -n +2 j.csv | cut -d, -f3 | xargs
}
# field NAME [PROFILE'S INDEX]: of out.json
field() { python3 -c 'import json,sys; print(json.load(open("out.json"))["profiles"][int(sys.argv[2])][sys.argv[1]])' "$1" "${2:-0}"; }
fault() { # NAME TEXT ARGUMENT...
	local name=$1 text=$2 got code
	shift 2
	got=$("$reeve" simulate "$@" 2>&1)
	code=$?
	is "$name" "${text%% *} reeve simulate: ${text#* }" "$code $got"
}

# ---- the rules, in worlds small enough to be done by hand: 4 cores ----
is "fcfs: no job passes another" "0 10 20" "$(starts fcfs "0 10 3 10" "0 10 4 10" "0 5 1 5")"
is "easy: one that ends before the first can start passes it" "0 10 0" "$(starts easy "0 10 3 10" "0 10 4 10" "0 5 1 5")"
is "and one that ends at that very instant" "0 10 0" "$(starts easy "0 10 3 10" "0 10 4 10" "0 10 1 10")"
is "but not one that ends a second later" "0 10 20" "$(starts easy "0 10 3 10" "0 10 4 10" "0 5 1 11")"
is "unless the first leaves its cores free" "0 10 0" "$(starts easy "0 10 3 10" "0 10 3 10" "0 99 1 99")"
is "what the first leaves is given once" "0 10 0 20" "$(starts easy "0 10 2 10" "0 10 3 10" "0 99 1 99" "0 11 1 11")"
is "what ends in time takes nothing of it" "0 10 0 0" "$(starts easy "0 10 2 10" "0 10 3 10" "0 9 1 9" "0 99 1 99")"
is "all that end at the shadow time count" "0 0 10 0" "$(starts easy "0 10 2 10" "0 10 1 10" "0 10 3 10" "0 50 1 50")"
is "an early end moves the first forward" "0 5 15" "$(starts easy "0 5 3 50" "1 10 4 10" "2 60 1 60")"
is "endings come before arrivals, and these before the pass" "0 10 10" "$(starts easy "0 10 4 10" "10 5 2 5" "10 5 2 5")"
is "equal submit times keep the order of numbers" "0 10 20" "$(starts fcfs "0 10 4 10" "0 10 4 10" "0 10 4 10")"
is "a job asks for less than it runs: its estimate is its run" "0 10 11" "$(starts easy "0 10 3 2" "0 1 4 1" "0 11 1 3")"

is "of a profile's weights: the user with less usage goes first, in whatever order they submitted" "0 2000 1000" \
	"$(printf '[Policy]\nPriorityWeightFairshare = 1000\nPriorityWeightAge = 0\n[Cluster c]\nUnit = core-hours\n' >fair.conf
	trace "0 1000 4 1000" "1 1000 4 1000" "2 1000 4 1000" | awk '$1 == 3 { $13 = 2 } 1' >t.swf
	"$reeve" simulate t.swf --profile ./fair.conf --jobs j.csv --csv >/dev/null && tail -n +2 j.csv | cut -d, -f3 | xargs)"
is "nodes: what is free in parts on two of them is not free for one that fits one" "0 0 10 0" \
	"$(starts ./live.conf "0 10 3 10" "0 10 3 10" "0 10 2 10" "0 10 1 10" --nodes 2x4)"
is "and on a pool it is" "0 0 0 0" "$(starts ./live.conf "0 10 3 10" "0 10 3 10" "0 10 2 10" "0 10 1 10" --cores 9)"
is "suspend: a large job takes the cores of a small one, which goes on where it was" "1,0,0,1200,0,200 2,100,100,300,0,0" \
	"$(starts ./cycle.conf "0 1000 1 4000" "100 200 4 200" >starts; tail -n +2 j.csv | xargs)"
is "and it is reported" "200 1" "$(field suspended_s) $(field suspensions)"

# ---- figures ----
starts fcfs "0 100 4 100" "0 5 2 5" "50 100 4 100" >starts
is "starts of what is summed up" "0 100 105" "$(cat starts)"
is "mean of 0, 100 and 55" 51.667 "$(field wait_mean_s)"
is "p95 by nearest rank" 100 "$(field wait_p95_s)"
is "the longest" 100 "$(field wait_max_s)"
is "slowdown 1, 105/10 and 155/100" 4.35 "$(field bounded_slowdown_mean)"
is "makespan" 205 "$(field makespan_s)"
is "utilisation: 810 core-seconds of 820" 0.987805 "$(field utilisation)"
is "nothing is suspended" "0 0" "$(field suspended_s) $(field xfactor_over_1_25)"
starts easy "0 10 3 10" "0 10 4 10" "0 5 1 5" "1 5 1 5" >starts
is "passed by two" 2 "$(field overtaken_max)"

# ---- the independent oracle ----
bad=0
for seed in $(seq "$files"); do
	"$oracle/random_traces.py" "$seed" $((1 + seed * seed % 37)) 100 >random.swf
	agrees random.swf >said 2>&1 || { bad=1 && sed "s/^/# seed $seed: /" said; }
done
tap_result $bad "$((files * 100)) random histories: to the second, job by job"
"$oracle/random_traces.py" 1 8 20 >random.swf
check "and on another machine" agrees random.swf 5
real=(HPC2N-2002-2.2-cln)
[ $whole = 0 ] || real+=(CEA-Curie-2011-2.1-cln)
for t in "${real[@]}"; do
	file=${REEVE_TRACES:-/nowhere}/$t.swf.gz
	if [ -r "$file" ]; then check "$t: to the second, job by job" agrees "$file"; else
		skip "$t: to the second, job by job" "REEVE_TRACES is not set, or lacks the file"
	fi
done


# ---- a real trace under every profile that ships ----
# Each job runs once, as long as it did, after its submission; where none is suspended, never more cores
# than there are; the core-seconds are the trace's.
file=${REEVE_TRACES:-/nowhere}/HPC2N-2002-2.2-cln.swf.gz
profiles=()
shipped=("$OLDPWD"/units/profiles/*.conf)
[ $whole = 1 ] || shipped=("${shipped[@]::3}")
for p in "${shipped[@]}"; do profiles+=(--profile "$(basename "$p" .conf)"); done
if [ -r "$file" ]; then
	"$reeve" simulate "$file" "${profiles[@]}" --jobs live.csv --groups g.csv --csv -o profile,suspended_s >out.csv
	check "HPC2N under ${#shipped[@]} shipped profiles: each job as it was" python3 -c '
import csv, gzip, sys
jobs = {}
for line in gzip.open(sys.argv[1], "rt", errors="replace"):
    v = line.split()
    if v and v[0] != ";" and v[0][0] != ";":
        jobs[int(v[0])] = (int(v[1]), int(v[3]), int(v[4]))
rows = list(csv.DictReader(open("out.csv")))
assert len(rows) == (len(sys.argv) - 2) / 2, rows
for r in rows:
    changes, n, stood = [], 0, 0
    for line in open("live.%s.csv" % r["profile"]).readlines()[1:]:
        job, submit, start, end, wait, suspended = map(int, line.split(","))
        was = jobs[job]
        assert submit == was[0] and start >= submit and wait == start - submit, line
        assert end - start - suspended == was[1], line
        changes += [(end, -was[2]), (start, was[2])]
        n, stood = n + 1, stood + suspended
    assert n == len(jobs) == 202871 and stood == int(r["suspended_s"]), (r, n, stood)
    used = sum(int(g["used_core_s"]) for g in csv.DictReader(open("g.csv")) if g["profile"] == r["profile"])
    assert used == 15772140964, (r, used)
    held = 0
    for at, cores in sorted(changes) if not stood else []:
        held += cores
        assert held <= 240, (r, at)
' "$file" "${profiles[@]}"
else
	skip "HPC2N under ${#shipped[@]} shipped profiles: each job as it was" "REEVE_TRACES is not set, or lacks the file"
fi

# ---- groups and shares ----
"$oracle/random_traces.py" 1 8 50 >groups.swf
printf '[Account g1]\nShares = 3\nUsers = u1\n' >shares.conf
printf '[Policy]\nPriorityWeightFairshare = 1000\nUsageHalfLife = 1:00:00\n[Cluster c]\nUnit = core-hours\n' >fair.conf
"$reeve" simulate groups.swf --profile fcfs --profile ./fair.conf --accounts shares.conf --groups g.csv --csv -o share_deviation_max >out.csv
# Of each profile: deviations add up to 0, core-seconds to those of the trace, got to entitled; the largest is the table's.
check "what groups got adds up" python3 -c '
import csv
used = 0
for line in open("groups.swf"):
    v = line.split()
    if line[0] != ";" and int(v[3]) > 0 and 0 < int(v[4]) <= 8:
        used += int(v[3]) * int(v[4])
tops = [float(x) for x in open("out.csv").read().split()[1:]]
for top, profile in zip(tops, ["fcfs", "./fair.conf"]):
    rows = [r for r in csv.DictReader(open("g.csv")) if r["profile"] == profile]
    assert sorted((r["group"], r["shares"]) for r in rows) == [("g1", "3"), ("g2", "1"), ("g3", "1")], rows
    assert sum(int(r["used_core_s"]) for r in rows) == used, rows
    assert abs(sum(int(r["got_core_s"]) - int(r["entitled_core_s"]) for r in rows)) <= 3, rows
    assert abs(sum(float(r["deviation"]) for r in rows)) < 1e-5, rows
    assert abs(max(abs(float(r["deviation"])) for r in rows) - top) < 1e-9, rows
assert tops[1] < tops[0] / 2, tops
'
# Four groups, jobs of other sizes and lengths in each; every hour each asks for more than its part of the
# 64 cores, the first for three times as much as the others, for ten days.
crowd() { # SEED SHARES OF EACH...
	python3 - "$@" <<'PY'
import random, sys
rng, shares = random.Random(int(sys.argv[1])), [int(s) for s in sys.argv[2:]]
rows = []
for g, s in enumerate(shares):
    most, longest = rng.choice([2, 4, 8, 16]), rng.choice([3600, 7200, 14400])
    asked = 0
    for hour in range(10 * 24):
        while asked < (3.9 if g == 0 else 1.3) * 64 * 3600 * (hour + 1) * s / sum(shares):
            cores, run = rng.randint(1, most), rng.randint(longest // 6, longest)
            asked += cores * run
            rows.append((hour * 3600, run, cores, run * rng.choice([1, 1, 2, 5]), rng.randint(1, 3), g + 1))
rows.sort(key=lambda r: r[0])
print("; UnixStartTime: 0\n; MaxProcs: 64")
for i, (at, run, cores, ask, user, group) in enumerate(rows):
    print(i + 1, at, -1, run, cores, -1, -1, cores, ask, -1, 1, user, group, -1, -1, -1, -1, -1)
PY
}
# share_out SEED SHARES OF EACH...: while a group had more to run, it got its share, within 5 %
share_out() {
	local g=0 s
	crowd "$@" >crowd.swf
	for s in "${@:2}"; do g=$((g + 1)) && printf '[Account g%d]\nShares = %d\nUsers = u1,u2,u3\n' $g "$s"; done >crowd.conf
	printf '[Policy]\nPriorityWeightFairshare = 1000000\nUsageHalfLife = 1-0:00:00\n[Cluster c]\nUnit = core-hours\n' >daily.conf
	"$reeve" simulate crowd.swf --profile ./daily.conf --accounts crowd.conf --groups g.csv --csv -n >out.csv || return 1
	python3 -c '
import csv, sys
rows = list(csv.DictReader(open("g.csv")))
assert len(rows) == int(sys.argv[1])
for r in rows:
    got, fair = int(r["got_core_s"]), int(r["entitled_core_s"])
    assert fair > 64 * 86400 and abs(got / fair - 1) <= 0.05, (got / fair, r)
' $((${#} - 1))
}
bad=0
for seed in $(seq $((whole ? 3 : 1))); do share_out $seed 1 1 1 1 >said 2>&1 || { bad=1 && sed "s/^/# seed $seed: /" said; }; done
tap_result $bad "groups of equal shares, one asks for three times as much: each gets the same while it has more to run, within 5 %"
bad=0
for seed in $(seq 4 $((4 + whole))); do share_out $seed 50 30 20 >said 2>&1 || { bad=1 && sed "s/^/# seed $seed: /" said; }; done
tap_result $bad "and of shares 50, 30 and 20"
printf '[Account g1]\nShares = parent\nUsers = u1\n' >deep.conf
fault "a group without a number of shares cannot be compared" "2 deep.conf: account 'g1' has jobs in the trace and no number of shares to compare its use with: state its Shares" groups.swf --accounts deep.conf
printf '[Account g1]\nShares = -3\nUsers = u1\n' >wrong.conf
has "shares that are none" "wrong.conf" "$("$reeve" simulate groups.swf --accounts wrong.conf 2>&1)"
fault "a place for groups that cannot be written" "4 cannot write /nowhere/g.csv: No such file or directory" groups.swf --groups /nowhere/g.csv
check "a full disk is no success for groups" bash -c "! $reeve simulate groups.swf --groups /dev/full >/dev/null"

# ---- on a terminal: progress after two seconds, and nothing of it is left ----
if [ -r "${REEVE_TRACES:-/nowhere}/CEA-Curie-2011-2.1-cln.swf.gz" ] && command -v script >/dev/null; then
	script -qec "$reeve simulate $REEVE_TRACES/CEA-Curie-2011-2.1-cln.swf.gz --profile bmrc -n" said.txt >/dev/null </dev/null
	has "progress on a terminal" '] ' "$(tr '\r' '\n' <said.txt | grep -a '%' | tail -n 1)"
	lacks "and none in a file" '%' "$("$reeve" simulate "$REEVE_TRACES/CEA-Curie-2011-2.1-cln.swf.gz" --profile bmrc 2>&1 -n)"
else
	skip "progress on a terminal" "REEVE_TRACES is not set, or there is no script(1)"
fi

# ---- bad input ----
{ trace "7 5 4 5" "3 5 4 5" "3 5 4 5" && echo "4 0 -1 10 5 -1 -1 5 9 -1 1 1 1 -1 -1 -1 -1 -1"; echo "5 1 -1 0 2 -1 -1 2 9 -1 1 1 1 -1 -1 -1 -1 -1"
	echo "6 1 -1 9 0 -1 -1 2 9 -1 1 1 1 -1 -1 -1 -1 -1"; echo "7 -1 -1 9 1 -1 -1 2 9 -1 1 1 1 -1 -1 -1 -1 -1"; echo "8 1 x"
	echo "9 1 -1 9 99999999999 -1 -1 2 9 -1 1 1 1 -1 -1 -1 -1 -1"; } >odd.swf
"$reeve" simulate odd.swf --profile fcfs --jobs odd.csv >odd.out
is "out of order: sorted by submission, then by number" "2,3,3,8,0,0 3,3,8,13,5,0 1,7,13,18,6,0" "$(tail -n +2 odd.csv | xargs)"
is "each that is no job is counted by its reason" "rejected, no-run-time: 1
rejected, no-cores: 1
rejected, larger-than-the-machine: 1
rejected, no-submit-time: 1
rejected, out-of-range: 1
rejected, garbage: 1
out of order, and sorted: 1" "$(tail -n +3 odd.out)"
"$reeve" simulate odd.swf --profile fcfs --json >out.json
is "by reason for programs too" "cores disordered rejected_garbage rejected_no_cores rejected_no_run_time rejected_no_submit_time rejected_out_of_range rejected_too_large" \
	"$(python3 -c 'import json; d = json.load(open("out.json")); print(*sorted(k for k in d if isinstance(d[k], int)))')"
is "and in all" "3 6" "$(field jobs) $(field rejected)"
is "--nodes" 5 "$("$reeve" simulate odd.swf --profile fcfs --nodes 1x1,2x2 --json >out.json; field rejected; field jobs >jobs)"
is "with one job more" 4 "$(cat jobs)"
grep -v MaxProcs odd.swf >sizeless.swf
fault "a trace that does not say its machine" "2 sizeless.swf: no '; MaxProcs:' header tells the size of the machine; give it by --nodes NxCORES or --cores N" sizeless.swf
check "which can be given" "$reeve" simulate sizeless.swf --cores 4
echo hello >hello.swf
fault "no trace at all" "1 hello.swf: no line is a job in the Standard Workload Format, with 18 numbers, run time and cores; for another format give --format sacct or pbs" hello.swf
fault "no file" "4 cannot read no.swf: No such file or directory" no.swf
has "an unknown profile" "fcfs and easy are built in: no profile 'esay' in" "$("$reeve" simulate odd.swf --profile esay 2>&1)"
fault "a profile twice" "2 --profile easy: another profile has this name already" odd.swf --profile easy --profile easy
fault "and by its file" "2 --profile ./live.conf: another profile has this name already" odd.swf --profile "$PWD/live.conf" --profile ./live.conf
echo "[Policy" >bad.conf
has "a profile with a fault: where" "bad.conf, line 1" "$("$reeve" simulate odd.swf --profile ./bad.conf 2>&1)"
printf '[Cluster c]\nUnit = core-hours\n[Policy]\nPriorityWeightAge = 4294967296\n' >bad.conf
has "a weight that overflows" "bad.conf, line 4" "$("$reeve" simulate odd.swf --profile ./bad.conf 2>&1)"
for nodes in 48 x48 4x 0x4 4x0 4x4x4 4x4, -1x4 1.5x4; do
	fault "--nodes $nodes" "2 --nodes $nodes: write NODESxCORES, such as 100x48 or 100x48,20x96" odd.swf "--nodes=$nodes"
done
fault "--cores 0" "2 --cores 0: write a whole number from 1 to 1000000000" odd.swf --cores 0
fault "both" "2 give the machine by --nodes or by --cores, not by both" odd.swf --cores 4 --nodes 1x4
gzip -k random.swf && head -c 300 random.swf.gz >short.swf.gz
has "a file cut short" "short.swf.gz" "$("$reeve" simulate short.swf.gz 2>&1)"
fault "a place that cannot be written" "4 cannot write /nowhere/j.csv: No such file or directory" odd.swf --profile fcfs --jobs /nowhere/j.csv
check "a full disk is no success" bash -c "! $reeve simulate random.swf --profile fcfs --jobs /dev/full"

# ---- forms ----
"$reeve" simulate random.swf.gz --json --jobs a.csv >a.json
"$reeve" simulate random.swf.gz --json --jobs b.csv >b.json
check "the same bytes each time" cmp a.json b.json
check "by job too" cmp a.easy.csv b.easy.csv
"$reeve" simulate random.swf --json >plain.json
check "gzip or not" cmp a.json plain.json
cp a.json out.json
is "without --profile: both baselines" "fcfs easy" "$(field profile 0) $(field profile 1)"
is "what scripts rely on is a number" "jobs wait_mean_s wait_p95_s wait_max_s bounded_slowdown_mean utilisation makespan_s suspended_s xfactor_over_1_25 rejected" \
	"$(python3 -c '
import json
row = json.load(open("out.json"))["profiles"][1]
print(*[k for k in "jobs wait_mean_s wait_p95_s wait_max_s bounded_slowdown_mean utilisation makespan_s suspended_s xfactor_over_1_25 rejected".split()
        if isinstance(row[k], (int, float))])')"
"$reeve" simulate random.swf --profile fcfs --profile ./live.conf --chart a.svg >/dev/null
"$reeve" simulate random.swf --profile fcfs --profile ./live.conf --chart b.svg >/dev/null
check "a chart: the same bytes each time" cmp a.svg b.svg
is "of a line and a name for each profile" "2 fcfs ./live.conf" "$(python3 -c '
import xml.etree.ElementTree as x
svg = "{http://www.w3.org/2000/svg}"
t = x.parse("a.svg")
lines = [p for p in t.iter(svg + "path") if p.get("class") == "line" and p.get("d").count(" ") > 10]
print(len(lines), *[n.text for n in t.iter(svg + "tspan")])')"
cp live.conf '<&".conf'
"$reeve" simulate random.swf --profile './<&".conf' --chart a.svg >/dev/null
check "no name is markup" python3 -c '
import xml.etree.ElementTree as x
assert "./<&\".conf" in [n.text for n in x.parse("a.svg").iter("{http://www.w3.org/2000/svg}tspan")]'
check "a chart that cannot be written is no success" bash -c "! $reeve simulate random.swf --chart /dev/full >/dev/null"
is "csv of some columns" "profile,wait_max_s" "$("$reeve" simulate random.swf --csv -o profile,wait_max_s | head -n 1)"

# ---- QOS, as the live system counts it: 4 cores, jobs of an hour ----
sacct() { # "SECOND CORES USER QOS [ACCOUNT]"...: jobs 1, 2, ... of the history
	local i=0 row
	for row; do
		# shellcheck disable=SC2086
		set -- $row
		i=$((i + 1))
		[ "$4" = - ] && set -- "$1" "$2" "$3" "" "${5:-}"
		echo "$i|$i|main|normal|$4|${5:-physics}|g|1|$3|1|2026-01-10T00:00:0$1|2026-01-10T00:00:0$1|2026-01-10T00:30:00|2026-01-10T01:30:00|01:00:00|0:0|COMPLETED|1|$2|$2|1G|cpu=$2|cpu=$2,mem=1G|02:00:00|n1|t"
	done
}
# qos SECTIONS [OPTION VALUE]... -- ROW...: hours at which the jobs start
qos() {
	local sections=$1 options=()
	shift
	while [ "$1" != -- ]; do options+=("$1") && shift; done
	shift
	printf '[Policy]\nPriorityWeightQos = 1000\nPriorityWeightAge = 0\n[Cluster main]\nUnit = core-hours\n%b' "$sections" >qos.conf
	sacct "$@" >qos.txt
	"$reeve" simulate qos.txt --format sacct --cores 4 --profile ./qos.conf "${options[@]}" --jobs j.csv --json >out.json 2>said || { cat said; return 1; }
	"$reeve" simulate qos.txt --format sacct --cores 4 --profile ./qos.conf "${options[@]}" >people.txt
	tail -n +2 j.csv | awk -F, '{ print $1 ":" int(($3 - 1768003200) / 3600) }' | xargs
}
steps='[Qos low]\nPriority = 1\n[Qos normal]\nPriority = 10\n[Qos high]\nPriority = 40\n'
is "by the QOS that the history names the higher one starts first, none last" "1:0 2:4 3:3 4:2 5:1" \
	"$(qos "$steps" -- "0 4 a normal" "1 4 b -" "2 4 c low" "3 4 d normal" "4 4 e high")"
has "jobs without a QOS are reported" "jobs without a QOS: priority 0, factor 1, no limits: 1 job" "$(cat people.txt)"
is "the default of the profile is theirs" "1:0 2:1 3:2" \
	"$(qos "$steps[Policy]\nDefaultQos = high\n" -- "0 4 a normal" "2 4 c -" "3 4 d low")"
is "--qos is that of all" "1:0 2:1 3:2" "$(qos "$steps" --qos low -- "0 4 a normal" "1 4 b low" "2 4 c high")"
has "one that is not there, with the nearest" "--qos: there is no QOS 'hihg'; did you mean 'high'?" "$(qos "$steps" --qos hihg -- "0 4 a normal")"
fault "a baseline has none" "2 --qos needs a site's --profile: fcfs and easy have no QOS" qos.txt --format sacct --qos high --cores 4
is "a user's cores in it are limited, and another user passes by" "1:0 2:1 3:0" \
	"$(qos '[Qos normal]\nMaxRunningCores = 2\n' -- "0 2 a normal" "1 2 a normal" "2 2 b normal")"
is "and the number of jobs" "1:0 2:1 3:0" \
	"$(qos '[Qos normal]\nMaxRunningJobs = 1\n' -- "0 1 a normal" "1 1 a normal" "2 1 b normal")"
is "what the site refuses at submission is left out" "2:0 6:0" \
	"$(qos '[Qos short]\nMaxWalltime = 1:00:00\n[Qos narrow]\nMaxRunningCores = 2\n[Qos mine]\nAllowUsers = alice\nAllowAccounts = arts\n' -- \
		"0 1 a short" "1 1 alice mine arts" "2 1 bob mine arts" "3 1 alice mine" "4 4 a narrow" "5 2 a narrow")"
is "and counted" "4 4" "$(field qos_refused) $(field rejected)"
has "by reason: walltime" "./qos.conf: refused by QOS short: longer than its MaxWalltime: 1 job" "$(cat people.txt)"
has "user or account" "refused by QOS mine: user or account may not use it: 2 jobs" "$(cat people.txt)"
has "cores" "refused by QOS narrow: more cores than its MaxRunningCores: 1 job" "$(cat people.txt)"
is "a QOS that the profile lacks is none" "1:0 2:1 3:2" "$(qos "$steps" -- "0 4 a normal" "1 4 b normal" "2 4 c foreign")"
has "and said" "no [Qos foreign] in the profile: simulated without a QOS: 1 job" "$(field qos_notes)"
is "what a replay does not count starts as if it were not there" "1:0 2:0" \
	"$(qos '[Qos normal]\nMaxQueuedJobs = 0\nMaxRunningGpus = 0\nMaxRunningMemory = 1\n' -- "0 1 a normal" "1 1 a normal")"
for key in MaxQueuedJobs MaxRunningGpus MaxRunningMemory; do
	has "$key: it is said" "not simulated: $key of QOS normal: 2 jobs" "$(cat people.txt)"
done
qos '' -- "0 4 a normal" "1 1 b normal" "2 1 a -" >/dev/null
has "a profile without QOS says of how many jobs those of the history count nothing" "the QOS of the trace count nothing: the profile has no [Qos] section: 2 jobs" "$(cat people.txt)"
printf '[Account arts]\nUsers = a, b\nQos = normal, high\nDefaultQos = high\n' >qos.acc
is "with --accounts the default of the account goes before that of the site, and its list bounds" "1:0 2:2 3:1" \
	"$(qos "$steps[Policy]\nDefaultQos = low\n" --accounts qos.acc -- "0 4 a normal arts" "1 4 b normal arts" "2 4 a - arts" "3 4 a low arts")"
has "and counted" "refused by QOS low: user or account may not use it: 1 job" "$(cat people.txt)"
printf '[Policy]\nPriorityWeightFairshare = 1000\nPriorityWeightAge = 0\n[Qos half]\nFactor = 1/2\n[Cluster main]\nUnit = core-hours\n' >fair.conf
fair() { # QOS: a has run for four core-hours in it and b for two; then b's job 4 and a's job 5 wait
	sacct "0 4 a $1 A" "1 2 b - B" "2 4 c - C" "3 4 b - B" "4 4 a - A" >qos.txt
	"$reeve" simulate qos.txt --format sacct --cores 4 --profile ./fair.conf --jobs j.csv --json >out.json &&
		tail -n +2 j.csv | awk -F, '{ print $1 ":" int(($3 - 1768003200) / 3600) }' | xargs
}
is "who has used less goes first" "1:0 2:1 3:2 4:3 5:4" "$(fair -)"
is "and fairshare counts the time x the factor: half of four, of which more has faded" "1:0 2:1 3:2 4:4 5:3" "$(fair half)"
hours() { tail -n +2 j.csv | awk -F, '{ print $1 ":" int(($3 - 1768003200) / 3600) }' | xargs; }

# ---- BMRC's share tree: three levels by a template ----
cat >bmrc.acc <<'CONF'
[Template group]
Accounts = prj.high=100/parent, prj=10/10, prj.low=1/10
[Account bloggs]
Template = group
Shares = 1
Users = a, b
[Account chem]
Shares = 1
Users = c, d
CONF
printf '[Policy]\nPriorityWeightFairshare = 1000\nPriorityWeightAge = 0\nUsageHalfLife = 0\n[Cluster main]\nUnit = core-hours\n' >tree.conf
# a has run in bloggs.prj and c in chem; then wait: a in prj, b in prj, a in prj.low, b in prj.high, d in chem.
bmrc() { # [OPTION...]
	sacct "0 4 a - bloggs.prj" "1 4 c - chem" "2 4 a - bloggs.prj" "3 4 b - bloggs.prj" "4 4 a - bloggs.prj.low" "5 4 b - bloggs.prj.high" "6 4 d - chem" >bmrc.txt
	"$reeve" simulate bmrc.txt --format sacct --cores 4 --profile ./tree.conf --jobs j.csv --groups g.csv "$@" >people.txt 2>&1 || cat people.txt
	hours
}
is "with the tree of BMRC: first the group furthest below its share, then its account, then the user" \
	"1:0 2:1 3:6 4:5 5:2 6:4 7:3" "$(bmrc --accounts bmrc.acc)"
is "without it each account is a group of its own" "1:0 2:1 3:6 4:4 5:2 6:3 7:5" "$(bmrc)"
bmrc --accounts bmrc.acc >/dev/null
is "groups are compared at the top of the tree" "bloggs,1 chem,1" "$(tail -n +2 g.csv | cut -d, -f2,3 | sort | xargs)"

# ---- NCI's grants: a project that has used up its grant runs in bonus ----
grants() { # AMOUNT of the poor project
	printf '[Account %s]\nUsers = a, b, c\n[Allocation %s/q1]\nKind = grant\nAmount = %s\nFrom = 2026-01-01\nTo = 2026-04-01\n' rich rich 1000 poor poor "$1"
}
nci() { # [OPTION...]
	sacct "0 4 a - rich" "1 4 b - poor" "2 4 c - rich" >nci.txt
	"$reeve" simulate nci.txt --format sacct --cores 4 --profile nci --jobs j.csv "$@" >people.txt 2>&1 || cat people.txt
	hours
}
grants 7.999 >poor.acc
grants 8 >just.acc
is "4 cores x 2 hours are requested, and the grant covers less: in bonus, which goes last" "1:0 2:2 3:1" "$(nci --accounts poor.acc)"
has "the result counts them" "nci: in bonus, as their grant did not cover them: 1 job of 1 account" "$(cat people.txt)"
is "what the grant covers is not in bonus" "1:0 2:1 3:2" "$(nci --accounts just.acc)"
has "which is counted too" "nci: in bonus, as their grant did not cover them: 0 jobs of 0 accounts" "$(cat people.txt)"
"$reeve" simulate nci.txt --format sacct --cores 4 --profile nci --accounts poor.acc --json >out.json
is "for programs" "1 1" "$(field bonus_jobs) $(field bonus_groups)"
nci >/dev/null
has "without grants the result says that they are not simulated" "nci: grants are not simulated, and no job is in bonus: give them by --accounts" "$(cat people.txt)"
nci --accounts bmrc.acc >/dev/null
has "with a file that has none likewise" "the file of --accounts has no [Allocation] of Kind = grant" "$(cat people.txt)"
has "windows are not simulated either" "rwth: monthly quotas are not simulated, and no job is in low-priority mode" \
	"$("$reeve" simulate nci.txt --format sacct --cores 4 --profile rwth)"
trace "0 5 4 5" | grep -v UnixStartTime >timeless.swf
has "in a trace that does not say when it began" "the trace does not say when it begins (UnixStartTime)" \
	"$("$reeve" simulate timeless.swf --profile nci --accounts poor.acc)"

# ---- a federation: one machine is one cluster ----
sacct "0 4 a - A" "1 4 b - B" "2 4 c - C" >fed.txt
sed -i '2s/|main|/|west|/; 3s/|main|/|west|/' fed.txt
"$reeve" simulate fed.txt --format sacct --cores 4 --profile easy --jobs j.csv >people.txt
is "without --cluster all are on one machine" "1:0 2:1 3:2" "$(hours)"
has "and the result lists the clusters that it mixes" "jobs of several clusters, mixed on one machine (--cluster NAME replays one): main 1, west 2" "$(cat people.txt)"
"$reeve" simulate fed.txt --format sacct --cores 4 --profile easy --json >out.json
is "for programs too" "main 1, west 2" "$(python3 -c 'import json; print(json.load(open("out.json"))["clusters_mixed"])')"
"$reeve" simulate fed.txt --format sacct --cores 4 --profile easy --cluster west --jobs j.csv >people.txt
is "--cluster replays one" "2:0 3:1" "$(hours)"
has "and counts the others" "left out, of other clusters: 1" "$(cat people.txt)"
lacks "which are not mixed then" "mixed" "$(cat people.txt)"
fault "a cluster that the trace does not have" "2 fed.txt: no job of cluster 'east'; there are: main 1, west 2" fed.txt --format sacct --cluster east --cores 4
fault "SWF names no cluster" "2 --cluster: a file in SWF is of one cluster, and does not name it; sacct and pbs name theirs (--format)" odd.swf --cluster c
fault "a format that is none" "2 --format sawf: write swf, sacct or pbs" qos.txt --format sawf
printf '03/01/2026 12:00:00;E;7.pbs;user=alice group=chem queue=q ctime=1772366400 qtime=1772366400 etime=1772366400 start=1772366410 end=1772370010 exec_host=n1/0*4 Resource_List.ncpus=4 Resource_List.walltime=02:00:00 Resource_List.qos=high resources_used.walltime=01:00:00\n' >pbs.log
is "a log of PBS" "7,1772366400,1772366400,1772370000,0,0" \
	"$("$reeve" simulate pbs.log --format pbs --cores 4 --profile easy --jobs j.csv >/dev/null && tail -n +2 j.csv)"
tap_end
