#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# fairshare.sh [ROWS] - what Fair Tree over ROWS (108000) associations takes, beside sorting as many
# doubles with qsort(3) in the same run; and `reeve fairshare` from file to file, beside sort(1) of
# the same file. CPU time of one core. Goals: ranks in 20 ms, every row printed in 1 s.
set -euo pipefail
cd "$(dirname "$0")/../.."
rows=${1:-108000}
O=build
dir=$(mktemp -d /tmp/reeve-fairshare-bench-XXXXXX)
trap 'rm -rf "$dir"' EXIT
mkdir -p $O/tests/bench
${CC:-cc} -std=gnu17 -D_GNU_SOURCE -O2 -I. -o $O/tests/bench/fairshare_tree tests/bench/fairshare_tree.c \
	$O/controller/policy/fairshare/{fairshare,level,fair_tree}.o $O/common/err.o -lm
for shape in deep flat tied; do $O/tests/bench/fairshare_tree time "$rows" $shape; done
$O/tests/bench/fairshare_tree csv "$rows" deep >"$dir/tree.csv"
TIMEFORMAT='%U %S'
cpu() { { time "$@" >"$dir/out"; } 2>&1 | awk '{ printf "%.2f", $1 + $2 }'; }
rival=$(LC_ALL=C cpu sort -t, -k7 -n "$dir/tree.csv")
for form in csv json table; do
	took=$(cpu $O/bin/reeve fairshare --output $form "$dir/tree.csv")
	[ "$(wc -l <"$dir/out")" -ge "$rows" ] || { echo "no figures: $form lacks rows"; exit 1; }
	awk -v f=$form -v t="$took" -v r="$rival" -v n="$rows" 'BEGIN {
		printf "reeve fairshare, %s of %d rows: %.2f s; sort(1) of the file %.2f s: x%.1f\n", f, n, t, r, t / (r > 0 ? r : 0.01) }'
done
