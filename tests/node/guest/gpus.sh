#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# gpus.sh - a job opens the GPUs that it was granted and no others, whatever becomes of
# systemd's policy and of the agent; its environment names them; a GPU with leftovers is not allocated.
. "$(dirname "$0")/gpus_lib.sh"

node_start || { ok 1 "the node starts"; tap_end; }
has "$(reeve nodes --json)" '"ngpus": *4' "the node has four GPUs"
start a -l $A100; a=$id
wait_for 30 is_asked a
start b -l $A100; b=$id
start n -l ncpus=1,vmem=100MB,jobfs=10MB,walltime=1:00:00; none=$id
start h -l ncpus=1,vmem=100MB,jobfs=10MB,walltime=1:00:00,ngpus=h100-80:1; h=$id
for j in b n h; do wait_for 30 is_asked $j; done
ok $? "four jobs run" "$(reeve jobs; journalctl --no-pager -u reeve-agent | tail -n 30)"

# What their environments name.
is "$(tr '\n' ' ' <$H/a.env)" "CUDA_VISIBLE_DEVICES=GPU-00000000-aaaa NVIDIA_VISIBLE_DEVICES=GPU-00000000-aaaa ROCR_VISIBLE_DEVICES= " "a job's environment names its GPU"
is "$(sed -n 1p $H/b.env)" "CUDA_VISIBLE_DEVICES=GPU-11111111-aaaa" "the next another"
is "$(tr '\n' ' ' <$H/n.env)" "CUDA_VISIBLE_DEVICES= NVIDIA_VISIBLE_DEVICES=none ROCR_VISIBLE_DEVICES= " "without GPUs it names none"
is "$(sed -n 1p $H/h.env)" "CUDA_VISIBLE_DEVICES=GPU-33333333-hhhh" "the model asked for is the one that is given"
has "$(as alice reeve job $a --json)" '"uuid": *"GPU-00000000-aaaa"' "the report names it"

# What they can open.
each() { # WHEN: the whole matrix
	is "$(ask a "$ALL")" "yes no no no yes " "$1: a job opens its GPU alone"
	is "$(ask b "$ALL")" "no yes no no yes " "$1: so does its neighbour"
	is "$(ask n "$ALL")" "no no no no yes " "$1: a job without GPUs opens none"
	is "$(ask h "$ALL")" "no no no yes yes " "$1: one that systemd's policy closes is opened to its holder"
}
each "at first"
is "$(ask b "sh -c 'opens /dev/nvidia0'")" "no " "nor does a child"
is "$(ask b "opens $H/link0 /home/second0")" "no no " "through a link, or another file of the same number"
is "$(ask a "opens $H/link0 /home/second0")" "yes yes " "which the holder can"
as alice sh -c 'exec 3</dev/nvidia0; echo $$ >$HOME/pid; exec sleep 600' &
wait_for 10 test -s $H/pid
out=$(ask b "opens /proc/$(cat $H/pid)/fd/3")
case $out in *'No such file'*) out='no ' ;; esac # in tier 1 a job does not even see that descriptor
is "$out" "no " "through /proc/PID/fd of another process of the user"
kill "$(cat $H/pid)"; wait 2>/dev/null
has "$(ask b 'mknod $TMPDIR/own c 1 5')" "not permitted" "and no job makes a device node of its own"
[ "$(as alice opens /dev/nvidia0 /dev/nvidia1)" = "yes yes " ]; ok $? "outside of jobs nothing is held"

has_opens() { as alice reeve job $a --json | grep -qE '"gpu_opens": *[1-9]'; }
wait_for 30 has_opens; ok $? "its opens are counted" "$(as alice reeve job $a --json | grep gpu_)"
# What a process of the job made of its GPU, as the driver tells it.
pid=$(ask a 'echo $PPID')
echo "0 2048 60" >/run/loads/$pid
has_worked() { as alice reeve job $a --json | grep -qE '"gpu_busy_ns": *[1-9]'; }
wait_for 30 has_worked; ok $? "and the time that it worked on it" "$(as alice reeve job $a --json | grep gpu_)"
has "$(as alice reeve job $a --json)" '"mem_peak_bytes": *2147483648' "and the memory that it held there"
rm /run/loads/$pid

# Whatever becomes of systemd's policy and of the agent.
systemctl daemon-reload
each "after daemon-reload"
is "$(cat /sys/fs/cgroup/reeve.slice/reeve-job-*/memory.oom.group | sort -u)" 1 "each job is one OOM group all the same"
systemctl kill -s KILL reeve-agent
is "$(ask b "$ALL")" "no yes no no yes " "the moment after kill -9 of the agent"
wait_for 30 agent_up
each "when it is back"
systemctl stop reeve-agent
each "while it is stopped"
systemctl daemon-reload
is "$(ask b "$ALL")" "no yes no no yes " "and systemd reloads"
systemctl start reeve-agent && wait_for 30 agent_up
each "when it is started again"
has "$(journalctl --no-pager -u reeve-agent | grep 'held by' | tail -n 1)" "the gate that stood already" "the gate was taken over, not made again"
has "$(as alice reeve job $a --json)" '"uuid": *"GPU-00000000-aaaa"' "and the grants are known again"

# A suspended job keeps its GPU.
reeve suspend $a >/dev/null; wait_for 30 in_state $a suspended
start e -l ncpus=1,vmem=100MB,jobfs=10MB,walltime=1:00:00,ngpus=a100-40:2; e=$id
sleep 2
has "$(as alice reeve job $e --json | tr -d '\n')" '"state": *"queued"' "a job of two waits: a suspended job keeps its GPU"
drop $e
reeve resume $a >/dev/null; wait_for 30 in_state $a running
is "$(ask a "$ALL")" "yes no no no yes " "which it has when it goes on"

# Leftovers.
sleep 600 & left=$!
echo "2 1024 0" >/run/loads/$left
start d -l $A100; d=$id
wait_for 30 in_state $d ended
has "$(as alice reeve job $d --json | json line)" "GPU-22222222-aaaa is not clean: .*$left" "a GPU in use is not allocated"
has_note "GPU-22222222-aaaa.*not given to jobs until it is clean"; ok $? "and the node's notes show it" "$(notes)"
has "$(reeve nodes --json | tr -d '\n')" '"gpus_drained": *1' "the controller knows"
start f -l $A100; f=$id
sleep 3
in_state $f queued; ok $? "the next job waits for it" "$(as alice reeve job $f)"
kill $left
wait_for 20 has_no_note "until it is clean"; ok $? "clean again, the note goes" "$(notes)"
as alice reeve submit -o /dev/null -j oe -l ncpus=1,vmem=100MB,jobfs=10MB,walltime=0:01:00 -- true >/dev/null # the queue looks again
wait_for 30 is_asked f; ok $? "until it is clean" "$(as alice reeve job $f; notes)"
is "$(sed -n 1p $H/f.env)" "CUDA_VISIBLE_DEVICES=GPU-22222222-aaaa" "and it is given"
sleep 600 & left=$!
echo "2 1024 0" >/run/loads/$left
drop $f
has "$(note_of $f)" "GPU-22222222-aaaa was not clean when the job was over: .*$left" "what is left after a job is in its note"
kill $left

# A driver that hangs holds up what needs it, and nothing else.
agent_pid=$(systemctl show -p MainPID --value reeve-agent)
touch /etc/reeve/world.hangs
wait_for 30 has_note "has not answered since 20"; ok $? "that the driver hangs is noted" "$(notes)"
is_drained() { reeve nodes --json | tr -d "\n" | grep -qE "\"gpus_drained\": *1"; }
wait_for 30 is_drained; ok $? "the controller knows"
id=$(as alice reeve submit -o /dev/null -j oe -l ncpus=1,vmem=100MB,jobfs=10MB,walltime=0:01:00 -- true | grep -oE '[0-9]+' | tail -n 1)
wait_for 30 in_state $id ended; ok $? "jobs run and end meanwhile" "$(as alice reeve job $id)"
is "$(ask a "$ALL")$(ask b "$ALL")" "yes no no no yes no yes no no yes " "those with GPUs keep them"
start g -l $A100; g=$id
in_state $g queued; ok $? "one that asks for a GPU waits" "$(as alice reeve job $g)"
rm /etc/reeve/world.hangs
wait_for 30 has_no_note "has not answered"; ok $? "when it answers the note goes" "$(notes)"
wait_for 30 is_asked g; ok $? "and the job starts" "$(as alice reeve job $g; notes)"
is "$(systemctl show -p MainPID --value reeve-agent)" "$agent_pid" "it was the same agent all the time"
drop $g

# What was refused, and what was replaced.
drop $none
has "$(note_of $none)" "[0-9]+ opens of GPUs that it was not granted were refused" "refused opens are reported"
id=$(as alice reeve submit --env CUDA_VISIBLE_DEVICES=7 -o $H/v.out -j oe -l $A100 -- sh -c 'echo $CUDA_VISIBLE_DEVICES' | grep -oE '[0-9]+' | tail -n 1)
wait_for 30 in_state $id ended
has "$(cat $H/v.out)" "^GPU-22222222-aaaa$" "what the user set is replaced"
has "$(note_of $id)" "CUDA_VISIBLE_DEVICES as submitted was replaced by the GPUs" "and the note reports it"
drop $a; drop $b; drop $h

# Without the gate: systemd's own policy, which closes nvidia3 alone of these numbers.
with 'VmemTier = 3'
has_note "held by systemd's device policy alone"; ok $? "without BPF systemd enforces, and a note reports it" "$(notes)"
start x -l ncpus=1,vmem=100MB,jobfs=10MB,walltime=1:00:00,ngpus=h100-80:1; x=$id
start y -l ncpus=1,vmem=100MB,jobfs=10MB,walltime=1:00:00; y=$id
for j in x y; do wait_for 20 is_asked $j; done
is "$(ask x "opens /dev/nvidia3")$(ask y "opens /dev/nvidia3")" "yes no " "its holder alone opens it"
systemctl daemon-reload
is "$(ask x "opens /dev/nvidia3")$(ask y "opens /dev/nvidia3")" "yes no " "and after daemon-reload"
with
is "$(ask x "$ALL") $(ask y "$ALL")" "no no no yes yes  no no no no yes " "the gate comes under jobs that run"
drop $x; drop $y
gpus_end
