#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# slurm_nodes.sh NUMBER NODES - Reeve beside Slurm on several nodes: n1 has slurmctld, slurmdbd and Reeve's controller, each node slurmd and an
# agent. Jobs that use them together are held on each of them, end on all, and are one job in the ledger. TAP (of n1).
#   tests/node/suite.sh slurm_nodes --nodes 3 --with slurm
. "$(dirname "$0")/node_lib.sh"
. "$(dirname "$0")/slurm_lib.sh"
nodes=$(seq -f n%g "$2" | paste -sd ' ')

slurm_join "$1" "$2"
# shellcheck disable=SC2086
slurm_configure $nodes
printf '%s_tcp_if_include = 10.77.0.0/24\n' oob btl >>/etc/openmpi/openmpi-mca-params.conf
if [ "$1" != 1 ]; then
	slurm_report_to n1
	slurm_has_network
	slurm_start_agent
	has_controller() { sinfo -h >/dev/null; }
	wait_for 150 has_controller
	systemctl start slurmd
	echo "n$1: agent $(systemctl is-active reeve-agent), slurmd $(systemctl is-active slurmd)"
	exec journalctl -f -n all -o cat -u reeve-agent -u slurmd
fi
sed -i 's/^Listen = .*/Listen = 0.0.0.0:8640/' /etc/reeve/controller.conf
slurm_has_network || { ok 1 "n1 has its address"; tap_end; }
slurm_with_controller || { ok 1 "the controller starts" "$(journalctl -u reeve-controller -o cat -n 20)"; tap_end; }
slurm_start || { ok 1 "the cluster starts"; tap_end; }
all_up() { [ "$(reeve nodes --json | grep -c '"state": *"up"')" = "$2" ] && [ "$(sinfo -h -t idle -o %D)" = "$2" ]; }
wait_for 150 all_up "$@"; ok $? "$2 nodes are idle in Slurm and up in Reeve" "$(sinfo -N -l; reeve nodes)"

last_job() { sacct -n -X -o JobID -S "$(date -d '1 hour ago' +%H:%M)" | tail -n 1 | tr -d ' '; }
is_ended() { reeve job "vc:$1" --json | grep -q '"state": *"ended"'; }
all_parts_ended() { [ "$(reeve job "vc:$1" --json | grep -o '"state": *"[a-z]*"' | sort -u | wc -l)" = 1 ]; }
is_law() { # NAME EXPRESSION: python's, over j, the document of $job
	reeve job "vc:$job" --json >/tmp/job.json
	python3 -c "import json; j = json.load(open('/tmp/job.json'))['job']; raise SystemExit(not ($2))" 2>/tmp/law.err
	ok $? "$1" "$(cat /tmp/law.err /tmp/job.json)"
}
run() { # OPTION... COMMAND: as alice; $out, $job, $took (seconds)
	local begun=$SECONDS
	out=$(as alice timeout 200 srun "$@" 2>&1)
	took=$((SECONDS - begun)) job=$(last_job)
	wait_for 60 is_ended "$job"
	wait_for 60 all_parts_ended "$job"
}

# ---- within its limits ----
run -N "$2" -n "$2" --vmem=300M sh -c 'load map 60; sleep 3; hostname'
[ "$(grep '^n' <<<"$out" | sort | paste -sd ' ')" = "$nodes" ]; ok $? "a job runs on all nodes" "$out"
is_law "in the ledger it is one job with a part on each" "sorted(p['node'] for p in j['parts']) == '$nodes'.split()"
is_law "with the cores of all" "j['request']['resources']['ncpus'] == $2 * j['parts'][0]['ncpus']"
is_law "charged for the time of the first" "abs(j['charge_requested_ms'] * 1000000 - j['running_ns'] * j['request']['resources']['ncpus']) < $2 * 1000000"
is_law "what it used is the sum of all nodes" "all(sum(p['usage'][k] for p in j['parts']) == j['usage'][k] for k in ('cpu_ns', 'vmem_peak_bytes'))"
is_law "each node measured what ran there" "all(p['usage']['vmem_peak_bytes'] > 60e6 for p in j['parts'])"
out=$(as alice reeve job "vc:$job")
has "$out" '^n2 ' "its page has a line for each node" "$out"

# ---- one node exceeds its limit ----
run -N 2 -n 2 -w n1,n2 --vmem=150M sh -c '[ "$SLURM_NODEID" = 1 ] && load map 300; sleep 100; echo not reached'
has "$out" 'vmem limit exceeded on n2 .* requested 150 MiB' "the second node exceeds its limit: the message names it"
! grep -q 'not reached' <<<"$out" && [ "$took" -lt 60 ]; ok $? "the job ends on all its nodes" "$took s: $out"
is_law "that is its end in the ledger" "j['end']['kind'] == 'limit' and j['end']['reason']['host'] == 'n2'"
has "$(sacct -n -X -j "$job" -o AdminComment%200)" 'vmem limit exceeded on n2' "and in sacct"
run -N 2 -n 2 -w n2,n3 --vmem=150M sh -c 'load map 100; sleep 1; echo reached'
[ "$(grep -c '^reached' <<<"$out")" = 2 ]; ok $? "the limit is that of each node, not of all together" "$out"

# ---- a script on the first node, steps on both ----
job=$(as alice sbatch --parsable -N 2 -w n2,n3 --vmem=900M -o /dev/null --wrap 'srun sleep 15')
both_run() { [ "$(reeve job "vc:$job" --json | grep -c '"state": *"running"')" -ge 3 ]; } # job and parts
wait_for 60 both_run; ok $? "a job of sbatch runs on two nodes" "$(reeve job "vc:$job")"
wait_for 60 slurm_is_over "$job"
wait_for 60 is_ended "$job"
is_law "its end is that of its script" "j['end']['kind'] == 'exited' and j['end']['exit_status'] == 0"

# ---- MPI ----
mpi_batch() { # RING-ARGUMENT...: mpirun starts its daemons by srun; $out
	job=$(as alice sbatch --parsable -N 2 -n 2 -w n1,n2 --vmem=1G -o mpi.out --wrap "mpirun mpi_ring $*")
	wait_for 120 slurm_is_over "$job"
	wait_for 60 is_ended "$job"
	out=$(cat /home/alice/mpi.out)
}
mpi_batch 20
has "$out" 'rank 1: 20 rounds' "an MPI job over two nodes ends well" "$out"
is_law "each of its nodes used processor time" "len(j['parts']) == 2 and all(p['usage']['cpu_ns'] > 1e8 for p in j['parts'])"
is_law "it is charged for the cores of both" "abs(j['charge_requested_ms'] * 1000000 - j['running_ns'] * 2) < 2e6"
mpi_batch 100000 1 1500
has "$(sacct -n -X -j "$job" -o AdminComment%200)" 'vmem limit exceeded on n2 .* requested 1.00 GiB' "a rank that exceeds the limit of its node ends the job" "$out"
is_law "on both of them" "all(p['state'] == 'ended' for p in j['parts']) and j['end']['kind'] == 'limit'"
[ "$(sinfo -h -t idle -o %D)" = "$2" ]; ok $? "no node was drained" "$(sinfo -R)"
tap_end
