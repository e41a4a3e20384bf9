#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# top.sh [NODES [RUNNING [QUEUED]]] - what the documents of `reeve top` cost the controller: bytes and CPU time of one answer, and from that what
# one open screen costs. A real controller on SQLite, whose nodes and jobs are copies of played ones. Needs root.
set -u
cd "$(dirname "$0")/../../.." || exit 1
. tests/cluster/lib/tap_lib.sh
. tests/cluster/lib/live_lib.sh
. tests/cluster/lib/play_lib.sh
. tests/cluster/lib/past_lib.sh
. tests/cluster/terminal/top_lib.sh
nodes=${1:-1000} running=${2:-1000} queued=${3:-5000} times=20
live_dir top-bench
top_site
live_stop
copy() { # TABLE COLUMN VALUE WHERE FROM TO: rows like that one, whose column has the value of k.i
	local columns
	columns=$(sqlite3 "$dir/ledger.db" "SELECT group_concat(name, ',') FROM pragma_table_info('$1')")
	echo "INSERT INTO $1($columns) WITH RECURSIVE k(i) AS (SELECT $5 UNION ALL SELECT i + 1 FROM k WHERE i < $6)" \
		"SELECT $(for c in ${columns//,/ }; do [ "$c" = "$2" ] && echo "$3" || echo "s.$c"; done | paste -sd,) FROM $1 s, k WHERE s.$4;"
}
{
	copy nodes node "'m' || k.i" "node = 'n2'" 1 "$nodes"
	copy jobs job k.i 'job = 1' 1000001 $((1000000 + running))
	copy attempts job k.i 'job = 1' 1000001 $((1000000 + running))
	copy jobs job k.i "job = $waiting" 2000001 $((2000000 + queued))
} | sqlite3 -bail "$dir/ledger.db" || bail "the ledger cannot be filled"
live_start || bail "the controller does not start: $(tail -n 3 "$dir/controller.log")"
cpu_ticks() { awk '{ print $14 + $15 }' "/proc/$controller/stat"; }
echo "$nodes nodes, $running running and $queued queued jobs; load $(cut -d' ' -f1 /proc/loadavg)"
for path in '/v1/nodes?totals=1&limit=0' '/v1/jobs?state=running&limit=200' '/v1/jobs?state=queued&limit=200' '/v1/jobs?state=running&limit=1000' \
	'/v1/nodes?totals=1&limit=1000' '/v1/nodes?totals=0&limit=1&node=n1' '/v1/jobs?state=active&limit=200&node=n1' '/v1/jobs/1?brief=1' '/v1/jobs/1/steps'; do
	before=$(cpu_ticks)
	for _ in $(seq $times); do ask 0 GET "$path" >"$dir/answer"; done
	grep -q '"schema"' "$dir/answer" || bail "$path: $(head -c 300 "$dir/answer")"
	awk -v path="$path" -v bytes="$(tail -n +2 "$dir/answer" | wc -c)" -v ticks=$(($(cpu_ticks) - before)) -v times=$times -v hz="$(getconf CLK_TCK)" \
		'BEGIN { ms = ticks * 1000 / hz / times; printf "%-48s %8d bytes %6.1f ms of CPU, %.2f %% of a core at 0.2 requests/s\n", path, bytes, ms, ms / 50 }'
done
