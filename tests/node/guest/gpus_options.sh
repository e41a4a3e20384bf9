#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# gpus_options.sh - what a site may have otherwise of GPUs: launches counted, GPUs given though
# nothing holds them, GPUs not looked for.
. "$(dirname "$0")/gpus_lib.sh"

node_start || { ok 1 "the node starts"; tap_end; }
# Launches, where the site asks for them.
with "CudaLibrary = $L/libcuda.so.1" 'GpuLaunchProfile = yes'
has_note "launch profile: on"; ok $? "launches are counted where the site asks for it" "$(notes)"
id=$(as alice reeve submit -o $H/l.out -j oe -l $A100 -- env LD_LIBRARY_PATH=$L gpuload 1 50 2 | grep -oE '[0-9]+' | tail -n 1)
wait_for 60 in_state $id ended
n=$(figure $id gpu_launches)
[ "${n:-0}" -ge 3 ]; ok $? "each of a job: $n" "$(cat $H/l.out; as alice reeve job $id --json | grep gpu_)"
[ -z "$(figure $id gpu_sched_jobs)" ]; ok $? "of the kernel's scheduler no figure is reported, for there is none"
id=$(as alice reeve submit -o /dev/null -j oe -l $A100 -- true | grep -oE '[0-9]+' | tail -n 1)
wait_for 60 in_state $id ended
is "$(figure $id gpu_launches)" 0 "and none of one that starts none"
with
id=$(as alice reeve submit -o $H/l.out -j oe -l $A100 -- env LD_LIBRARY_PATH=$L gpuload 1 50 1 | grep -oE '[0-9]+' | tail -n 1)
wait_for 60 in_state $id ended
[ -z "$(figure $id gpu_launches)" ]; ok $? "elsewhere they are absent" "$(figure $id gpu_launches)"

# Neither the gate nor systemd: no GPUs for jobs, unless the site wants them all the same.
free_are() { reeve nodes --json | tr -d '\n' | grep -qE "\"ngpus_free\": *$1[^0-9]"; }
with 'VmemTier = 3' 'Manager = cgroup'
has_note "not given to jobs, for they cannot be held here"; ok $? "GPUs that nothing holds are not given" "$(notes)"
wait_for 20 free_are 0; ok $? "the node offers none" "$(reeve nodes --json)"
with 'VmemTier = 3' 'Manager = cgroup' 'Gpus = unheld'
has_note "NOT held here, every job can open every GPU"; ok $? "Gpus=unheld: they are, and the node says what that means" "$(notes)"
wait_for 20 free_are 4; ok $? "it offers all" "$(reeve nodes --json)"
start u -l $A100; u=$id
wait_for 30 is_asked u; ok $? "a job gets one" "$(as alice reeve job $u)"
is "$(sed -n 1p $H/u.env)" "CUDA_VISIBLE_DEVICES=GPU-00000000-aaaa" "and its environment names it"
is "$(ask u "$ALL")" "yes yes yes yes yes " "though it can open them all"
drop $u

# Not looked for.
with 'Gpus = off'
wait_for 20 free_are 0; ok $? "Gpus=off: the node has none to give" "$(reeve nodes --json)"
has_no_note '"gpus: '; ok $? "nor notes of them" "$(notes)"
[ ! -e /sys/fs/bpf/reeve/devices/link ]; ok $? "and the gate is gone"
start o -l ncpus=1,vmem=100MB,jobfs=10MB,walltime=1:00:00; o=$id
wait_for 30 test -e $H/o.env # and nothing in it
is "$(ask o "$ALL")" "yes yes yes no yes " "what holds then is systemd's policy alone"
is "$(cat $H/o.env)" "" "and a job's environment says nothing of GPUs"
drop $o
gpus_end
