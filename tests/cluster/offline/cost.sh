#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# cost.sh - the shipped profiles price every published example, with no controller and no
# configuration anywhere; and check-config finds every fault. TAP on standard output.
set -u
cd "$(dirname "$0")/../../.." || exit 1
. tests/cluster/lib/tap_lib.sh
reeve=$PWD/build/bin/reeve
dir=$(mktemp -d /tmp/reeve-cost-XXXXXX) || exit 1
trap 'rm -rf "$dir"' EXIT
export HOME=$dir/nohome
unset REEVE_CONTROLLER REEVE_PROFILES XDG_CONFIG_HOME

# fields NAMES OPTIONS...: those values of the answer, by blanks
fields() {
	local names=$1
	shift
	"$reeve" cost --json "$@" 2>"$dir/err" | python3 -c '
import json, sys
doc = json.load(sys.stdin)
print(*[doc.get(name, "-") for name in sys.argv[1].split()])' "$names" 2>/dev/null || cat "$dir/err"
}
# price EXPECTED PROFILE REQUEST [OPTION...]: "RATE POOL DECIDED_BY"
price() {
	local expected=$1 profile=$2 request=$3
	shift 3
	is "$profile $* $request: $expected" "$expected" \
		"$(fields "rate pool decided_by" --profile "$profile" -l "$request" "$@")"
}

# ---- core equivalents ----
for p in alliance-cedar alliance-graham; do
	price "2 cpu cores" $p ncpus=2,mem=4GB
	price "2.5 cpu memory" $p ncpus=2,mem=10GB
	price "2 cpu memory" $p ncpus=1,mem=8GB
done
price "2 cpu memory" alliance-niagara ncpus=1,mem=9.6GB
price "1 cpu cores" alliance-niagara ncpus=1,mem=4.8GB
price "2.5 cpu memory" alliance-cedar ncpus=2,vmem=10GB

# ---- GPU equivalents: one bundle is 1; the next side more decides ----
gpu() { # PROFILE NODE-TYPE CORES MB
	local more=$(($3 * 2))
	price "1 gpu gpus" "$1" "ngpus=1,ncpus=$3,mem=$4MB" --node-type "$2"
	price "2 gpu gpus" "$1" "ngpus=2,ncpus=$3,mem=$4MB" --node-type "$2"
	price "2 gpu cores" "$1" "ngpus=1,ncpus=$more,mem=$4MB" --node-type "$2"
	price "3 gpu memory" "$1" "ngpus=1,ncpus=$3,mem=$(($4 * 3))MB" --node-type "$2"
}
gpu alliance-beluga v100-16 10 47000
gpu alliance-cedar p100-12 6 32000
gpu alliance-cedar p100-16 6 64000
gpu alliance-cedar v100-32 8 48000
gpu alliance-graham p100-12 16 64000
gpu alliance-graham v100-32 5 48000
gpu alliance-graham t4-16-4 4 49000
gpu alliance-graham t4-16-11 11 49000
gpu alliance-narval a100-40 12 127000
price "1.5 gpu cores" alliance-cedar ngpus=1,ncpus=9,mem=32000MB --node-type p100-12
price "1.5 gpu memory" alliance-cedar ngpus=1,ncpus=6,mem=48000MB --node-type p100-12
price "2 gpu cores" alliance-graham ngpus=1,ncpus=7,mem=22500MB --node-type v100-16
price "1 gpu gpus" alliance-graham ngpus=1,ncpus=3,mem=22500MB --node-type v100-16
price "2.75 gpu cores" alliance-graham ngpus=1,ncpus=11,mem=49000MB --node-type t4-16-4
price "1 gpu gpus" alliance-narval ngpus=1,ncpus=1,mem=1GB
price "1 gpu gpus" alliance-narval ngpus=1,ncpus=1,mem=1GB --gpu-model A100-40
is "a rate that has no end: exact beside it" "1.142857142857142857 8 7" \
	"$(fields "rate rate_num rate_den" --profile alliance-graham --node-type v100-16 -l ngpus=1,ncpus=4)"
has "the node type must be told where it decides" "say which: t4-16-4, t4-16-11" \
	"$(fields rate --profile alliance-graham --gpu-model t4-16 -l ngpus=1,ncpus=4)"
has "no GPUs on Niagara" "no GPUs to ask for" "$(fields rate --profile alliance-niagara -l ngpus=1,ncpus=1)"
is "the charge in the meaning of /v1/cost" "9000 9000000 core-equivalent" \
	"$(fields "charge charge_ms unit" --profile alliance-cedar -l ncpus=2,mem=10GB,walltime=1:00:00)"

# ---- units are explicit: the bundle and the memory as typed ----
bundle() { # MEMORY: a profile of 1 GPU / 6 cores / MEMORY
	printf '[Cluster x]\nGpuBundleGpus=1\nGpuBundleCores=6\nGpuBundleMemory=%s\n' "$1" >"$dir/x.conf"
}
bundle 32GB
price "2 gpu gpus" "$dir/x.conf" ngpus=2,ncpus=6,mem=32GB
price "1.5 gpu cores" "$dir/x.conf" ngpus=1,ncpus=9,mem=32GB
price "1.5 gpu memory" "$dir/x.conf" ngpus=1,ncpus=6,mem=48GB
bundle 32000MiB
price "1.536 gpu memory" "$dir/x.conf" ngpus=1,ncpus=6,mem=49152MiB

# ---- what a site means by M, MB, G, GB: of the Alliance, powers of 1024 as Slurm has it ----
price "1 gpu gpus" alliance-narval ngpus=1,ncpus=12,mem=127000M
price "4 gpu gpus" alliance-narval ngpus=4,ncpus=48,mem=508000M
price "1 cpu cores" alliance-narval ncpus=1,mem=4G
price "64 cpu cores" alliance-cedar ncpus=64,mem=256G
price "1.536 gpu memory" alliance-cedar ngpus=1,ncpus=6,mem=48G --node-type p100-12
price "40 cpu cores" alliance-niagara ncpus=40,mem=192G
printf '#!/bin/sh\n#REEVE -l ncpus=1,mem=8GB\ntrue\n' >"$dir/job.sh"
is "lines of a script are read so, too" 2 "$(fields rate --profile alliance-cedar "$dir/job.sh")"
is "and chunks" 4 "$(fields rate --profile alliance-cedar -l select=2:ncpus=1:mem=8GB)"
is "cost says which it took" "binary as-written decimal" "$(for p in alliance-narval nci alliance-niagara; do
	fields memory_unit --profile $p -l ncpus=1; done | xargs)"
has "and in words" "binary: M, MB, G, GB are powers of 1024 here" "$("$reeve" cost --profile alliance-narval -l ncpus=1,mem=4G)"
for unit in as-written binary decimal; do
	printf '[Cluster x]\nBundleMemory=4GB\n[Policy]\nMemoryUnit=%s\n' $unit >"$dir/$unit.conf"
	price "2 cpu memory" "$dir/$unit.conf" ncpus=1,mem=8GB
done
price "2 cpu memory" "$dir/decimal.conf" ncpus=1,mem=8G
price "2.147483648 cpu memory" "$dir/as-written.conf" ncpus=1,mem=8G
price "2 cpu memory" "$dir/binary.conf" ncpus=1,mem=8GiB

# ---- contradictions ----
refused() { # WORDS PROFILE OPTION...
	local words=$1 got
	got=$("$reeve" cost --profile "${@:2}" 2>&1)
	is "refused: ${*:2}" "2 1" "$? $(grep -c -- "$words" <<<"$got")"
}
refused "nodes of type 'p100-12' have GPUs of model p100-12, not v100-32" \
	alliance-cedar --node-type p100-12 --gpu-model v100-32 -l ngpus=1,ncpus=1
refused "nodes of type 'p100-12' have GPUs of model p100-12, not v100-32" \
	alliance-cedar --node-type p100-12 -l ngpus=v100:1,ncpus=1
refused "--gpu-model v100-32 contradicts -l ngpus=p100-12; state one of them" \
	alliance-cedar --gpu-model v100-32 -l ngpus=p100-12:1,ncpus=1
refused "--node-type p100-12 contradicts -l nodetype=v100-32; state one of them" \
	alliance-cedar --node-type p100-12 -l ngpus=1,ncpus=1,nodetype=v100-32
refused "but no GPUs are requested: add -l ngpus=v100-32:1" alliance-cedar --gpu-model v100-32 -l ncpus=1
refused "--nodes is for whole nodes, and queue 'normal' allocates cores" rwth --nodes 2 -l ncpus=4
price "1 gpu gpus" alliance-cedar ngpus=V100-32:1,ncpus=1 --gpu-model v100-32 --node-type V100-32

# ---- parts of a GPU ----
printf '[GpuModel half]\nWeight=0.5\n[GpuModel big]\nWeight=2.5\n' >>"$dir/x.conf"
price "1.5 gpu gpus" "$dir/x.conf" ngpus=3,ncpus=1,mem=1GB --gpu-model half
price "5 gpu gpus" "$dir/x.conf" ngpus=2,ncpus=1,mem=1GB --gpu-model big
is "seven slices are the card" "1 1" \
	"$(fields "rate_num rate_den" --profile alliance-narval --node-type a100-40 --gpu-model a100_1g.5gb -l ngpus=7,ncpus=1)"

# ---- service units and core-hours ----
job=ncpus=16,mem=900GB,walltime=1:30:00
is "SU: normal" "24 service-unit cpu cores 16" "$(fields "charge unit pool decided_by rate" --profile nci -l $job)"
is "SU: express" "72 service-unit 48" "$(fields "charge unit rate" --profile nci -q express -l $job)"
is "SU: bonus" "0 service-unit 0" "$(fields "charge unit rate" --profile nci -q bonus -l $job)"
words() { "$reeve" cost "$@" 2>&1 | sed -n 's/^\(rate\|an hour of running\|for walltime [0-9:]*\)  */\1 /p' | tr '\n' ';'; }
is "people read amounts in the site's unit: SU" "rate 16 SU an hour;an hour of running 16 SU;for walltime 1:30:00 24 SU;" "$(words --profile nci -l $job)"
is "core-h" "rate 16 core-h an hour;an hour of running 16 core-h;for walltime 1:30:00 24 core-h;" "$(words --profile rwth -l $job)"
is "equivalent hours" "rate 225 core-equivalent;an hour of running 225.000 core-equivalent hours (810000 s);for walltime 1:30:00 337.500 core-equivalent hours (1215000 s);" \
	"$(words --profile alliance-cedar -l $job)"
has "a long walltime does not run into its price" "for walltime 8760:00:00 8760 core-h" "$("$reeve" cost --profile rwth -l ncpus=1,mem=1GB,walltime=8760:00:00 2>&1)"
has "no such queue" "it has: normal,express,bonus" "$(fields rate --profile nci -q fast -l $job)"
is "core-hours" "24 core-hour cpu cores" "$(fields "charge unit pool decided_by" --profile rwth -l $job)"
is "core-hours of two whole nodes" "144 core-hour" "$(fields "charge unit" --profile rwth -q jara --nodes 2 -l $job)"
has "which of the figures it took is said" "counted as 2 x CoresPerNode=48 until nodes are allocated" \
	"$(fields rule --profile rwth -q jara --nodes 2 -l $job)"
is "as many nodes as the cores fill" "96" "$(fields rate --profile rwth -q jara -l ncpus=49)"
has "more cores than the nodes have" "more than 1 nodes of 48" \
	"$(fields rate --profile rwth -q jara --nodes 1 -l ncpus=49)"
has "the rule in words" "cores requested, 16, an hour of running; x queue factor 3 = 48" \
	"$("$reeve" cost --profile nci -q express -l $job)"

# ---- chunks ----
cost() { "$reeve" cost --profile "$@" 2>&1; }
is "a select is priced as the sum of its chunks" "$(cost nci -l ncpus=96,vmem=380GB,walltime=1:00:00)" \
	"$(cost nci -l select=2:ncpus=48:vmem=190GB,walltime=1:00:00)"
case $(cost rwth -l select=3:ncpus=4:vmem=1GB,place=scatter:excl,walltime=1:00:00) in
*"all cores of the nodes held, 144"*) is "whole nodes are paid for whole" 1 1 ;;
*) is "whole nodes are paid for whole" "3 nodes of 48 cores" "$(cost rwth -l select=3:ncpus=4:vmem=1GB,place=scatter:excl,walltime=1:00:00)" ;;
esac
case $(cost nci -l select=2:ncpus=48:vmem=190GB,ncpus=3,walltime=1:00:00) in
*"ncpus is stated beside select"*) is "amounts beside chunks are refused" 1 1 ;;
*) is "amounts beside chunks are refused" refused "$(cost nci -l select=2:ncpus=48:vmem=190GB,ncpus=3,walltime=1:00:00)" ;;
esac

# ---- check-config ----
for p in units/profiles/*.conf; do
	is "check-config $p" "$p: no faults" "$("$reeve" admin check-config "$p")"
done
cat >"$dir/bad.conf" <<'CONF'
[Policy]
TimeZone = Mars/Olympus
AllocationYearStart = 02-30
TresWeights = cpu=1,disk=2
[Cluster a]
BundleCores = 0
BundleMemory = 0
GpuBundleGpus = 0
Queues = normal,whole
[NodeType b/x]
GpuModel = none-such
[Queue whole]
Exclusive = yes
[Node n]
Cluster = b
CONF
out=$("$reeve" admin check-config "$dir/bad.conf")
is "check-config: a fault is exit 1" 1 $?
is "check-config: every fault, by its line" "$(printf '%s\n' 2 3 4 6 7 8 10 11 13 15)" \
	"$(echo "$out" | sed -n "s|^$dir/bad.conf, line \([0-9]*\): .*|\1|p" | sort -n)"
has "a bundle of zero is named" "line 6: BundleCores = 0: a bundle of zero cores has no price" "$out"
is "check-config --json" "10 6" "$("$reeve" admin check-config --json "$dir/bad.conf" |
	python3 -c 'import json,sys; f = json.load(sys.stdin)["faults"]; print(len(f), f[3]["line"])')"
printf '[Policy]\nProfile = alliance-narval\n[Cluster narval]\nBundleMemory = 5GB\n' >"$dir/site.conf"
price "2 cpu memory" "$dir/site.conf" ncpus=1,mem=10GB
price "1 gpu gpus" "$dir/site.conf" ngpus=1,ncpus=12,mem=127000MB
is "REEVE_PROFILES is where profiles are" "2" \
	"$(REEVE_PROFILES=$dir fields rate --profile x -l ncpus=2)"
# ---- several profiles, clusters by other names ----
site() { printf '[Policy]\nProfile = %s\n%b' "$1" "${2:-}" >"$dir/site.conf"; }
site "alliance-narval, alliance-cedar,alliance-niagara" 'RenameClusters = narval=main, cedar=west\n[Cluster west]\nBundleMemory = 8GB\n'
is "one site has the clusters of several profiles" "$dir/site.conf: no faults" "$("$reeve" admin check-config "$dir/site.conf")"
of() { fields "cluster rate" --profile "$dir/site.conf" -C "$1" -l "$2"; }
is "under the site's names, each as its profile has it" "main 1, west 1, niagara 1" \
	"$(of main ngpus=a100:1,ncpus=12,mem=127000M), $(of west ncpus=1,mem=8G), $(of niagara ncpus=1,mem=4.8G)"
is "node types and models go with their cluster" "gpu 1.5" "$(fields "pool rate" --profile "$dir/site.conf" -C west -l ngpus=p100-16:1,ncpus=9,nodetype=p100-16)"
is "a model of another cluster is not here" 1 "$(fields rate --profile "$dir/site.conf" -C west -l ngpus=a100:1,ncpus=1 | grep -c "west has weights for p100-12, p100-16, v100-32")"
is "published figures are found under the new name" "$dir/site.conf: 13 of 13 published figures hold" \
	"$("$reeve" admin check-config "$dir/site.conf" --examples alliance-narval)"
refuses() { # WORDS PROFILES [REST]
	site "$2" "${3:-}"
	is "refused: $2 ${3:-}" 1 "$("$reeve" admin check-config "$dir/site.conf" | grep -c -- "site.conf, line 2: Profile = .*$1")"
}
printf '[Policy]\nQuota=grant\n[Cluster a]\nQueues=normal\n[Queue normal]\nFactor=3\n' >"$dir/a.conf"
refuses "Quota of \\[Policy\\] is target in alliance-narval and grant in $dir/a.conf; state it in this file" "alliance-narval, $dir/a.conf"
refuses "alliance-narval is named twice" "alliance-narval, alliance-narval"
refuses "no profile has a cluster cedar" alliance-narval 'RenameClusters = cedar=west\n'
refuses "there is a cluster cedar" alliance-narval,alliance-cedar 'RenameClusters = narval=cedar\n'
refuses "Factor of \[Queue normal\] is 3 in $dir/a.conf and 1 in nci; state it in this file" "$dir/a.conf,nci"
site "alliance-narval, $dir/a.conf" 'Quota = target\n'
is "what the file itself states decides" "$dir/site.conf: no faults" "$("$reeve" admin check-config "$dir/site.conf")"
is "what is no name" 1 "$(printf '[Policy]\nRenameClusters = a\n' >"$dir/b.conf"; "$reeve" admin check-config "$dir/b.conf" | grep -c "b.conf, line 2: RenameClusters = a: 'a': write OLD=NEW")"

# ---- one pool ----
is "ML Cloud: jobs with GPUs count with the others" "cpu gpu-equivalent 2" \
	"$(fields "pool unit rate" --profile mlcloud -l ngpus=2,ncpus=1,mem=4GB)"
printf '[Policy]\nProfile = alliance-narval\nPools = one\n' >"$dir/site.conf"
price "1 cpu gpus" "$dir/site.conf" ngpus=1,ncpus=12,mem=127000M
"$reeve" cost --profile nosuch -l ncpus=1 2>"$dir/err"
is "no such profile: not found" 4 $?
has "... names those there are" "alliance-beluga, alliance-cedar" "$(cat "$dir/err")"

tap_end
