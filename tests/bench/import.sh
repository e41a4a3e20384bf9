#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# import.sh [FILE.swf.gz] - jobs a second of `reeve import` on one core, beside sqlite3's own .import
# of the same rows into a bare table, in the same run; bytes a job; time of the usage views.
set -eu
cd "$(dirname "$0")/../.."
file=${1:-${REEVE_TRACES:-}/CEA-Curie-2011-2.1-cln.swf.gz}
[ -r "$file" ] || { echo "SKIP: no trace at $file; set REEVE_TRACES"; exit 0; }
dir=$(mktemp -d /tmp/reeve-bench-import-XXXXXX)
trap 'rm -rf "$dir"' EXIT
seconds() { # COMMAND...: wall time, on one core
	local from to
	from=$(date +%s%N)
	taskset -c 0 "$@" >"$dir/out"
	to=$(date +%s%N)
	awk "BEGIN { printf \"%.3f\", ($to - $from) / 1e9 }"
}
rival() { sqlite3 "$1" 'CREATE TABLE jobs(a INT,b INT,c INT,d INT,e INT,f INT,g INT,h INT,i INT,j INT,k INT,l INT,m INT,n INT,o INT,p INT,q INT,r INT)' '.mode csv' ".import $dir/rows.csv jobs"; }
export -f rival
export dir
zcat "$file" | awk '!/^;/ { $1 = $1; gsub(/ /, ","); print }' >"$dir/rows.csv"
for round in 1 2 3; do
	rm -f "$dir"/*.db*
	ours=$(seconds build/bin/reeve import swf "$file" --cluster c --ledger "$dir/ours.db" --json)
	jobs=$(sed -n 's/.*"jobs": *\([0-9]*\).*/\1/p' "$dir/out")
	theirs=$(seconds bash -c "rival $dir/theirs.db")
	awk "BEGIN { printf \"round $round: $jobs jobs, %.0f jobs/s; reeve $ours s, sqlite3 .import $theirs s: ratio %.2f\n\", $jobs / $ours, $ours / $theirs }"
done
echo "bytes a job: $(($(stat -c %s "$dir/ours.db") / jobs))"
echo "verify: $(seconds build/bin/reeve admin verify --ledger "$dir/ours.db") s"
echo "start of the program alone: $(seconds build/bin/reeve usage --help) s"
for view in "--by account" "--by user" "--by cluster" "--by user --monthly" "--by account --monthly"; do
	# shellcheck disable=SC2086
	echo "usage $view: $(seconds build/bin/reeve usage --ledger "$dir/ours.db" $view --csv) s"
done
