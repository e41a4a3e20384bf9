#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# escape.sh - no way out of a job's limits.
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
closed "pidfd_getfd of a process outside" escape getfd "$outside"
closed "/proc/PID/root of a process outside" escape look "/proc/$outside/root/etc/passwd"
closed "/proc/PID/ns of a process outside" escape look "/proc/$outside/ns/ipc"
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
[ $? = 124 ]; ok $? "outside a job the launch socket answers no process"

for dir in /tmp /var/tmp /dev/shm /run/lock; do
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

# Shared memory and message queues: the job's own, shared with its steps, and gone with it.
ipc_of_node() { ipcs | grep -E '^0x'; ls -A /dev/mqueue; }
as alice reeve submit -N shares -o /dev/null -l $RES -- \
	sh -c 'ipcmk -M 1000000; ipcmk -Q; touch /dev/mqueue/left /dev/shm/left; sleep 1000' >/tmp/out.$$
shares=$(grep -oE '[0-9]+' /tmp/out.$$ | tail -n 1)
step() { as alice timeout 60 reeve exec -j "$@" 2>&1; }
has_made() { step "$shares" -- ls /dev/shm | grep -q left; }
wait_for 60 has_made
out=$(step "$shares" -- sh -c 'ipcs -m | grep -c 1000000; ls /dev/mqueue /dev/shm')
has "$(tr '\n' ' ' <<<"$out")" '^1 /dev/mqueue: left +/dev/shm: left' "a step shares memory and queues with its job"
out=$(step "$shares" -- sh -c 'escape vm-write $(pgrep -xf "sleep 1000")')
has "$out" '^ESCAPED' "and they may write to each other's memory, as ranks of an MPI do" "$out"
out=$(in_job sh -c "ipcs | grep -cE '^0x'; ls -A /dev/mqueue /dev/shm; ls -d /var/lib/reeve/jobfs/$shares-1 /var/lib/reeve/jobfs/*/work \$REEVE_JOBFS 2>&1; ls /proc/*/root/var/lib/reeve/jobfs/$shares-1")
has "$(head -n 1 <<<"$out")" '^0$' "another job of the same user does not" "$out"
! grep -q left <<<"$out"; ok $? "nor see its queues and files in memory" "$out"
has "$out" "cannot access '/var/lib/reeve/jobfs/$shares-1'" "nor its jobfs directory" "$out"
has "$out" "^/var/lib/reeve/jobfs/[0-9]+-1/work$" "but its own" "$out"
! grep -qE '^(work|tmp)$' <<<"$out"; ok $? "nor through /proc/PID/root" "$out"
[ -z "$(ipc_of_node)" ]; ok $? "nor does the node" "$(ipc_of_node)"
as alice reeve cancel "$shares" >/dev/null
is_over() { as alice reeve job "$1" --json | grep -q '"state": *"ended"'; }
wait_for 60 is_over "$shares"
[ -z "$(ipc_of_node)" ]; ok $? "shared memory and queues are gone with the job" "$(ipc_of_node)"

no_units() { ! systemctl list-units --all 'reeve-job-*' --no-legend | grep -q .; }
# Who makes cgroups in the job's while systemd has handed it to the user owns them: none stays.
runuser -u alice -- escape premake /sys/fs/cgroup/reeve.slice >/tmp/premade 2>&1 &
premake=$!
sleep 1
out=$(in_job sh -c 'cd "/sys/fs/cgroup/$(sed -n "s/^0:://p" /proc/self/cgroup)" && stat -c "work %U" . && ls -d ../mine; cat cgroup.type; sleep 4')
wait $premake; ok $? "cgroups that the user made beforehand are not the job's: $(tail -n 1 /tmp/premade)" "$(cat /tmp/premade)"
grep -q 'in time' /tmp/premade; ok $? "(they were made in time)" "$(cat /tmp/premade)"
has "$out" '^work root$' "the job runs in one of root's" "$out"
has "$out" '^domain$' "which can be killed as one" "$out"
runuser -u alice -- escape premove /sys/fs/cgroup/reeve.slice >/tmp/premade 2>&1 &
premake=$!
sleep 1
out=$(in_job sh -c 'echo begun; cd "/sys/fs/cgroup/$(sed -n "s/^0:://p" /proc/self/cgroup)" && stat -c "work %U" .')
wait $premake
if [[ $out == *begun* ]]; then
	has "$out" '^work root$' "nor when its launcher was to be moved there: $(tail -n 1 /tmp/premade)" "$out"
else
	has "$out" "cgroup of its own into the job's" "nor when its launcher was moved there: it is ended, in words" "$out"
fi
wait_for 30 no_units; ok $? "and is gone" "$(systemctl list-units 'reeve-job-*')"

# A session on the node (ssh; su(1) goes through PAM the same way) runs in the user's job, or not.
pam_service() { # NAME OPTIONS
	printf '%s\n' 'auth sufficient pam_rootok.so' 'account required pam_unix.so' "account required pam_reeve.so $2" \
		"session [success=done ignore=ignore default=die] pam_reeve.so $2" \
		'session required pam_unix.so' >"/etc/pam.d/$1"
}
pam_service su-l exempt=nobodys,admins
pam_service su socket=/run/reeve/no.sock
session() { su - alice -c "$1" </dev/null 2>&1; }
out=$(session 'echo begun')
[[ $out == *'no job of yours runs on this node'* && $out != *begun* ]]
ok $? "a session without a job is refused, in words" "$out"
out=$(su alice -c 'echo begun' 2>&1)
[[ $out == *'does not answer'* && $out != *begun* ]]
ok $? "so is one when no agent answers" "$out"
out=$(su - root -c 'echo begun' 2>&1); has "$out" begun "root is let in"
groupadd -f admins && usermod -aG admins alice
out=$(session 'echo begun; cat /proc/self/cgroup')
[[ $out == *begun* && $out != *reeve-job* ]]; ok $? "so are the exempt groups, outside every job" "$out"
gpasswd -d alice admins >/dev/null
as alice reeve submit -N visited -o /dev/null -l $RES -- sh -c 'ipcmk -M 1000000; touch /tmp/of-job; sleep 1000' >/tmp/out.$$
visited=$(grep -oE '[0-9]+' /tmp/out.$$ | tail -n 1)
visit() { session 'ls /tmp' | grep -q of-job; }
wait_for 60 visit; ok $? "with a job that runs the session begins, in its view" "$(session 'ls /tmp')"
out=$(session 'cat /proc/self/cgroup; echo job=$REEVE_JOB $TMPDIR; ipcs -m; grep NoNewPrivs /proc/self/status; ulimit -c; ls /run/user; escape projid; escape getfd '"$outside")
has "$out" "reeve-job-$visited-1.service/work" "in its cgroup" "$out"
has "$out" "job=$visited /var/lib/reeve/jobfs/$visited-1/work" "its environment names the job"
has "$out" ' 1000000 ' "it has its shared memory"
has "$out" 'NoNewPrivs:.*1' "gains nothing by set-uid programs"
[[ $out == *refused:*refused:* && $out != *ESCAPED* ]]; ok $? "and is refused what a job is" "$out"
session 'sleep 86391' >/dev/null &
wait_for 20 pgrep -u alice -f 'sleep 86391'
session 'until [ -e /tmp/spin ]; do sleep 0.2; done; load greedy 4 1; until [ -e /tmp/map ]; do sleep 0.2; done; load map 600' >/dev/null &
wait_for 20 pgrep -u alice -f 'until . -e /tmp/spin'
begun=$(pgrep -u alice -f 'until . -e /tmp/spin' | tail -n 1)
systemctl kill -s KILL reeve-agent; systemctl restart reeve-agent
has "$(cat "/proc/$begun/cgroup")" "reeve-job-$visited-1.service/work" "a session that began before the agent was killed stays in the job"
cpu_s() { echo $(($(as alice reeve job "$visited" --json | json cpu_ns) / 1000000000)); }
before=$(cpu_s)
session 'touch /tmp/spin'
has_counted() { [ "$(cpu_s)" -ge $((before + 3)) ]; }
wait_for 30 has_counted; ok $? "its cpu time counts as the job's" "$before, then $(cpu_s)"
session 'touch /tmp/map'
wait_for 60 is_over "$visited"
has "$(as alice reeve job "$visited")" "vmem limit exceeded" "what it maps counts as the job's" "$(as alice reeve job "$visited")"
sleep 1; pgrep -u alice -f 'sleep 86391' >/dev/null; ok $((!$?)) "sessions end with the job"

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
