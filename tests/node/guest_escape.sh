#!/bin/bash
# guest_escape.sh - no way out of a job's limits.
. "$(dirname "$0")/node_lib.sh"
RES=ncpus=1,vmem=500MB,jobfs=20MB,walltime=0:05:00
node_start || { ok 1 "the node starts"; tap_end; }

in_job() { as alice timeout 100 reeve run -l $RES -- "$@" 2>&1; }
closed() { # NAME COMMAND...
	local name=$1 out
	shift
	out=$(in_job "$@")
	[[ $out == *refused:* || $out == *absent:* ]] && [[ $out != *ESCAPED* ]]
	ok $? "$name: $(head -n 1 <<<"$out")" "$out"
}

# The user's own process outside any job: a way out, if a job can reach into it.
runuser -u alice -- sleep 86398 &
wait_for 10 pgrep -u alice -f 'sleep 86398'
outside=$(pgrep -u alice -f 'sleep 86398' | tail -n 1)

closed "ptrace of a process outside" escape ptrace "$outside"
closed "process_vm_writev outside" escape vm-write "$outside"
closed "/proc/PID/mem outside" escape proc-mem "$outside"
closed "project id of a file" escape projid
closed "cgroup.procs of the root" escape write /sys/fs/cgroup/cgroup.procs
closed "cgroup.procs of the slice" escape write /sys/fs/cgroup/reeve.slice/cgroup.procs
closed "the launch socket's directory" escape write /run/reeve/x

modes=$(stat -c '%a %U %n' /var/lib/reeve-controller /var/lib/reeve-controller/ledger.db* /var/lib/reeve /var/lib/reeve/agent.db*)
! grep -vqE '^(700 (root|reeve) /var/lib/reeve(-controller)?|600 (root|reeve) /.*\.db.*)$' <<<"$modes"
ok $? "as installed, what daemons keep is theirs alone" "$modes"
has "$modes" '^700 reeve /var/lib/reeve-controller$' "the ledger's directory is the controller's"
has "$(in_job sh -c 'cat /var/lib/reeve-controller/ledger.db | wc -c')" 'Permission denied' "a job does not read the ledger"
timeout 5 runuser -u alice -- /usr/libexec/reeve/reeve-launch /run/reeve/launch.sock
[ $? = 124 ]; ok $? "outside a job the launch socket answers nobody"

for dir in /tmp /var/tmp /dev/shm; do
	in_job sh -c "echo mine > $dir/reeve-escape-test && cat $dir/reeve-escape-test" >/tmp/out.$$
	[ ! -e $dir/reeve-escape-test ]
	ok $? "$dir of the node is not written to" "$(cat /tmp/out.$$)"
	has "$(cat /tmp/out.$$)" mine "$dir of the job works"
	rm -f $dir/reeve-escape-test
done
out=$(in_job sh -c 'dd if=/dev/zero of=/tmp/fill bs=1M count=64 2>&1; echo survived')
has "$out" "jobfs limit exceeded" "/tmp of the job counts as its jobfs"
out=$(in_job sh -c 'cd $REEVE_JOBFS && dd if=/dev/zero of=a bs=1M count=15 2>/dev/null; mv a /home/alice/moved && dd if=/dev/zero of=b bs=1M count=15 2>/dev/null; mv /home/alice/moved c; echo survived; sleep 2')
! grep -q survived <<<"$out"
ok $? "moving files out of jobfs and back gains nothing" "$out"
rm -f /home/alice/moved

left() { pgrep -u alice -f "$1" >/dev/null; }
in_job escape daemon >/dev/null
sleep 1; left 'sleep 86399'; ok $((!$?)) "double fork and setsid: ended with the job"
in_job sh -c 'nohup sleep 86397 >/dev/null 2>&1 & sleep 0.3' >/dev/null
sleep 1; left 'sleep 86397'; ok $((!$?)) "nohup: ended with the job"
out=$(in_job sh -c 'XDG_RUNTIME_DIR=/run/user/$(id -u) systemd-run --user sleep 86396 2>&1; systemd-run sleep 86396 2>&1; true')
sleep 1; pgrep -f 'sleep 86396' >/dev/null; ok $((!$?)) "systemd-run, --user and system: $(head -n 1 <<<"$out")"
if command -v at >/dev/null; then
	out=$(in_job sh -c 'echo sleep 86395 | at now 2>&1')
	sleep 3; pgrep -f 'sleep 86395' >/dev/null; ok $((!$?)) "at: $(tail -n 1 <<<"$out")"
else
	skip "at" "not installed in the node"
fi
if command -v crontab >/dev/null; then
	out=$(in_job sh -c 'echo "* * * * * sleep 86394" | crontab - 2>&1; echo "rc $?"')
	! crontab -l -u alice >/dev/null 2>&1; ok $? "cron: $(tail -n 1 <<<"$out")"
else
	skip "cron" "not installed in the node"
fi
out=$(in_job sh -c 'kill -0 1 2>&1; sudo -n true 2>&1; su -c true 2>&1 </dev/null; cat /proc/self/status | grep NoNewPrivs')
has "$out" 'NoNewPrivs:.*1' "set-uid programs gain nothing"
out=$(in_job sh -c 'cat /proc/self/cgroup')
has "$out" 'reeve-job-' "a job is in its own cgroup: $out"
kill "$outside" 2>/dev/null
tap_end
