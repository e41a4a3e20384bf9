#!/bin/bash
# slurm_follow.sh [JOBS] [SECONDS] - what reeve-slurm costs slurmctld: its CPU time with JOBS (10000) pending jobs, each a record of its
# own, in SECONDS (60) without reeve-slurm, with it at its default intervals, and beside `squeue` at the same interval, in the same run; each
# while jobs come and go, so that every question is answered with all jobs. Real slurmctld, slurmdbd and slurmd.
set -u
cd "$(dirname "$0")/../.." || exit 1
jobs=${1:-10000} seconds=${2:-60}
. tests/cluster/lib/tap_lib.sh
. tests/cluster/lib/live_lib.sh
. tests/cluster/lib/slurm_lib.sh
why=$(slurm_why_not)
[ -z "$why" ] || { echo "no figures: $why"; exit 1; }
live_dir slurmbench
live_munge
configure() {
	printf '%s\n' '[Controller]' "Listen = 127.0.0.1:$port" "Database = $dir/ledger.db" "MungeSocket = $dir/munge.sock" '[Cluster vc]' \
		'Engine = slurm' >"$dir/controller.conf"
	printf '%s\n' '[Slurm]' 'Cluster = vc' "SlurmConf = $dir/slurm/slurm.conf" "Controller = $url" 'ControllerUser = root' \
		"MungeSocket = $dir/munge.sock" >"$dir/reeve-slurm.conf"
}
live_open configure >/dev/null
slurm_open n1 "MaxArraySize=200001" "MaxJobCount=300000" >/dev/null
for _ in $(seq $(((jobs + 9999) / 10000))); do
	sbatch -Q -H -A physics -o /dev/null --array=1-$((jobs < 10000 ? jobs : 10000)) --wrap true
done
# A task of an array gets a record of its own when it is changed.
for id in $(squeue -h -o %F | sort -u); do
	seq $((jobs < 10000 ? jobs : 10000)) | sed "s/.*/update jobid=${id}_& nice=1/"
done | scontrol >/dev/null
echo "records of jobs in slurmctld: $(scontrol -o show job | wc -l)"
ticks() { awk '{ print $14 + $15 }' "/proc/$(slurm_pid slurmctld)/stat"; }
churn() { while :; do sbatch -Q -A physics -o /dev/null -t 1 --wrap true; sleep 1; done; }
measure() { # NAME: seconds of CPU of slurmctld in $seconds
	local from
	sleep 3
	from=$(ticks)
	sleep "$seconds"
	cpu=$(awk "BEGIN { print ($(ticks) - $from) / $(getconf CLK_TCK) }")
	echo "$1: slurmctld used $cpu s of CPU in $seconds s"
}
churn &
churner=$!
measure "alone"
alone=$cpu
build/bin/reeve-slurm --config "$dir/reeve-slurm.conf" 2>>"$dir/reeve-slurm.log" &
follower=$!
measure "with reeve-slurm (30 s)"
with=$cpu
own=$(awk '{ print ($14 + $15) }' "/proc/$follower/stat")
kill "$follower"
wait "$follower" 2>/dev/null
(while :; do squeue -h >/dev/null; sleep 30; done) &
rival=$!
measure "with squeue (30 s)"
rival_cpu=$cpu
kill "$rival" "$churner"
awk "BEGIN { printf \"ratio of CPU with reeve-slurm to alone: %.3f; with squeue: %.3f; of a core: %.4f more; reeve-slurm itself %.2f s\n\",
	$with / ($alone + 1e-9), $rival_cpu / ($alone + 1e-9), ($with - $alone) / $seconds, $own / $(getconf CLK_TCK) }"
