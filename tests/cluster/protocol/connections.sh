#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# connections.sh - a few users hold as many connections as they get: others are served all the same. TAP. Needs root (to be users).
set -u
cd "$(dirname "$0")/../../.." || exit 1
. tests/cluster/lib/tap_lib.sh
. tests/cluster/lib/live_lib.sh
[ "$(id -u)" = 0 ] || { echo "1..0 # SKIP needs root to be several users"; exit 0; }
live_dir connections
live_munge
configure() {
	cat >"$dir/controller.conf" <<-CONF
		$(live_controller "$dir/ledger.db")
		MaxConnections = 64
		[Cluster main]
		DefaultResources = vmem=1GiB,jobfs=100MB,walltime=1:00:00
		[Account physics]
		Users = daemon, bin, sys, games, man
	CONF
}
live_open configure
status_of() { ask "$1" GET /v1/nodes | head -n 1; }
count_open() { curl -s "$url/metrics" | sed -n 's/^reeve_connections //p'; }
# Each waits for the output of a job that no node has: 12 requests one after the other, of which as many stay as there is room for.
hold_connections() { # UID
	local job i open
	job=$(ask "$1" POST /v1/jobs '{"schema":"reeve/1","request":{"cluster":"main","account":"physics","name":"j","workdir":"/","argv":["/bin/true"],"resources":{"ncpus":1}}}' |
		grep -o '"job":[0-9]*' | head -n 1)
	for i in $(seq 12); do
		open=$(count_open)
		ask "$1" GET "/v1/jobs/${job#*:}/output?stream=out&wait=60" >"$dir/held.$1.$i" &
		for _ in $(seq 200); do # until it is refused, or held
			[ -s "$dir/held.$1.$i" ] || [ "$(count_open)" -gt "$open" ] && break
			sleep 0.05
		done
	done
}
held() { # UIDs: how many connections each holds
	local uid
	for uid in "$@"; do echo $((12 - $(grep -l '^429' "$dir"/held."$uid".* | wc -l))); done | paste -sd' '
}

is "a user is served" 200 "$(status_of 6)"
for uid in 1 2 3 5; do hold_connections $uid; done
is "the first users hold an eighth of all each, the next ones less, but some" "8 8 2 2" "$(held 1 2 3 5)"
is "another user is served while four hold all they get" 200 "$(status_of 6)"
tap_end
