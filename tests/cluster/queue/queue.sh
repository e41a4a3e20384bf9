#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# queue.sh - the queue of a real controller with a real munged, and a client that plays the nodes:
# backfill, and the cycle that suspends: which job is preempted, which waits for it, which resumes, and what the user
# reads about it. TAP on standard output. Needs root (to be several users); uses loopback only and leaves
# nothing behind.
set -u
cd "$(dirname "$0")/../../.." || exit 1
. tests/cluster/lib/tap_lib.sh
. tests/cluster/lib/live_lib.sh
. tests/cluster/lib/play_lib.sh
. tests/cluster/lib/past_lib.sh
live_dir queue
live_munge
export REEVE_QUEUE_CHECK=1 # the kept queue is compared with the ledger in each cycle

configure() { # SCHEDULER [LEDGER]
	cat >"$dir/controller.conf" <<-CONF
		$(live_controller "$dir/${2:-$1}.db")
		[Policy]
		Scheduler = $1
		[Cluster main]
		DefaultResources = vmem=1GB,jobfs=100MB,walltime=1:00:00
		Queues = normal,express,bonus
		[Queue normal]
		RunPriority = 1
		[Queue express]
		RunPriority = 2
		[Queue bonus]
		RunPriority = 0
		[Account physics]
		Users = daemon
		[Account chemistry]
		Users = bin
	CONF
}
submit() { # UID QUEUE NCPUS WALLTIME_S; sets $id
	local account=physics
	[ "$1" = "$bin" ] && account=chemistry
	out=$(ask "$1" POST /v1/jobs "$(job_request account=$account queue="$2" \
		resources="\"ncpus\":$3,\"vmem_bytes\":1000000000,\"walltime_s\":$4")")
	id=$(job_number "$out")
}
began=$(date +%s)
report() { # JOB SEQ STATE RUNNING_S SUSPENDED_S
	job_report "$1" "$2" "$3" started_s="$began" running_s="$4" suspended_s="${5:-0}" cpus=0-3
}
amounts='"ncpus":8,"mem_bytes":16000000000,"jobfs_bytes":10000000000,"ngpus":0'
declare -A state # of each job on the node
play() { # [REPORT,...]: the node lists what it has; what is wanted of it is in $out
	local list='' j
	for j in "${!state[@]}"; do list+="$(job_entry "$j" "${state[$j]}"),"; done
	out=$(node_sync jobs="${list%,}" reports="${1:-}")
}
wanted() { desired_state "$1" "$out"; } # JOB: run, suspend, cancel, or nothing
until_wanted() { # JOB WANT: asks again until it is; ok or not
	local end=$((SECONDS + 20))
	until [ "$(wanted "$1")" = "$2" ] || [ $SECONDS -ge $end ]; do sleep 0.05; play; done
	wanted "$1"
}
why() { ask 0 GET "/v1/jobs/$1" | sed -n 's/.*"why":"\([^"]*\)".*/\1/p'; }
until_why() { # JOB WORDS
	local end=$((SECONDS + 20))
	while [ $SECONDS -lt $end ]; do case $(why "$1") in *"$2"*) break ;; esac; sleep 0.05; done
	why "$1"
}
run() { # JOB: it is wanted, and runs
	until_wanted "$1" run >/dev/null
	state[$1]=running
	play "$(report "$1" 1 running 1)"
}
fresh() { # SCHEDULER [LEDGER]
	state=()
	live_open configure "$@"
	backdate_dispatch "$dir/${2:-$1}.db" 1
	play
}

verb() { # UID VERB...
	printf '[Client]\nController = %s\nMungeSocket = %s\n' "$url" "$dir/munge.sock" >"$dir/reeve.conf"
	chmod 644 "$dir/reeve.conf"
	as "$1" env HOME="$dir" "$PWD/build/bin/reeve" "${@:2}" --config "$dir/reeve.conf" 2>&1
}

# ---- backfill ----
fresh backfill
submit $daemon normal 6 3600
run "$id"
submit $daemon normal 8 600 && head=$id
submit $bin normal 2 7200 && long=$id
submit $bin normal 1 600 && short=$id
is "a job that ends before the reserved start starts beside it" run "$(until_wanted "$short" run)"
has "the first job shows what it needs and when it starts at the latest" \
	'This job is next in the queue. It needs 8 cores' "$(why "$head")"
has "and for how long at most" 'unless an earlier job is released before then' "$(why "$head")"
is "what would delay it does not" '' "$(wanted "$long")"
has "and its reason shows it" 'number 2 of 2 in the queue' "$(until_why "$long" 'number 2 of 2 in the queue')"
out=$(verb $daemon why "$head")
has "reeve why: what is missing" 'needs 8 cores' "$out"
has "when it starts at the latest" 'starts    in ' "$out"
is "and no other estimate" 1 "$(grep -c -e '^starts ' -e 'Estimated start' <<<"$out")"
has "how sure that is" 'if all jobs run to their walltimes' "$out"
has "and for programs" '"starts_in_s"' "$(verb $daemon why "$head" --json)"
has "later ones: after the first" 'starts    in ' "$(verb $bin why "$long")"
has "another user's job does not exist" 'no job' "$(verb $bin why "$head")"
live_stop

# ---- maintenance to come ----
fresh backfill maintenance
verb 0 nodes drain n1 --from +0:30:00 --reason 'new disks' >/dev/null
has "what is out of use from when on" 'n1: drained by root from 20' "$(verb 0 nodes)"
submit $daemon normal 1 3600 && long=$id
submit $bin normal 1 600 && short=$id
is "a job that ends by then starts" run "$(until_wanted "$short" run)"
is "what is not waits" '' "$(wanted "$long")"
has "and its reason shows it" 'its walltime reaches into planned maintenance' "$(why "$long")"
has "a time that is none is refused, with the forms" '2026-12-01T08:00, or +2:00:00' \
	"$(verb 0 nodes drain n1 --from soon --reason x)"
verb 0 nodes resume n1 >/dev/null
play
is "and starts when that is called off" run "$(until_wanted "$long" run)"
live_stop

# ---- suspension ----
fresh suspend
submit $daemon normal 8 180000 && normal=$id
run "$normal"
submit $bin express 4 600 && express=$id
is "an express job: a normal one is to suspend" suspend "$(until_wanted "$normal" suspend)"
is "its cores are not given before it has" '' "$(wanted "$express")"
has "the express job shows what it waits for" 'starts on n1 as soon as the jobs that it preempts are suspended' "$(why "$express")"
has "the other who got its cores" "It was preempted by job $express" "$(why "$normal")"
state[$normal]=suspended
play "$(report "$normal" 2 suspended 10 1)"
is "then it starts" run "$(until_wanted "$express" run)"
state[$express]=running
play "$(report "$express" 1 running 1)"
submit $bin normal 8 600 && third=$id
out=$(ask $daemon POST "/v1/jobs/$normal/resume")
has "its user cannot take the cores back" 409 "$out"
has "and shows the reason" "job $express" "$out"
has "reeve why of who is suspended" "It was preempted by job $express" "$(verb $daemon why "$normal")"
has "and by how much its walltime is stretched" 'its walltime is stretched by 1.00' "$(verb $daemon why "$normal")"
unset "state[$express]"
play "$(report "$express" 2 ended 60)"
has "of one that ended" "job $express ended" "$(verb $bin why "$express")"
is "it goes on when they are free" run "$(until_wanted "$normal" run)"
is "before one who waits and is as large" '' "$(wanted "$third")"
state[$normal]=running
play "$(report "$normal" 3 running 10 61)"
has "with its running time as it was" '"running_ns":10000000000' "$(ask 0 GET "/v1/jobs/$normal")"
has "and what it was suspended" '"suspended_ns":61000000000' "$(ask 0 GET "/v1/jobs/$normal")"
ask 0 POST "/v1/jobs/$third/cancel" >/dev/null

# A restart during a preemption: nothing is lost, no cores are allocated twice.
submit $bin express 4 600 && express=$id
until_wanted "$normal" suspend >/dev/null
live_stop
live_start || bail "the controller does not start again"
play
is "after a restart the preempted job is still to suspend" suspend "$(wanted "$normal")"
is "and its cores are not given yet" '' "$(wanted "$express")"
state[$normal]=suspended
play "$(report "$normal" 4 suspended 20 61)"
is "the express job starts" run "$(until_wanted "$express" run)"
state[$express]=running
play "$(report "$express" 1 running 1)"
ask 0 POST "/v1/jobs/$express/cancel" >/dev/null
unset "state[$express]"
play "$(report "$express" 2 ended 5)"
is "cancelled: the other goes on" run "$(until_wanted "$normal" run)"
state[$normal]=running
play "$(report "$normal" 5 running 21 70)"

# What people suspend stays so.
ask $daemon POST "/v1/jobs/$normal/suspend" >/dev/null
is "suspended by its user" suspend "$(until_wanted "$normal" suspend)"
state[$normal]=suspended
play "$(report "$normal" 6 suspended 22 70)"
submit $bin normal 2 60 && small=$id
is "others get the cores" run "$(until_wanted "$small" run)"
lacks "and it is not resumed" run "$(wanted "$normal")"
tap_end
