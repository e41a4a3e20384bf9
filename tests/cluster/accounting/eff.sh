#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# eff.sh - `reeve eff`: requested against used, of a history in a ledger file, and of jobs that a
# real controller's node reported. TAP. The live part needs root (to be several users).
set -u
cd "$(dirname "$0")/../../.." || exit 1
. tests/cluster/lib/tap_lib.sh
. tests/cluster/lib/live_lib.sh
. tests/cluster/lib/play_lib.sh
. tests/cluster/lib/past_lib.sh
reeve=$PWD/build/bin/reeve
live_dir eff
export HOME=$dir XDG_CONFIG_HOME=$dir/.config LC_ALL=C.UTF-8 TZ=UTC
unset REEVE_CONTROLLER REEVE_PROFILES
fault() { # NAME STATUS WORDS OPTION...
	local name=$1 want=$2 words=$3 said got
	shift 3
	said=$("$reeve" eff "$@" 2>&1)
	got=$?
	is "$name: exit status" "$want" "$got"
	has "$name: the message" "$words" "$said"
}

# ---- a history: job wait run cores cpu-a-core KiB-a-core cores walltime KiB-requested ----
# 1 a quarter of 16 cores and of the memory; 2 a good job; 3 nothing told; 4 more than it could;
# 5 short and small: not worth a word; 6 a tenth of 2 cores, for ten hours: over an hour
cat >"$dir/h.swf" <<'SWF'
; UnixStartTime: 1000000000
1 0 10 36000 16 9000 1048576 16 72000 4194304 1 1 3 -1 -1 -1 -1 -1
2 5 0 7200 4 7100 -1 4 7200 -1 1 1 3 -1 -1 -1 -1 -1
3 5 0 7200 4 -1 -1 4 7200 -1 1 2 3 -1 -1 -1 -1 -1
4 5 0 7200 2 7300 2097152 2 7000 1048576 1 2 4 -1 -1 -1 -1 -1
5 5 0 600 2 1 -1 2 7200 -1 1 2 4 -1 -1 -1 -1 -1
6 90000 0 36000 2 3600 -1 2 36000 -1 1 3 4 -1 -1 -1 -1 -1
SWF
db=$dir/h.db
"$reeve" import swf "$dir/h.swf" --cluster c --ledger "$db" >"$dir/imported" || bail "import: $(cat "$dir/imported")"
eff() { "$reeve" eff --ledger "$db" "$@"; }
is "jobs: figures, a dash for what was not measured, why one is above 100 %, advice where it pays" \
'JOB USER ACCOUNT CPUS  RUNNING  CORE-H CPU % IDLE CORE-H MEM % TIME % CHARGED
  6 u3   g4         2 10:00:00  20.000  10.0      18.000     -  100.0  20.000
  5 u2   g4         2  0:10:00   0.333   0.1       0.333     -    8.3   0.333
  4 u2   g4         2  2:00:00   4.000 101.3    0.000000 200.0  102.8   4.000
  3 u2   g3         4  2:00:00   8.000     -           -     -  100.0   8.000
  2 u1   g3         4  2:00:00   8.000  98.6       0.111     -  100.0   8.000
  1 u1   g3        16 10:00:00 160.000  25.0     120.000  25.0   50.0 160.000
not measured (-): mem, vmem, jobfs, cpu
job 6: next time -l ncpus=1 would do: charge 20.000 -> 10.000
job 4: cpu above 100 %: the history tells more cpu time than cores x time; mem above 100 %: the history tells a peak beyond the request; walltime above 100 %: the history tells more time than was requested
job 1: next time -l ncpus=4,mem=20GiB would do: charge 160.000 -> 40.000' "$(eff)"
is "users: weighed by core time, none beyond 100 %, the largest saving named" \
'USER JOBS  RUNNING  CORE-H CPU % IDLE CORE-H MEM % TIME % CHARGED
u1      2 12:00:00 168.000  28.5     120.111  25.0   51.2 168.000
u3      1 10:00:00  20.000  10.0      18.000     -  100.0  20.000
u2      3  4:10:00  12.333  92.3       0.333 100.0   76.9  12.333
not measured (-): vmem, jobfs, mem
u1: not measured: mem (in 1 of 2)
u1: 1 of 2 jobs could have asked for less: charge 168.000 -> 48.000; most in job 1: -l ncpus=4,mem=20GiB
u3: 1 of 1 jobs could have asked for less: charge 20.000 -> 10.000; most in job 6: -l ncpus=1
u2: cpu above 100 % in 1, counted as 100; mem above 100 % in 1, counted as 100; walltime above 100 % in 1, counted as 100
u2: not measured: cpu (in 1 of 3), mem (in 2 of 3)' "$(eff --by user --sort waste)"
pick() { python3 -c 'import csv,sys; print(*[":".join(r[c] for c in sys.argv[1:]) for r in csv.DictReader(sys.stdin)])' "$@"; }
is "the idle first" "1 6 5 2 4 3" "$(eff --sort waste --csv | pick job)"
is "the largest charge first" "1 6 3 2 4 5" "$(eff --sort charge --csv | pick job)"
is "the least used cpu first, unmeasured last" "5 6 1 2 4 3" "$(eff --sort cpu --csv | pick job)"
is "the best of many are those of all" "1 6" "$(eff --sort waste --limit 2 --csv 2>"$dir/err" | pick job)"
has "... and that there are more is said" "2 shown, 4 more" "$(cat "$dir/err")"
is "csv: exact, and empty where not measured" "3:::: 1:144000000:432000000::25.0" \
	"$(eff 1 3 --csv | pick job cpu_ms idle_core_ms vmem_percent cpu_percent)"
is "json: percentages are numbers, absent where not measured" "25.0 16 None 144000000" "$(eff 1 --json | python3 -c '
import json, sys
r = json.load(sys.stdin)["rows"][0]
print(r["cpu_percent"], r["ncpus"], r.get("jobfs_percent"), r["charge_advised_ms"])')"
is "... and the zone of the days, and how many rows were left out" "UTC 5" "$(eff --limit 1 --json 2>"$dir/err" | python3 -c '
import json, sys
d = json.load(sys.stdin)
print(d["time_zone"], d["left_out"])')"
is "-P with -o and -n" "1|25.0" "$(eff 1 -P -n -o job,cpu_percent)"
is "-p has an end to each field" "job|cpu_percent|
1|25.0|" "$(eff 1 -p -o job,cpu_percent)"
is "a period: jobs that ended in it" "6" "$(eff --start 2001-09-10 --end 2001-09-12 --csv | pick job)"
is "... half open" "" "$(eff --start 2001-09-11 --end 2001-09-12 --csv | pick job)"
is "one account" "g3:3" "$(eff --account g3 --csv | pick account jobs)"
is "one user's, by account" "g3:1 g4:2" "$(eff --user u2 --by account --csv | pick account jobs)"
is "a cluster" "c:6" "$(eff --by cluster --csv | pick cluster jobs)"
fault "an unknown user" 4 "no user 'ghost' is declared" --user ghost --ledger "$db"
fault "an unknown account, with the nearest name" 4 "did you mean 'g3'?" --account gg3 --ledger "$db"
fault "no such job" 4 "job 77: it has not run, or is not yours; 'reeve jobs -a' lists your jobs" 77 --ledger "$db"
fault "a number that is none" 2 "'x' is not a job number" x --ledger "$db"
fault "no such order" 2 "write one of key, waste, charge, cpu, mem, walltime" --sort size --ledger "$db"
fault "no such day" 2 "is not a day" --start 2001-02-30 --ledger "$db"
fault "no rows wanted" 2 "--limit 0: write 1 to" --limit 0 --ledger "$db"
fault "no such ledger" 4 "no.db" --ledger "$dir/no.db"
fault "a profile without a ledger" 2 "--profile needs --ledger FILE" --profile nci
fault "an unknown column: the known are listed" 2 "Known: job, user, account" -o cpu_procent --ledger "$db"
has "... and -o help lists all" "not_measured|NOT MEASURED" "$(eff -o help -P)"

# ---- priced by a profile: memory decides, so that fewer cores alone save nothing ----
printf '[Cluster c]\nBundleCores = 1\nBundleMemory = 4GiB\n' >"$dir/p.conf"
has "a profile prices both: 16 cores and 64 GiB against 4 and 20" "charge 160.000 -> 50.000" \
	"$(eff 1 --profile "$dir/p.conf")"
printf '[Cluster other]\n' >"$dir/other.conf"
"$reeve" eff --ledger "$db" --by user --profile "$dir/other.conf" >"$dir/out" 2>"$dir/err"
is "jobs without a price in the profile are listed, each with the reason" \
	"0 6 reeve eff: 6 jobs have no price in $dir/other.conf; shown as the ledger charged them:" \
	"$? $(grep -c "^  job [1-6]: the profile has no cluster 'c'$" "$dir/err") $(head -n 1 "$dir/err")"
is "... and counted for programs" "6 0" "$(for p in other p; do eff --json --profile "$dir/$p.conf" 2>/dev/null |
	python3 -c 'import json,sys; print(json.load(sys.stdin)["no_price_jobs"])'; done | xargs)"
printf '[Cluster su]\nUnit=service-units\nQueues=q\n[Queue q]\nFactor=2\n' >"$dir/su.conf"
"$reeve" import swf "$dir/h.swf" --cluster su --ledger "$dir/su.db" --profile "$dir/su.conf" >/dev/null
has "... the charge itself is there" "320.000" "$("$reeve" eff 1 --ledger "$dir/su.db")"
lacks "... but of terms that are not kept, no other charge is made up" "next time" "$("$reeve" eff 1 --ledger "$dir/su.db")"

# ---- a job has one price everywhere: models by a map, queues, whole nodes ----
row() { # ID PARTITION NODES CPUS TRES END ELAPSED
	echo "$1|$1|graham|$2|normal|phys|g|1|ann|2|2025-07-01T09:00:00|x|2025-07-01T10:00:00|$6|$7|0:0|COMPLETED|$3|$4|$4|1Gn|t|$5|1:00:00|n1|name"
}
{
	row 1 gpu 1 1 'cpu=1,mem=1G,gres/gpu:v100-16=2' 2025-07-01T11:00:00 01:00:00
	row 2 gpu 1 4 'cpu=4,mem=2G,gres/gpu:p100-12=1,gres/gpu:tesla=1' 2025-07-01T11:00:00 01:00:00
	row 3 gpu 1 1 'cpu=1,mem=1G,gres/gpu:tesla=2' 2025-07-01T12:00:00 01:00:00 # suspended for an hour
	row 4 batch 1 4 'cpu=4,mem=1G' 2025-07-01T11:00:00 01:00:00
	row 5 gpu 1 1 'cpu=1,mem=1G,gres/gpu:other=1' 2025-07-01T11:00:00 01:00:00
} >"$dir/graham.sacct"
printf 'kind,from,to\ngpu,tesla,v100-32\n' >"$dir/map.csv"
printf '[Cluster graham]\nUnit=core-hours\nQueues=normal,batch\nCoresPerNode=32\n[Queue batch]\nFactor=3\nExclusive=yes\n' >"$dir/queues.conf"
"$reeve" import sacct "$dir/graham.sacct" --map "$dir/map.csv" --ledger "$dir/graham.db" >"$dir/imported" 2>&1 ||
	bail "import: $(cat "$dir/imported")"
charges() { "$reeve" eff --csv "$@" 2>"$dir/err" | pick job charge_requested_ms; }
is "GPUs of a model that the map names have their price" "5:3600000 4:14400000 3:7200000 2:7200000 1:7200000" \
	"$(charges --ledger "$dir/graham.db" --profile units/profiles/alliance-graham.conf)"
is "... and an unknown model is reported, alone" "1 job has no price in units/profiles/alliance-graham.conf; shown as the ledger charged it: 5:" \
	"$(sed -n '1s/^reeve eff: //p; 2s/^  job \([0-9]*:\).*/\1/p' "$dir/err" | xargs)"
is "a partition has its queue's factor, whole nodes are held whole" "5:3600000 4:345600000 3:3600000 2:14400000 1:3600000" \
	"$(charges --ledger "$dir/graham.db" --profile "$dir/queues.conf")"
for p in units/profiles/alliance-graham.conf "$dir/queues.conf" units/profiles/rwth.conf; do
	cp "$dir/graham.db" "$dir/repriced.db"
	"$reeve" admin reprice --ledger "$dir/repriced.db" --profile "$p" >"$dir/out" || bail "reprice: $(cat "$dir/out")"
	is "what 'eff --profile ${p##*/}' shows is what 'admin reprice' charges" "$(charges --ledger "$dir/repriced.db")" \
		"$(charges --ledger "$dir/graham.db" --profile "$p")"
done

# ---- GPUs that were held: the model has no figure of their work ----
cp "$db" "$dir/gpu.db"
python3 -c 'import sqlite3,sys; d = sqlite3.connect(sys.argv[1]); d.execute("UPDATE imported SET ngpus = 2 WHERE ncpus = 16"); d.commit()' "$dir/gpu.db"
has "what GPUs did is not measured, and said so" "gpu busy" "$("$reeve" eff 1 --ledger "$dir/gpu.db")"
is "that they were allocated is shown" "2:72000000" "$("$reeve" eff 1 --ledger "$dir/gpu.db" --csv | pick ngpus gpu_ms)"

# ---- live ----
if [ "$(id -u)" != 0 ]; then
	skip "through a controller" "needs root to be a node and several users"
	tap_end
fi
cp "$reeve" "$dir/reeve"
live_munge
configure() {
	cat >"$dir/controller.conf" <<-CONF
		$(live_controller "$dir/live.db")
		[Cluster main]
		BundleCores = 1
		BundleMemory = 4GiB
		DefaultResources = jobfs=100MB,walltime=20:00:00
		[Account physics]
		Users = daemon, bin
	CONF
}
live_open configure
backdate_dispatch "$dir/live.db"
printf '[Client]\nController = %s\nMungeSocket = %s\nCluster = main\n' "$url" "$dir/munge.sock" >"$dir/reeve.conf"
live() { # UID OPTION...
	local uid=$1
	shift
	as "$uid" "$dir/reeve" eff --config "$dir/reeve.conf" "$@"
}
submit() { # UID RESOURCES
	ask "$1" POST /v1/jobs "{\"schema\":\"reeve/1\",\"request\":{\"cluster\":\"main\",\"account\":\"physics\",\
\"queue\":\"normal\",\"name\":\"t\",\"resources\":{$2},\"vmem_policy\":\"kill\",\"stream\":false,\"join\":false,\
\"argv\":[\"/bin/true\"],\"env\":[],\"workdir\":\"/\"}}" >"$dir/submitted"
	grep -q '"job":' "$dir/submitted" || bail "not taken: $(cat "$dir/submitted")"
}
amounts='"ncpus":64,"mem_bytes":400000000000,"jobfs_bytes":100000000000,"ngpus":0'
sync_node() { node_sync jobs="$1" reports="$2" >"$dir/synced"; } # JOBS REPORTS
now=$(date +%s)
report() { # JOB STATE RUNNING_S USAGE [KIND LIMIT REQUESTED REACHED]
	job_report "$1" 5 "$2" at_s="$now" started_s=$((now - $3)) running_s="$3" usage="$4" kind="${5:-none}" host=n1 \
		exit_status="$([ "${5:-}" = exited ] && echo 0 || echo -1)" limit="${6:-none}" requested="${7:--1}" reached="${8:--1}"
}
gib=$((1 << 30)) h=3600000000000
sys=3
submit $daemon "\"ncpus\":16,\"vmem_bytes\":$((64 * gib)),\"mem_bytes\":$((32 * gib))"
submit $bin "\"ncpus\":1,\"vmem_bytes\":$((2 * gib))"
submit $daemon "\"ncpus\":2,\"vmem_bytes\":$((4 * gib))"
submit $daemon "\"ncpus\":4,\"vmem_bytes\":$((4 * gib))"
submit $daemon "\"ncpus\":1,\"vmem_bytes\":$gib"
sync_node "" ""
for _ in $(seq 100); do
	sync_node "$(for j in 1 2 3 4 5; do printf '%s{"job":%d,"attempt":1,"state":"running"}' "$([ $j = 1 ] || echo ,)" $j; done)" ""
	[ "$(ask 0 GET '/v1/jobs?state=queued' | grep -c '"job":')" = 0 ] && break
	sleep 0.05
done
# 1 four of 16 cores; a page cache as large as the node is no need. 2 small. 3 killed by vmem.
# 4 ran with both threads of its cores. 5 runs.
sync_node '{"job":5,"attempt":1,"state":"running"}' "$(report 1 ended 36000 "\"cpu_ns\":$((40 * h)),\"vmem_peak_bytes\":$((20 * gib)),\
\"rss_peak_bytes\":$((8 * gib)),\"mem_peak_bytes\":$((400 * gib)),\"jobfs_peak_bytes\":50000000" exited),\
$(report 2 ended 600 "\"cpu_ns\":1000000000,\"vmem_peak_bytes\":1000" exited),\
$(report 3 ended 36000 "\"cpu_ns\":$((2 * h)),\"vmem_peak_bytes\":$((4 * gib))" limit vmem $((4 * gib)) $((5 * gib))),\
$(report 4 ended 7200 "\"cpu_ns\":$((12 * h)),\"vmem_peak_bytes\":$((4 * gib)),\"rss_peak_bytes\":1000" exited),\
$(report 5 running 7200 "\"cpu_ns\":1000000")"
has "reports were taken" '"acks":[{"job":1' "$(tr -d ' ' <"$dir/synced")"
is "a user's jobs: the cache is no need, a limit names how much more, and no small things" \
'JOB USER   ACCOUNT CPUS  RUNNING  CORE-H CPU % IDLE CORE-H MEM % VMEM % JOBFS % TIME % CHARGED
  4 daemon physics    4  2:00:00   8.000 150.0    0.000000     -  100.0       -   10.0   8.000
  3 daemon physics    2 10:00:00  20.000  10.0      18.000     -  100.0       -   50.0  20.000
  1 daemon physics   16 10:00:00 160.000  25.0     120.000  25.0   31.2    50.0   50.0 160.000
not measured (-): jobfs, mem
job 4: cpu above 100 %: several hardware threads of a core were used
job 3: next time request more vmem: at least -l vmem=6GiB
job 1: next time -l ncpus=4,vmem=24GiB would do: charge 160.000 -> 60.000' "$(live $daemon 2>&1)"
is "the sum: 50 of 188 core hours, though one job had more than its cores" "daemon:3:26.5:36.0" \
	"$(live $daemon --user daemon --csv | pick user jobs cpu_percent vmem_percent)"
is "page cache stands apart, and is in no percentage" "$((8 * gib)):$((400 * gib)):25.0" \
	"$(live $daemon 1 --csv | pick mem_peak_bytes mem_cache_peak_bytes mem_percent)"
is "a small job gets no advice" "" "$(live $bin --csv | pick advice)"
is "a running job is shown by its number, without advice" "5:0.0:" "$(live $daemon 5 --csv | pick job cpu_percent advice)"
lacks "... and is in no list" '5:' "$(live $daemon --csv | pick job running_ms)"
is "others' jobs are not shown" "2" "$(live $bin --csv | pick job)"
said=$(live $bin 1 2>&1)
is "nor by number" "4 reeve eff: job 1: it has not run, or is not yours; 'reeve jobs -a' lists your jobs" "$? $said"
said=$(live $bin --user daemon 2>&1)
is "nor by name" 5 $?
has "... which is said" "only operators see the jobs and usage of others" "$said"
printf '[Account physics]\nCoordinators = sys\nUsers = daemon, bin\n[Account letters]\nUsers = bin\n' >"$dir/accounts.conf"
check "an account gets a coordinator" "$dir/reeve" admin accounts apply --config "$dir/reeve.conf" "$dir/accounts.conf"
is "who sees everybody in it" "daemon:3 bin:1" "$(live $sys --account physics --by user --sort waste --csv | pick user jobs)"
is "... and a job of it" "1" "$(live $sys 1 --account physics --csv | pick job)"
is "... of no other" "" "$(live $sys --account letters --by user -n 2>&1)"
is "a job that is named twice is one" "1:36000000" "$(live 0 1 1 --csv | pick job running_ms)"
is "an operator sees all" "1 2 3 4" "$(live 0 --csv | pick job | tr ' ' '\n' | sort | xargs)"
is "... by user, the idle first" "daemon bin" "$(live 0 --by user --sort waste --csv | pick user)"
is "... by account" "physics:4" "$(live 0 --account physics --csv | pick account jobs)"
is "a period" "" "$(live 0 --end 2020-01-01 --csv | pick job)"
said=$(ask $daemon GET '/v1/eff?jobs=1,x')
has "a number that is none is refused" "'x' is not a job number" "$said"
has "a word that is none too" "sort=size is not known" "$(ask $daemon GET '/v1/eff?sort=size')"
has "too many rows too" 400 "$(ask $daemon GET '/v1/eff?limit=100000')"
told=$(live 0 --by account --csv)
live_stop
is "the ledger file tells the same" "$told" "$("$reeve" eff --ledger "$dir/live.db" --by account --csv)"

# ---- attempts: job 1 lost its first node after an hour, with nothing measured there ----
python3 - "$dir/live.db" <<'PY'
import sqlite3, sys
d = sqlite3.connect(sys.argv[1])
columns = [r[1] for r in d.execute("PRAGMA table_info(attempts)")]
row = dict(zip(columns, d.execute("SELECT * FROM attempts WHERE job = 1").fetchone()))
d.execute("UPDATE attempts SET attempt = 2 WHERE job = 1")
row.update(running_ns=3600 * 10**9, usage=None, charge_requested_ms=16 * 3600000, end_kind=6)
d.execute("INSERT INTO attempts(%s) VALUES(%s)" % (",".join('"%s"' % c for c in columns), ",".join("?" * len(columns))),
          [row[c] for c in columns])
d.commit()
PY
is "attempts are summed; what one did not measure is on neither side" "1:2:39600000:633600000:25.0:633600000" \
	"$("$reeve" eff 1 --ledger "$dir/live.db" --csv | pick jobs attempts running_ms core_ms cpu_percent charge_requested_ms)"
has "... and said" "job 1: not measured: cpu (in 1 of 2)" "$("$reeve" eff 1 --ledger "$dir/live.db")"
is "... each against its own walltime" 27.5 "$("$reeve" eff 1 --ledger "$dir/live.db" --csv | pick walltime_percent)"
tap_end
