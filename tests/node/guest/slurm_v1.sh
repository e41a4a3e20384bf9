#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# slurm_v1.sh - Slurm on a host with cgroup v1, where Reeve can hold no job: it refuses each, and its users and admins read why. TAP.
#   tests/node/suite.sh slurm_v1 --with slurm --net host --kernel-arg systemd.unified_cgroup_hierarchy=0
. "$(dirname "$0")/node_lib.sh"
. "$(dirname "$0")/slurm_lib.sh"

[ "$(stat -fc %T /sys/fs/cgroup)" = tmpfs ]; ok $? "this node has cgroup v1" "$(grep cgroup /proc/mounts)"
slurm_configure
sed -i s,cgroup/v2,cgroup/v1, /etc/slurm/cgroup.conf
slurm_start; ok $? "slurmd and the agent start"
has "$(journalctl -u reeve-agent -o cat)" 'this host has cgroup v1, where no job of Slurm can be held' "the agent's journal says that it can hold no job"
has "$(reeve-agent --status)" 'this host has cgroup v1' "reeve-agent --status too"
out=$(as alice srun --vmem=100M echo reached 2>&1)
has "$out" 'this job may not run: .*Reeve needs cgroup v2' "srun is refused, with the reason" "$out"
! grep -qx reached <<<"$out"; ok $? "and its command does not run" "$out"
slurm_batch alice <<<'echo reached'
has "$out" 'Reeve needs cgroup v2' "the output file of a batch job has the reason" "$out"
! grep -qx reached <<<"$out"; ok $? "and its script does not run" "$out"
slurm_plugin max-vmem=1G unguarded=run
slurm_batch alice --vmem=100M <<<'echo reached'
! grep -qx reached <<<"$out"; ok $? "with unguarded=run neither: an agent answers" "$out"
systemctl stop reeve-agent
slurm_batch alice --vmem=100M <<<'echo reached'
grep -qx reached <<<"$out"; ok $? "where the agent is stopped it runs" "$out"
has "$out" "runs without Reeve's limits" "and its output file says that nothing holds it" "$out"
tap_end
