#!/bin/bash
# import.sh - histories into a ledger: exact totals, no double count, no silent loss. TAP.
# Real traces are looked for in $REEVE_TRACES; without it those tests are skipped, visibly.
set -u
cd "$(dirname "$0")/../.." || exit 1
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
	'{"garbage": 1, "missing-fields": 1, "no-cores": 1, "no-run-time": 1, "no-user-or-account": 1}'
check "rows are counted" is "$dir/1.json" rows 7
check "the total of the rejected" is "$dir/1.json" rejected_total 5
check "run time x cores" is "$dir/1.json" core_seconds 414400
gzip -k "$dir/small.swf"
import swf "$dir/small.swf" --cluster c --ledger "$db" >"$dir/2.json"
check "the same file again brings nothing new" is "$dir/2.json" new 0
check "and tells the same totals" is "$dir/2.json" core_seconds 414400
import swf "$dir/small.swf.gz" --cluster c --ledger "$db" >"$dir/3.json"
check "nor does the same file compressed" is "$dir/3.json" new 0
check "whose jobs are known" is "$dir/3.json" known 2
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
check "no other is" [ "$(grep -c 'in the ledger' "$dir/found")" -eq 1 ]

head -c -20 "$dir/small.swf.gz" >"$dir/cut.swf.gz"
check "a file cut short is an error" bash -c "! '$reeve' import swf '$dir/cut.swf.gz' --cluster c --ledger '$dir/cut.db'"

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
same() { [ "$1" = "$2" ] || { echo "$1, not $2"; return 1; }; }
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

trace() { # FORMAT FILE CLUSTER CORE_SECONDS
	local file=${REEVE_TRACES:-/nonexistent}/$2 out=$dir/$3.json
	[ -r "$file" ] || { skip "$2"; return; }
	import "$1" "$file" --cluster "$3" --ledger "$dir/traces.db" >"$out"
	check "$2 to the core second" is "$out" core_seconds "$4"
	check "$2: sums are what the jobs say" verify "$dir/traces.db"
}
trace swf HPC2N-2002-2.2-cln.swf.gz hpc2n 15772140964
trace swf CEA-Curie-2011-2.1-cln.swf.gz curie 1283962819886
trace sacct xdmod-sacct-phillips.log.gz phillips 42364758
echo "1..$n"
exit $failed
