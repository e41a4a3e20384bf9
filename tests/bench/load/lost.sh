#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# lost.sh [SECONDS] - the load of load.sh in small, as a test: 500 nodes with 5,000 running jobs report to a controller, some views and submissions
# beside them, and all drop their connections at once, when one in 50 first sends a request that is refused: no report that was acknowledged is lost or counted twice, in SQLite and PostgreSQL. How
# long anything takes is not looked at. TAP. Needs root.
cd "$(dirname "$0")/../../.." || exit 1
. tests/cluster/lib/tap_lib.sh
[ "$(id -u)" = 0 ] || { echo "1..0 # SKIP needs root to speak for nodes and users"; exit 0; }
for database in sqlite postgres; do
	said=$(LOAD_OVERTAKEN=50 LOAD_NODES=500 LOAD_JOBS=5000 LOAD_DATABASES=$database tests/bench/load/load.sh "${1:-10}" 2>/dev/null)
	rc=$?
	if grep -q 'no server is installed' <<<"$said"; then
		skip "$database: nothing that was acknowledged is lost" "no server is installed"
		continue
	fi
	has "$database: nothing that was acknowledged is lost or counted twice" "$database: lost or counted twice: 0" "$said"
	has "$database: every job has been reported, and runs" "ledger: 5000 attempts run; 0 of 5000 differ" "$said"
	has "$database: the sums are those of the jobs" ": 0 differences" "$said"
	n_refused=$(sed -nE 's/^all nodes reconnect .* failed ([0-9]+)$/\1/p' <<<"$said")
	[ "${n_refused:-0}" -ge 10 ]
	tap_result $? "$database: one request in fifty was overtaken, and refused" "$said"
	n_deferred=$(sed -nE 's/^requests that waited for a turn: ([0-9]+)$/\1/p' <<<"$said")
	[ "${n_deferred:-0}" -ge 1 ]
	tap_result $? "$database: a request that only reads waits for its turn where many nodes report" "$said"
	is "$database: the load ran" 0 "$rc"
done
tap_end
