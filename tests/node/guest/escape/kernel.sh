#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# kernel.sh - no way out of a job's limits through what the kernel offers every user.
. "$(dirname "$0")/node_lib.sh"
RES=ncpus=1,vmem=500MB,jobfs=20MB,walltime=0:05:00
node_start || { ok 1 "the node starts"; tap_end; }

in_job() { as alice timeout 100 reeve run -l $RES -- "$@" 2>&1; }
closed() { # NAME COMMAND...
	local name=$1 out
	shift
	out=$(in_job "$@")
	[[ $out == *refused:* || $out == *absent:* ]] && [[ $out != *ESCAPED* ]]
	ok $? "$name: $(grep -E '^(refused|absent|ESCAPED)' <<<"$out" | head -n 1)" "$out"
}
submit() { # NAME COMMAND...: its number
	local name=$1
	shift
	as alice reeve submit -N "$name" -o "/home/alice/$name.out" -l $RES -- "$@" | grep -oE '[0-9]+' | tail -n 1
}
is_over() { as alice reeve job "$1" --json | grep -q '"state": *"ended"'; }
slice() { cat "/sys/fs/cgroup/reeve.slice/$1"; }
uname -r | sed 's/^/# kernel /'

# io_uring: the kernel's own workers work for the job.
out=$(in_job sh -c 'escape uring-write $REEVE_JOBFS/big; echo survived; sleep 2')
has "$out" "jobfs limit exceeded" "io_uring: its workers' writes count as jobfs" "$out"
closed "io_uring: its workers run on the job's cores" escape uring-cpus
closed "io_uring: so does the thread that polls" escape uring-cpus poll

# Devices
mknod -m 666 /home/alice/gpu c 195 0
closed "a device file of a GPU" escape write /home/alice/gpu
out=$(in_job unshare -Ur sh -c 'mknod $REEVE_JOBFS/gpu c 195 0 && echo ESCAPED: made; escape write /home/alice/gpu')
[[ $out == *refused* && $out == *mknod* && $out != *ESCAPED* ]]; ok $? "nor from a user namespace, which makes none" "$out"
rm /home/alice/gpu
out=$(in_job unshare -Urm sh -c 'umount /run/user && echo ESCAPED; umount /var/lib/reeve/jobfs && echo ESCAPED; umount /tmp && echo ESCAPED; mount -o remount,rw /sys/fs/cgroup && echo ESCAPED')
[[ $out == *umount:* && $out != *ESCAPED* ]]; ok $? "a user namespace shows nothing that is hidden" "$out"
out=$(in_job unshare -UrmC sh -c 'mount -t cgroup2 none /mnt && ls /mnt | head -n 3; mkdir /mnt/mine && echo ESCAPED; echo max >/mnt/memory.max && echo ESCAPED; echo done')
[[ $out == *done* && $out != *ESCAPED* ]]; ok $? "nor makes cgroups" "$out"

# perf, as open as kernels come by default
runuser -u alice -- sleep 86398 &
wait_for 10 pgrep -u alice -xf 'sleep 86398'
outside=$(pgrep -u alice -xf 'sleep 86398')
before=$(cat /proc/sys/kernel/perf_event_paranoid)
echo 2 >/proc/sys/kernel/perf_event_paranoid
closed "perf of a process outside" escape perf "$outside"
closed "perf of the whole node" escape perf -1
echo "$before" >/proc/sys/kernel/perf_event_paranoid

# Keys
has "$(in_job escape keys)" "Disk quota exceeded" "a user has a quota of keys"
has "$(in_job escape map 1024)" "vmem limit exceeded" "without any left jobs start, and are held"
id=$(submit stays sleep 1000)
step() { as alice timeout 60 reeve exec -j "$id" "$@" 2>&1; }
wait_for 60 step true; ok $? "and steps start" "$(step true)"

# A terminal of a step. What else runs as the same user may open it, as any terminal of the user's.
{ echo 'send tty >/home/alice/tty\r'; exec sleep 1000; } | as alice terminal 24 80 reeve exec -j "$id" --pty bash >/dev/null 2>&1 &
wait_for 30 grep -q /dev/pts /home/alice/tty
tty=$(cat /home/alice/tty)
out=$(as bob timeout 100 reeve run -l $RES -- escape write "$tty" 2>&1)
[[ -c $tty && $out == *refused:*denied* ]]; ok $? "another user's job does not open the terminal of a step" "$tty: $out"
has "$(in_job escape write "$tty")" '^ESCAPED: wrote' "(the same user's does)"
pkill -u root -xf "sleep 1000"

# Address spaces, as many as a job gets: what is not counted does not run, and others are held as before.
out=$(as alice timeout 100 reeve run -l $RES,pids=64 -- load bomb 3 2>&1)
has "$out" 'refused [1-9]' "a job forks no more than it may: $(grep forked <<<"$out")"
has "$(in_job escape map 1024)" "vmem limit exceeded" "and others are held to their vmem"

# Output files
mkfifo -m 666 /home/alice/fifo
for readers in no one; do
	[ $readers = no ] || { sleep 1001 <>/home/alice/fifo & reader=$!; }
	fifo=$(as alice reeve submit -N fifo -o /home/alice/fifo -l $RES -- true | grep -oE '[0-9]+' | tail -n 1)
	wait_for 20 is_over "$fifo"
	has "$(as alice reeve job "$fifo")" "output file /home/alice/fifo" "a job whose output file is a FIFO ($readers reader) ends, in words"
done
kill "$reader"

# A file in memory that another job holds when its own has ended.
as alice reeve cancel "$id" >/dev/null
hold=$(submit hold escape memfd-hold 1000)
wait_for 60 grep -q waits /home/alice/hold.out
left() { slice memory.stat | sed -n 's/^shmem //p'; }
for i in 1 2; do
	sent=$(submit "send$i" escape memfd-send 300)
	wait_for 60 is_over "$sent"
done
has "$(cat /home/alice/hold.out)" '^ESCAPED: 2 held' "memory passes from job to job" "$(cat /home/alice/*.out)"
echo "# the jobs' cgroup: shmem $(left), current $(slice memory.current), max $(slice memory.max); the holder: $(slice "reeve-job-$hold-1.service/memory.current")"
is_told() { reeve nodes --json | grep -q 'memory left: 600 MiB of jobs that have ended'; }
wait_for 30 is_told; ok $? "the node says how much ended jobs have left" "$(reeve nodes --json; reeve-agent --status)"
large=$(as alice reeve submit -N large -o /dev/null -l ncpus=1,vmem=1300MB,jobfs=20MB,walltime=0:05:00 -- true | grep -oE '[0-9]+' | tail -n 1)
waits() { journalctl -u reeve-agent --no-pager | grep -q 'waits on node n1: needs .* vmem; .* is free'; }
wait_for 30 waits && ! is_over "$large"; ok $? "it counts as in use: a job that needs it waits" "$(as alice reeve job "$large")"
as alice reeve cancel "$hold" >/dev/null
wait_for 60 is_over "$large"
has "$(as alice reeve job "$large")" 'exit 0' "and runs when the job that holds it has ended"
is_untold() { ! reeve nodes --json | grep -q 'memory left'; }
wait_for 30 is_untold; ok $? "then none is left" "$(reeve nodes --json) $(left)"
kill "$outside"
tap_end
