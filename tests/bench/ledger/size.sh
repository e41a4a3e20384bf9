#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# size.sh [JOBS [DATABASE...]] - a ledger of JOBS (1000000) jobs of one year, half of them Slurm's, 100,000 associations, 10,000 nodes, in
# SQLite and PostgreSQL (sqlite, postgres: one of them): bytes a job, and what the controller asks again and again (size_bench.c) beside a
# ledger of a hundredth. Goal: a ratio of 1. Progress goes to standard error.
#
# SIZE_DIR: a directory for everything it makes; it must be empty or not exist, and is removed at the end (else below TMPDIR).
# SIZE_PAGES=1: the pages of the large one, too (tests/bench/web/pages.sh).
# SIZE_DISK_GB: not more than this (45) is filled: JOBS is lowered to what fits, by the bytes a job of the small ledger.
set -eu
cd "$(dirname "$0")/../../.."
jobs=${1:-1000000}
shift || true
databases=${*:-sqlite postgres}
active=10000 # that run, and as many queued, however large the ledger is
O=build
. tests/bench/bench_lib.sh
. tests/cluster/lib/tap_lib.sh
. tests/cluster/lib/server_lib.sh
dir=${SIZE_DIR:-$(mktemp -d "${TMPDIR:-/tmp}/reeve-size-bench-XXXXXX")}
mkdir -p "$dir"
[ -z "$(ls -A "$dir")" ] || { echo "no figures: $dir is not empty"; exit 1; }
export server_shared=${SIZE_SHARED:-1GB}
end() {
	[ -d "$dir/pg/data" ] && server_do stop
	rm -rf "$dir"
}
live_end() { :; } # what server_lib.sh calls: there is no controller here
trap end EXIT
trap 'exit 1' INT TERM HUP PIPE
chmod 755 "$dir"
bin=$dir/size_bench
# shellcheck disable=SC2046 # words without blanks
${CC:-cc} -std=gnu17 -D_GNU_SOURCE -O2 -I. $(pkg-config --cflags libpq) -o "$bin" tests/bench/ledger/size_bench.c \
	$(bench_objects controller/{dispatch,scheduler,sharetree,pricing,quota,accounts,config,ledger,policy,history,postgres} \
		common/{db,wire,model,conf,csv} common/{err,nearest,token,utf8}.c) \
	-lsqlite3 -lpq -ljansson -lnettle -lm
tell() { echo "$(date +%T) $*" >&2; }
run() { # PLACE: SQL from standard input, with what makes a bulk load quick and nothing that the ledger keeps
	case $1 in
	postgresql:*) { echo "SET synchronous_commit = off; SET maintenance_work_mem = '512MB'; SET work_mem = '256MB';" && cat; } | psql -q -v ON_ERROR_STOP=1 "$1" ;;
	*) { echo "PRAGMA synchronous=OFF; PRAGMA journal_mode=WAL; PRAGMA cache_size=-400000; PRAGMA temp_store_directory='$dir';" && cat; } | SQLITE_TMPDIR=$dir sqlite3 "$1" >/dev/null ;;
	esac
}
indices() { # PLACE: NAME|SQL of those that are not a table's key
	case $1 in
	postgresql:*) server_sql "$1" "SELECT indexname, regexp_replace(indexdef, ' ON \w+\.', ' ON ') FROM pg_indexes WHERE schemaname = current_schema() AND
		tablename IN ('jobs', 'attempts', 'stretches', 'slurm_attempts', 'rollups') AND indexname NOT IN (SELECT conname FROM pg_constraint)" ;;
	*) sqlite3 "$1" "SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL AND tbl_name IN ('jobs', 'attempts', 'stretches', 'slurm_attempts', 'rollups')" ;;
	esac
}
bytes() { # PLACE
	case $1 in
	postgresql:*) server_sql "$1" "SELECT SUM(pg_total_relation_size(c.oid)) FROM pg_class c WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'" ;;
	*) sqlite3 "$1" "PRAGMA wal_checkpoint(TRUNCATE)" >/dev/null && stat -c %s "$1" ;;
	esac
}
# Twenty jobs one after the other are of one user; even ones are Reeve's, odd ones Slurm's. All end on the day on which they started.
from_s=$((($(date +%s) / 86400 - 365) * 86400)) # a year up to yesterday, in UTC
slurm=$((2 << 40))
numbers() { # FROM TO TOTAL: i, the user, when it ended, how long it ran
	cat <<-SQL
		WITH RECURSIVE c(i) AS (SELECT CAST($1 AS BIGINT) UNION ALL SELECT i + 1 FROM c WHERE i < $2),
		e(i, at) AS (SELECT i, $from_s + CAST(i AS BIGINT) * 31535000 / $3 FROM c),
		n(i, k, at, ran) AS (SELECT i, i / 20 * 7919 % 100000, at, CASE WHEN at % 86400 < 3700 THEN at % 86400 / 2 ELSE 60 + i * 37 % 3600 END FROM e)
	SQL
}
fill_some() { # FROM TO TOTAL
	local j="CASE WHEN i % 2 = 0 THEN i / 2 ELSE $slurm + (i + 1) / 2 END"
	cat <<-SQL
		BEGIN;
		INSERT INTO jobs(job, attempt, state, uid, "user", account, cluster, queue, name, node, ncpus, vmem_bytes, mem_bytes, jobfs_bytes, walltime_s, ngpus,
			submitted_ns, started_ns, ended_ns, pool, decided_by, rate_num, rate_den, bundle_gpus_num, bundle_gpus_den, bundle_cores_num, bundle_cores_den,
			bundle_memory_num, bundle_memory_den, request, kept)
			$(numbers "$@") SELECT $j, 1, 5, 1000 + k, 'u' || k, 'g' || (k / 10), CASE WHEN i % 2 = 0 THEN 'main' ELSE 'vc' END, 'normal', 'run',
			CASE WHEN i % 2 = 0 THEN 'n' || (i / 2 % 10000) ELSE 'm' || (i / 2 % 10000) END, 4, CASE WHEN i % 2 = 0 THEN 4000000000 ELSE 0 END, 4000000000, 100000000, 7200, 0,
			(at - ran - 300) * 1000000000, (at - ran) * 1000000000, at * 1000000000, 0, 1, 4, 1, 0, 1, 1, 1, 0, 1,
			'{"argv":["/bin/sh","job.sh"],"workdir":"/home/user' || k || '/project/run' || i || '"}', 0 FROM n;
		INSERT INTO attempts(job, attempt, node, given_ns, state, shown, closed, seq, at_ns, started_ns, ended_ns, running_ns, charge_requested_ms, charge_used_ms,
			end_kind, exit_status, usage, started_day, ended_day, usage_day)
			$(numbers "$@") SELECT $j, 1, CASE WHEN i % 2 = 0 THEN 'n' || (i / 2 % 10000) ELSE 'm' || (i / 2 % 10000) END, (at - ran) * 1000000000, 5, i % 2, 1, 3, at * 1000000000,
			(at - ran) * 1000000000, at * 1000000000, ran * 1000000000, ran * 4000, ran * 4000, 1, 0,
			'{"cpu_ns":' || (ran * 3000000000) || ',"rss_peak_bytes":' || (i * 7919 % 4000000000) || '}', at / 86400, at / 86400, at / 86400 FROM n;
		INSERT INTO stretches $(numbers "$@") SELECT $j, 1, (at - ran) * 1000000000, at * 1000000000, ran * 1000000000, 1 FROM n WHERE ran > 0;
		INSERT INTO slurm_attempts(origin, id, submit_s, job, attempt, state, start_s, end_s, suspended_s, exit_status, signal, ncpus, nodes, node, array_job, array_task,
			het_job, het_offset, source, at_s) $(numbers "$@") SELECT 2, (i + 1) / 2, at - ran - 300, $j, 1, 3, at - ran, at, 0, 0, 0, 4, 'm' || (i / 2 % 10000),
			'm' || (i / 2 % 10000), 0, -1, 0, 0, 2, at FROM n WHERE i % 2 = 1;
		INSERT INTO rollups(cluster, account, "user", pool, day, jobs_started, jobs_ended, running_ms, suspended_ms, cpu_ms, charge_requested_ms, charge_used_ms, core_ms, gpu_ms)
			$(numbers "$@") SELECT CASE WHEN i % 2 = 0 THEN 'main' ELSE 'vc' END, 'g' || (k / 10), 'u' || k, 0, at / 86400, COUNT(*), COUNT(*), SUM(ran) * 1000, 0, SUM(ran) * 3000,
			SUM(ran) * 4000, SUM(ran) * 4000, SUM(ran) * 4000, 0 FROM n GROUP BY 1, 2, 3, 5 ON CONFLICT(cluster, account, "user", pool, day) DO UPDATE SET
			jobs_started = rollups.jobs_started + excluded.jobs_started, jobs_ended = rollups.jobs_ended + excluded.jobs_ended, running_ms = rollups.running_ms + excluded.running_ms,
			cpu_ms = rollups.cpu_ms + excluded.cpu_ms, charge_requested_ms = rollups.charge_requested_ms + excluded.charge_requested_ms,
			charge_used_ms = rollups.charge_used_ms + excluded.charge_used_ms, core_ms = rollups.core_ms + excluded.core_ms;
		COMMIT;
	SQL
}
# Associations, nodes, jobs that run and wait, months; months are the calendar's: year * 12 + month - 1. The ledger adds the
# totals up when it is opened.
fill_rest() { # TOTAL
	local own=$(($1 / 2)) until=$((from_s + 31536000))
	cat <<-SQL
		BEGIN;
		WITH RECURSIVE c(i) AS (SELECT CAST(0 AS BIGINT) UNION ALL SELECT i + 1 FROM c WHERE i < 9999)
			INSERT INTO nodes(node, cluster, boot, version, address, topology, notes, tier, draining, lost, ncpus, mem_bytes, jobfs_bytes, ngpus, free_ncpus, free_mem_bytes,
			free_jobfs_bytes, free_ngpus, first_ns, last_ns) SELECT 'n' || i, 'main', 'b', 't', '10.0.0.1', '', '[]', 1, 0, 0, 64, 256000000000, 1000000000000, 0, 0, 0, 0, 0, 0, ${until}000000000 FROM c;
		WITH RECURSIVE c(i) AS (SELECT CAST(1 AS BIGINT) UNION ALL SELECT i + 1 FROM c WHERE i < 2 * $active)
			INSERT INTO jobs(job, state, attempt, uid, "user", account, cluster, queue, name, node, ncpus, vmem_bytes, mem_bytes, jobfs_bytes, walltime_s, ngpus, submitted_ns,
			started_ns, pool, decided_by, rate_num, rate_den, bundle_gpus_num, bundle_gpus_den, bundle_cores_num, bundle_cores_den, bundle_memory_num, bundle_memory_den, request)
			SELECT $own + i, CASE WHEN i <= $active THEN 2 ELSE 0 END, CASE WHEN i <= $active THEN 1 ELSE 0 END, 1000, 'u' || (i * 7919 % 100000), 'g' || (i * 7919 % 100000 / 10),
			'main', 'normal', 'run', CASE WHEN i <= $active THEN 'n' || ((i - 1) % 10000) END, 64, 4000000000, 0, 100000000, 36000, 0, $((until - 300))000000000,
			CASE WHEN i <= $active THEN $((until - 60))000000000 ELSE 0 END, 0, 1, 64, 1, 0, 1, 1, 1, 0, 1, '{}' FROM c;
		INSERT INTO attempts(job, attempt, node, given_ns, state, shown, at_ns, started_ns) SELECT job, 1, node, $((until - 60))000000000, 2, 1, $((until - 60))000000000, $((until - 60))000000000
			FROM jobs WHERE state = 2 AND job > $own AND job <= $own + $active;
		INSERT INTO associations(id, cluster, account, "user") WITH RECURSIVE c(i) AS (SELECT CAST(0 AS BIGINT) UNION ALL SELECT i + 1 FROM c WHERE i < 99999)
			SELECT i + 1, CASE WHEN i % 2 = 0 THEN 'main' ELSE 'vc' END, 'g' || (i / 10), 'u' || i FROM c;
		INSERT INTO associations(id, cluster, account, "user") WITH RECURSIVE c(i) AS (SELECT CAST(0 AS BIGINT) UNION ALL SELECT i + 1 FROM c WHERE i < 99999)
			SELECT 100001 + i, CASE WHEN i % 2 = 0 THEN 'vc' ELSE 'main' END, 'g' || (i / 10), 'u' || i FROM c;
		INSERT INTO months SELECT a.id, r.pool, $(month_of), SUM(r.jobs_started), SUM(r.jobs_ended), SUM(r.running_ms), 0, SUM(r.cpu_ms), SUM(r.charge_requested_ms), SUM(r.charge_used_ms),
			SUM(r.core_ms), 0, 0 FROM rollups r JOIN associations a ON a.cluster = r.cluster AND a.account = r.account AND a."user" = r."user" GROUP BY 1, 2, 3;
		COMMIT;
	SQL
}
month_of() { # of r.day
	local n at
	at=$(date -u -d "@$from_s" +%Y-%m-01)
	printf 'CASE'
	for n in {1..12}; do
		printf ' WHEN r.day < %s THEN %s' $(($(date -u -d "$at $n months" +%s) / 86400)) "$(date -u -d "$at $((n - 1)) months" '+%Y * 12 + %-m - 1')"
	done
	printf ' ELSE %s END' "$(date -u -d "$at 12 months" '+%Y * 12 + %-m - 1')"
}
fill() { # PLACE TOTAL
	local at name sql
	"$O/bin/reeve" import swf /dev/null --cluster old --ledger "$1" >/dev/null 2>&1 || true
	run "$1" <<<"INSERT INTO origins(id, cluster) VALUES(2, 'vc');"
	indices "$1" >"$dir/indices"
	cut -d'|' -f1 "$dir/indices" | sed 's/.*/DROP INDEX &;/' | run "$1"
	for ((at = 1; at <= $2; at += 500000)); do
		fill_some "$at" $((at + 499999 < $2 ? at + 499999 : $2)) "$2" | run "$1"
		[ "$2" -lt 500001 ] || tell "$w: $((at + 499999 < $2 ? at + 499999 : $2)) of $2 jobs, $(bytes "$1") bytes"
	done
	{ fill_rest "$2" && echo "DELETE FROM meta WHERE key = 'period';"; } | run "$1"
	"$O/bin/reeve" admin adjustments --ledger "$1" >/dev/null
	while IFS='|' read -r name sql; do
		[ "$2" -lt 500001 ] || tell "$w: index $name"
		echo "$sql;" | run "$1"
	done <"$dir/indices"
	echo "ANALYZE;" | run "$1"
	[[ $1 != postgresql:* ]] || run "$1" <<<"CHECKPOINT;"
}
# For pages: nodes that were heard of just now, or their jobs would be lost, and the use of the jobs that run.
be_present() { # PLACE
	run "$1" <<-SQL
		UPDATE nodes SET last_ns = $(($(date +%s) + 3600))000000000, lost = 0;
		UPDATE attempts SET at_ns = given_ns, running_ns = 3600000000000, usage = '{"cpu_ns":' || (job % 64 * 3600000000000)
			|| ',"rss_peak_bytes":2589934592,"vmem_peak_bytes":7589934592,"jobfs_peak_bytes":50000000,"processes_peak":17}' WHERE closed = 0;
	SQL
}
remove() { # PLACE
	case $1 in
	postgresql:*) psql -q "$1" -c "DROP SCHEMA ${1##*%3D} CASCADE" -c CHECKPOINT 2>/dev/null ;;
	*) rm -f "$1" "$1"-* ;;
	esac
}
measure() { # WHICH JOBS
	local w="$1, $2 jobs" place=$dir/l.db from=$SECONDS
	[ "$1" = sqlite ] || place=$(server_schema "s$2")
	fill "$place" "$2"
	size=$(bytes "$place")
	tell "$1: $2 jobs, filled in $((SECONDS - from)) s, $size bytes"
	"$bin" "$place" $(($2 / 2)) $((($2 + 1) / 2)) $active >"$dir/$1.$3"
	grep -q '^no figures' "$dir/$1.$3" && { cat "$dir/$1.$3"; exit 1; }
	[ -z "${SIZE_PAGES:-}" ] || [ "$3" != large ] || { be_present "$place" && tests/bench/web/pages.sh --ledger "$place"; }
	if [ "$2" -le 1000000 ] && [ "${SIZE_VERIFY:-}" ]; then "$O/bin/reeve" admin verify --ledger "$place" | tail -n 3 >&2; fi
	tell "$1: $2 jobs measured"
	remove "$place"
}
for which in $databases; do
	[ "$which" = sqlite ] || server_open || { echo "no figures: no PostgreSQL server"; exit 1; }
	trap end EXIT
	measure "$which" $((jobs / 100)) small
	rest=$size # of what does not grow, and a hundredth of the jobs
	measure "$which" $((jobs / 100 + 100000)) guess
	each=$(((size - rest) / 100000))
	fits=$((${SIZE_DISK_GB:-45} * 1000000000 / (each * 13 / 10)))
	n=$((jobs < fits ? jobs : fits))
	[ "$n" = "$jobs" ] || echo "$which: $jobs jobs do not fit in ${SIZE_DISK_GB:-45} GB at $each bytes a job and 30 % for the log and sorting: $n jobs"
	measure "$which" "$n" large
	each=$(((size - rest) / (n - jobs / 100)))
	echo "-- $which: $n jobs, $each bytes a job with its sums and indices, beside $((jobs / 100)); milliseconds (rows)"
	paste -d'\t' "$dir/$which.small" "$dir/$which.large" |
		awk -F'\t' '{ printf "%-52s %10.3f (%d) %10.3f (%d)  x%.2f\n", $1, $5, $6, $2, $3, ($2 > 0 ? $5 / $2 : 1) }'
	[ "$which" = sqlite ] || { server_do stop && rm -rf "$dir/pg"; }
done
