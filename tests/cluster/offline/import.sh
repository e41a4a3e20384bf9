#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# import.sh - histories into a ledger: exact totals, no double count, no silent loss. TAP.
# Real traces are looked for in $REEVE_TRACES; without it those tests are skipped, visibly.
set -u
cd "$(dirname "$0")/../../.." || exit 1
reeve=$PWD/build/bin/reeve
dir=$(mktemp -d /tmp/reeve-import-XXXXXX)
trap 'rm -rf "$dir"' EXIT
n=0 failed=0
check() { # NAME COMMAND...
	local name=$1
	shift
	n=$((n + 1))
	if "$@" >"$dir/said" 2>&1; then echo "ok $n - $name"; else
		sed 's/^/# /' "$dir/said"; echo "not ok $n - $name"; failed=1
	fi
}
skip() { n=$((n + 1)); echo "ok $n - $1 # SKIP REEVE_TRACES is not set, or lacks the file"; }
field() { python3 -c 'import json,sys; print(json.dumps(json.load(open(sys.argv[1]))[sys.argv[2]], sort_keys=True))' "$1" "$2"; }
is() { [ "$(field "$1" "$2")" = "$3" ] || { echo "$2 is $(field "$1" "$2"), not $3"; return 1; }; }
import() { "$reeve" import "$@" --json; }
sums() { "$reeve" usage --ledger "$1" --by user --monthly --csv; }
same() { [ "$1" = "$2" ] || { echo "$1, not $2"; return 1; }; }
verify() { "$reeve" admin verify --ledger "$1"; }

cat >"$dir/small.swf" <<'SWF'
; UnixStartTime: 1000000000
1 0 10 3600 4 100 -1 4 7200 -1 1 7 3 -1 -1 -1 -1 -1
2 5 0 0 4 -1 -1 4 7200 -1 5 7 3 -1 -1 -1 -1 -1
3 5 0 100 0 -1 -1 4 7200 -1 5 7 3 -1 -1 -1 -1 -1
4 5 0 100 2 -1 -1 4
5 5 0 x 2 -1 -1 4 7200 -1 5 7 3 -1 -1 -1 -1 -1
6 5 0 200000 2 -1 -1 4 7200 -1 1 8 3 -1 -1 -1 -1 -1
7 5 0 100 2 -1 -1 4 7200 -1 1 -1 3 -1 -1 -1 -1 -1
SWF
db=$dir/small.db
import swf "$dir/small.swf" --cluster c --ledger "$db" >"$dir/1.json" 2>"$dir/err"
check "every row is a job or rejected by name" is "$dir/1.json" rejected \
	'{"garbage": 1, "missing-fields": 1, "no-cores": 1, "no-run-time": 1}'
check "rows are counted" is "$dir/1.json" rows 7
check "the total of the rejected" is "$dir/1.json" rejected_total 4
check "run time x cores" is "$dir/1.json" core_seconds 414600
gzip -k "$dir/small.swf"
import swf "$dir/small.swf" --cluster c --ledger "$db" >"$dir/2.json"
check "the same file again brings nothing new" is "$dir/2.json" new 0
check "and tells the same totals" is "$dir/2.json" core_seconds 414600
import swf "$dir/small.swf.gz" --cluster c --ledger "$db" >"$dir/3.json"
check "nor does the same file compressed" is "$dir/3.json" new 0
check "whose jobs are known" is "$dir/3.json" known 3
sums "$db" >"$dir/before"
sed 's/^1 0 10 3600 4/1 0 10 3600 5/' "$dir/small.swf" >"$dir/other.swf"
import swf "$dir/other.swf" --cluster c --ledger "$db" >"$dir/4.json" 2>"$dir/err"
check "other figures of a known job are a conflict" is "$dir/4.json" conflict 1
check "which is named" grep -q 'job 1 of c' "$dir/err"
sums "$db" >"$dir/after"
check "and changes nothing" cmp "$dir/before" "$dir/after"
check "sums are what the jobs say" verify "$db"

printf '[Cluster c]\nUnit=service-units\nQueues=fast\n[Queue fast]\nFactor=3\n' >"$dir/fast.conf"
import swf "$dir/small.swf" --cluster c --profile "$dir/fast.conf" --ledger "$dir/su.db" >/dev/null
check "--profile charges by the whole tariff, the queue's factor too" \
	grep -q ',43200000,' <("$reeve" usage --ledger "$dir/su.db" --by user --monthly --csv)
import swf "$dir/small.swf" --cluster elsewhere --profile nci --ledger "$dir/no.db" 2>"$dir/err"
check "a cluster that the profile lacks is an error" [ $? -ne 0 ]
check "which names the section" grep -q 'has no .Cluster elsewhere' "$dir/err"
check "and makes no ledger" [ ! -e "$dir/no.db" ]

printf 'kind,from,to\nuser,u7,alice\naccount,g3,physics\n' >"$dir/map.csv"
import swf "$dir/small.swf" --cluster c --ledger "$dir/map.db" --map "$dir/map.csv" >/dev/null
check "--map gives other names" grep -q '2001-09,alice,' <(sums "$dir/map.db" | sed 's/,,*/,/g')

cp "$db" "$dir/bad.db"
python3 - "$dir/bad.db" <<'PY'
import sqlite3, sys
d = sqlite3.connect(sys.argv[1])
d.execute("UPDATE rollups SET core_ms = core_ms + 1 WHERE day = (SELECT MIN(day) FROM rollups)"
          " AND user = 'u8'")
d.commit()
PY
verify "$dir/bad.db" >"$dir/found" 2>&1
check "one wrong sum makes verify fail" [ $? -eq 1 ]
check "and is named" grep -q 'c, g3, u8, pool cpu, 2001-09-09: core_ms is' "$dir/found"
check "so is the total that differs from the sums" grep -q 'c, \*, \*, pool cpu, 2001-09-09: core_ms is' "$dir/found"
check "no other is" [ "$(grep -c 'in the ledger' "$dir/found")" -eq 2 ]

head -c -20 "$dir/small.swf.gz" >"$dir/cut.swf.gz"
check "a file cut short is an error" bash -c "! '$reeve' import swf '$dir/cut.swf.gz' --cluster c --ledger '$dir/cut.db'"

# ---- the fields of the file are used, and unused ones are reported ----
prices() { sqlite3 "$1" "SELECT (id & 1099511627775) || ':' || COALESCE(rate_num, ncpus) || '/' || COALESCE(rate_den, 1) FROM imported ORDER BY id & 1099511627775, id" | xargs; }
job() { # ID PARTITION QOS NODES CPUS TRES [START END ELAPSED]
	echo "$1|$1|graham|$2|$3|phys|g|1|ann|2|2025-07-01T09:00:00|x|${7:-2025-07-01T10:00:00}|${8:-2025-07-01T11:00:00}|${9:-01:00:00}|0:0|COMPLETED|$4|$5|$5|1Gn|t|$6|1:00:00|n1|name"
}
{
	job 1 gpu normal 1 1 'billing=1,cpu=1,mem=1G,gres/gpu:v100-16=1'
	job 2 gpu normal 1 1 'cpu=1,mem=1G,gres/gpu=2,gres/gpu:v100-16=2'
	job 3 gpu normal 1 2 'cpu=2,mem=2G,gres/gpu:p100-12=1,gres/gpu:v100-16=1'
	job 4 gpu normal 1 1 'cpu=1,mem=1G,gres/gpu:tesla=1'
	job 5 batch high 1 4 'cpu=4,mem=1G'
} >"$dir/graham.sacct"
import sacct "$dir/graham.sacct" --profile alliance-graham --ledger "$dir/graham.db" >"$dir/8.json" 2>/dev/null
check "a model told alone, in both forms, and several models have their prices" \
	same "$(prices "$dir/graham.db")" "1:1/1 2:2/1 3:2/1 5:4/1"
check "an unknown model is reported, with its jobs" is "$dir/8.json" rejected '{"no-price": 1}'
unused() { python3 -c 'import json,sys; print(*("%s:%s:%d" % (u["kind"], u["name"], u["jobs"]) for u in json.load(open(sys.argv[1]))["unused"]))' "$1"; }
check "a partition on which no price depends is not" same "$(unused "$dir/8.json")" "gpu:tesla:1"
printf 'kind,from,to\ngpu,tesla,v100-32\n' >"$dir/gpus.csv"
import sacct "$dir/graham.sacct" --profile alliance-graham --map "$dir/gpus.csv" --ledger "$dir/graham2.db" >"$dir/9.json" 2>/dev/null
check "--map names a model, and the V100 job has its price" same "$(prices "$dir/graham2.db")" "1:1/1 2:2/1 3:2/1 4:1/1 5:4/1"
# ---- GPUs by the names that the clusters' Slurm has for them; several models in one job ----
slurm_job() { job "$1" gpu normal 1 "$3" "cpu=$3,mem=1G,$4" | sed "s/|graham|/|$2|/"; }
{
	slurm_job 1 cedar 6 gres/gpu:p100=1
	slurm_job 2 cedar 9 gres/gpu:p100l=1
	slurm_job 3 cedar 16 gres/gpu=1,gres/gpu:v100l=1
	slurm_job 4 graham 16 gres/gpu:p100=1
	slurm_job 5 graham 7 gres/gpu:v100=1
	slurm_job 6 graham 10 gres/gpu:v100l=1
	slurm_job 7 beluga 10 gres/gpu:v100=1
	slurm_job 8 narval 12 gres/gpu:a100=1
	slurm_job 9 narval 1 gres/gpu:a100_3g.20gb=1
	slurm_job 10 graham 1 gres/gpu:tesla=1
	slurm_job 11 graham 1 gres/gpu:v100=1
	slurm_job 12 graham 1 gres/gpu:t4=1
	slurm_job 13 graham 1 gres/gpu:p100=1,gres/gpu:t4=1
} >"$dir/names.sacct"
printf '[Policy]\nProfile=alliance-cedar, alliance-graham, alliance-beluga, alliance-narval\n' >"$dir/alliance.conf"
import sacct "$dir/names.sacct" --profile "$dir/alliance.conf" --ledger "$dir/names.db" >"$dir/names.json" 2>/dev/null
check "a dump is priced by the names that each cluster's Slurm has for its GPUs" \
	same "$(prices "$dir/names.db")" "1:1/1 2:3/2 3:2/1 4:1/1 5:2/1 6:2/1 7:1/1 8:1/1 9:3/7 11:1/1"
check "an ambiguous name is listed alone, with its line, beside an unknown one" \
	same "$(unused "$dir/names.json")" "gpu:tesla:1 gpu:t4:2"
reason() { python3 -c 'import json,sys; print(*(u["first_line"] for u in json.load(open(sys.argv[1]))["unused"] if sys.argv[2] in u["reason"]))' "$1" "$2"; }
check "the reason of each has its line and what to write" \
	same "$(reason "$dir/names.json" 'say which: t4-16-4, t4-16-11') $(reason "$dir/names.json" "unknown GPU model 'tesla'")" "12 10"
"$reeve" import sacct "$dir/names.sacct" --profile "$dir/alliance.conf" --ledger "$dir/names3.db" >"$dir/names.txt" 2>/dev/null
check "people read them" grep -q 'gpu t4: 2 jobs, first in line 12; .*say which: t4-16-4, t4-16-11' "$dir/names.txt"
"$reeve" admin reprice --ledger "$dir/names.db" --profile "$dir/alliance.conf" --json >"$dir/names4.json"
check "prices by these names stay when the ledger is priced again" is "$dir/names4.json" changed 0
{
	job 1 gpu normal 1 48 'cpu=48,mem=8G,gres/gpu:p100=1,gres/gpu:v100=1'
	job 2 gpu normal 1 3 'cpu=3,mem=80G,gres/gpu:p100=2,gres/gpu:v100=1'
	job 3 free normal 1 48 'cpu=48,mem=8G,gres/gpu:p100=1,gres/gpu:v100=1'
} >"$dir/two.sacct"
cat >"$dir/two.conf" <<'CONF'
[Policy]
MemoryUnit=binary
TresWeights=cpu=1,mem=1/GB,gpu=12
[Cluster graham]
Queues=gpu,free
[Queue free]
Factor=0
[GpuModel p100]
Weight=1
[GpuModel v100]
Weight=3
CONF
import sacct "$dir/two.sacct" --profile "$dir/two.conf" --ledger "$dir/two.db" >/dev/null
check "a job with GPUs of two models is charged the largest of their sum, its cores and its memory" \
	same "$(prices "$dir/two.db")" "1:48/1 2:80/1 3:0/1"
sed 's/^TresWeights/UsageRule=sum\n&/' "$dir/two.conf" >"$dir/sum.conf"
import sacct "$dir/two.sacct" --profile "$dir/sum.conf" --ledger "$dir/sum.db" >/dev/null
check "and under UsageRule=sum the sum of the three" same "$(prices "$dir/sum.db")" "1:104/1 2:143/1 3:0/1"
slurm_job 1 cedar 14 gres/gpu:p100=1,gres/gpu:v100l=1 >"$dir/both.sacct"
import sacct "$dir/both.sacct" --profile alliance-cedar --ledger "$dir/both.db" >/dev/null 2>&1
check "where bundles differ, a core has the mean of its weights in them: 14 x (1/6 + 1/8) / 2" \
	same "$(prices "$dir/both.db")" "1:49/24"

sed 's/|graham|/|narval|/; s/v100-16/a100_1g.5gb/g; /p100\|tesla/d' "$dir/graham.sacct" >"$dir/mig.sacct"
printf '[Policy]\nProfile=alliance-narval\n[GpuModel a100_1g.5gb]\nWeight=1/7\n' >"$dir/mig.conf"
import sacct "$dir/mig.sacct" --profile "$dir/mig.conf" --ledger "$dir/mig.db" >/dev/null 2>&1
check "a slice has its fraction" same "$(prices "$dir/mig.db")" "1:1/7 2:2/7 5:4/1"
printf '[Cluster graham]\nUnit=core-hours\nQueues=normal,batch\nCoresPerNode=32\n[Queue batch]\nFactor=3\nExclusive=yes\n' >"$dir/queues.conf"
{ cat "$dir/graham.sacct"; job 6 batch high 1 40 'cpu=40,mem=1G'; } >"$dir/larger.sacct"
import sacct "$dir/larger.sacct" --profile "$dir/queues.conf" --ledger "$dir/queues.db" >/dev/null 2>&1
check "a partition that is a queue has its factor, and an exclusive one whole nodes" \
	same "$(prices "$dir/queues.db" | tr ' ' '\n' | tail -n 2 | head -n 1)" "5:96/1"
check "a node that is larger than the profile says is charged for the cores that were recorded" \
	same "$(prices "$dir/queues.db" | tr ' ' '\n' | tail -n 1)" "6:120/1"
job 9 other normal 1 4 'cpu=4,mem=1G' >"$dir/other.sacct"
import sacct "$dir/other.sacct" --profile "$dir/queues.conf" --ledger "$dir/other.db" >"$dir/other.json" 2>/dev/null
check "a partition that is none is listed where queues have different prices" same "$(unused "$dir/other.json")" "partition:other:1"
sed 's/^Factor=3/Priority=7/; /^Exclusive/d' "$dir/queues.conf" >"$dir/alike.conf"
import sacct "$dir/other.sacct" --profile "$dir/alike.conf" --ledger "$dir/alike.db" >"$dir/alike.json" 2>/dev/null
check "and not where they have one price" same "$(unused "$dir/alike.json")" ""

# ---- names that are missing, time suspended, runs of a requeued job, cpu time ----
sed 's/^\(; .*\)$/\1/; s/ 7 3 / 7 -1 /; s/ 8 3 / -1 -1 /' "$dir/small.swf" >"$dir/blue.swf"
import swf "$dir/blue.swf" --cluster c --ledger "$dir/blue.db" --account blue >"$dir/10.json"
check "jobs without a group are charged to the account that is named" is "$dir/10.json" without_account 2
check "and are all there" is "$dir/10.json" jobs 3
check "by that name" same "$("$reeve" usage --ledger "$dir/blue.db" --csv -n -o account | sort -u | xargs)" "blue g3"
check "whose users may be missing" same "$("$reeve" usage --ledger "$dir/blue.db" --by user --csv -n -o user | sort -u | xargs)" "u7 unknown"
{
	job 1 p q 1 2 cpu=2 2025-07-01T10:00:00 2025-07-01T12:00:00 01:00:00
	job 2 p q 1 2 cpu=2 2025-07-01T10:00:00 2025-07-01T10:30:00 00:30:00
	job 2 p q 1 2 cpu=2 2025-07-01T11:00:00 2025-07-01T12:00:00 01:00:00
	job 2 p q 1 2 cpu=2 2025-07-02T11:00:00 2025-07-02T12:00:00 01:00:00
} >"$dir/runs.sacct"
import sacct "$dir/runs.sacct" --ledger "$dir/runs.db" >"$dir/11.json"
check "time in which a job was suspended is free, and each run of a requeued job is charged" \
	is "$dir/11.json" core_seconds $((7200 + 3600 + 7200 + 7200))
check "none is a conflict" is "$dir/11.json" conflict 0
check "and the sums are what they say" verify "$dir/runs.db"
check "with the suspended time" same "$("$reeve" usage --ledger "$dir/runs.db" --csv -n -o running_ms,suspended_ms)" "12600000,3600000"
cat "$dir/runs.sacct" <(echo) >"$dir/again.sacct"
import sacct "$dir/again.sacct" --ledger "$dir/runs.db" >"$dir/12.json"
check "read again they are the same four" is "$dir/12.json" known 4
printf '; UnixStartTime: 1000000000\n1 0 10 3600 4 100.25 -1 4 7200 -1 1 7 3 -1 -1 -1 -1 -1\n' >"$dir/cpu.swf"
import swf "$dir/cpu.swf" --cluster c --ledger "$dir/cpu.db" >/dev/null
check "cpu time is not cut to seconds" same "$("$reeve" usage --ledger "$dir/cpu.db" --csv -n -o cpu_ms)" 401000
printf '; UnixStartTime: 1000000000\n1 0 10 0 4 -1 -1 4 7200 -1 1 7 3 -1 -1 -1 -1 -1\n' >"$dir/none.swf"
import swf "$dir/none.swf" --cluster c --ledger "$dir/none.db" >/dev/null 2>"$dir/err"
check "an import that takes no row fails" [ $? -eq 1 ]
check "and says what to look at" grep -q 'none of 1 rows was imported' "$dir/err"
import sacct "$dir/local.sacct" --ledger "$dir/local.db" >/dev/null 2>"$dir/err"

# ---- by which profile it was priced ----
"$reeve" usage --ledger "$dir/graham.db" --profile nci >/dev/null 2>"$dir/err"
check "a view under another profile says that the ledger was priced otherwise" grep -q '4 imported jobs of this ledger were priced by profile alliance-graham' "$dir/err"
"$reeve" usage --ledger "$dir/graham.db" --profile alliance-graham >/dev/null 2>"$dir/err"
check "under the same one it says nothing" [ ! -s "$dir/err" ]
cp "$dir/graham2.db" "$dir/plain.db"
import sacct "$dir/graham.sacct" --map "$dir/gpus.csv" --ledger "$dir/priced.db" >/dev/null 2>&1
"$reeve" usage --ledger "$dir/priced.db" --profile alliance-graham >/dev/null 2>"$dir/err"
check "of an import without a profile too" grep -q 'priced by no profile' "$dir/err"
check "prices can be made again" "$reeve" admin reprice --ledger "$dir/priced.db" --profile alliance-graham
check "as if they had been from the start" same "$(prices "$dir/priced.db")" "$(prices "$dir/plain.db")"
sums "$dir/priced.db" >"$dir/a" && sums "$dir/plain.db" >"$dir/b"
check "to the last sum" cmp "$dir/a" "$dir/b"
check "which verify" verify "$dir/priced.db"
sed '$a\\' "$dir/graham.sacct" | cat - <(echo) >"$dir/graham3.sacct"
import sacct "$dir/graham3.sacct" --profile alliance-graham --map "$dir/gpus.csv" --ledger "$dir/priced.db" >"$dir/13.json" 2>/dev/null
check "and are what an import under that profile knows" is "$dir/13.json" conflict 0
sed 's/|ann|/|a\xff|/' "$dir/graham.sacct" | head -n 1 >"$dir/latin.sacct"
import sacct "$dir/latin.sacct" --ledger "$dir/latin.db" >"$dir/14.json" 2>/dev/null
check "a name that is no UTF-8 is none" is "$dir/14.json" rejected '{"no-name": 1}'
check "by the same profile no price is another" same "$("$reeve" admin reprice --ledger "$dir/plain.db" --profile alliance-graham)" \
	"5 imported jobs, 0 with another price by alliance-graham"

# ---- accounting logs of PBS ----
ran() { # TYPE ID START END MORE...
	echo "11/21/2025 10:00:00;$1;$2;user=ann group=ab12 project=ab12 jobname=j queue=normal ctime=1763700000 qtime=1763700000 etime=1763700000 start=$3 session=1 end=$4 Exit_status=0 ${*:5}"
}
asks() { echo "exec_host=n1/0*$1 Resource_List.ncpus=$1 Resource_List.mem=16gb"; }
{
	echo "11/21/2025 10:00:00;Q;1.gadi-pbs;queue=normal"
	echo "11/21/2025 10:00:00;S;1.gadi-pbs;user=ann group=ab12 start=1763700100"
	ran E 1.gadi-pbs 1763700100 1763703700 "$(asks 8)" resources_used.cput=01:00:00 resources_used.walltime=01:00:00 run_count=1
	ran E 2.gadi-pbs 1763700100 1763707300 "$(asks 4)" resources_used.walltime=00:30:00 run_count=1
	ran R 3.gadi-pbs 1763700100 1763701100 "$(asks 2)" resources_used.walltime=00:16:40 run_count=1
	echo "11/21/2025 10:00:00;R;3.gadi-pbs;"
	ran E 3.gadi-pbs 1763702000 1763703000 "$(asks 2)" resources_used.walltime=00:16:40 run_count=2
	ran E '4[1].gadi-pbs' 1763700100 1763700200 "$(asks 1)" resources_used.walltime=00:01:40
	ran E '4[2].gadi-pbs' 1763700100 1763700300 "$(asks 1)" resources_used.walltime=00:03:20
	ran E '4[].gadi-pbs' 1763700100 1763700300 "$(asks 2)"
	echo "11/21/2025 10:00:00;A;5.gadi-pbs;Job aborted"
	echo "no record at all"
	ran E 6.gadi-pbs 1763700100 1763700200 "$(asks 1)" user=root
	ran E 7.gadi-pbs 1763700100 1763700200 "$(asks 1)" resources_used.walltime=soon
	ran E 8.gadi-pbs 1763700100 1763700200
	ran E 9.gadi-pbs 0 1763700200 "$(asks 1)"
} >"$dir/20251121"
import pbs "$dir/20251121" --ledger "$dir/pbs.db" >"$dir/13.json"
check "runs of a PBS log are charged for cores x walltime, suspended time not" \
	is "$dir/13.json" core_seconds $((8 * 3600 + 4 * 1800 + 2 * 1000 + 2 * 1000 + 100 + 200))
check "runs of a requeued job and tasks of an array are jobs" is "$dir/13.json" jobs 6
check "none is a conflict" is "$dir/13.json" conflict 0
check "every record that ends no possible job has its reason" is "$dir/13.json" rejected \
	'{"garbage": 2, "missing-fields": 2, "no-cores": 1, "not-started": 1}'
check "the sums are what they say" verify "$dir/pbs.db"
check "with cluster, account, user and cpu time" \
	same "$("$reeve" usage --ledger "$dir/pbs.db" --csv -n -o account,cpu_ms,suspended_ms) $(sqlite3 "$dir/pbs.db" 'SELECT cluster FROM origins')" \
	"ab12,3600000,5400000 gadi-pbs"
cat "$dir/20251121" <(echo) >"$dir/again.pbs"
import pbs "$dir/again.pbs" --ledger "$dir/pbs.db" >"$dir/14.json"
check "read again they are the same six" is "$dir/14.json" known 6
{
	ran E 1.graham 1763700100 1763703700 exec_host=g1/0*4 'exec_vnode=(g1:ncpus=4:mem=8gb:ngpus=2)' Resource_List.select=1:ncpus=4:mem=8gb:ngpus=2:gpu_model=V100-16
	ran E 2.graham 1763700100 1763703700 Resource_List.ncpus=1 Resource_List.ngpus=1 Resource_List.gpu_type=tesla
	ran E 3.graham 1763700100 1763703700 "$(asks 4)"
} >"$dir/gpus.pbs"
import pbs "$dir/gpus.pbs" --profile alliance-graham --ledger "$dir/gpus.db" >"$dir/15.json" 2>/dev/null
check "a GPU of a chunk has its model's price" same "$(prices "$dir/gpus.db")" "1:2/1 3:4/1"
check "one without a price is rejected" is "$dir/15.json" rejected '{"no-price": 1}'
sed 's/Resource_List.gpu_type=tesla//; s/^\(.*\);2.graham;\(.*\)$/&\n\1;4.graham;\2/' "$dir/gpus.pbs" >"$dir/untyped.pbs"
import pbs "$dir/untyped.pbs" --profile alliance-graham --ledger "$dir/untyped.db" >"$dir/16.json" 2>/dev/null
check "GPUs whose model is not told are listed once, with all their jobs" same "$(unused "$dir/16.json")" "gpu:(no model):2"

# A history of 200,000 jobs, killed again and again.
python3 - >"$dir/large.swf" <<'PY'
print("; UnixStartTime: 1000000000")
for i in range(200000):
    print(i + 1, i * 60, 5, 1 + i * 7919 % 100000, 1 + i % 64, 50, 1000, 1 + i % 64, 100000,
          -1, 1, i % 300, i % 40, -1, -1, -1, -1, -1)
PY
want=$(awk '!/^;/ { s += $4 * $5 } END { printf "%.0f", s }' "$dir/large.swf")
kills=0
for wait in 0.1 0.15 0.2 0.25 0.3; do
	"$reeve" import swf "$dir/large.swf" --cluster c --ledger "$dir/large.db" >/dev/null 2>&1 &
	pid=$!
	sleep $wait # lint: the moment of the kill is meant to be any
	kill -9 $pid 2>/dev/null && kills=$((kills + 1))
	wait $pid 2>/dev/null
done
import swf "$dir/large.swf" --cluster c --ledger "$dir/large.db" >"$dir/5.json"
check "an import was killed ($kills times)" [ $kills -gt 0 ]
check "and ends with all jobs" is "$dir/5.json" jobs 200000
check "and the exact total" is "$dir/5.json" core_seconds "$want"
check "counted once" verify "$dir/large.db"
import swf "$dir/large.swf" --cluster c --ledger "$dir/whole.db" >/dev/null
sums "$dir/large.db" >"$dir/a" && sums "$dir/whole.db" >"$dir/b"
check "as if it had never been killed" cmp "$dir/a" "$dir/b"

# Local times: 01:30 comes twice in the night of 2 November 2025, and elapsed says which it was.
job() { echo "$1|$1|c|p|q|phys|g|1|ann|2|$2|x|$2|$3|$4|0:0|COMPLETED|1|2|2|1Gn|t|cpu=2|1:00:00|n1|name"; }
{
	job 1 2025-07-01T10:00:00 2025-07-01T12:00:00 02:00:00
	job 2 2025-11-02T00:30:00 2025-11-02T01:30:00 02:00:00
	job 3 2025-11-30T20:00:00 2025-12-01T00:00:00 04:00:00
} >"$dir/local.sacct"
moments() { sqlite3 "$1" 'SELECT submit_s + wait_s, run_s FROM imported ORDER BY id' | xargs; }
import sacct "$dir/local.sacct" --ledger "$dir/utc.db" >/dev/null
check "times of sacct are UTC where no zone is named" \
	same "$(moments "$dir/utc.db")" "1751364000|7200 1762043400|3600 1764532800|14400"
import sacct "$dir/local.sacct" --ledger "$dir/local.db" --time-zone America/Toronto >"$dir/6.json"
check "and local ones of --time-zone" \
	same "$(moments "$dir/local.db")" "1751378400|7200 1762057800|7200 1764550800|14400"
printf '[Policy]\nTimeZone=America/Toronto\n[Cluster c]\n' >"$dir/zone.conf"
import sacct "$dir/local.sacct" --ledger "$dir/profile.db" --profile "$dir/zone.conf" >/dev/null
check "or of the profile" same "$(moments "$dir/local.db")" "$(moments "$dir/profile.db")"
ended() { "$reeve" usage --ledger "$dir/local.db" --monthly -o month,jobs_ended --csv -n | xargs; }
check "a job that ends at midnight ends in the month that ends there" \
	same "$(ended)" "2025-07,1 2025-11,2"
check "and admin verify agrees" verify "$dir/local.db"
import sacct "$dir/local.sacct" --ledger "$dir/local.db" >"$dir/7.json" 2>/dev/null
check "the same file by other clocks is not the same file" is "$dir/7.json" conflict 3

# ---- forms of the same history, and what the summary says ----
told() { python3 -c 'import json,sys; d=json.load(open(sys.argv[1])); print(*(d[k] for k in sys.argv[2:]))' "$@"; }
kept() { sqlite3 "$1" "SELECT account || ' ' || sum(ncpus * run_s) || ' ' || sum(ngpus * run_s) FROM imported i JOIN associations a ON a.id = i.association GROUP BY account" | xargs; }
forms() { import sacct "$1" --ledger "$2" --json >"$dir/form.json" 2>"$dir/err"; }
old="101|101|c1|main|normal|lab|g|100|ann|1001|2024-03-01T10:00:00|x|2024-03-01T11:00:00|2024-03-01T12:00:00|01:00:00|0:0|COMPLETED|1|4|4|8G|t|cpu=4,mem=8G,node=1|02:00:00|n1|a"
{ printf '\xef\xbb\xbf'; echo "End|User|State|Account|JobName|QOS|AllocCPUS|Elapsed|Start|Cluster|JobIDRaw"
	echo "2024-03-01T12:00:00|ann|COMPLETED|Lab|a|normal|4|01:00:00|2024-03-01T11:00:00|c1|101"; } >"$dir/heading.sacct"
forms "$dir/heading.sacct" "$dir/heading.db"
check "the heading of sacct decides which column is which, behind a byte order mark" same "$(kept "$dir/heading.db")" "lab 14400 0"
printf 'JobIDRaw|Start|End\n1|2|3\n' >"$dir/few.sacct"
forms "$dir/few.sacct" "$dir/few.db"
check "columns that the heading lacks are named" grep -q 'few.sacct:1: the heading lacks State,Elapsed,NCPUS' "$dir/err"
echo "$old" | cut -d'|' -f1-4,6- >"$dir/xdmod9.sacct"
forms "$dir/xdmod9.sacct" "$dir/xdmod9.db"
check "rows without a heading that have too few fields are refused with the list of fields" grep -q 'jobid,jobidraw,cluster' "$dir/err"
check "and make no ledger" [ ! -e "$dir/xdmod9.db" ]
"$reeve" import swf "$dir/heading.sacct" --cluster c --ledger "$dir/not.db" 2>"$dir/err"
check "a file of another form than was stated is named" grep -q "is not swf: this is the output of sacct" "$dir/err"
echo "$old" | sed 's/\(T[0-9:]*\)|/\1+0100|/g' >"$dir/offset.sacct"
forms "$dir/offset.sacct" "$dir/offset.db"
check "a time with an offset needs no zone" same "$(moments "$dir/offset.db")" "1709287200|3600"
echo "$old" | sed 's/|COMPLETED|/|RUNNING|/' >"$dir/running.sacct"
echo "$old" | sed 's/12:00:00|01:00:00/15:00:00|04:00:00/' >"$dir/ended.sacct"
forms "$dir/running.sacct" "$dir/running.db"
check "a row of a job that goes on is no end, whatever its End" is "$dir/form.json" rejected '{"not-ended": 1}'
forms "$dir/ended.sacct" "$dir/running.db"
check "and its last row is imported later" same "$(kept "$dir/running.db")" "lab 57600 0"
{ echo "$old"; echo "$old"; } >"$dir/twice.sacct"
forms "$dir/twice.sacct" "$dir/twice.db"
check "a row that comes twice is one job in the summary too" same "$(told "$dir/form.json" jobs core_seconds repeated rows)" "1 14400 1 2"
echo "$old" | sed 's/T10:00:00|/T11:00:05|/; s/|1|4|4|8G|t|cpu=4/|1K|4|4|8G|t|cpu=4,gres\/shard=3/' >"$dir/odd.sacct"
forms "$dir/odd.sacct" "$dir/odd.db"
check "fields that decide no charge lose no job" same "$(kept "$dir/odd.db")" "lab 14400 0"
check "and the summary counts them" same "$(told "$dir/form.json" notes)" "{'submit-after-start': 1}"
check "as amounts without a figure in Reeve are" same "$(unused "$dir/form.json")" "amount:gres/shard:1"
# sacct --json as data_parser writes it: of 22.05, numbers alone and a state; of 23.11 and later, objects and lists.
cat >"$dir/new.json" <<'JSON'
{ "meta": { "slurm": { "version": { "major": "24", "minor": "11" } } }, "errors": [], "jobs": [
 { "account": "lab", "allocation_nodes": 2, "association": { "account": "lab", "cluster": "c1", "user": "ann" }, "cluster": "c1", "job_id": 101,
   "name": "a \"}|", "partition": "gpu", "qos": "normal", "state": { "current": [ "COMPLETED" ], "reason": "None" },
   "steps": [ { "tres": { "jobs": [] } }, { "state": [ "x]" ] } ],
   "time": { "elapsed": 3600, "start": 1709287200, "end": 1709290800, "submission": 1709287100, "suspended": 0,
    "limit": { "set": true, "infinite": false, "number": 120 } },
   "tres": { "allocated": [ { "type": "cpu", "name": "", "id": 1, "count": 8 }, { "type": "mem", "name": "", "count": 4096 },
    { "type": "gres", "name": "gpu", "count": 2 }, { "type": "gres", "name": "gpu:a100", "count": 2 }, { "type": "gres", "name": "shard", "count": 1 } ] }, "user": "ann" },
 { "account": "lab", "cluster": "c1", "job_id": 102, "partition": "p", "qos": "normal", "state": { "current": [ "RUNNING" ] }, "steps": [],
   "time": { "elapsed": 60, "start": 1709287200, "end": 0, "submission": 1709287100, "limit": { "set": false } },
   "tres": { "allocated": [ { "type": "cpu", "name": "", "count": 1 } ] }, "user": "ann" } ], "warnings": [] }
JSON
forms "$dir/new.json" "$dir/new.db"
check "sacct --json of Slurm with objects for numbers is read" same "$(kept "$dir/new.db")" "lab 28800 7200"
check "with what is not an end, and not a figure" same "$(told "$dir/form.json" rejected) $(unused "$dir/form.json")" "{'not-ended': 1} amount:gres/shard:1"
check "and limit, memory, nodes and models" same "$(sqlite3 "$dir/new.db" 'SELECT walltime_s, mem_bytes, nodes, k.gpus FROM imported i JOIN import_kinds k ON k.id = i.kind')" "7200|4294967296|2|a100=2"
cat >"$dir/old.json" <<'JSON'
{"meta":{},"errors":[],"jobs":[{"account":"lab","allocation_nodes":1,"cluster":"c1","job_id":7,"partition":"p","qos":"normal","state":{"current":"TIMEOUT","reason":"None"},"steps":[],"time":{"elapsed":60,"eligible":1709287100,"end":1709287300,"start":1709287200,"submission":1709287100,"suspended":40,"limit":1},"tres":{"allocated":[{"type":"cpu","name":null,"id":1,"count":2},{"type":"energy","name":null,"count":null}]},"user":"ann"}]}
JSON
forms "$dir/old.json" "$dir/oldjson.db"
check "and of Slurm 22.05, on one line" same "$(kept "$dir/oldjson.db") $(told "$dir/form.json" free_jobs free_seconds)" "lab 120 0 1 40"
head -c 300 "$dir/new.json" >"$dir/cut.json"
forms "$dir/cut.json" "$dir/cutjson.db"
check "a document that is cut is an error" grep -q 'ends too soon' "$dir/err"
sacct_json_many() { python3 -c 'print("{\"jobs\": [", ",\n".join("{\"cluster\":\"c\",\"job_id\":%d,\"account\":\"a\",\"user\":\"u\",\"state\":{\"current\":\"COMPLETED\"},\"steps\":[%s],\"time\":{\"elapsed\":10,\"start\":1709287200,\"end\":1709287210,\"submission\":1709287200},\"tres\":{\"allocated\":[{\"type\":\"cpu\",\"name\":\"\",\"count\":1}]}}" % (i, ",".join(["{\"a\":[1,2]}"] * 200)) for i in range(1, 20001)), "]}")'; }
sacct_json_many >"$dir/many.json"
check "a large document needs little memory" bash -c "ulimit -v 400000; '$reeve' import sacct '$dir/many.json' --ledger '$dir/many.db' --json >'$dir/form.json'"
check "and all its jobs are there" is "$dir/form.json" jobs 20000
# ---- and of PBS ----
line() { echo "11/14/2023 23:15:00;$1;$2.srv;user=ann $3 ctime=1700000000 start=1700000100 exec_host=n1/0*4 exec_vnode=(n1:ncpus=$4) session=1 end=1700003700 $5"; }
{
	line E 1 'group=domain users account="lab" jobname=my job queue=q' 4 resources_used.walltime=01:00:00
	line E 2 'group=g account="Wave Lab" jobname=a queue=q' 4 'resources_used.mem=12.27M resources_used.walltime=01:00:00'
	line E 3 'group=g account="Wave "x" Lab" jobname=a queue=q' 4 'resources_used.mem=0kb resources_used.cput=00:00:00 resources_used.walltime=00:00:05'
} >"$dir/blanks.pbs"
printf 'kind,from,to\naccount,Wave Lab,wavelab\n' >"$dir/blanks.csv"
import pbs "$dir/blanks.pbs" --ledger "$dir/blanks.db" --map "$dir/blanks.csv" >"$dir/form.json" 2>"$dir/err"
check "values that PBS does not quote may have blanks, and a map renames such accounts" same "$(kept "$dir/blanks.db")" "lab 14400 0 wavelab 14400 0"
check "a name with blanks that no map renames is none" is "$dir/form.json" rejected '{"no-name": 1}'
printf 'kind,from,to\naccount,Wave Lab,wavelab\naccount,"Wave ""x"" Lab",x\n' >"$dir/blanks.csv"
import pbs "$dir/blanks.pbs" --ledger "$dir/blanks2.db" --map "$dir/blanks.csv" >"$dir/form.json" 2>"$dir/err"
check "quotes within a value belong to it" same "$(kept "$dir/blanks2.db")" "lab 14400 0 wavelab 14400 0 x 20 0"
check "the summary has the time that a format leaves free" same "$(told "$dir/form.json" free_jobs free_seconds)" "1 3595"
check "a peak of 0 was not measured, and one with decimals is read" same \
	"$(sqlite3 "$dir/blanks2.db" "SELECT COALESCE(mem_peak_bytes, '-') || ' ' || COALESCE(cpu_ms, '-') FROM imported ORDER BY id" | xargs)" "- - 12866027 - - -"
{
	line u 7 'group=g account="lab" jobname=a queue=q' 12 'resources_used.walltime=00:10:00'
	line c 7 'group=g account="lab" jobname=a queue=q' 4 ''
	line e 7 'group=g account="lab" jobname=a queue=q' 4 'resources_used.walltime=00:50:00'
	line E 7 'group=g account="lab" jobname=a queue=q' 12 'resources_used.walltime=01:00:00'
} >"$dir/phases.pbs"
import pbs "$dir/phases.pbs" --ledger "$dir/phases.db" >"$dir/form.json"
check "a job that released nodes is charged phase by phase" is "$dir/form.json" core_seconds $((12 * 600 + 4 * 3000))
check "which the summary says" same "$(told "$dir/form.json" notes)" "{'released-nodes': 2}"
check "and its sums are what the phases say" verify "$dir/phases.db"
# ---- and of SWF ----
sed 1d "$dir/small.swf" >"$dir/headless.swf"
import swf "$dir/headless.swf" --cluster c --ledger "$dir/headless.db" >/dev/null 2>"$dir/err"
check "SWF without its header is refused with what to give" grep -q -- '--unix-start-time SECONDS' "$dir/err"
import swf "$dir/headless.swf" --cluster c --unix-start-time 1000000000 --ledger "$dir/headless.db" >"$dir/form.json"
check "and read with it" is "$dir/form.json" core_seconds 414600
{ echo "; UnixStartTime: 1000000000"; echo "1 0 10 200 4 -1 -1 4 3600 -1 1 5 2 -1 1 0 -1 -1"
	echo "1 0 10 100 4 -1 -1 4 3600 -1 2 5 2 -1 1 0 -1 -1"; echo "1 130 20 100 4 -1 -1 4 3600 -1 3 5 2 -1 1 0 -1 -1"; } >"$dir/parts.swf"
import swf "$dir/parts.swf" --cluster c --ledger "$dir/parts.db" >"$dir/form.json"
check "parts of a job whose whole has a line are no jobs" same "$(told "$dir/form.json" core_seconds rejected)" "800 {'partial-execution': 2}"
check "nor are they replayed" grep -q '"jobs": 1' <("$reeve" simulate "$dir/parts.swf" --cores 10 --profile fcfs --json)

trace() { # FORMAT FILE CLUSTER: against sums that tests/oracle/history_sums.py computes
	local file=${REEVE_TRACES:-/nonexistent}/$2 out=$dir/$3.json oracle=$dir/$3.oracle
	[ -r "$file" ] || { skip "$2"; return; }
	python3 tests/oracle/history_sums.py "$1" "$file" >"$oracle"
	import "$1" "$file" --cluster "$3" --ledger "$dir/traces.db" >"$out"
	check "$2 to the core second" is "$out" core_seconds "$(tail -n 1 "$oracle")"
	"$reeve" usage --ledger "$dir/traces.db" --by user --cluster "$3" --csv -n -o user,core_ms | awk -F, '{ sum[$1] += $2 }
		END { for (u in sum) if (sum[u]) printf "%s %.0f\n", u, sum[u] / 1000 }' | LC_ALL=C sort >"$dir/$3.users"
	check "$2: of each user to the core second" diff <(sed '$d' "$oracle" | LC_ALL=C sort) "$dir/$3.users"
	check "$2: sums are what the jobs say" verify "$dir/traces.db"
}
trace swf HPC2N-2002-2.2-cln.swf.gz hpc2n
trace swf CEA-Curie-2011-2.1-cln.swf.gz curie
trace sacct xdmod-sacct-phillips.log.gz phillips
echo "1..$n"
exit $failed
