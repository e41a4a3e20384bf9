#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# life.sh MANAGER [TIER] - the same life of jobs under systemd and under libcgroup alone.
# shellcheck source=tests/node/agent/agent_lib.sh
. "${AGENT_LIB:-/usr/local/lib/reeve-tests/agent_lib.sh}"
MANAGER=${1:-systemd}

agent_configure "$MANAGER" ${2:+"VmemTier = $2"}
# Left behind by an earlier agent: all of it readable to all.
STATE=/var/lib/reeve
mkdir -p $STATE && chmod 711 $STATE
for f in agent.db.damaged-1 agent.db.damaged-1-wal; do echo "SECRET=of-before" >$STATE/$f; chmod 644 $STATE/$f; done
agent_start || { echo "Bail out! the agent does not start"; exit 1; }
status=$(reeve-agent --status)
printf '%s\n' "$status" | sed 's/^/# /'
has "$status" "^manager: $MANAGER" "the agent uses the $MANAGER manager"

hasnt=$(grep '^note: jobfs' <<<"$status") && { echo "Bail out! $hasnt"; exit 1; }

# A job that keeps to its request.
submit 1 "$SMALL" '' sh -c 'echo hello; echo oops >&2; id -un; cat /proc/self/cgroup; pwd;
	grep Cpus_allowed_list /proc/self/status; touch $REEVE_JOBFS/x /tmp/y && ls /tmp; exit 3'
wait_state 1 ended 30
ok $? "a job ends" "$(job 1)"
state_is 1 ended || { journalctl --no-pager -u reeve-agent | tail -n 40; echo "Bail out! no job ends"; exit 1; }
j=$(job 1)
has "$j" '"exit_status":3' "its exit status is recorded"
has "$j" '"kind":"exited"' "as an exit of its own"
out=$(cat $HOME_DIR/t.o1)
has "$out" hello "stdout went to the file"
has "$out" alice "it ran as the user"
has "$out" "$HOME_DIR" "in the working directory"
has "$out" 'reeve-job-1-1.service/work' "in its own cgroup"
has "$(cat $HOME_DIR/t.e1)" oops "stderr went to the file"
has "$(stat -c %U $HOME_DIR/t.o1)" alice "the output file is the user's"
has "$j" '"cpu_ns":[1-9]' "on-cpu time was measured"
has "$j" '"vmem_peak_bytes":[1-9]' "vmem was measured"
[ ! -e /var/lib/reeve/jobfs/1-1 ]; ok $? "its disk is gone"
[ ! -e /run/reeve/final/1-1 ]; ok $? "its final record was consumed"
find /sys/fs/cgroup -name 'reeve-job-1-1*' | grep -q . && r=1 || r=0
ok $r "its cgroup is gone"
settle 1
is_forgotten() { [ -z "$(job 1)" ]; }
wait_for 10 is_forgotten; ok $? "an acknowledged job is forgotten" "$(job 1)"

# What the agent knows of jobs is root's.
state_is_closed() { [ "$(stat -c %a $STATE)" = 700 ]; }
state_modes() { find $STATE -maxdepth 1 -type f -printf '%f %m\n'; }
wait_for 20 state_is_closed
ok $? "the agent's state directory is root's alone" "$(stat -c '%a %U' $STATE)"
! state_modes | grep -v ' 600$'
ok $? "its files are root's alone, those of before too" "$(state_modes)"
has "$(state_modes)" '^agent.db-wal 600' "the write-ahead log is one of them"
has "$(journalctl --no-pager -u reeve-agent)" 'could be read by others' "and the journal says that they were not"
[ "$(stat -c %a /run/reeve /run/reeve/final /run/reeve/spec /run/reeve/steps | paste -sd' ')" = "755 700 700 700" ]
ok $? "of the run directory users may reach the socket alone" "$(stat -c '%n %a' /run/reeve /run/reeve/*)"
[ "$(stat -c '%a %U' /run/reeve/adopt.sock)" = "600 root" ]
ok $? "the socket that puts sessions into jobs is root's" "$(stat -c '%a %U' /run/reeve/adopt.sock)"

# Limits in the cgroup.
submit 2 "$SMALL,\"pids\":50" '"script":"#!/bin/sh\n# sesame-2-open\nsleep 300 & sleep 300 & wait\n"' x
wait_state 2 running
ok $? "a longer job runs" "$(job 2)"
grep -qa sesame-2-open $STATE/agent.db*; ok $? "its script is in the agent's database"
as bob sh -c "cat $STATE/agent.db $STATE/agent.db-wal" >/tmp/stolen 2>&1
! grep -qa sesame-2-open /tmp/stolen; ok $? "another user does not read it there" "$(head -c 200 /tmp/stolen)"
# Another job looks for the agent's state and for other jobs' disks, and uses its own.
submit 8 "$SMALL" '' sh -c "ls -a $STATE; ls -a $STATE/jobfs; ls -a $STATE/jobfs/2-1; head -c 16 $STATE/agent.db
	cd \$REEVE_JOBFS && echo mine >f && cat $STATE/jobfs/8-1/work/f; echo x >/tmp/t && ls $STATE/jobfs/8-1/tmp
	touch $STATE/planted; mkdir $STATE/jobfs/planted; echo done"
wait_state 8 ended 30
seen=$(cat $HOME_DIR/t.o8 $HOME_DIR/t.e8)
has "$seen" done "a job looks for the agent's state"
! grep -qE 'agent\.db|SQLite' <<<"$(cat $HOME_DIR/t.o8)"; ok $? "and sees none of it" "$seen"
! grep -qE '(^|[^0-9])2-1' $HOME_DIR/t.o8; ok $? "nor a neighbour's disk" "$seen"
has "$seen" '^8-1$' "but its own, where REEVE_JOBFS says"
has "$seen" '^mine$' "with what it wrote there"
has "$seen" '^t$' "and its /tmp in it"
[ ! -e $STATE/planted ] && [ ! -e $STATE/jobfs/planted ]; ok $? "it puts nothing beside them"
settle 8

# The D-Bus interface shows users their own jobs.
call_as() { # USER METHOD [ARG]...
	local user=$1
	shift
	runuser -u "$user" -- busctl --json=short call org.reeve.Agent1 /org/reeve/Agent1 org.reeve.Agent1 "$@" 2>&1
}
has "$(call_as alice GetJob x 2)" 'vmem_bytes' "a user sees the usage of their own job"
has "$(call_as bob GetJob x 2)" 'no job 2' "GetJob: others' jobs do not exist"
has "$(call_as alice ListJobs)" '\[2,1,"running","alice"' "a user lists their own jobs"
has "$(call_as bob ListJobs)" '"data":\[\[\]\]' "ListJobs: and no other user's"
has "$(as bob busctl get-property org.reeve.Agent1 /org/reeve/Agent1 org.reeve.Agent1 Jobs 2>&1)" '^ax 0$' "Jobs: nor their numbers"
! call_as bob Status | grep -qE 'alice|job: 2'; ok $? "Status: nor in the status" "$(call_as bob Status)"
has "$(call_as bob Status)" 'capacity: ' "which says to everyone what the node is"
has "$(as bob busctl get-property org.reeve.Agent1 /org/reeve/Agent1 org.reeve.Agent1 Tier Notes 2>&1)" '^i [123]$' "Tier, Notes: to everyone"
has "$(call_as bob Describe)" 'spool_max_bytes' "Describe: what the node is, to everyone"
described=$(call_as bob Describe) # notes of the node may say "jobs"
! grep -q alice <<<"$described" && ! sed 's/notes[^]]*]//' <<<"$described" | grep -q job; ok $? "Describe: nothing of jobs" "$described"
has "$(call_as root Status)" 'job: 2 attempt 1 running alice' "root sees all"
cg=/sys/fs/cgroup$(field 2 cgroup)
wait_for 10 grep -qx 50 "$cg/pids.max"
has "$(cat "$cg/pids.max")" '^50$' "pids.max is in force"
has "$(cat "$cg/memory.max")" '^30[0-9]+$' "memory.max is derived from vmem"
has "$(cat "$cg/memory.swap.max" 2>/dev/null || echo 0)" '^0$' "swap is off"
has "$(cat "$cg/memory.oom.group")" '^1$' "an OOM kills the whole job"
has "$(cat "$cg/cpuset.cpus.effective")" "^$(field 2 cpus)$" "it is held to its cores"
has "$(stat -c %U "$cg/cgroup.procs")" root "cgroup.procs is root's"

# Suspend, resume.
want 2 suspend
wait_state 2 suspended 20
ok $? "it is suspended" "$(job 2)"
has "$(cat "$cg/cgroup.freeze")" 1 "frozen"
a=$(field 2 running_ns) && sleep 2 && b=$(field 2 running_ns)
[ "$a" = "$b" ]; ok $? "its clock stands still" "$a $b"
want 2 run
wait_state 2 running 20
ok $? "it is resumed" "$(job 2)"
has "$(cat "$cg/cgroup.freeze")" 0 "thawed"

# Frozen by another program.
echo 1 >"$cg/cgroup.freeze"
wait_state 2 suspended 10
ok $? "frozen by others: it counts as suspended" "$(job 2)"
echo 0 >"$cg/cgroup.freeze"
wait_state 2 running 10
ok $? "and as running after" "$(job 2)"

# Agent killed under it. For the agent that comes back this is a job of a version that hid nothing.
a=$(field 2 pid)
nsenter -t "$a" -m umount -l $STATE && chmod 755 $STATE
systemctl kill -s KILL reeve-agent
wait_for 30 agent_up
wait_state 2 running 20
ok $? "an agent that was killed finds it again" "$(job 2)"
[ "$a" = "$(field 2 pid)" ] && kill -0 "$a"; ok $? "untouched"
is_passable() { [ "$(stat -c %a $STATE)" = 711 ]; }
wait_for 20 is_passable
ok $? "a job that reaches its disk through the state directory can go on doing so" "$(stat -c %a $STATE)"

# Ended while the agent is away: it ran at least from here to there, and at most from before to after.
stamps=$(date +%s%N)
stamp() { stamps="$stamps $(date +%s%N)"; }
submit 3 "$SMALL" '' sh -c 'until [ -e $HOME/go3 ]; do sleep 0.1; done; exit 7'
wait_state 3 running
stamp
pid=$(field 3 pid)
systemctl stop reeve-agent
sleep 2
stamp
touch $HOME_DIR/go3
is_gone() { ! kill -0 "$pid" 2>/dev/null; }
wait_for 30 is_gone
stamp
agent_start
wait_state 3 ended 30
has "$(job 3)" '"exit_status":7' "a job that ended while the agent was away: exit status is known"
awk -v r="$(field 3 running_ns)" -v t="$stamps" 'BEGIN { split(t, s); exit !(r >= s[3] - s[2] && r <= s[4] - s[1]) }'
ok $? "and how long it ran" "$(field 3 running_ns) ns, seen $stamps"

# Cancel.
want 2 cancel
wait_state 2 ended 30
ok $? "a cancelled job ends" "$(job 2)"
has "$(job 2)" '"kind":"cancelled"' "as cancelled"
has "$(cat $HOME_DIR/t.e2)" 'reeve: cancelled' "its error file has the reason"
wait_for 20 state_is_closed
ok $? "the state directory is closed when the last such job has ended" "$(stat -c %a $STATE)"

# What cannot be started is said.
submit 4 "$SMALL" '' no-such-command
wait_state 4 ended 30
has "$(job 4)" 'command not found: no-such-command' "a missing command is named"
submit 5 "$SMALL" '"out_path":"/nowhere/out"' true
wait_state 5 ended 30
has "$(job 5)" 'cannot open output file /nowhere/out: No such file' "a bad output file is named"
submit 6 "$SMALL" '"script":"#!/bin/sh\necho from script $1\n"' arg
wait_state 6 ended 30
has "$(cat $HOME_DIR/t.o6)" 'from script arg' "a script runs with its arguments"
submit 7 '"ncpus":64,"vmem_bytes":1048576,"jobfs_bytes":1048576,"walltime_s":60' '' true
wait_state 7 ended 30
has "$(job 7)" 'needs 64 cores' "a job that the node cannot hold is refused with the number"

# Limits kill, with the sentence.
# In tiers 2 and 3 one mapping far above the limit just fails at RLIMIT_AS: many processes are the test.
over=(map 512)
grep -q '^tier: [23]' <<<"$status" && over=(forks 16 40)
submit 11 "$SMALL" '' "$LOAD" "${over[@]}"
wait_state 11 ended 30
has "$(job 11)" '"limit":"vmem"' "vmem: killed" "$(job 11)"
has "$(cat $HOME_DIR/t.e11)" 'vmem limit exceeded.*requested 256 MiB' "the error file has the reason"
submit 12 "$SMALL,\"mem_bytes\":67108864" '' "$LOAD" touch 128
wait_state 12 ended 60
has "$(job 12)" '"limit":"mem"' "mem: killed" "$(job 12)"
has "$(cat $HOME_DIR/t.e12)" 'mem limit exceeded' "the error file has the reason"
submit 13 "$SMALL" '' "$LOAD" file 128
wait_state 13 ended 60
has "$(job 13)" '"limit":"jobfs"' "jobfs: killed" "$(job 13)"
submit 14 '"ncpus":1,"vmem_bytes":268435456,"jobfs_bytes":67108864,"walltime_s":3' '' sleep 60
wait_state 14 ended 30
has "$(job 14)" '"limit":"walltime"' "walltime: killed" "$(job 14)"
submit 15 "$SMALL" '' sh -c 'trap "" TERM; while :; do sleep 1; done'
wait_state 15 running
want 15 cancel
wait_state 15 ended 20
ok $? "who ignores TERM is killed after the grace" "$(job 15)"
submit 16 "$SMALL" '' sh -c 'setsid sleep 300 & (sleep 300 &) ; exit 0'
wait_state 16 ended 30
ok $? "what the main process leaves behind is ended" "$(job 16)"
pgrep -u alice sleep >/dev/null && r=1 || r=0
ok $r "nothing of the user's is left"
for i in 2 3 4 5 6 7 11 12 13 14 15 16; do settle $i; done
wait_for 10 holds_nothing; ok $? "all settled: the agent holds nothing"
[ -z "$(ls /var/lib/reeve/jobfs | grep -v lost+found)" ]; ok $? "no job disk is left" "$(ls /var/lib/reeve/jobfs)"
is_scrubbed() { ! grep -qa sesame-2-open $STATE/agent.db*; }
wait_for 30 is_scrubbed; ok $? "what was forgotten is in no file of the agent, its write-ahead log too"

# Cores that a suspended job gave back may be taken; it waits until they are free.
ALL=$(grep -c ^processor /proc/cpuinfo)
WIDE="\"ncpus\":$ALL,\"vmem_bytes\":67108864,\"jobfs_bytes\":8388608,\"walltime_s\":600"
submit 21 "$WIDE" '' sleep 300
wait_state 21 running
want 21 suspend
wait_state 21 suspended 20
submit 22 "$WIDE" '' sleep 300
wait_state 22 running 20
ok $? "the cores of a suspended job are given to another" "$(job 22)"
want 21 run
says_why() { job 21 | grep -q "waits for $ALL cores"; }
wait_for 20 says_why; ok $? "it says what it waits for" "$(job 21)"
state_is 21 suspended; ok $? "and stays suspended while they are taken"
want 22 cancel
wait_state 21 running 20
ok $? "and goes on when they are free" "$(job 21)"

# A suspended job that is cancelled while other jobs have its cores does not run for its SIGTERM.
want 21 suspend
wait_state 21 suspended 20
submit 23 "$WIDE" '' sh -c "trap 'touch $HOME_DIR/termed' TERM; while :; do sleep 0.1; done"
wait_state 23 running 20
want 23 suspend
wait_state 23 suspended 20
want 21 run
wait_state 21 running 20
want 23 cancel
wait_state 23 ended 20
ok $? "one that is suspended can be cancelled" "$(job 23)"
has "$(job 23)" 'ended without SIGTERM' "its report says that it had no SIGTERM"
[ ! -e $HOME_DIR/termed ]; ok $? "it did not run for one"
state_is 21 running; ok $? "and who has its cores runs on"

# The database is lost, the job is not.
pid=$(field 21 pid) began=$(field 21 running_ns)
systemctl stop reeve-agent
rm -f /var/lib/reeve/agent.db*
agent_start
submit 21 "$WIDE" '' sleep 300
wait_state 21 running 20
ok $? "without its database the agent takes over what runs" "$(job 21)"
[ "$(field 21 pid)" = "$pid" ] && kill -0 "$pid"; ok $? "untouched"
[ "$(field 21 running_ns)" -ge "$began" ]; ok $? "its clock went on"
[ -d /var/lib/reeve/jobfs/21-1/work ]; ok $? "its disk is there"

# The node boots under a job: the agent sees another boot id.
cat /proc/sys/kernel/random/uuid >/tmp/boot_id
systemctl stop reeve-agent
mount --bind /tmp/boot_id /proc/sys/kernel/random/boot_id
agent_start
wait_state 21 ended 20
has "$(job 21)" '"kind":"node-lost"' "after a boot its jobs are reported lost"
umount /proc/sys/kernel/random/boot_id
[ ! -e /var/lib/reeve/jobfs/21-1 ]; ok $? "and their disks removed"
settle 21
as bob busctl call org.reeve.Agent1 /org/reeve/Agent1 org.reeve.Agent1 Order s '{}' >/dev/null 2>&1 && r=1 || r=0
ok $r "a user may not give orders"
as bob busctl call org.reeve.Agent1 /org/reeve/Agent1 org.reeve.Agent1 Status >/dev/null 2>&1
ok $? "but may look"
[ $tap_bad = 0 ] || journalctl --no-pager -u reeve-agent | tail -n 150 | sed 's/^/# /'
tap_end
