#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# slurm_ledger.sh - a cluster of Slurm in Reeve's ledger: what slurmd ran is there once, as requested and as used, charged, and with
# its end message; a real controller, agent, and Slurm's daemons. TAP.
#   tests/node/suite.sh slurm_ledger --with slurm --net host
. "$(dirname "$0")/node_lib.sh"
. "$(dirname "$0")/slurm_lib.sh"

slurm_configure
slurm_with_controller || { ok 1 "the controller starts" "$(journalctl -u reeve-controller -o cat -n 20)"; tap_end; }
slurm_start || { ok 1 "the cluster starts"; tap_end; }
wait_for 60 node_is_up; ok $? "the node of the Slurm cluster is up in Reeve" "$(reeve nodes; journalctl -u reeve-agent -u reeve-controller -o cat -n 20)"
is_ended() { reeve job "vc:$1" --json | grep -q '"state": *"ended"'; }

slurm_batch alice --vmem=300M -n 2 <<<'load map 60; sleep 3'
wait_for 30 is_ended "$job"; ok $? "a job of sbatch is in the ledger, and has ended" "$(reeve job "vc:$job"; journalctl -u reeve-agent -o cat -n 20)"
text=$(as alice reeve job "vc:$job")
has "$text" 'vmem +300 MiB' "with what it requested of Reeve" "$text"
has "$(as alice reeve job "vc:$job" --json | tr -d '\n')" '"account": *"physics"' "in Slurm's account"
running=$(as alice reeve job "vc:$job" --json | json running_ns)
[ "${running:-0}" -gt 3000000000 ]; ok $? "and the time that it ran" "$running $text"
slurm_batch alice --vmem=100M <<<'load map 300'
wait_for 30 is_ended "$job"
has "$(as alice reeve job "vc:$job")" 'vmem limit exceeded .* requested 100 MiB' "a job that Reeve has ended has its end message there"
has "$(as alice reeve usage --account physics)" 'physics +cpu +2 ' "both are in the usage of the account" "$(reeve usage --account physics)"
text=$(as alice reeve submit -A physics -l ncpus=1,vmem=100MB,walltime=60 -- true 2>&1)
has "$text" 'sbatch' "reeve submit to that cluster is refused, with the command to use" "$text"
job=$(as alice sbatch --parsable --wrap 'sleep 600')
is_running() { reeve job "vc:$job" --json | grep -q '"state": *"running"'; }
wait_for 30 is_running; ok $? "a job that runs is shown as running"
as alice reeve cancel "vc:$job" >/dev/null
wait_for 60 slurm_is_over "$job"; ok $? "reeve cancel ends a job of Slurm" "$(squeue)"
job=$(as alice sbatch --parsable --wrap 'sleep 5')
wait_for 30 is_running
systemctl stop reeve-agent
wait_for 60 slurm_is_over "$job"
systemctl start reeve-agent
wait_for 200 is_ended "$job"
text=$(as alice reeve job "vc:$job")
has "$text" 'how the job ended was not recorded' "a job that ended while its agent was away has no exit status, and a note of that" "$text"
[[ $text != *'exit 0'* ]]; ok $? "not even that of success" "$text"
tap_end
