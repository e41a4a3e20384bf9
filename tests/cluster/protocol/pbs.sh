#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# pbs.sh - jobs that PBS starts and agents report: ids, GPUs and their charges, jobs on several nodes. A real controller; agents with Engine=pbs
# are played. TAP.
set -u
cd "$(dirname "$0")/../../.." || exit 1
. tests/cluster/lib/tap_lib.sh
. tests/cluster/lib/live_lib.sh
. tests/cluster/lib/play_lib.sh
[ "$(id -u)" = 0 ] || { echo "1..0 # SKIP needs root to exchange as several users"; exit 0; }
live_dir pbs
live_munge
configure() {
	cat >"$dir/controller.conf" <<-CONF
		[Controller]
		Listen = 127.0.0.1:$port
		Database = $dir/ledger.db
		MungeSocket = $dir/munge.sock
		Operators = root
		[Cluster gadi]
		Engine = pbs
		Queues = normal
		BundleCores = 1
		BundleMemory = 4GiB
		GpuBundleGpus = 1
		GpuBundleCores = 12
		GpuBundleMemory = 127000MB
		[GpuModel a100-40]
		Weight = 1
		[GpuModel h100-80]
		Weight = 2.5
		[Account physics]
		Users = daemon
		[Node g1]
		[Node g2]
	CONF
}
live_open configure
printf '[Client]\nController = %s\nMungeSocket = %s/munge.sock\n' "$url" "$dir" >"$dir/client.conf"
cli() { build/bin/reeve "$@" --config "$dir/client.conf" 2>&1; }
amounts='"ncpus":48,"mem_bytes":200000000000,"jobfs_bytes":10000000000,"ngpus":4'
start=$(($(date +%s) - 1000)) # of the jobs
told() { # ID [KEY=VALUE]...: an element of slurm_jobs
	local id=$1 ncpus=1 nodes=1 job_ncpus=0 ngpus=0 job_ngpus=0 model=
	shift
	[ $# = 0 ] || local "$@"
	printf '{"job":%s,"attempt":1,"uid":%s,"user":"daemon","account":"physics","queue":"normal","name":"pbs","ncpus":%s,"mem_bytes":1000000,' \
		"$id" "$daemon" "$ncpus"
	printf '"ngpus":%s,"job_ngpus":%s,"gpu_model":"%s","nodes":%s,"job_ncpus":%s,"started_ns":%s}' \
		"$ngpus" "$job_ngpus" "$model" "$nodes" "$job_ncpus" "$((start * 1000000000))"
}
speak() { # NODE [TOLD [JOBS [REPORTS]]]
	node_sync node="$1" jobs="${3:-}" reports="${4:-}" more=",\"engine\":\"pbs\",\"slurm_jobs\":[${2:-}]"
}
report() { # ID SEQ STATE RUNNING_S [KEY=VALUE]...
	local id=$1 seq=$2 state=$3 running=$4
	shift 4
	job_report "$id" "$seq" "$state" started_s="$start" at_s=$((start + running)) running_s="$running" "$@"
}
runs() { # ID SECONDS [KEY=VALUE]...: on g1
	speak g1 "$(told "$1" "${@:3}")" "$(job_entry "$1" running)" "$(report "$1" 1 running "$2")" >/dev/null
}
sql() { sqlite3 "$dir/ledger.db" "$1"; }
number() { echo $((($(sql "SELECT id FROM origins WHERE cluster = 'gadi'") << 40) + $1)); } # of PBS's number
charge() { sql "SELECT charge_requested_ms FROM attempts WHERE job = $(number "$1")"; }
job() { ask 0 GET "/v1/jobs/$(number "$1")"; }
array_number() { echo $(((1 << 39) + ($2 << 25) + $1)); } # JOB INDEX

has "an agent with another engine is refused" wrong-engine "$(node_sync node=g1)"
speak g1 >/dev/null
runs 4711 10
has "a job that PBS started is in the ledger, by its id" '"pbs_job":"4711"' "$(job 4711)"
is "charged: 10 s of its core" 10000 "$(charge 4711)"
runs "$(array_number 7 9)" 10
has "a task of an array by its index" "job gadi:7[9]  pbs  running" "$(cli job 'gadi:7[9]')"

# ---- GPUs ----
runs 20 10 ngpus=1 model=a100-40
has "the request has its GPU" '"ngpus":1' "$(job 20)"
has "and the model of it" '"gpu_model":"a100-40"' "$(job 20)"
is "it is charged in GPU equivalents" "10000 gpu-equivalent" "$(charge 20) $(job 20 | grep -o 'gpu-equivalent' | head -n 1)"
runs 21 10 ncpus=36 ngpus=2 model=a100-40
is "cores beyond those of its GPUs' bundles decide" 30000 "$(charge 21)"
runs 22 10 ngpus=1 model=h100-80
is "a model is charged by its weight" 25000 "$(charge 22)"
runs 23 10 ngpus=1
has "of a GPU of unknown model, where models differ in price, a note tells that nothing is charged" 'it has no price here, and is charged nothing' "$(cli job gadi:23)"

# ---- on two nodes that differ ----
two='nodes=2 job_ncpus=6 job_ngpus=5 model=a100-40'
# shellcheck disable=SC2086
{
	speak g1 "$(told 30 $two ncpus=2 ngpus=1)" "$(job_entry 30 running)" "$(report 30 1 running 10)" >/dev/null
	speak g2 "$(told 30 $two ncpus=4 ngpus=4)" "$(job_entry 30 running)" "$(report 30 1 running 9)" >/dev/null
	is "charged are the GPUs of both nodes, for the time of the first" 50000 "$(charge 30)"
	is "each part has those of its node" "g1 1,g2 4" "$(sql "SELECT group_concat(node || ' ' || ngpus) FROM parts WHERE job = $(number 30)")"
	speak g2 "$(told 30 $two ncpus=4 ngpus=4)" "$(job_entry 30 ended)" \
		"$(report 30 2 ended 12 kind=limit limit=vmem requested=100 reached=200 host=g2 exit_status=-1)" >/dev/null
	has "a limit on the second node ends the job on the first" '"job":30,"attempt":1,"want":"cancel"' \
		"$(speak g1 "$(told 30 $two ncpus=2 ngpus=1)" "$(job_entry 30 running)" "$(report 30 2 running 12)")"
	speak g1 "$(told 30 $two ncpus=2 ngpus=1)" "$(job_entry 30 ended)" "$(report 30 3 ended 13 kind=cancelled exit_status=-1)" >/dev/null
	has "and is its end" 'vmem limit exceeded on g2' "$(cli job gadi:30)"
}
runs 31 10 nodes=2 ngpus=4 model=a100-40
is "of an agent that does not know the whole, each node counts as this one" 80000 "$(charge 31)"
out=$(build/bin/reeve admin verify --ledger "$dir/ledger.db" 2>&1)
tap_result $? "the sums of the ledger are those of its jobs" "$out"
live_stop
tap_end
