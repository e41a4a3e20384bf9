#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# plans.sh - the plans of all statements of a cycle, exchanges, listings and pages in a ledger with a long past (REEVE_PAST_ENDED ended jobs,
# 200,000 if that is not set): SQLite's own words and steps; in PostgreSQL the rows that were read, and the plans as they really ran. TAP.
set -u
cd "$(dirname "$0")/../../.." || exit 1
. tests/cluster/lib/tap_lib.sh
. tests/cluster/lib/live_lib.sh
. tests/cluster/lib/server_lib.sh
export CMOCKA_MESSAGE_OUTPUT=TAP
status=0
make -s build/tests/unit/test_plans >&2 && build/tests/unit/test_plans || status=1
live_dir plans
server_open || { echo "ok 5 - PostgreSQL # SKIP no server: make deps"; exit $status; }
psql -q "$server_place" -c "ALTER DATABASE postgres SET session_preload_libraries = 'auto_explain'" \
	-c "ALTER DATABASE postgres SET auto_explain.log_min_duration = 0"
REEVE_TEST_POSTGRES=$server_place build/tests/unit/test_plans || status=1
scans=$(grep -E 'Seq Scan on (jobs|attempts|events|stretches|parts|steps|streams|chunks|depends|holds|arrays|series) ' "$dir/pg/log" | sort | uniq -c)
if [ -z "$scans" ] && grep -q 'Index Scan using' "$dir/pg/log"; then echo "ok - EXPLAIN: no plan scans what only grows"; else
	echo "${scans:-no plans were seen}" | sed 's/^/# /'; echo "not ok - EXPLAIN: no plan scans what only grows"; status=1
fi
exit $status
