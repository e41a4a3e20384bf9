#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# limits.sh - every limit holds, says why, and leaves the neighbour alone.
. "$(dirname "$0")/node_lib.sh"

RES=ncpus=1,vmem=100MB,jobfs=10MB,walltime=0:01:00
node_start || { ok 1 "the node starts"; tap_end; }
ok 0 "the node starts: $(reeve nodes --json | grep -o '"tier": *[0-9]')"

# run_job RESOURCES LOAD...: sets id, status, text (all that the user saw)
run_job() {
	local res=$1
	shift
	text=$(as alice timeout 120 reeve run -l "$res" -- "$LOAD" "$@" 2>&1)
	status=$?
	id=$(as alice reeve jobs -a --limit 1 --json | json job)
}

# killed LIMIT NAME: the last job was killed for LIMIT; the same sentence is everywhere.
killed() {
	local limit=$1 name=$2 sentence
	sentence=$(as alice reeve job "$id" --json | json line)
	has "$sentence" "^$limit limit exceeded on n1 at [0-9-]+ [0-9:]+ UTC: requested .*, reached .*; the job was killed\.$" "$name: the sentence names the limit"
	has "$text" "$limit limit exceeded on n1" "$name: the user of reeve run reads it"
	journalctl --sync # what was logged is still on its way to the journal
	has "$(journalctl -o cat REEVE_JOB="$id" REEVE_EVENT=limit --no-pager)" "$limit limit exceeded on n1" "$name: the journal has it, with fields"
	[ "$status" -eq $([ "$limit" = walltime ] && echo 143 || echo 137) ]
	ok $? "$name: exit status $status"
	! grep -q survived <<<"$text"
	ok $? "$name: it did not survive"
}

# reached PEAK NAME: the job's peak is what the end message says was reached, or more; and that is not less than was requested, down to
# whole pages: the kernel keeps memory.max so.
reached() {
	local doc reached peak requested
	doc=$(as alice reeve job "$id" --json)
	reached=$(json reached <<<"$doc") peak=$(json "$1" <<<"$doc") requested=$(json requested <<<"$doc")
	[ "${reached:-0}" -ge $((${requested:-4096} / 4096 * 4096)) ] && [ "${peak:-0}" -ge "${reached:-1}" ]
	ok $? "$2: the peak is not below what was reached: requested $requested, reached $reached, peak $peak"
}

alone=$(as alice reeve run -l $RES -- "$LOAD" work 5 16 | sed -n 's/^rate //p')
has "$alone" '^[0-9.]+$' "a well-behaved job ends well, alone"

neighbour_out=/home/alice/neighbour.out
as alice reeve submit -N neighbour -o $neighbour_out -l ncpus=1,vmem=100MB,jobfs=10MB,walltime=1:00:00 -- \
	sh -c "while :; do $LOAD work 1 16; done" >/tmp/neighbour
neighbour=$(json job </tmp/neighbour); neighbour=${neighbour:-$(grep -oE '[0-9]+' /tmp/neighbour | tail -1)}

run_job $RES map 200; killed vmem "one big mapping"
has "$(as alice reeve job "$id")" "PID +SIZE +COMMAND" "one big mapping: the processes are listed"
reached vmem_peak_bytes "one big mapping"
run_job $RES forks 16 10; killed vmem "many forks, each below the limit"
run_job $RES shared 16; killed vmem "shared mappings"
run_job $RES stack 200; killed vmem "stack growth"
run_job $RES exec; killed vmem "fork and exec in a loop"
run_job $RES headless 200; killed vmem "a process whose main thread has exited"
run_job ncpus=1,vmem=400MB,mem=50MB,jobfs=10MB,walltime=0:01:00 touch 150; killed mem "touched memory"
reached rss_peak_bytes "touched memory"
run_job $RES file 64; killed jobfs "one big file"
has "$text" ' by a write of ' "one big file: the refused call is named"
reached jobfs_peak_bytes "one big file"
run_job $RES fallocate 64; killed jobfs "one fallocate"
has "$text" 'reached 67.1 MB \(\+57.1 MB\) by an fallocate of 67.1 MB' "one fallocate: the refused call is named"
reached jobfs_peak_bytes "one fallocate"
run_job $RES files 64; killed jobfs "many small files"
run_job $RES deleted 64; killed jobfs "a deleted but open file"
reached jobfs_peak_bytes "a deleted but open file"
run_job ncpus=1,vmem=100MB,jobfs=10MB,walltime=0:00:03 sleep 60; killed walltime "walltime"

text=$(as alice reeve run --vmem-action enomem -l $RES -- "$LOAD" map 200 2>&1); status=$?
if [ "$(reeve nodes --json | json tier)" = 1 ]; then
	has "$text" "mmap of 200 MiB: Cannot allocate memory" "vmem-action enomem: the call fails, the job lives"
	ok $((status != 3)) "vmem-action enomem: it ended by itself ($status)"
else
	has "$text" "cannot|not possible|tier" "vmem-action enomem: refused in words without tier 1"
fi

run_job ncpus=1,vmem=1GB,jobfs=10MB,walltime=0:01:00 greedy 3 6
has "$text" "foreign cpus entered 0" "ncpus: no foreign cpu can be entered"
has "$text" "cpus allowed 1" "ncpus: sched_setaffinity to all leaves one"
run_job ncpus=1,vmem=500MB,jobfs=10MB,walltime=0:01:00,pids=50 bomb 3
has "$text" "refused [1-9]" "fork bomb: contained by pids"
peak=$(as alice reeve job "$id" --json | json procs_peak)
[ "${peak:-999}" -le 50 ]
ok $? "fork bomb: never more than 50 processes ($peak)"

# The error file of a submitted job carries the sentence, opened with the user's rights.
as alice sh -c "cd /home/alice && reeve submit -N filed -l $RES -- $LOAD map 200" >/dev/null
id=$(as alice reeve jobs -a --limit 1 --json | json job)
ended() { as alice reeve job "$1" --json | grep -q '"state": *"ended"'; }
wait_for 60 ended "$id"
has "$(cat /home/alice/filed.e"$id")" "vmem limit exceeded on n1" "the job's own error file says it"
[ "$(stat -c %U /home/alice/filed.e"$id")" = alice ]
ok $? "the error file is the user's"

# The neighbour kept its core through all of it: the whole of it, by the node's own accounts, and
# its throughput. Emulated cpus share the cores of the machine below with each other, and a lower
# throughput there is no word about the node: it is shown, and skipped.
run=$(as alice reeve job "$neighbour" --json | json running_ns)
cpu=$(as alice reeve job "$neighbour" --json | json cpu_ns)
share=$(awk -v r="$run" -v c="$cpu" 'BEGIN { printf "%.3f", c / r }')
awk -v s="$share" 'BEGIN { exit !(s >= 0.95) }'
ok $? "the neighbour had at least 95 % of its core beside the offenders: $share"
rates=$(grep -oE '[0-9.]+' $neighbour_out | sort -n)
median=$(echo "$rates" | awk '{ a[NR] = $1 } END { print a[int((NR + 1) / 2)] }')
ratio=$(awk -v a="$alone" -v m="$median" 'BEGIN { printf "%.3f", m / a }')
echo "# neighbour: alone $alone, median beside the offenders $median rounds/s"
name="the neighbour's throughput stays within 5 % of alone: ratio $ratio"
if awk -v r="$ratio" 'BEGIN { exit !(r >= 0.95) }'; then
	ok 0 "$name"
elif [ "$(systemd-detect-virt)" = qemu ]; then
	skip "$name" "emulated cpus share the cores of a busy machine"
else
	ok 1 "$name"
fi
as alice reeve cancel "$neighbour" >/dev/null
wait_for 60 ended "$neighbour"
ok $? "the neighbour is cancelled"

ls /var/lib/reeve/jobfs | grep -qE '^[0-9]'
ok $((!$?)) "nothing is left in jobfs"
systemctl list-units --all 'reeve-job-*' --no-legend | grep -q .
ok $((!$?)) "no unit is left"
tap_end
