#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# submit.sh [SECONDS] - jobs submitted to a real controller, each signed with munge and on disk before
# it is answered: how many a second, from 1 to 64 connections, beside commits of one row each in the
# same run; and how long another user's single job takes meanwhile. Goals: 1,000/s, and no user waits
# for another's thousands. Needs root (to be several users).
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
seconds=${1:-8}
. tests/cluster/lib/tap_lib.sh
. tests/cluster/lib/live_lib.sh
live_dir submit-bench
live_tool tests/bench/submit_bench.c -O2
live_munge
configure() {
	live_controller >"$dir/controller.conf"
	printf '%s\n' 'MaxQueuedPerUser = 0' '[Cluster main]' 'DefaultResources = jobfs=100MB' '[Account physics]' 'Users = daemon, bin' \
		>>"$dir/controller.conf"
}
fresh() {
	live_stop
	rm -f "$dir"/ledger.db*
	live_open configure
	# The controller's machine is its own; this one may be busy with other work.
	renice -n -10 -p "$controller" "$(cat "$dir/munge.pid")" >/dev/null
}
count() { curl -s "$url/metrics" | awk -v k="$1" '$1 == k { print $2 }'; }
bench() { "$dir/submit_bench" "$url" "$dir/munge.sock" "$seconds" "$@"; }

python3 - "$dir/one.db" <<'PY'
import sqlite3, sys, time
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("PRAGMA journal_mode=WAL"); db.execute("PRAGMA synchronous=FULL")
db.execute("CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT)")
n, start = 0, time.monotonic()
while time.monotonic() - start < 3:
    db.execute("INSERT INTO t(b) VALUES(?)", ("x" * 500,)); n += 1
print(f"rival, one row and one commit each, no network, no signature: {n / 3:.0f}/s")
PY
for connections in 1 16 64; do
	fresh
	echo "-- one user, $connections connections, $seconds s"
	bench 1:$connections:0
	echo "   in $(count reeve_submit_batches_total) commits"
done
fresh
echo "-- another user alone, a job every 20 ms"
bench 2:1:20
fresh
echo "-- the same while one user submits over 64 connections"
bench 2:1:20 1:64:0
echo "   $(count reeve_cycles_total) cycles took $(count reeve_cycle_seconds_total) s"
echo "-- the same with the $(count reeve_submissions_total) jobs queued"
bench 2:1:20 1:64:0
