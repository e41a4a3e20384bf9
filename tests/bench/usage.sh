#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# usage.sh [JOBS | FILE.swf[.gz]] - usage views of a ledger of JOBS (300000) synthetic jobs of a year,
# or of a history, beside what SQL alone takes on the same ledger in the same run: inside the process,
# and as whole commands beside sqlite3(1), the latter also of a ledger made under each published
# profile. Goals: every view in 10 ms, one account by month p99 in 20 ms. A hundred million jobs need
# some 13 GB in TMPDIR (no profiles then: USAGE_PROFILES=).
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/bench/bench_lib.sh
what=${1:-300000}
O=build
dir=$(mktemp -d "${TMPDIR:-/tmp}/reeve-usage-bench-XXXXXX")
trap 'rm -rf "$dir"' EXIT
mkdir -p $O/tests/bench
${CC:-cc} -std=gnu17 -D_GNU_SOURCE -O2 -o $O/tests/bench/usage_gen tests/bench/usage_gen.c
make --no-print-directory -s $O/bin/reeve
# shellcheck disable=SC2046 # words without blanks
${CC:-cc} -std=gnu17 -D_GNU_SOURCE -O2 -I. -o $O/tests/bench/usage_bench tests/bench/usage_bench.c \
	$(bench_objects controller/{ledger,policy,history,accounts,postgres} common/{db,wire,model,conf,csv} common/{err,utf8,nearest}.c) \
	-lsqlite3 -lpq -lnettle -ljansson -lm

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

took() { # COMMAND...: processor time of one of 21, milliseconds: others may use the machine
	local TIMEFORMAT='%3U %3S' i
	{ time for i in {1..21}; do "$@" >"$dir/out"; done; } 2>&1 | awk '{ printf "%.2f", ($1 + $2) / 21 * 1000 }'
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
start=$(took $O/bin/reeve usage --help)
echo "whole command, processor time, of which $start ms is starting reeve:"
sql="SELECT user, pool, SUM(jobs_started), SUM(running_ms), SUM(charge_requested_ms), SUM(core_ms) FROM rollups GROUP BY 1, 2"
views=("--by user" "--by account" "--by cluster" "--by user --monthly" "--by user --monthly --account A")
# Each view of a ledger: "NAME|MS|RIVAL-MS", the two in turns, so that both meet the same machine.
each_view() { # LEDGER
	local view account
	account=$(sqlite3 "$1" "SELECT account FROM associations ORDER BY id LIMIT 1")
	for view in "${views[@]}"; do
		# shellcheck disable=SC2086 # words
		echo "$view|$(took $O/bin/reeve usage --ledger "$1" ${view/% A/ $account} --csv)|$(took sqlite3 "$1" "$sql")"
	done
}
each_view "$dir/l.db" | awk -F'|' '{ printf "reeve usage %s: %.1f ms; sqlite3 \047SELECT ... GROUP BY user\047 %.1f ms: x%.2f\n", $1, $2, $3, $2 / $3 }'

# The same under each profile: other units, zones, pools and months, so other rows.
under_profile() { # FILE.conf: a line of the table
	local name cluster charged sum
	name=$(basename "$1" .conf)
	cluster=$(sed -n 's/^\[Cluster \(.*\)\]$/\1/p' "$1" | head -n 1)
	rm -f "$dir"/p.db*
	$O/bin/reeve import swf "$file" --cluster "$cluster" --profile "$1" --ledger "$dir/p.db" --json >"$dir/imported"
	charged=$(sqlite3 "$dir/p.db" "SELECT SUM(charge_requested_ms) FROM rollups")
	sum=$($O/bin/reeve usage --ledger "$dir/p.db" --by user -o charge_requested_ms -n --csv | awk '{ s += $1 } END { printf "%.0f", s }')
	[ "$charged" -gt 0 ] && [ "$charged" = "$sum" ] ||
		{ echo "no figures: under $name the jobs are charged $charged, the view says $sum"; return 1; }
	each_view "$dir/p.db" | awk -F'|' -v name="$name" -v rows="$(sqlite3 "$dir/p.db" 'SELECT COUNT(*) FROM rollups')" -v start="$start" '
		{ cell = cell sprintf("  %5.1f x%4.2f", $2, $2 / $3); rival += $3 / 5; worst = $2 > worst ? $2 : worst }
		END { printf "%-17s %7d%s %7.1f %9.1f\n", name, rows, cell, rival, worst - start }'
}
profiles=${USAGE_PROFILES-$(echo units/profiles/*.conf)}
[ -z "$profiles" ] || printf 'whole commands by profile, ms of processor time and times sqlite3:\n%-17s %7s  %11s  %11s  %11s  %11s  %11s %7s %9s\n' \
	profile days "by user" "by account" "by cluster" "user, month" "one account" sqlite3 "largest-*"
for profile in $profiles; do under_profile "$profile"; done
[ -z "$profiles" ] || echo "*: of the views of that ledger, without starting reeve"
