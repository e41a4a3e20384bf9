#!/bin/bash
# usage.sh [JOBS | FILE.swf[.gz]] - usage views of a ledger of JOBS (300000) synthetic jobs of a year,
# or of a history, beside what SQL alone takes on the same ledger in the same run: inside the process,
# and as whole commands beside sqlite3(1). Goals: every view in 10 ms, one account by month p99 in
# 20 ms. A hundred million jobs need some 13 GB in TMPDIR.
set -euo pipefail
cd "$(dirname "$0")/../.."
what=${1:-300000}
O=build
dir=$(mktemp -d "${TMPDIR:-/tmp}/reeve-usage-bench-XXXXXX")
trap 'rm -rf "$dir"' EXIT
mkdir -p $O/tests/bench
${CC:-cc} -std=gnu17 -D_GNU_SOURCE -O2 -o $O/tests/bench/usage_gen tests/bench/usage_gen.c
make --no-print-directory -s $O/bin/reeve
ar rcs "$dir/all.a" $O/controller/{ledger,policy,history,accounts,pg}/*.o $O/common/*.o $O/common/*/*.o
${CC:-cc} -std=gnu17 -D_GNU_SOURCE -O2 -I. -o $O/tests/bench/usage_bench tests/bench/usage_bench.c "$dir/all.a" \
	-lsqlite3 -ljansson -lm

if [ -r "$what" ]; then
	file=$what
else
	file=$dir/year.swf
	$O/tests/bench/usage_gen "$what" >"$file"
fi
from=$(date +%s%N)
$O/bin/reeve import swf "$file" --cluster c --time-zone America/Toronto --ledger "$dir/l.db" --json >"$dir/out"
to=$(date +%s%N)
jobs=$(sed -n 's/.*"jobs": *\([0-9]*\).*/\1/p' "$dir/out")
awk "BEGIN { printf \"%d jobs, %.0f jobs/s imported, %.1f bytes a job\n\", $jobs, $jobs / ($to - $from) * 1e9, $(stat -c %s "$dir/l.db") / $jobs }"
sqlite3 "$dir/l.db" "SELECT COUNT(*) || ' sums of days' FROM rollups; SELECT COUNT(*) || ' sums of months' FROM months"
$O/tests/bench/usage_bench "$dir/l.db"

took() { # COMMAND...: median of 11, milliseconds
	local from to
	for _ in 1 2 3 4 5 6 7 8 9 10 11; do
		from=$(date +%s%N)
		"$@" >"$dir/out"
		to=$(date +%s%N)
		echo $(((to - from) / 1000))
	done | sort -n | sed -n '6s/...$/.&/p'
}
# Every account (400 at most) as a command of its own.
each_account() {
	local account from
	while read -r account; do
		from=${EPOCHREALTIME/./}
		$O/bin/reeve usage --ledger "$dir/l.db" --by user --monthly --account "$account" --csv >"$dir/out"
		echo $((${EPOCHREALTIME/./} - from))
	done < <(sqlite3 "$dir/l.db" "SELECT DISTINCT account FROM associations LIMIT 400") | sort -n |
		awk '{ t[NR] = $1 / 1000 } END { printf "one account by user, monthly, as a command: p50 %.1f ms, p99 %.1f ms of %d\n",
			t[int((NR + 1) / 2)], t[NR - int(NR / 100)], NR }'
}
each_account
account=$(sqlite3 "$dir/l.db" "SELECT account FROM associations ORDER BY id LIMIT 1")
start=$(took $O/bin/reeve usage --help)
echo "whole command, of which $start ms is starting reeve:"
sql="SELECT user, pool, SUM(jobs_started), SUM(running_ms), SUM(charge_requested_ms), SUM(core_ms) FROM rollups GROUP BY 1, 2"
rival=$(took sqlite3 "$dir/l.db" "$sql")
for view in "--by user" "--by account" "--by cluster" "--by user --monthly" "--by user --monthly --account $account"; do
	# shellcheck disable=SC2086 # words
	ours=$(took $O/bin/reeve usage --ledger "$dir/l.db" $view --csv)
	awk "BEGIN { printf \"reeve usage %s: %.1f ms; sqlite3 'SELECT ... GROUP BY user' %.1f ms: x%.2f\n\", \"$view\", $ours, $rival, $ours / $rival }"
done
