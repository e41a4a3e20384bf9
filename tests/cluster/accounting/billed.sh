#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# billed.sh - what is shown as billed is what fairshare counts, by whatever rule a site charges:
# weights, sums, queue factors, weights of one queue. Of imported jobs, and of live ones through a
# real controller with a real munged and a client that plays the node. TAP. The live part needs root.
set -u
cd "$(dirname "$0")/../../.." || exit 1
. tests/cluster/lib/tap_lib.sh
. tests/cluster/lib/live_lib.sh
. tests/cluster/lib/play_lib.sh
. tests/cluster/lib/past_lib.sh
reeve=$PWD/build/bin/reeve
live_dir billed
export HOME=$dir XDG_CONFIG_HOME=$dir LC_ALL=C.UTF-8
unset REEVE_CONTROLLER

policy() { # WHICH: a tariff that is not cores x hours
	case $1 in
	factor) printf '[Policy]\nMemoryUnit = binary\nUsageHalfLife = 0\n[Cluster main]\nQueues = normal\n[Queue normal]\nFactor = 3\n' ;;
	max) printf '[Policy]\nMemoryUnit = binary\nUsageHalfLife = 0\nTresWeights = cpu=1,mem=1/GB,gpu=8\n[Cluster main]\nQueues = normal\n[Queue normal]\nFactor = 3\n' ;;
	sum) printf '[Policy]\nMemoryUnit = binary\nUsageHalfLife = 0\nUsageRule = sum\nTresWeights = cpu=1,mem=1/GB,gpu=8\n[Cluster main]\nUnit = core-hours\nQueues = normal\n[Queue normal]\nFactor = 1/2\n' ;;
	queue) printf '[Policy]\nMemoryUnit = binary\nUsageHalfLife = 0\nTresWeights = cpu=1\n[Cluster main]\nQueues = normal\n[Queue normal]\nTresWeights = cpu=5,mem=2/GB\n' ;;
	esac
}
# Of 2 cores and 8 GB of 2^30 bytes.
declare -A rate=([factor]=6 [max]=24 [sum]=5 [queue]=16)

# ---- the same request, asked and imported ----
line() { # JOB DAY SECONDS-AS-CLOCK
	echo "$1|$1|main|part|normal|physics|g|1|daemon|1|2026-01-$2T00:00:00|2026-01-$2T00:00:00|2026-01-$2T00:00:00|2026-01-$2T$3|$3|0:0|COMPLETED|1|2|2|8G|cpu=2|cpu=2,mem=8G,node=1|02:00:00|n1|t"
}
{ line 1 05 01:00:00; line 2 06 00:30:00; } >"$dir/jobs.sacct"
for p in factor max sum queue; do
	policy $p >"$dir/$p.conf"
	"$reeve" import sacct "$dir/jobs.sacct" --profile "$dir/$p.conf" --ledger "$dir/$p.db" >"$dir/said" 2>&1 ||
		bail "the import failed: $(cat "$dir/said")"
	is "$p: the rate that cost says" "${rate[$p]}" \
		"$("$reeve" cost --profile "$dir/$p.conf" -l ncpus=2,mem=8G --json | python3 -c 'import json,sys; print(json.load(sys.stdin)["rate"])')"
	is "$p: imported jobs are billed by it" "$((${rate[$p]} * 5400000))" \
		"$("$reeve" usage --ledger "$dir/$p.db" --by user --csv -n -o charge_requested_ms 2>&1)"
	is "$p: what imported jobs were billed is what fairshare counts" "$((${rate[$p]} * 5400)).000000" \
		"$("$reeve" share --ledger "$dir/$p.db" --profile "$dir/$p.conf" --csv -n -o user,RawUsage 2>&1 | sed -n 's/^daemon,//p')"
done
has "the sum says its terms" "cores 2 + memory 8 = 10; x queue factor 0.5 = 5" \
	"$("$reeve" cost --profile "$dir/sum.conf" -l ncpus=2,mem=8GB)"

# ---- live ----
if [ "$(id -u)" != 0 ]; then
	skip "a live controller" "needs root to speak as several users"
	tap_end
fi
live_munge
configure() { # POLICY
	{
		printf '[Controller]\nListen = 127.0.0.1:%s\nDatabase = %s/%s-live.db\nMungeSocket = %s/munge.sock\n' \
			"$port" "$dir" "$1" "$dir"
		printf 'Operators = root\nAcceptNodes = any\n'
		policy "$1"
		printf '[Cluster main]\nDefaultResources = vmem=1GB,jobfs=100MB,walltime=1:00:00\n[Account physics]\nUsers = daemon\n'
	} >"$dir/controller.conf"
}
amounts='"ncpus":4,"mem_bytes":16000000000,"jobfs_bytes":10000000000,"ngpus":0'
sync() { node_sync jobs="${1:-}" reports="${2:-}"; } # [JOBS [REPORTS]]
began=$(($(date +%s) - 3600))
report() { # JOB: it has run for 600 s and ended
	job_report "$1" 1 ended started_s="$began" at_s=$((began + 600)) running_s=600 cpus=0-3 \
		usage='"cpu_ns":1200000000000,"rss_peak_bytes":8589934592'
}
is_allocated() { sync | grep -q '"job":1,"attempt":1'; }
for p in max sum queue; do
	live_open configure $p
	backdate_dispatch "$dir/$p-live.db"
	printf '[Client]\nController = %s\nMungeSocket = %s\n' "$url" "$dir/munge.sock" >"$dir/reeve.conf"
	chmod 644 "$dir/reeve.conf"
	sync >/dev/null
	ask $daemon POST /v1/jobs '{"schema":"reeve/1","request":{"cluster":"main","account":"physics","queue":"normal","name":"t","resources":{"ncpus":2,"vmem_bytes":8589934592},"vmem_policy":"kill","stream":false,"join":false,"argv":["/bin/true"],"env":[],"workdir":"/"}}' >"$dir/answer"
	for _ in $(seq 250); do is_allocated && break; sleep 0.02; done
	sync '{"job":1,"attempt":1,"state":"ended"}' "$(report 1)" >/dev/null
	verb() { as 0 "$reeve" "$@" --config "$dir/reeve.conf" 2>&1; }
	is "$p: a live job is billed as an imported one, and used no more than that" \
		"$((${rate[$p]} * 600000)),$((${rate[$p]} * 600000))" \
		"$(verb usage --by account --csv -n -o charge_requested_ms,charge_used_ms)"
	is "$p: what it was billed is what fairshare counts" "$((${rate[$p]} * 600)).000000" \
		"$(verb share -a --csv -n -o user,RawUsage | sed -n 's/^daemon,//p')"
	live_stop
	live_start || bail "the controller does not start again"
	is "$p: after a restart, too" "$((${rate[$p]} * 600)).000000" \
		"$(verb share -a --csv -n -o user,RawUsage | sed -n 's/^daemon,//p')"
done
tap_end
