#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# backup.sh [MB] - how long submissions take while the ledger of a running controller is backed up, against those before it; and how long the backup
# takes, against cp of the same file. The ledger has MB (500) of old events.
set -u
cd "$(dirname "$0")/../../.." || exit 1
. tests/cluster/lib/tap_lib.sh
. tests/cluster/lib/live_lib.sh
. tests/cluster/lib/play_lib.sh
live_dir bench-backup
live_munge
mb=${1:-500} ledger=$dir/ledger.db
configure() {
	printf '%s\n[Cluster main]\nDefaultResources = jobfs=100MB,walltime=1:00:00\n[Account physics]\nUsers = daemon\n' "$(live_controller)" >"$dir/controller.conf"
}
live_open configure
sqlite3 "$ledger" "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $((mb * 1000)))
	INSERT INTO events(at_ns, what, text) SELECT i, 'filler', hex(randomblob(480)) FROM n"
submit() { ask $daemon POST /v1/jobs "$(job_request)" >/dev/null; }
times() { # FILE UNTIL: milliseconds of each submission, while the command UNTIL holds
	: >"$1"
	while $2; do
		local from=${EPOCHREALTIME/./}
		submit
		echo $(((${EPOCHREALTIME/./} - from) / 1000)) >>"$1"
	done
}
summary() { sort -n "$1" | awk '{ v[NR] = $1 } END { printf "%d submissions, median %d ms, p99 %d ms, longest %d ms\n", NR, v[int((NR + 1) / 2)], v[int(NR * 0.99 + 0.99)], v[NR] }'; }
submit # compiles the client
left=100
some() { [ $((left--)) -gt 0 ]; }
times "$dir/before" some
build/bin/reeve admin backup "$dir/copy.db" --ledger "$ledger" >"$dir/said" 2>&1 &
backup=$!
runs() { kill -0 $backup 2>/dev/null; }
from=$EPOCHREALTIME
times "$dir/during" runs
to=$EPOCHREALTIME
from_cp=$EPOCHREALTIME
cp "$ledger" "$dir/cp.db" && sync "$dir/cp.db"
to_cp=$EPOCHREALTIME
echo "ledger: $(stat -c %s "$ledger") bytes; load $(cut -d' ' -f1 /proc/loadavg)"
echo "before: $(summary "$dir/before")"
echo "during: $(summary "$dir/during")"
cat "$dir/said"
awk -v a="$from" -v b="$to" -v c="$from_cp" -v d="$to_cp" 'BEGIN { printf "backup with verification %.1f s, cp and sync %.1f s: ratio %.1f\n", b - a, d - c, (b - a) / (d - c) }'
