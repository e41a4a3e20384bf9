#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# suspended.sh - owners suspend jobs for MaxSuspend at most: then these are resumed, or ended. A client
# plays the node; the controller is real.
set -u
cd "$(dirname "$0")/../../.." || exit 1
. tests/cluster/lib/tap_lib.sh
. tests/cluster/lib/live_lib.sh
. tests/cluster/lib/play_lib.sh
live_dir suspended
live_munge
configure() { # ACTION
	cat >"$dir/controller.conf" <<-CONF
		$(live_controller "$dir/$1.db")
		MaxSuspend = 1
		MaxSuspendAction = $1
		[Cluster main]
		DefaultResources = vmem=1GB,jobfs=100MB,walltime=1:00:00
		[Account physics]
		Users = daemon
	CONF
}
amounts='"ncpus":4,"mem_bytes":16000000000,"jobfs_bytes":10000000000,"ngpus":0'
sync() { # STATE of jobs 1 and 2
	node_sync jobs="${1:+$(job_entry 1 "$1"),$(job_entry 2 "$1")}"
}
wanted() { desired_state "$1" "$(sync "$2")"; } # JOB STATE: the desired state that its node gets
soon() { # WANT JOB STATE
	local end=$((SECONDS + 30))
	while [ $SECONDS -lt $end ]; do
		[ "$(wanted "$2" "$3")" != "$1" ] || return 0
		sleep 0.2
	done
	wanted "$2" "$3"
	return 1
}
start() { # ACTION: two jobs run
	live_open configure "$1"
	sync >/dev/null
	for _ in 1 2; do
		ask $daemon POST /v1/jobs '{"schema":"reeve/1","request":{"cluster":"main","account":"physics","queue":"normal","name":"t",
"resources":{"ncpus":1},"vmem_policy":"kill","stream":false,"join":false,"argv":["/bin/true"],"env":[],"workdir":"/"}}' >/dev/null
	done
	for _ in $(seq 100); do sync | grep -q '"job":2,' && break; sleep 0.1; done
	sync running >/dev/null
	ask $daemon POST /v1/jobs/1/suspend >/dev/null
	ask 0 POST /v1/jobs/2/suspend >/dev/null
	why=$(ask $daemon GET /v1/jobs/1)
	is "$1: the node gets suspend" suspend "$(wanted 1 running)"
}
start resume
has "its owner sees since when, and until when at the latest" 'suspended by its owner since ' "$why"
has "... and what happens then" 'resumed at ' "$why"
soon run 1 suspended >"$dir/why"
tap_result $? "after MaxSuspend it is resumed" "$(cat "$dir/why")"
is "a job that an operator suspended stays suspended" suspend "$(wanted 2 suspended)"
hasnt() { case $3 in *"$2"*) tap_result 1 "$1" "$3" ;; *) tap_result 0 "$1" ;; esac; }
hasnt "nor is a deadline shown" 'by its owner' "$(ask $daemon GET /v1/jobs/2)"
start end
soon cancel 1 suspended >"$dir/why"
tap_result $? "with MaxSuspendAction = end it is ended" "$(cat "$dir/why")"
has "... in words" 'suspended by its owner for longer than MaxSuspend (0:00:01)' "$(sync suspended)"
is "the operator's stays suspended there, too" suspend "$(wanted 2 suspended)"
live_stop
tap_end
