#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# cycle.sh [QUEUED RUNNING NODES] - one scheduling cycle of the controller, ledger and all, by each
# scheduler, with SQLite and (as root, where it is installed) PostgreSQL; beside reading the queued
# rows with the database alone, in the same run.
set -euo pipefail
cd "$(dirname "$0")/../.."
queued=${1:-100000} running=${2:-20000} nodes=${3:-5000}
O=build
dir=$(mktemp -d /tmp/reeve-cycle-bench-XXXXXX)
bin=$(echo /usr/lib/postgresql/*/bin | tr ' ' '\n' | tail -n 1)
server() { # start or stop a server of our own
	runuser -u postgres -- "$bin/pg_ctl" -D "$dir/data" -l "$dir/log" -w -m immediate \
		-o "-k $dir -c listen_addresses=" "$1" >/dev/null
}
databases="$dir/l.db"
trap '[ -d "$dir/data" ] && server stop; rm -rf "$dir"' EXIT
if [ "$(id -u)" = 0 ] && [ -x "$bin/initdb" ]; then
	chown postgres "$dir" && chmod 755 "$dir"
	runuser -u postgres -- "$bin/initdb" -D "$dir/data" -A trust -E UTF8 >/dev/null
	server start
	databases+=" postgresql:///postgres?host=$dir&user=postgres"
fi
mkdir -p $O/tests/bench
# shellcheck disable=SC2046 # words without blanks
${CC:-cc} -std=gnu17 -D_GNU_SOURCE -O2 -I. $(pkg-config --cflags libpq) -o $O/tests/bench/cycle_bench tests/bench/cycle_bench.c \
	$(find controller/{dispatch,scheduler,sharetree,pricing,quota,accounts,config,ledger,policy,history,postgres} \
		common/{db,wire,model,conf,csv} controller/http/workers.c common/stops common/{log,err,nearest,token,utf8}.c -name '*.c' | sed "s#^#$O/#; s#c\$#o#") \
	-lsqlite3 -lpq -lsystemd -ljansson -lnettle -lm
for scheduler in backfill fifo suspend; do
	cat >"$dir/$scheduler.conf" <<-CONF
		[Controller]
		[Policy]
		Scheduler = $scheduler
		PriorityWeightFairshare = ${weight:-0}
		[Cluster main]
		BundleCores = 1
		[Account physics]
		Users = alice
	CONF
	for ledger in $databases; do
		run=(sqlite3 "$ledger")
		[[ $ledger = postgresql:* ]] && run=(psql -q "$ledger")
		rm -f "$dir"/l.db*
		[[ $ledger = postgresql:* ]] && psql -q "$ledger" -c 'DROP SCHEMA public CASCADE; CREATE SCHEMA public' 2>/dev/null
		$O/bin/reeve import swf /dev/null --cluster none --ledger "$ledger" >/dev/null 2>&1 || true
		"${run[@]}" <<-SQL
			BEGIN;
			WITH RECURSIVE n(i) AS (SELECT CAST(0 AS BIGINT) UNION ALL SELECT i + 1 FROM n WHERE i + 1 < $nodes)
			INSERT INTO nodes(node, cluster, boot, version, address, topology, notes, tier, draining, lost, ncpus,
			 mem_bytes, jobfs_bytes, ngpus, free_ncpus, free_mem_bytes, free_jobfs_bytes, free_ngpus, first_ns, last_ns)
			SELECT 'n' || i, 'main', 'b', 't', '', '', '[]', 1, 0, 0, 64, 256000000000, 1000000000000, 0, 0, 0, 0, 0, 0, 0
			FROM n;
			WITH RECURSIVE n(i) AS (SELECT CAST(0 AS BIGINT) UNION ALL SELECT i + 1 FROM n WHERE i + 1 < $queued + $running)
			INSERT INTO jobs(state, attempt, uid, "user", account, cluster, queue, name, node, ncpus, vmem_bytes, mem_bytes,
			 jobfs_bytes, walltime_s, ngpus, submitted_ns, pool, decided_by, rate_num, rate_den, bundle_gpus_num,
			 bundle_gpus_den, bundle_cores_num, bundle_cores_den, bundle_memory_num, bundle_memory_den, request)
			SELECT CASE WHEN i < $running THEN 2 ELSE 0 END, CASE WHEN i < $running THEN 1 ELSE 0 END, 1, 'u' || (i * 7919 % 1000),
			 'a' || (i * 7919 % 200), 'main', 'normal', 'j', CASE WHEN i < $running THEN 'n' || (i % $nodes) END,
			 CASE WHEN i < $running THEN 16 ELSE 1 + i * 104729 % 64 END, 1000000000 * (1 + i % 4), 0, 1000000000,
			 600 + i * 31 % 172800, 0, i * 1000000000, 0, 1, 1, 1, 0, 1, 1, 1, 0, 1, '{}' FROM n;
			INSERT INTO attempts(job, attempt, node, given_ns, state, at_ns, running_ns)
			SELECT job, 1, node, 0, 2, 1, 1000000000 FROM jobs WHERE state = 2;
			COMMIT;
		SQL
		[[ $ledger = postgresql:* ]] && psql -q "$ledger" -c ANALYZE
		echo "-- $scheduler, $([[ $ledger = postgresql:* ]] && echo PostgreSQL || echo SQLite): $queued queued, $running running, $nodes nodes"
		$O/tests/bench/cycle_bench "$ledger" "$dir/$scheduler.conf" 3
	done
done
