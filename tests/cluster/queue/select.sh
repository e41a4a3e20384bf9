#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# select.sh - jobs in chunks on several nodes: a real controller with a real munged, and a client that
# plays three nodes. Where chunks go, which node gets what, what is refused with which numbers, what
# whole nodes cost, and a job on two nodes that is preempted and resumes. TAP on standard output. Needs
# root (to be several users); uses loopback only and leaves nothing behind.
set -u
cd "$(dirname "$0")/../../.." || exit 1
. tests/cluster/lib/tap_lib.sh
. tests/cluster/lib/live_lib.sh
. tests/cluster/lib/play_lib.sh
. tests/cluster/lib/past_lib.sh
live_dir select
live_munge
export REEVE_QUEUE_CHECK=1 # the kept queue is compared with the ledger in each cycle

configure() { # SCHEDULER [CLUSTER_LINE]
	cat >"$dir/controller.conf" <<-CONF
		$(live_controller "$dir/$1.db")
		[Policy]
		Scheduler = $1
		[Cluster main]
		BundleCores = 1
		DefaultResources = vmem=1GB,jobfs=100MB,walltime=1:00:00
		MaxResources = ncpus=40
		Queues = normal,express
		${2:-}
		[Queue normal]
		RunPriority = 1
		[Queue express]
		RunPriority = 2
		[Account physics]
		Users = daemon, bin
	CONF
}
began=$(date +%s)
declare -A state # "NODE JOB"
declare -A cores=([a1]=8 [a2]=8 [b1]=4)
request() { # QUEUE MORE: of a request, more being e.g. "select":"2:ncpus=2"
	local request
	request=$(job_request queue="$1" resources= more=",$2")
	if [[ $2 == *'"resources"'* ]]; then request=${request/'"resources":{},'/}; fi
	echo "$request"
}
submit() { # QUEUE MORE [UID]; sets $id and $said
	said=$(ask "${3:-$daemon}" POST /v1/jobs "$(request "$1" "$2")")
	id=$(sed -n 's/.*"job":\([0-9]*\).*/\1/p' <<<"$said" | head -n 1)
	id=${id:-0} # refused
}
report() { # JOB SEQ STATE RUNNING_S SUSPENDED_S
	job_report "$1" "$2" "$3" started_s="$began" running_s="$4" suspended_s="${5:-0}" cpus=0-3
}
play() { # NODE [REPORT,...]: it lists what it has; what is wanted of it is in $out
	local list='' k amounts="\"ncpus\":${cores[$1]},\"mem_bytes\":16000000000,\"jobfs_bytes\":10000000000,\"ngpus\":0"
	for k in "${!state[@]}"; do
		[ "${k% *}" = "$1" ] && list+="$(job_entry "${k#* }" "${state[$k]}"),"
	done
	out=$(node_sync node="$1" jobs="${list%,}" reports="${2:-}")
}
of() { desired_state "$1" "$out" "$2"; } # JOB EXPRESSION: of what is wanted of the node in $out
wanted() { desired_state "$1" "$out"; }
until_wanted() { # NODE JOB WANT: asks again until it is; ok or not
	local end=$((SECONDS + 20))
	play "$1"
	until [ "$(wanted "$2")" = "$3" ] || [ $SECONDS -ge $end ]; do sleep 0.05; play "$1"; done
	wanted "$2"
}
job() { # JOB PYTHON
	ask 0 GET "/v1/jobs/$1" | sed -n '2,$p' | python3 -c "
import json, sys
j = json.load(sys.stdin)['job']
print($2)"
}
until_why() { # JOB WORDS
	local end=$((SECONDS + 20)) why=
	while [ $SECONDS -lt $end ]; do
		why=$(job "$1" "j['why']")
		case $why in *"$2"*) break ;; esac
		sleep 0.05
	done
	echo "$why"
}
runs() { # NODE JOB [SEQ]: it is wanted there, and runs
	until_wanted "$1" "$2" run >/dev/null
	state["$1 $2"]=running
	play "$1" "$(report "$2" "${3:-1}" running 1)"
}
ends() { # JOB NODE...: it is cancelled, and is gone from each node, the first one last
	local node job=$1
	shift
	ask 0 POST "/v1/jobs/$job/cancel" >/dev/null
	for node in $(printf '%s\n' "$@" | tac); do
		until_wanted "$node" "$job" cancel >/dev/null
		unset "state[$node $job]"
		play "$node" "$(report "$job" 90 ended 2)"
	done
}
fresh() { # SCHEDULER [CLUSTER_LINE]
	state=()
	live_open configure "$@"
	backdate_dispatch "$dir/$1.db" 1
	for node in a1 a2 b1; do play $node; done
}

# ---- where chunks go, and which node gets what ----
fresh backfill
submit normal '"select":"2:ncpus=2"'
is "chunks that fit on one node are there together" run "$(until_wanted b1 "$id" run)"
play b1
is "as a job on one node" '4 2000000000 {}' "$(of "$id" "r['resources']['ncpus'], r['resources']['vmem_bytes'], p" | tr -d "(),")"
runs b1 "$id"
small=$id
submit normal '"select":"2:ncpus=2:vmem=2GB","scatter":true'
is "scattered chunks go to separate nodes: the second gets its part at once" run "$(until_wanted a2 "$id" run)"
play a2
is "what it has of the job" '1 2 a1=2,a2=2 2 2000000000' \
	"$(of "$id" "p['index'], p['n'], p['hosts'], r['resources']['ncpus'], r['resources']['vmem_bytes']" | tr -d "()'" | sed 's/, / /g')"
play a1
is "the first gets its part when the others run" '' "$(wanted "$id")"
runs a2 "$id"
is "then it is" run "$(until_wanted a1 "$id" run)"
play a1
is "as part 0" 0 "$(of "$id" "p['index']")"
runs a1 "$id"
two=$id

# ---- why it waits ----
submit normal '"select":"2:ncpus=7"' && seven=$id
why=$(until_why "$seven" 'now')
has "a job on two nodes shows what it needs" 'needs 2 nodes with 7 cores' "$why"
has "and how many could now" 'each; 0 have them free now' "$why"
has "and when it starts at the latest" 'unless an earlier job is released before then' "$why"
submit normal '"select":"1:ncpus=8+1:ncpus=3"' && mixed=$id
has "chunks of two kinds" 'needs 1 chunk of 8 cores' "$(until_why "$mixed" 'room for')"
ends "$two" a1 a2
is "it starts when both have room" run "$(until_wanted a2 "$seven" run)"
runs a2 "$seven"
runs a1 "$seven"
has "the other waits on" 'and 1 chunk of 3 cores' "$(until_why "$mixed" 'room for 0 now')"
ask 0 POST "/v1/jobs/$mixed/cancel" >/dev/null
ends "$seven" a1 a2

# ---- cut over several nodes ----
submit normal '"resources":{"ncpus":16}'
is "more cores than any node has are cut over the fewest nodes" run "$(until_wanted a2 "$id" run)"
play a2
is "into equal parts" 'a1=8,a2=8' "$(of "$id" "p['hosts']")"
is "and the job shows it" '2:ncpus=8:vmem=500MB:jobfs=50MB' "$(job "$id" "j['request']['select']")"
runs a2 "$id"
runs a1 "$id"
ends "$id" a1 a2
submit normal '"resources":{"ncpus":15}'
has "what cannot be divided is refused with the nearest numbers" \
	'ncpus=14 (2 nodes, 7 cores each) or ncpus=16 (2 nodes, 8 cores each)' "$said"
has "and what a node has" 'has 8 cores' "$said"

# ---- refused ----
refused() { # WHAT WORDS MORE
	submit normal "$3"
	has "$1" "$2" "$said"
}
refused "more chunks than there are nodes for" 'could ever hold 2 of them' '"select":"3:ncpus=8"'
refused "more nodes than there are" 'each on a node of its own: this cluster could ever hold 3 of them' \
	'"select":"4:ncpus=1","scatter":true'
refused "a chunk that no node could hold" 'has 8 cores' '"select":"1:ncpus=9"'
refused "mixed ones that do not go together" 'beside the others' '"select":"2:ncpus=8+2:ncpus=4"'
refused "the bound of a job is that of its sums" 'ncpus=42 is more than this cluster allows one job: 40' '"select":"2:ncpus=21"'
refused "amounts beside the chunks" 'is stated beside select' '"resources":{"ncpus":3},"select":"2:ncpus=2"'
refused "whole nodes whose price is not known" 'ask the operators to set CoresPerNode=' '"select":"2:ncpus=1","exclusive":true'
submit normal '"resources":{"ncpus":1},"exclusive":true'
has "of one chunk, too" 'CoresPerNode=' "$said"
ends "$small" b1
live_stop

# ---- whole nodes ----
fresh fifo 'CoresPerNode = 48'
out=$(ask $daemon POST /v1/cost "$(request normal '"select":"2:ncpus=1","scatter":true,"exclusive":true')")
has "whole nodes cost all cores that nodes have by the configuration" '"rate":"96"' "$out"
has "and the rule says that it was the configuration" 'counted as 2 x CoresPerNode=48 until nodes are allocated' "$out"
has "and the price says how many" '"nodes":2' "$out"
out=$(ask $daemon POST /v1/cost "$(request normal '"select":"2:ncpus=1:vmem=2GB"')")
has "others what they have" '"rate":"2"' "$out"
has "all in all" '"vmem_bytes":4000000000' "$out"
submit normal '"resources":{"ncpus":1}'
runs b1 "$id"
submit normal '"select":"2:ncpus=1","scatter":true,"exclusive":true'
whole=$id
is "they start on empty nodes" run "$(until_wanted a2 "$whole" run)"
play a2
is "with what was asked for" 'a1=1,a2=1' "$(of "$whole" "p['hosts']")"
is "and are charged for the cores that these nodes have" 16 "$(job "$whole" "j['rate']")"
has "which the rule says" 'cores, 16 / 1 = 16' "$(job "$whole" "j['rule']")"
is "and so does the price of the job in each queue" "16 16 16" \
	"$(ask $daemon GET "/v1/jobs/$whole/price" | sed -n '2,$p' | python3 -c "
import json, sys
p = json.load(sys.stdin)
print(p['sides'][0]['occupied'], *(q['rate'] for q in p['queues']))")"
runs a2 "$whole"
runs a1 "$whole"
submit normal '"resources":{"ncpus":6}'
has "no other job runs beside them" ' has 0 of 8 cores, ' "$(until_why "$id" '0 of 8 free')"
ends "$whole" a1 a2
is "until one has ended" run "$(until_wanted a2 "$id" run)"
live_stop

# ---- a job on two nodes is preempted and resumes ----
fresh suspend
submit normal '"select":"2:ncpus=8","resources":{"walltime_s":180000}' && normal=$id
runs a2 "$normal"
runs a1 "$normal"
submit express '"resources":{"ncpus":8,"walltime_s":600}' $bin && express=$id
is "an express job: the first node of a job on two gets suspend" suspend "$(until_wanted a1 "$normal" suspend)"
is "and so is the second" suspend "$(until_wanted a2 "$normal" suspend)"
has "the express job shows what it waits for" 'as soon as the jobs that it preempts are suspended' "$(until_why "$express" preempts)"
for node in a2 a1; do
	state["$node $normal"]=suspended
	play $node "$(report "$normal" 2 suspended 10 1)"
done
is "then it starts" run "$(until_wanted a1 "$express" run)"
runs a1 "$express"
has "the other one shows which job got its cores" "It was preempted by job $express" "$(until_why "$normal" preempted)"
play a2
is "and waits on both nodes" suspend "$(wanted "$normal")"
unset "state[a1 $express]"
play a1 "$(report "$express" 2 ended 60)"
is "it goes on when they are free" run "$(until_wanted a1 "$normal" run)"
is "on both" run "$(until_wanted a2 "$normal" run)"
for node in a2 a1; do
	state["$node $normal"]=running
	play $node "$(report "$normal" 3 running 10 61)"
done
is "with its running time as it was" 10000000000 "$(job "$normal" "j['running_ns']")"

# A pending start on two nodes waits for the preempted jobs.
submit express '"select":"2:ncpus=8","resources":{"walltime_s":600}' $bin && express=$id
until_wanted a1 "$normal" suspend >/dev/null
until_wanted a2 "$normal" suspend >/dev/null
has "a start on two nodes that waits for them" 'starts on a1 and 1 other node as soon as' "$(until_why "$express" 'starts on')"
state["a1 $normal"]=suspended
play a1 "$(report "$normal" 4 suspended 20 61)"
play a2
is "one of them is not enough" '' "$(wanted "$express")"
state["a2 $normal"]=suspended
play a2 "$(report "$normal" 4 suspended 20 61)"
is "both are" run "$(until_wanted a2 "$express" run)"
tap_end
