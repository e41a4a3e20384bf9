#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# gpu.sh - GPUs through a real controller: a client plays nodes that have some. They are placed,
# charged and shown by model; allocated but idle is a state. TAP. Needs root (to be several users).
set -u
cd "$(dirname "$0")/../../.." || exit 1
. tests/cluster/lib/tap_lib.sh
. tests/cluster/lib/live_lib.sh
. tests/cluster/lib/play_lib.sh
. tests/cluster/lib/past_lib.sh
[ "$(id -u)" = 0 ] || { echo "1..0 # SKIP needs root to be nodes and users"; exit 0; }
live_dir gpu
export HOME=$dir XDG_CONFIG_HOME=$dir/.config LC_ALL=C.UTF-8 TZ=UTC
unset REEVE_CONTROLLER REEVE_PROFILES
cp build/bin/reeve "$dir/reeve"
live_munge
database=$dir/live.db
if [ -n "${REEVE_TEST_POSTGRES:-}" ]; then
	psql -q "$REEVE_TEST_POSTGRES" -c "CREATE SCHEMA IF NOT EXISTS c$$_gpu" 2>/dev/null >&2
	database="$REEVE_TEST_POSTGRES&options=-csearch_path%3Dc$$_gpu"
fi
configure() {
	cat >"$dir/controller.conf" <<-CONF
		$(live_controller "$database")
		[Cluster main]
		BundleCores = 1
		BundleMemory = 4GiB
		GpuBundleGpus = 1
		GpuBundleCores = 12
		GpuBundleMemory = 127000MB
		DefaultResources = vmem=4GiB,jobfs=100MB,walltime=20:00:00
		[GpuModel a100-40]
		Weight = 1
		[GpuModel l40-48]
		Weight = 1
		[GpuModel h100-80]
		Weight = 2.5
		[GpuModel a100_1g.5gb]
		Weight = 1/7
		[GpuModel t4-16]
		Weight = 1
		[NodeType main/T4-a]
		GpuModel = t4-16
		GpuBundleCores = 4
		[NodeType main/t4-b]
		GpuModel = t4-16
		GpuBundleCores = 11
		[NodeType main/h]
		GpuModel = h100-80
		GresName = hopper
		[Account physics]
		Users = daemon, bin
	CONF
}
live_open configure
backdate_dispatch "$database"
printf '[Client]\nController = %s\nMungeSocket = %s\nCluster = main\n' "$url" "$dir/munge.sock" >"$dir/reeve.conf"
reeve() { # UID VERB OPTION...
	local uid=$1 verb=$2
	shift 2
	(cd / && as "$uid" "$dir/reeve" "$verb" --config "$dir/reeve.conf" "$@" 2>&1)
}
submit() { # RESOURCES: as users type them; prints the job
	reeve 1 submit -l "ncpus=1,$1" -- /bin/true
}
gpus() { # UUID MODEL [MORE]: one device
	echo "{\"uuid\":\"$1\",\"model\":\"$2\",\"product\":\"a product\",\"vendor\":\"nvidia\",\"mem_bytes\":42949672960${3:-}}"
}
a100=$(for i in 1 2 3 4; do gpus GPU-a$i a100-40; done | paste -sd,)
mig=$({ gpus GPU-m a100-40 ',"partitioned":true'; for i in 1 2 3 4 5 6 7; do gpus MIG-$i a100_1g.5gb ',"simulated":true'; done; } | paste -sd,)
h100=$(for i in 1 2; do gpus GPU-h$i h100-80; done | paste -sd,)
sync_as() { # NODE GPUS FREE [JOBS [REPORTS [KIND]]]
	local amounts='"ncpus":64,"mem_bytes":400000000000,"jobfs_bytes":100000000000,"ngpus":0'
	node_sync node="$1" free="$amounts,\"gpu_models\":{$3}" jobs="${4:-}" reports="${5:-}" more=",\"gpus\":[$2]${6:+,$6}"
}
n1() { sync_as n1 "$a100" '"a100-40":1' "$@" >"$dir/n1"; }
n2() { sync_as n2 "$mig" '"a100_1g.5gb":0' "$@" >"$dir/n2"; }
n3() { sync_as n3 "$h100" '"h100-80":2' "$@" >"$dir/n3"; }
now=$(date +%s)
report() { # JOB SEQ STATE RUNNING_S USAGE GPUS
	job_report "$1" "$2" "$3" at_s="$now" started_s=$((now - $4)) running_s="$4" usage="$5" cpus=0 more=",\"gpus\":[$6]"
}
field() { # KEY...: of the job that is read
	python3 -c 'import json,sys
j = json.load(sys.stdin)["job"]
print(*[j.get(k) if k not in ("resources",) else j["request"]["resources"] for k in sys.argv[1:]])' "$@"
}
await_node() { # JOB NODE: until it is allocated there
	for _ in $(seq 100); do
		[ "$(reeve 0 job "$1" --json | field node)" = "$2" ] && return
		sleep 0.05
	done
	reeve 0 job "$1"
	return 1
}
column() { # NAME: of csv
	python3 -c 'import csv,sys; print(*[r[sys.argv[1]] for r in csv.DictReader(sys.stdin)])' "$1"
}

# ---- a profile without a controller: the same request, the same price ----
offline() { (cd / && REEVE_PROFILES=$profiles "$dir/reeve" cost --profile "$1" -l "$2" --json 2>&1) | python3 -c '
import json, sys
t = sys.stdin.read()
print(*[json.loads(t)[k] for k in ("rate", "pool", "gpu_model")]) if t[:1] == "{" else print(t)'; }
profiles=$PWD/units/profiles
is "a profile: by model" "1.5 gpu a100-40" "$(offline alliance-narval ngpus=a100-40:1,ncpus=18,mem=127000MB)"
is "... without its size" "2 gpu v100-32" "$(offline alliance-cedar ngpus=v100:2,ncpus=8,mem=48000MB)"
is "... seven parts are the card" "1 gpu a100_1g.5gb" "$(offline alliance-narval ngpus=a100_1g.5gb:7,ncpus=1,mem=1GB)"
is "... by the name that the cluster's Slurm has" "1 gpu p100-16" "$(offline alliance-cedar ngpus=p100l:1,ncpus=1)"
printf '[Cluster c]\nGpuBundleGpus = 1\n[GpuModel p100-12]\n[GpuModel p100-16]\n' >"$dir/sizes.conf"
has "... of several sizes: which there are" "write one, e.g. ngpus=p100-16:1; this site has weights for p100-12, p100-16" \
	"$(offline "$dir/sizes.conf" ngpus=p100:1,ncpus=1)"

# ---- before any node has reported GPUs: the models that have weights ----
has "without nodes a model is one that is weighed" "ngpus=a100-40:1" "$(reeve 1 cost -l ncpus=1,ngpus=A100:1 --json; reeve 1 cost -l ncpus=1,ngpus=a100-40:1)"
has "... another is not known" "unknown GPU model 'v100': this site has weights for" "$(reeve 1 cost -l ncpus=1,ngpus=v100:1)"

# ---- what nodes have ----
n1; n2; n3
has "nodes by model" "n1: 4 a100-40 (1 free)
n2: 7 a100_1g.5gb (0 free) (simulated)
n3: 2 h100-80 (2 free)" "$(reeve 0 nodes)"
is "... exactly: what is cut in parts is not given itself" "4 a100-40|7 a100_1g.5gb|2 h100-80" \
	"$(reeve 0 nodes --csv -o gpu_models | tail -n +2 | tr -d '"' | paste -sd'|')"
is "... the whole ones are ngpus" "4 0 2" "$(reeve 0 nodes --csv | column ngpus)"
is "... which devices are doubles" "0 7 0" "$(reeve 0 nodes --csv | column gpus_simulated)"
has "devices are in the document" '"uuid":"MIG-7"' "$(ask 0 GET /v1/nodes | tr -d ' ')"
has "a node that tells nonsense is refused" "gpus[1]: uuid is there twice" \
	"$(sync_as n9 "$(gpus G a100-40),$(gpus G a100-40)" '')"

# ---- requests ----
has "a model that no node has: refused, with those there are" \
	"unknown GPU model 'v100': this cluster's nodes have a100-40, a100_1g.5gb, h100-80" "$(submit ngpus=v100:1)"
has "no number: the remedy" "write e.g. ngpus=a100:1" "$(submit ngpus=a100)"
has "any, where prices differ: say which" "what a GPU costs here depends on its model; say which, e.g. ngpus=a100-40:1" "$(submit ngpus=1)"
has "more than any node has" "no node of this cluster could ever hold it; the nearest" "$(submit ngpus=a100:5)"
has "a document with a bad model is refused" "gpu_model 'A 1' is not the name of a model" \
	"$(ask 1 POST /v1/cost '{"schema":"reeve/1","request":{"cluster":"main","resources":{"ncpus":1,"ngpus":1,"gpu_model":"A 1"}}}')"

# ---- prices: three equivalents, a seventh each, two and a half each ----
price() { reeve 1 cost -l "ncpus=1,walltime=1:00:00,$1" --json | python3 -c 'import json,sys; d = json.load(sys.stdin); print(d["rate"], d["charge_ms"], d["pool"], d["gpu_model"])'; }
is "of whole ones" "3 10800000 gpu a100-40" "$(price ngpus=a100:3)"
is "of parts of one" "1 3600000 gpu a100_1g.5gb" "$(price ngpus=a100_1g.5gb:7)"
is "of a heavier model" "5 18000000 gpu h100-80" "$(price ngpus=h100:2)"
is "... by the name that Slurm has" "5 18000000 gpu h100-80" "$(price ngpus=hopper:2)"

# ---- placing ----
submit ngpus=a100:3 >/dev/null; submit ngpus=a100_1g.5gb:7 >/dev/null; submit ngpus=h100-80:1 >/dev/null
check "whole ones go where they are" await_node 1 n1
check "parts where those are" await_node 2 n2
check "each model to its node" await_node 3 n3
is "the model is kept in full" "{'ncpus': 1, 'vmem_bytes': 4294967296, 'jobfs_bytes': 100000000, 'walltime_s': 72000, 'ngpus': 3, 'gpu_model': 'a100-40'}" \
	"$(reeve 0 job 1 --json | field resources)"
n1 >/dev/null
has "the node gets the model" '"gpu_model":"a100-40"' "$(tr -d ' ' <"$dir/n1")"
submit ngpus=a100:2 >/dev/null
sleep 0.3
soon "a pending job shows the numbers of its model" "needs 2 a100-40; n1 has 1 of 4 free" reeve 0 job 4

# ---- use of GPUs: job 1 idle on one of three, 2 not measured, 3 busy ----
min=60000000000
one() { # UUID BUSY_S IDLE_MIN: an a100
	echo "{\"uuid\":\"$1\",\"model\":\"a100-40\",\"source\":\"nvml\",\"busy_ns\":$(($2 * 1000000000)),\"mem_bytes\":0,\
\"mem_peak_bytes\":${4:-0},\"mem_total_bytes\":42949672960,\"energy_mj\":3600000,\"idle_ns\":$(($3 * min))}"
}
n1 "$(job_entry 1 running)" "$(report 1 1 running 3600 "\"cpu_ns\":1,\"gpu_busy_ns\":5400000000000,\"gpu_mem_peak_bytes\":2147483648,\"gpu_idle_ns\":$((23 * min)),\"gpus_used\":2" \
	"$(one GPU-a1 3600 0 1073741824),$(one GPU-a2 1800 0 1073741824),$(one GPU-a3 0 23)")"
n2 "$(job_entry 2 running)" "$(report 2 1 running 3600 '"cpu_ns":1' '{"uuid":"MIG-1","model":"a100_1g.5gb","source":"nvml","simulated":true,"mem_peak_bytes":5}')"
n3 "$(job_entry 3 running)" "$(report 3 1 running 3600 '"cpu_ns":1,"gpu_busy_ns":3600000000000,"gpu_idle_ns":0,"gpus_used":1' \
	'{"uuid":"GPU-h1","model":"h100-80","source":"nvml","busy_ns":3600000000000,"idle_ns":0}')"
has "reports were taken" '"acks":[{"job":1' "$(tr -d ' ' <"$dir/n1")"
is "the charge is that of the model" "10800000 3600000 9000000" "$(for j in 1 2 3; do reeve 0 job $j --json | field charge_requested_ms; done | paste -sd' ')"
is "allocated but idle is a state" "True None None" "$(for j in 1 2 3; do reeve 0 job $j --json | field gpu_idle; done | paste -sd' ')"
is "... a flag of jobs" "1,GPU idle 23 min 2, 3, 4," "$(reeve 0 jobs --csv -o job,flag | tail -n +2 | tr -d '\r' | sort -n | paste -sd' ')"
has "... and in what they say" "GPU idle 23 min" "$(reeve 0 jobs)"
page=$(reeve 0 job 1)
has "the job page: GPUs busy on average" "ngpus a100-40:3 1.50 50 GPUs busy on average" "$(tr -s ' ' <<<"$page")"
has "... used GPUs, beside allocated ones" "gpus used 3 2 66 GPUs that were used at all
gpu time 3:00:00 1:30:00 50 busy; of GPUs x running time
gpu mem 120 GiB 2.00 GiB 1 sum of the peaks; of all memory of its GPUs
gpu idle - 0:23:00 - time since the GPU idle longest was last used" "$(tr -s ' ' <<<"$page")"
has "... each by itself, with its source" "GPU-a2 a100-40 50.0 0 B 1.00 GiB 40.0 GiB 1.00 Wh 0:00:00 - nvml" "$(tr -s ' ' <<<"$page")"
has "... and the state" "allocated but idle: a GPU has done nothing for 23 minutes" "$page"
page=$(reeve 0 job 2)
has "a simulated driver is named as simulated" "nvml (simulated)" "$page"
has "... and what was not measured is named, not 0" "gpu busy" "$(grep 'not measured' <<<"$page")"
metrics=$(curl -s "$url/metrics")
has "metrics: what there is" 'reeve_gpus{cluster="main",model="a100-40"} 4' "$metrics"
has "... held" 'reeve_gpus_held{cluster="main",model="a100-40"} 3' "$metrics"
has "... idle" 'reeve_gpus_allocated_idle{cluster="main",model="a100-40"} 1' "$metrics"
has "... idle nowhere else" 'reeve_gpus_allocated_idle{cluster="main",model="h100-80"} 0' "$metrics"
has "... doubles are named" 'reeve_gpus_simulated{cluster="main",model="a100_1g.5gb"} 7' "$metrics"
lacks "... without a job in a label" 'job="' "$metrics"

# ---- from when on it is a state is the site's to say ----
again() { # MINUTES: restarts the controller with that GpuIdleMinutes
	live_stop
	sed -i '/^\[Policy\]/d; /^GpuIdleMinutes/d' "$dir/controller.conf"
	printf '[Policy]\nGpuIdleMinutes = %s\n' "$1" >>"$dir/controller.conf"
	live_start || bail "the controller does not start again"
}
idle_state() { reeve 0 job 1 --json | field gpu_idle gpu_idle_after_ns; curl -s "$url/metrics" | grep 'allocated_idle.*a100-40'; }
again 24
is "a minute more than it was idle: no state" "None 1440000000000
reeve_gpus_allocated_idle{cluster=\"main\",model=\"a100-40\"} 0" "$(idle_state)"
again 23
is "exactly as long: it is" "True 1380000000000
reeve_gpus_allocated_idle{cluster=\"main\",model=\"a100-40\"} 1" "$(idle_state)"
again 0
is "0: there is no such state" "None None
reeve_gpus_allocated_idle{cluster=\"main\",model=\"a100-40\"} 0" "$(idle_state)"

# ---- a restart of the controller, and the end ----
again 10
n1 "$(job_entry 1 running)"; n2 "$(job_entry 2 running)"; n3 "$(job_entry 3 running)"
sleep 0.3
soon "after a restart nothing is given twice" "needs 2 a100-40; n1 has 1 of 4 free" reeve 0 job 4
n1 '' "$(report 1 2 ended 7200 "\"cpu_ns\":1,\"gpu_busy_ns\":9000000000000,\"gpu_mem_peak_bytes\":2147483648,\"gpu_idle_ns\":$((83 * min)),\"gpus_used\":2" \
	"$(one GPU-a1 7200 0 1073741824),$(one GPU-a2 900 0 2147483648),$(one GPU-a3 0 83)")"
check "GPUs that are free again are given" await_node 4 n1
is "an ended job is not idle" None "$(reeve 0 job 1 --json | field gpu_idle)"
is "figures of a GPU never go back" "[7200, 1800, 0] [1073741824, 2147483648, 0]" "$(reeve 0 job 1 --json | python3 -c '
import json, sys
g = json.load(sys.stdin)["job"]["gpus"]
print([x["busy_ns"] // 10**9 for x in g], [x["mem_peak_bytes"] for x in g])')"
n2 '' "$(report 2 2 ended 7200 '"cpu_ns":1,"gpu_busy_ns":0,"gpus_used":0' '')"
eff=$(reeve 1 eff)
is "eff: how busy, how much lay idle" "41.6 21600000 12600000 a100-40" "$(reeve 1 eff 1 --csv | python3 -c '
import csv, sys
r = next(csv.DictReader(sys.stdin))
print(r["gpu_percent"], r["gpu_ms"], r["idle_gpu_ms"], r["gpu_model"])')"
is "as used: what the GPUs that worked would have cost, as held; of those that did nothing their core" "14400000 0" \
	"$(for j in 1 2; do reeve 0 job $j --json | field charge_used_ms; done | paste -sd' ')"
is "the most idle GPU time first" "2,14.000 1,3.500" "$(reeve 1 eff --sort gpu --csv -o job,idle_gpu_ms | tail -n +2 | tr -d '\r' |
	python3 -c 'import sys; print(*["%s,%.3f" % (l.split(",")[0], int(l.split(",")[1]) / 3.6e6) for l in sys.stdin])')"
has "... what would have done" "next time -l walltime=2:30:00,ngpus=a100-40:2 would do" "$eff"
has "... and the saving by the model's weight" "charge 6.000 -> 4.000" "$eff"
has "... of doubles it is said" "job 2: figures of simulated GPUs" "$eff"
lacks "... and of no others" "job 1: figures" "$eff"
has "... and what did nothing at all" "job 2: its GPUs did nothing: leave ngpus out" "$eff"
is "usage: GPUs are raw, equivalents beside: 3 a100 and 7 parts for 2 hours, an h100 for one" "75600000 37800000" "$(ask 1 GET '/v1/usage?by=user' |
	sed 1d | python3 -c '
import json, sys
r = [r for r in json.load(sys.stdin)["rows"] if r["pool"] == "gpu"][0]
print(r["gpu_ms"], r["charge_requested_ms"])')"

# ---- one model in two types of nodes, whose bundles differ ----
n5() { sync_as n5 "$(gpus GPU-t1 t4-16),$(gpus GPU-t2 t4-16)" '"t4-16":2' '' '' '"node_type":"T4-A","features":"nvme,IB"' >"$dir/n5"; }
n6() { sync_as n6 "$(gpus GPU-t3 t4-16)" '"t4-16":1' '' '' '"node_type":"t4-b","features":"ib"' >"$dir/n6"; }
n5; n6
has "nodes by type and features" "n5: type t4-a, features ib,nvme
n6: type t4-b, features ib" "$(reeve 0 nodes)"
is "... exactly" "n5,t4-a,\"ib,nvme\" n6,t4-b,ib" "$(reeve 0 nodes --csv -o node,node_type,features | grep -E '^n[56]' | tr -d '\r' | paste -sd' ')"
has "the model alone does not say the price" "depends on the node type; say which: T4-a, t4-b (-l nodetype=...)" "$(reeve 1 cost -l ncpus=11,ngpus=t4:1)"
has "... nor is such a job taken" "depends on the node type" "$(submit ngpus=t4:1)"
typed() { reeve 1 cost -l "ncpus=11,ngpus=t4:1,walltime=1:00:00,$1" --json | python3 -c 'import json,sys; d = json.load(sys.stdin); print(d["rate"], d["node_type"])'; }
is "... the type does: 11 cores are 2.75 of 4, or one of 11" "2.75 t4-a
1 t4-b" "$(typed nodetype=T4-A; typed nodetype=t4-b)"
has "a type without a price: which there are" "cluster 'main' has no node type 't9'; it has: T4-a, t4-b" "$(typed nodetype=t9 2>&1; reeve 1 cost -l ncpus=1,nodetype=t9)"
has "... of a submission, what the nodes have" "there is no node of type t9; this cluster's nodes have types: t4-a, t4-b; features: ib,nvme" "$(submit nodetype=t9)"
has "features that no one node has" "there is no node of type t4-b with ib,nvme; this cluster's nodes have" "$(submit nodetype=t4-b,features=nvme,ib)"
has "more than a node of that type has" "no node of this cluster of type t4-b could ever hold it; the nearest, n6, has" "$(submit nodetype=t4-b,ngpus=t4:2)"
next=$(submit nodetype=t4-b,ngpus=t4:1 | grep -o '[0-9]*')
check "it goes to a node of its type" await_node "$next" n6
is "... at that type's price" "1 t4-b" "$(reeve 0 job "$next" --json | python3 -c '
import json, sys
j = json.load(sys.stdin)["job"]
print(j["rate_num"], j["request"]["resources"]["node_type"])')"
has "... which its page says" "node type  t4-b" "$(reeve 0 job "$next")"
wait_b=$(submit nodetype=t4-b,ngpus=t4:1 | grep -o '[0-9]*')
soon "the next one waits, though another type has some" "needs 1 t4-16; n6 has 0 of 1 free" reeve 0 job "$wait_b"
reeve 1 cancel "$wait_b" >/dev/null
next=$(submit features=NVMe | grep -o '[0-9]*')
check "one with a feature to a node that has it" await_node "$next" n5
reeve 1 cancel "$next" >/dev/null

# ---- a GPU that is not clean ----
dirty() { sync_as n4 "$(gpus GPU-d1 l40-48 ',"drained":true'),$(gpus GPU-d2 l40-48)" '"l40-48":1' >"$dir/n4"; }
dirty
has "a GPU that is not clean is shown" "n4: 2 l40-48 (1 free), 1 drained" "$(reeve 0 nodes)"
dirty=$(submit ngpus=l40-48:2 | grep -o '[0-9]*')
sleep 0.3
soon "... and not given, but waited for" "needs 2 l40-48; n4 has 1 of 2 free (the closest node)" reeve 0 job $dirty
sync_as n4 "$(gpus GPU-d1 l40-48),$(gpus GPU-d2 l40-48)" '"l40-48":2' >"$dir/n4"
check "once it is clean it is given" await_node "$dirty" n4
tap_end
