#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# partition.sh [JOBS [MONTHS]] - the ledger's tables jobs and attempts in PostgreSQL as they are, and partitioned by month, with the
# same generated rows: hot queries, growth, deleting the oldest month, sizes. Ratios of the same run, in turns.
# Partitions are ranges of job numbers, a month's each: a primary key must contain what rows are partitioned by, and the job's
# number is what every other table and query names.
set -eu
cd "$(dirname "$0")/../../.."
. tests/cluster/lib/tap_lib.sh
. tests/cluster/lib/live_lib.sh
. tests/cluster/lib/server_lib.sh
jobs=${1:-2000000} months=${2:-24}
live_dir bench-partition
server_shared=256MB
server_open || { echo "no figures: no PostgreSQL server"; exit 1; }
plain=$(server_schema plain) parted=$(server_schema parted)
each=$((jobs / months))
for l in "$plain" "$parted"; do build/bin/reeve admin adjustments --ledger "$l" >/dev/null; done
server_sql "$parted" "
	ALTER TABLE attempts DROP CONSTRAINT attempts_job_fkey;
	ALTER TABLE jobs RENAME TO jobs_was; ALTER TABLE attempts RENAME TO attempts_was;
	CREATE TABLE jobs(LIKE jobs_was INCLUDING DEFAULTS) PARTITION BY RANGE(job);
	CREATE TABLE attempts(LIKE attempts_was INCLUDING DEFAULTS) PARTITION BY RANGE(job);
	ALTER TABLE jobs ADD PRIMARY KEY(job); ALTER TABLE attempts ADD PRIMARY KEY(job, attempt)"
server_sql "$parted" "SELECT regexp_replace(regexp_replace(indexdef, 'INDEX (\w+)', 'INDEX p_\1'), '(parted\.)(jobs|attempts)_was', '\1\2') || ';' FROM pg_indexes
	WHERE schemaname = 'parted' AND tablename IN ('jobs_was', 'attempts_was') AND indexname NOT LIKE '%pkey'" | psql -q -v ON_ERROR_STOP=1 "$parted"
for m in $(seq 0 "$months"); do
	for t in jobs attempts; do
		echo "CREATE TABLE ${t}_$m PARTITION OF $t FOR VALUES FROM ($((m * each + 1))) TO ($(((m + 1) * each + 1)));"
	done
done | psql -q -v ON_ERROR_STOP=1 "$parted"
rows() { # FROM TO: as of a site with 5,000 users; the last 20,000 are queued or run
	cat <<-SQL
		INSERT INTO jobs(job, attempt, state, uid, "user", account, cluster, queue, name, node, ncpus, vmem_bytes, mem_bytes, jobfs_bytes, walltime_s,
			ngpus, submitted_ns, ended_ns, pool, decided_by, rate_num, rate_den, bundle_gpus_num, bundle_gpus_den, bundle_cores_num, bundle_cores_den,
			bundle_memory_num, bundle_memory_den, request, kept)
			SELECT i, 1, CASE WHEN i > $jobs - 20000 THEN i % 3 ELSE 5 END, 1, 'u' || (i * 7919 % 5000), 'g' || (i * 7919 % 800), 'main', 'normal', 'job', 'n' || (i % 5000),
			4, 1000, 0, 0, 3600, 0, i * 1000000000, i * 1000000000, 0, 1, 4, 1, 0, 1, 0, 1, 0, 1, repeat('{"argv":["./model"]}', 12), 0 FROM generate_series($1::bigint, $2) i;
		INSERT INTO attempts(job, attempt, node, given_ns, state, closed, seq, usage) SELECT i, 1, 'n' || (i % 5000), i * 1000000000, 5,
			CASE WHEN i > $jobs - 20000 THEN 0 ELSE 1 END, 3, repeat('{"cpu_ns":1}', 10) FROM generate_series($1::bigint, $2) i;
	SQL
}
seconds() { # COMMAND...
	local from
	from=$(date +%s%N)
	"$@" >/dev/null
	awk "BEGIN { printf \"%.3f\", ($(date +%s%N) - $from) / 1e9 }"
}
load() { rows "$2" "$3" | psql -q -v ON_ERROR_STOP=1 "$1"; }
ratio() { # WHAT PLAIN PARTED UNIT
	awk "BEGIN { printf \"%-58s %10s %10s %s  x%.2f\n\", \"$1\", \"$2\", \"$3\", \"$4\", $3 / $2 }"
}
echo "$jobs jobs, $months months; as it is, partitioned, ratio"
for l in "$plain" "$parted"; do load "$l" 1 $((jobs - 20000)); server_sql "$l" "ANALYZE jobs; ANALYZE attempts"; done
ratio "add 20,000 jobs with their attempts" "$(seconds load "$plain" $((jobs - 19999)) "$jobs")" "$(seconds load "$parted" $((jobs - 19999)) "$jobs")" s
for l in "$plain" "$parted"; do server_sql "$l" "ANALYZE jobs; ANALYZE attempts"; done
hot() { # WHAT SQL: ms a statement, medians of 5 rounds in turns of 200 statements
	local a b all_a='' all_b=''
	echo "$2" >"$dir/q.sql"
	for _ in 1 2 3 4 5; do
		a=$(pgbench -n -M prepared -t 200 -f "$dir/q.sql" "$plain" 2>/dev/null | sed -n 's/^latency average = \([0-9.]*\).*/\1/p')
		b=$(pgbench -n -M prepared -t 200 -f "$dir/q.sql" "$parted" 2>/dev/null | sed -n 's/^latency average = \([0-9.]*\).*/\1/p')
		all_a+="$a"$'\n' all_b+="$b"$'\n'
	done
	ratio "$1" "$(sort -n <<<"${all_a%$'\n'}" | sed -n 3p)" "$(sort -n <<<"${all_b%$'\n'}" | sed -n 3p)" ms
}
hot "a job by its number" "\set j random(1, $jobs)
SELECT * FROM jobs j LEFT JOIN attempts a ON a.job = j.job AND a.attempt = j.attempt WHERE j.job = :j"
hot "the newest 100 jobs of a user" "\set u random(0, 4999)
SELECT job, name FROM jobs WHERE \"user\" = 'u' || :u ORDER BY job DESC LIMIT 100"
hot "the active jobs of a user" "\set u random(0, 4999)
SELECT job FROM jobs WHERE \"user\" = 'u' || :u AND state < 5"
hot "what is allocated on a node" "\set n random(0, 4999)
SELECT a.job FROM attempts a JOIN jobs j ON j.job = a.job WHERE a.node = 'n' || :n AND a.closed = 0"
hot "the next queued jobs" "SELECT job FROM jobs WHERE state = 0 AND cluster = 'main' ORDER BY job LIMIT 50"
hot "a job ends" "\set j random($((jobs - 19999)), $jobs)
UPDATE jobs SET ended_ns = ended_ns + 1 WHERE job = :j"
size() { server_sql "$1" "SELECT SUM(pg_indexes_size(c.oid)) / 1000000 FROM pg_class c WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r' AND relname !~ '_was' AND relname ~ '^(jobs|attempts)'"; }
ratio "indices" "$(size "$plain")" "$(size "$parted")" MB
remove() { # as the archive does: 256 jobs in a transaction
	seq 1 256 "$each" | awk '{ print "BEGIN; DELETE FROM attempts WHERE job >= " $1 " AND job < " $1 + 256 "; DELETE FROM jobs WHERE job >= " $1 " AND job < " $1 + 256 "; COMMIT;" }' | psql -q "$1"
}
drop() { server_sql "$parted" "DROP TABLE attempts_0; DROP TABLE jobs_0"; }
ratio "delete the oldest month; partitioned: DROP" "$(seconds remove "$plain")" "$(seconds drop)" s
