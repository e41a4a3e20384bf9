#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# ledger.sh [JOBS] - a large ledger: adding imported jobs to PostgreSQL as arrays against COPY; `reeve admin migrate` against a
# copy of the rows by sqlite3 and psql alone; `reeve admin archive` against sqlite3 writing and deleting the same jobs. Ratios of
# the same run, in turns.
set -eu
cd "$(dirname "$0")/../.."
. tests/bench/bench_lib.sh
. tests/cluster/lib/tap_lib.sh
. tests/cluster/lib/live_lib.sh
. tests/cluster/lib/server_lib.sh
jobs=${1:-300000}
live_dir bench-ledger
server_shared=256MB
server_open || { echo "no figures: no PostgreSQL server"; exit 1; }
ms() { # COMMAND...
	local from
	from=$(date +%s%N)
	"$@" >"$dir/said" 2>&1 || { echo "no figures: $(cat "$dir/said")" >&2; exit 1; }
	echo $((($(date +%s%N) - from) / 1000000))
}

echo "-- adding imported jobs"
# shellcheck disable=SC2046
${CC:-cc} -std=gnu17 -D_GNU_SOURCE -O2 -I. $(pkg-config --cflags libpq) -o "$dir/ingest_bench" tests/bench/ingest_bench.c \
	$(bench_objects controller/postgres controller/ledger/schema.c common/db common/{err,utf8}.c) -lpq -lsqlite3
"$dir/ingest_bench" "$(server_schema ingest)" "$jobs"

echo "-- migrate"
{
	echo '; UnixStartTime: 1000000000'
	seq "$jobs" | awk '{ print $1, $1 * 30, 5, $1 * 37 % 90000, $1 % 63 + 1, -1, -1, 4, 7200, -1, 1, $1 % 1999, $1 % 40, -1, -1, -1, -1, -1 }'
} >"$dir/h.swf"
build/bin/reeve import swf "$dir/h.swf" --cluster old --ledger "$dir/a.db" >/dev/null
sqlite3 "$dir/a.db" "PRAGMA wal_checkpoint(TRUNCATE)" >/dev/null
megabytes=$(($(stat -c %s "$dir/a.db") / 1000000))
tables=$(sqlite3 "$dir/a.db" "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite!_%' ESCAPE '!'")
rival() { # SCHEMA: the rows into a new ledger with its indices, nothing compared
	local t
	build/bin/reeve admin adjustments --ledger "$1"
	psql -q "$1" -c "DELETE FROM meta"
	for t in $tables; do sqlite3 -csv "$dir/a.db" "SELECT * FROM $t" | psql -q -v ON_ERROR_STOP=1 "$1" -c "COPY $t FROM STDIN (FORMAT csv)"; done
}
for round in 1 2 3; do
	ours=$(ms build/bin/reeve admin migrate --from "$dir/a.db" --to "$(server_schema ours$round)")
	theirs=$(ms rival "$(server_schema theirs$round)")
	awk "BEGIN { printf \"round $round: $megabytes MB of SQLite, $(grep -o '[0-9]* rows compared' "$dir/said" | cut -d' ' -f1)reeve admin migrate, every row compared %.1f s, %.1f MB/s; sqlite3 | psql COPY, nothing compared %.1f s: x%.2f\n\", $ours / 1000, $megabytes / ($ours / 1000), $theirs / 1000, $ours / $theirs }"
done

echo "-- archive"
sqlite3 "$dir/a.db" <<-SQL
	CREATE TEMP TABLE n AS WITH r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r WHERE i < 100000) SELECT i, (1704067200 + i * 25) * 1000000000 AS at, i % 5000 + 60 AS ran FROM r;
	INSERT INTO jobs(job, attempt, state, uid, user, account, cluster, queue, name, node, ncpus, vmem_bytes, mem_bytes, jobfs_bytes, walltime_s, ngpus,
		submitted_ns, started_ns, ended_ns, pool, decided_by, rate_num, rate_den, bundle_gpus_num, bundle_gpus_den, bundle_cores_num, bundle_cores_den,
		bundle_memory_num, bundle_memory_den, request, kept)
		SELECT i, 1, 5, 1, 'u' || (i % 70), 'g' || (i % 30), 'main', 'normal', 'job', 'n' || (i % 9), 4, 1000, 0, 0, 7200, 0,
		at - ran * 1000000000, at - ran * 1000000000, at, 0, 1, 4, 1, 0, 1, 0, 1, 0, 1, '{"argv":["./model","--steps","1000"],"workdir":"/home/u"}', 0 FROM n;
	INSERT INTO attempts(job, attempt, node, given_ns, state, closed, seq, at_ns, started_ns, ended_ns, running_ns, charge_requested_ms, charge_used_ms, end_kind,
		usage, started_day, ended_day, usage_day) SELECT i, 1, 'n' || (i % 9), at - ran * 1000000000, 5, 1, 3, at, at - ran * 1000000000, at, ran * 1000000000,
		ran * 4000, ran * 500, 1, '{"cpu_ns":' || (ran * 700000000) || '}', (at / 1000000000 - ran) / 86400, (at / 1000000000 - 1) / 86400, (at / 1000000000 - 1) / 86400 FROM n;
	INSERT INTO stretches SELECT i, 1, at - ran * 1000000000, at, ran * 1000000000, 1 FROM n;
SQL
build/bin/reeve admin rebuild --ledger "$dir/a.db" >/dev/null
cp "$dir/a.db" "$dir/b.db"
build/bin/reeve admin migrate --from "$dir/a.db" --to "$(server_schema archive)" >/dev/null
export dir
rival_archive() { # the rows to files and away, in one transaction, nothing kept; the pragmas of a ledger
	sqlite3 "$dir/b.db" "PRAGMA synchronous=FULL; PRAGMA secure_delete=ON; BEGIN; CREATE TEMP TABLE which AS SELECT job FROM jobs WHERE job < 100000;" ".mode csv" \
		".once $dir/jobs.csv" "SELECT * FROM jobs WHERE job IN which" ".once $dir/attempts.csv" "SELECT * FROM attempts WHERE job IN which" \
		".once $dir/runs.csv" "SELECT * FROM stretches WHERE job IN which" "DELETE FROM stretches WHERE job IN which; DELETE FROM attempts WHERE job IN which;
		DELETE FROM jobs WHERE job IN which; COMMIT"
	sync "$dir"/*.csv
}
ours=$(ms build/bin/reeve admin archive --ledger "$dir/a.db" --before 2024-03 --to "$dir/archive")
theirs=$(ms rival_archive)
pg=$(ms build/bin/reeve admin archive --ledger "$server_place&options=-csearch_path%3Darchive" --before 2024-03 --to "$dir/archive.pg")
awk "BEGIN { printf \"100,000 jobs: SQLite %.1f s, %.0f jobs/s; sqlite3 in one transaction %.1f s: x%.2f; PostgreSQL %.1f s, %.0f jobs/s\n\", $ours / 1000, 1e8 / $ours, $theirs / 1000, $ours / $theirs, $pg / 1000, 1e8 / $pg }"
build/bin/reeve admin archive --ledger "$dir/a.db" --verify "$dir/archive" | tail -n 1
