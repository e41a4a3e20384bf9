#!/bin/bash
# past.sh [ENDED [JOBS]] - the controller's CPU time for the whole life of a job (submitted, dispatched, running,
# listed, ended; signed exchanges, a ledger on disk, a played node) with nothing in the ledger, and when
# ENDED jobs have ended there, all of that user, account and node. Goal: a ratio of 1. And the same life when both reports carry
# the series of a day (945 bytes), beside the life without. Needs root.
# REEVE_CONTROLLER_BINARY is another controller to measure.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
ended=${1:-60000} jobs=${2:-300}
. tests/cluster/lib/tap_lib.sh
. tests/cluster/lib/live_lib.sh
live_dir past-bench
live_tool tests/bench/past_bench.c -O2
live_munge
configure() {
	live_controller >"$dir/controller.conf"
	printf '%s\n' '[Cluster main]' 'DefaultResources = jobfs=100MB' '[Account physics]' 'Users = daemon' \
		>>"$dir/controller.conf"
}
fill() { # N: that many jobs that have ended
	sqlite3 -bail "$dir/ledger.db" <<-SQL
		BEGIN;
		CREATE TEMP TABLE n AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $1) SELECT i FROM n;
		INSERT INTO jobs(job, attempt, state, uid, user, account, cluster, queue, name, node, ncpus, vmem_bytes, mem_bytes,
		 jobfs_bytes, walltime_s, ngpus, submitted_ns, started_ns, ended_ns, pool, decided_by, rate_num, rate_den,
		 bundle_gpus_num, bundle_gpus_den, bundle_cores_num, bundle_cores_den, bundle_memory_num, bundle_memory_den, request)
		SELECT i, 1, 5, 1, 'daemon', 'physics', 'main', 'normal', 'old', 'n1', 1, 1000000, 0, 100000000, 60, 0,
		 i, i, i, 0, 1, 1, 1, 0, 1, 1, 1, 0, 1,
		 '{"schema":"reeve/1","argv":["/bin/true"],"env":[],"workdir":"/"}' FROM n;
		INSERT INTO attempts(job, attempt, node, given_ns, state, shown, closed, seq, at_ns, started_ns, ended_ns,
		 running_ns, end_kind, exit_status) SELECT i, 1, 'n1', i, 5, 1, 1, 2, i, i, i, 0, 1, 0 FROM n;
		INSERT INTO series(job, attempt, part, at_ns, data) SELECT i, 1, 0, i, zeroblob(945) FROM n;
		INSERT INTO events(at_ns, job, node, what, text)
		SELECT i, i, 'n1', what, '' FROM n JOIN (SELECT 'submit' AS what UNION ALL SELECT 'give'
		 UNION ALL SELECT 'running' UNION ALL SELECT 'ended');
		COMMIT;
	SQL
}
measure() { # N [SERIES]: with N ended before
	live_stop
	rm -f "$dir"/ledger.db*
	live_open configure
	live_stop
	[ "$1" = 0 ] || fill "$1" || bail "no past was made"
	live_start || bail "the controller does not start: $(cat "$dir/controller.log")"
	"$dir/past_bench" "$url" "$dir/munge.sock" $daemon "$jobs" "$controller" ${2:+"$2"} >"$dir/ms" || bail "no figures"
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
measure 0
fresh=$(cat "$dir/ms")
measure "$ended"
later=$(cat "$dir/ms")
measure 0 "$(day)"
fresh_series=$(cat "$dir/ms")
measure "$ended" "$(day)"
later_series=$(cat "$dir/ms")
awk -v a="$fresh" -v b="$later" -v n="$ended" 'BEGIN {
	if (a <= 0) { print "no figures: no CPU time was seen"; exit 1 }
	printf "CPU of the controller a job: %s ms in an empty ledger, %s ms after %d jobs: x%.2f\n", a, b, n, b / a }'
awk -v a="$fresh" -v b="$later" -v c="$fresh_series" -v d="$later_series" -v n="$ended" -v bytes="$(day | base64 -d | wc -c)" 'BEGIN {
	printf "with a series of %d bytes in both reports: %s ms (x%.2f of the life without) in an empty ledger, %s ms (x%.2f) after %d jobs\n",
		bytes, c, c / a, d, d / b, n }'
