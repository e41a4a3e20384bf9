#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# stops.sh - how long the controller's event loop stands still: the metric and the line of the log name what ran, and SIGTERM ends a
# controller in time whatever runs. Another program that has the ledger's lock is what runs long here. TAP. Needs root.
set -u
cd "$(dirname "$0")/../../.." || exit 1
. tests/cluster/lib/tap_lib.sh
. tests/cluster/lib/live_lib.sh
. tests/cluster/lib/play_lib.sh
[ "$(id -u)" = 0 ] || { echo "1..0 # SKIP needs root to speak as several users"; exit 0; }
live_dir stops
live_tool signed
live_munge
amounts='"ncpus":8,"mem_bytes":64000000000,"jobfs_bytes":100000000000,"ngpus":0'
configure() {
	cat >"$dir/controller.conf" <<-CONF
		$(live_controller)
		[Cluster main]
		DefaultResources = ncpus=1,vmem=1GB,jobfs=1MB,walltime=1:00:00
		[Account physics]
		Users = daemon
	CONF
}
live_open configure
lock_ledger() { # SECONDS, or until "$locker" is killed: as soon as this returns
	rm -f "$dir/locked"
	python3 - "$dir/ledger.db" "$dir/locked" "$1" <<-'PY' &
		import sqlite3, sys, time
		db = sqlite3.connect(sys.argv[1], isolation_level=None)
		db.execute("BEGIN IMMEDIATE")
		open(sys.argv[2], "w")
		time.sleep(float(sys.argv[3]))
	PY
	locker=$!
	until [ -e "$dir/locked" ]; do sleep 0.02; done
}
stops() { curl -s "$url/metrics" | grep "^reeve_loop_.*stop_seconds$1"; }

said=$(ask 1 GET /v1/jobs)
has "a request is answered" 200 "$said"
has "the stop of a request counts under its route" 'reeve_loop_stop_seconds_bucket{ran="/v1/jobs",le="+Inf"} ' "$(stops '_bucket.*/v1/jobs"')"
if command -v promtool >/dev/null; then
	out=$(curl -s "$url/metrics" | promtool check metrics 2>&1 | grep loop_stop)
	is "promtool finds nothing wrong with the histogram" "" "$out"
else
	skip "promtool finds nothing wrong with the histogram" "no promtool here (Debian: prometheus)"
fi

# The lock is released only when the loop stands still, however slow the machine is. The log has at most one such line in ten seconds,
# so an earlier stop may take the place of this one.
loop_line=
for attempt in 1 2 3 4; do
	lock_ledger 60
	node_sync node="waits$attempt" >"$dir/said" &
	sync=$!
	for _ in {1..40}; do
		curl -s -m 0.3 -o /dev/null "$url/metrics" || break
	done
	sleep 0.3
	kill "$locker"
	wait "$sync"
	loop_line=$(grep '/v1/node/sync had [0-9.]* s of it' "$dir/controller.log") && break
	sleep 10
done
has "an exchange that waited for the ledger is answered" 200 "$(cat "$dir/said")"
has "the log names what kept the loop" 'the event loop stood still for ' "$loop_line"
longest=$(stops '{ran="/v1/node/sync"}' | sed 's/.* //')
awk -v n="${longest:-0}" 'BEGIN { exit !(n >= 0.2 && n < 5) }'
tap_result $? "the longest stop has a metric" "$longest"

ends_in_time() { # NAME: TERM, and it ends within 5 s, with status 0
	local from
	from=$(date +%s%N)
	kill "$controller"
	wait "$controller"
	status=$?
	took_ms=$((($(date +%s%N) - from) / 1000000))
	controller=
	[ $took_ms -lt 5000 ] && [ $status = 0 ]
	tap_result $? "$1" "$took_ms ms, status $status"
}
ends_in_time "SIGTERM ends a controller within 5 s that has nothing to do"
live_start || bail "the controller does not start again: $(cat "$dir/controller.log")"
said=$(ask 1 POST /v1/jobs "$(job_request)")
has "a job is submitted" 201 "$said"
lock_ledger 30
ask 1 POST /v1/jobs "$(job_request)" >"$dir/waits" &
for i in 1 2 3 4 5 6; do node_sync node="new$i" >"$dir/waits.$i" & done # each waits for the lock as long as it may
sleep 1
ends_in_time "SIGTERM ends a controller within 5 s whose loop waits for the ledger's lock"
has "the log names the unfinished work" 'was not done 4 s after the signal to end' "$(cat "$dir/controller.log")"
kill "$locker"
wait
live_start || bail "the controller does not start again: $(cat "$dir/controller.log")"
said=$(ask 1 GET /v1/jobs)
is "the job of before is in the ledger, and nothing of the transaction in progress" 1 "$(grep -o '"job":[0-9]*' <<<"$said" | wc -l)"
said=$(ask 1 POST /v1/jobs "$(job_request)")
has "jobs are submitted again" 201 "$said"
tap_end
