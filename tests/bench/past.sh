#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# past.sh [JOBS [ENDED...]] - the controller's CPU time for the whole life of a job (submitted, dispatched, running, listed, ended; signed
# exchanges, a ledger on disk, a played node), and with PostgreSQL its server's, with nothing in the ledger and when ENDED jobs (10000
# 1000000) have ended there, all of that user, account and node; in turns, $ROUNDS (3) of JOBS (300) lives each, medians. Goal: within a
# tenth of each other. And in SQLite the same life when both reports carry the series of a day (945 bytes), beside the life without.
# PAST_DATABASES: sqlite, postgres. REEVE_CONTROLLER_BINARY is another controller to measure. Needs root; progress goes to standard error.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
jobs=${1:-300} rounds=${ROUNDS:-3}
shift || true
[ $# -gt 0 ] || set -- 10000 1000000
sizes=(0 "$@")
. tests/cluster/lib/tap_lib.sh
. tests/cluster/lib/live_lib.sh
. tests/cluster/lib/server_lib.sh
server_shared=128MB # what PostgreSQL has by default
live_dir past-bench
live_tool tests/bench/past_bench.c -O2
live_munge
tell() { echo "$(date +%T) $*" >&2; }
configure() { # PLACE
	live_controller "$1" >"$dir/controller.conf"
	printf '%s\n' '[Cluster main]' 'DefaultResources = jobfs=100MB' '[Account physics]' 'Users = daemon' \
		>>"$dir/controller.conf"
}
fill() { # DATABASE PLACE N: that many jobs that have ended, within the last hour: nothing of them is removed while the bench runs
	local zeros='zeroblob(945)' run=(sqlite3 -bail "$2") at="($(date +%s%N) - 3600000000000 + i)"
	[ "$1" = sqlite ] || { zeros="decode(repeat('00', 945), 'hex')"; run=(psql -q -v ON_ERROR_STOP=1 "$2"); }
	"${run[@]}" <<-SQL
		BEGIN;
		CREATE TEMP TABLE n AS WITH RECURSIVE n(i) AS (SELECT CAST(1 AS BIGINT) UNION ALL SELECT i + 1 FROM n WHERE i < $3) SELECT i FROM n;
		INSERT INTO jobs(job, attempt, state, uid, "user", account, cluster, queue, name, node, ncpus, vmem_bytes, mem_bytes,
		 jobfs_bytes, walltime_s, ngpus, submitted_ns, started_ns, ended_ns, pool, decided_by, rate_num, rate_den,
		 bundle_gpus_num, bundle_gpus_den, bundle_cores_num, bundle_cores_den, bundle_memory_num, bundle_memory_den, request)
		SELECT i, 1, 5, 1, 'daemon', 'physics', 'main', 'normal', 'old', 'n1', 1, 1000000, 0, 100000000, 60, 0,
		 $at, $at, $at, 0, 1, 1, 1, 0, 1, 1, 1, 0, 1,
		 '{"schema":"reeve/1","argv":["/bin/true"],"env":[],"workdir":"/"}' FROM n;
		INSERT INTO attempts(job, attempt, node, given_ns, state, shown, closed, seq, at_ns, started_ns, ended_ns,
		 running_ns, end_kind, exit_status) SELECT i, 1, 'n1', $at, 5, 1, 1, 2, $at, $at, $at, 0, 1, 0 FROM n;
		INSERT INTO series(job, attempt, part, at_ns, data) SELECT i, 1, 0, $at, $zeros FROM n;
		INSERT INTO events(at_ns, job, node, what, text)
		SELECT $at, i, 'n1', what, '' FROM n CROSS JOIN (SELECT 'submit' AS what UNION ALL SELECT 'give'
		 UNION ALL SELECT 'running' UNION ALL SELECT 'ended') w;
		COMMIT;
		ANALYZE;
	SQL
}
prepare() { # DATABASE N
	local place=$dir/l$2.db
	[ "$1" = sqlite ] || place=$(server_schema "l$2")
	live_open configure "$place"
	live_stop
	[ "$2" = 0 ] || fill "$1" "$place" "$2" || bail "no past was made"
	tell "$1: $2 jobs have ended"
}
# The server's processes that serve the controller.
backends() { server_sql "$server_place" "SELECT string_agg(pid::text, ' ') FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"; }
measure() { # DATABASE PLACE [SERIES]: sets figures, milliseconds of the controller and of the server
	local pids
	live_stop
	configure "$2"
	live_start || bail "the controller does not start: $(cat "$dir/controller.log")"
	pids=$controller
	# shellcheck disable=SC2207 # numbers
	[ "$1" = sqlite ] || pids+=" $(backends)"
	"$dir/past_bench" "$url" "$dir/munge.sock" $daemon "$jobs" "$pids" ${3:+"$3"} >"$dir/ms" || bail "no figures"
	figures=$(cat "$dir/ms")
}
median() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
rows() { # DATABASE: all sizes in turns
	local n round place base=
	for n in "${sizes[@]}"; do prepare "$1" "$n"; done
	for ((round = 1; round <= rounds; round++)); do
		for n in "${sizes[@]}"; do
			place=$dir/l$n.db
			[ "$1" = sqlite ] || place="$server_place&options=-csearch_path%3Dl$n"
			measure "$1" "$place"
			echo "$figures" >>"$dir/figures.$1.$n"
			tell "$1, round $round, $n: $figures"
		done
	done
	for n in "${sizes[@]}"; do
		awk -v d="$1" -v n="$n" -v c="$(cut -d' ' -f1 "$dir/figures.$1.$n" | median)" -v s="$(cut -d' ' -f2 "$dir/figures.$1.$n" | median)" \
			-v base="$base" 'BEGIN { if (c <= 0) { print "no figures: no CPU time was seen"; exit 1 }
			printf "%-9s %8d jobs have ended: %6.2f ms of the controller a job", d, n, c
			if (d != "sqlite") printf ", %6.2f of the server", s
			if (base) printf ", x%.2f", (c + s) / base
			print "" }' || exit 1
		[ -n "$base" ] || base=$(awk -v c="$(cut -d' ' -f1 "$dir/figures.$1.$n" | median)" -v s="$(cut -d' ' -f2 "$dir/figures.$1.$n" | median)" 'BEGIN { print c + s }')
	done
}
# 120 points of four metrics: cores between 0 and 4 in intervals of 20 minutes, memory that grows by steps.
day() {
	python3 - <<-'PY'
		import base64, random
		rng = random.Random(1)
		def varint(v):
		    out = b''
		    while v >= 0x80:
		        out += bytes([v & 0x7f | 0x80]); v >>= 7
		    return out + bytes([v])
		minutes = 20 * 60 * 1000
		out = b'\x01' + varint(minutes) + varint(120 * minutes) + bytes([0b1111])
		for m in range(4):
		    before = value = 0
		    for i in range(120):
		        value = rng.randrange(4 * minutes) if m == 0 else value + (rng.randrange(1 << 14) if rng.random() < 0.3 else 0)
		        d = value - before
		        out += varint((d << 1 if d >= 0 else -2 * d - 1) + 1)
		        before = value
		print(base64.b64encode(out).decode())
	PY
}
echo "the life of a job, load $(cut -d' ' -f1 /proc/loadavg), $rounds rounds of $jobs"
for database in ${PAST_DATABASES:-sqlite postgres}; do
	[ "$database" = sqlite ] || server_open || { echo "PostgreSQL: not measured, no server is installed"; continue; }
	rows "$database"
done
case " ${PAST_DATABASES:-sqlite} " in *' sqlite '*) ;; *) exit 0 ;; esac
for n in "${sizes[0]}" "${sizes[-1]}"; do
	measure sqlite "$dir/l$n.db" "$(day)"
	with=${figures% *}
	measure sqlite "$dir/l$n.db"
	without=${figures% *}
	awk -v n="$n" -v a="$without" -v b="$with" -v bytes="$(day | base64 -d | wc -c)" 'BEGIN {
		printf "with a series of %d bytes in both reports, %d jobs have ended: %s ms, %s without: x%.2f\n", bytes, n, b, a, b / a }'
done
