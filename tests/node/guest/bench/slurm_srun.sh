#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# slurm_srun.sh - what the plugin and its guards add to `srun true`: steps in one allocation, with the plugin and without it in pairs,
# the order of each pair reversed in the next, so that other work on the machine is in both. Prints the median of the pairs' differences;
# judges nothing. TAP.
#   tests/node/suite.sh bench/slurm_srun --with slurm --net host
. "$(dirname "$0")/node_lib.sh"
. "$(dirname "$0")/slurm_lib.sh"
pairs=${PAIRS:-60}

slurm_configure
slurm_start || { ok 1 "the cluster starts"; tap_end; }
as alice salloc -Q --no-shell -n 1 -J cost
job=$(squeue -h -n cost -o %i)
# srun and slurmstepd read plugstack.conf each time.
with() { slurm_plugin max-vmem=1G default-vmem=500M; }
without() { : >/etc/slurm/plugstack.conf; }
# As alice already: what changes the user is no part of it. $ms
cat >/tmp/step.sh <<'END'
begin=$EPOCHREALTIME
srun --jobid="$1" -n 1 true || exit 1
end=$EPOCHREALTIME
echo $((${end/./} - ${begin/./}))
END
time_of_step() { us=$(as alice bash /tmp/step.sh "$job") || us=failed; }
with && time_of_step
without && time_of_step
for ((i = 0; i < pairs; i++)); do
	if ((i % 2)); then
		with && time_of_step && a=$us
		without && time_of_step && b=$us
	else
		without && time_of_step && b=$us
		with && time_of_step && a=$us
	fi
	echo "$a $b"
done >/tmp/pairs
! grep -q failed /tmp/pairs; ok $? "$pairs steps with the plugin and $pairs without" "$(cat /tmp/pairs)"
median() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
difference=$(awk '{ print $1 - $2 }' /tmp/pairs | median)
base=$(awk '{ print $2 }' /tmp/pairs | median)
low=$(awk '{ print $1 - $2 }' /tmp/pairs | sort -n | awk '{ v[NR] = $1 } END { print v[int(NR / 4) + 1] }')
high=$(awk '{ print $1 - $2 }' /tmp/pairs | sort -n | awk '{ v[NR] = $1 } END { print v[int(NR * 3 / 4)] }')
awk -v d="$difference" -v b="$base" -v l="$low" -v h="$high" -v n="$pairs" 'BEGIN { printf \
	"# srun true: %.1f ms without; with the plugin and its guards %+.2f ms (median of %d pairs; quartiles %+.2f and %+.2f): x%.3f\n", \
	b / 1000, d / 1000, n, l / 1000, h / 1000, 1 + d / b }'
scancel "$job"
wait_for 60 slurm_is_over "$job"
tap_end
