#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# old_sums.sh - a ledger of a version that had no sums of accounts and users (the table totals): who opens it says what it does; killed
# in the middle it has none of them, and the next one makes them all. TAP.
set -u
cd "$(dirname "$0")/../../.." || exit 1
. tests/cluster/lib/tap_lib.sh
dir=$(mktemp -d "${TMPDIR:-/tmp}/reeve-old-sums-XXXXXX")
trap 'rm -rf "$dir"' EXIT
ledger=$dir/l.db
reeve=build/bin/reeve
sql() { sqlite3 -bail "$ledger" "$1"; }
open_it() { "$reeve" admin adjustments --ledger "$ledger"; }
"$reeve" import swf /dev/null --cluster old --ledger "$ledger" >/dev/null 2>&1
open_it >/dev/null 2>"$dir/said"
tap_result $? "a new ledger is opened" "$(cat "$dir/said")"
[ ! -s "$dir/said" ]
tap_result $? "nothing is said of it" "$(cat "$dir/said")"
# 30,000 users, each in 8 months: 240,000 sums.
sql "BEGIN;
	WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 30000)
		INSERT INTO associations(id, cluster, account, user) SELECT i, 'old', 'g' || (i / 10), 'u' || i FROM c;
	WITH RECURSIVE m(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM m WHERE i < 7)
		INSERT INTO months SELECT a.id, 0, 24300 + m.i, 1, 1, 1000, 0, 1000, 2000, 1000, 4000, 0, 0 FROM associations a, m;
	DELETE FROM totals; DELETE FROM meta WHERE key = 'period'; COMMIT;"
# Killed once a step is done: the steps that are left take longer than this takes.
mkfifo "$dir/lines"
"$reeve" admin adjustments --ledger "$ledger" >/dev/null 2>"$dir/lines" &
pid=$!
exec 3<"$dir/lines"
read -r first <&3
read -r second <&3
kill -KILL $pid
wait $pid 2>/dev/null
code=$?
exec 3<&-
[ $code = 137 ]
tap_result $? "it was killed in the middle" "status $code; $first; $second"
[ "$first" = 'reeve: adding up 240000 sums of months, once for this ledger' ]
tap_result $? "who opens it says what is to be added up" "$first"
case $second in *"adding up sums of months: 1 of 6 steps in "*) true ;; *) false ;; esac
tap_result $? "and which step is done" "$second"
[ "$(sql "SELECT COUNT(*) FROM totals")/$(sql "SELECT COUNT(*) FROM meta WHERE key = 'period'")" = 0/0 ]
tap_result $? "what was killed left nothing of it"
open_it >/dev/null 2>"$dir/said"
code=$?
[ $code = 0 ] && grep -q 'sums of accounts, users and clusters made in [0-9.]* s$' "$dir/said"
tap_result $? "the next one makes them, and says how many and how long it took" "status $code; $(cat "$dir/said")"
[ "$(sed -n 's/^reeve: \([0-9]*\) sums of accounts.*/\1/p' "$dir/said")" = "$(sql 'SELECT COUNT(*) FROM totals')" ]
tap_result $? "as many as there are"
# Of 30,000 users and 3,001 accounts: 8 months in one period of a year or two; of the cluster and of all.
[ "$(sql "SELECT SUM(running_ms) FROM totals WHERE kind = 2 AND span = 1 AND cluster = ''")" = 240000000 ]
tap_result $? "they are the sums of the months"
open_it >/dev/null 2>"$dir/said" && [ ! -s "$dir/said" ]
tap_result $? "after that nothing is added up" "$(cat "$dir/said")"
tap_end
