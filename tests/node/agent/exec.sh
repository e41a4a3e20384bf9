#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# exec.sh MANAGER [TIER] - what is started in a job that runs (`reeve exec`) runs as the job's
# own command does, in its limits, once, and is followed to its end.
# shellcheck source=tests/node/agent/agent_lib.sh
. "${AGENT_LIB:-/usr/local/lib/reeve-tests/agent_lib.sh}"
MANAGER=${1:-systemd}
DISK=/var/lib/reeve/jobfs

# The job's own: its steps have states too.
state_is() { job "$1" | grep -oE '"state":"[a-z]+"' | head -n 1 | grep -q "\"$2\""; }

# exec_step ID STEP COMMAND...: in the job's environment and directory.
exec_step() {
	local id=$1 step=$2 argv='' a
	shift 2
	for a in "$@"; do argv="$argv${argv:+,}$(text_json "$a")"; done
	order "{\"schema\":\"reeve/1\",\"steps\":[{\"job\":$id,\"attempt\":1,\"step\":$step,\"want\":\"run\",
		\"argv\":[$argv]}]}"
}
cancel_step() {
	order "{\"schema\":\"reeve/1\",\"steps\":[{\"job\":$1,\"attempt\":1,\"step\":$2,\"want\":\"cancel\"}]}"
}
step() { job "$1" | grep -oE "\{\"job\":$1,\"attempt\":1,\"step\":$2,[^}]*\}"; }
step_is() { step "$1" "$2" | grep -q "\"state\":\"$3\""; }
wait_step() { wait_for "${4:-30}" step_is "$1" "$2" "$3"; }
out() { cat "$DISK/$1-1/steps/$2.out"; }
waiter() { # ID STEP: its process
	local lock
	lock=$(stat -c %i "/run/reeve/steps/$1-1-$2")
	awk -v i=":$lock" '$6 ~ i "$" { print $5; exit }' /proc/locks
}

echo 'proj:x:2001:alice' >>/etc/group
mkdir -p /etc/systemd/system/reeve-agent.service.d
printf '[Unit]\nStartLimitIntervalSec=0\n[Service]\nRestartSec=1ms\n' \
	>/etc/systemd/system/reeve-agent.service.d/test.conf
agent_configure "$MANAGER" ${2:+"VmemTier = $2"}
agent_start || { echo "Bail out! the agent does not start"; exit 1; }
status=$(reeve-agent --status)
has "$status" "^manager: $MANAGER" "the agent uses the $MANAGER manager"

# As the job's command: described by both, in every respect that can be seen.
cat >$HOME_DIR/facts <<'END'
#!/bin/bash
id; umask; ulimit -a; ulimit -Ha; env | grep -v '^_=' | sort; nice; cat /proc/self/cgroup
cat /proc/self/oom_score_adj; cut -d' ' -f4- /proc/self/mountinfo; ls /proc/self/fd
grep -E '^(Uid|Gid|Groups|Cap|NoNewPrivs|Seccomp|Cpus_allowed|Mems_allowed|Sig[BIC])' /proc/self/status
END
chmod 755 $HOME_DIR/facts
submit 1 "${SMALL/600/7200}" '' sh -c '$HOME/facts; exec sleep 7000'
wait_state 1 running 30
ok $? "a job runs" "$(job 1)"
exec_step 1 1 sh -c '$HOME/facts; echo $TMPDIR >&2; touch $TMPDIR/from-step /tmp/in-tmp; exit 5'
wait_step 1 1 ended
has "$(step 1 1)" '"exit_status":5,"signal":0' "a step in it ends with its status"
facts_are_written() { grep -q SigCgt $HOME_DIR/t.o1; }
wait_for 10 facts_are_written
d=$(diff $HOME_DIR/t.o1 <(out 1 1))
ok $? "it ran as the job's own command: user, groups, limits, environment, mounts, cgroup" "$d"
has "$(out 1 1)" 'groups=.*2001\(proj\)' "with the user's further groups"
has "$(out 1 1)" 'reeve-job-1-1.service/work' "in the job's cgroup"
has "$(cat $DISK/1-1/steps/1.err)" "$DISK/1-1/work" "it sees the job's TMPDIR"
[ -e $DISK/1-1/work/from-step ] && [ -e $DISK/1-1/tmp/in-tmp ]; ok $? "and wrote there, and in the job's own /tmp"
has "$(stat -c '%U %a' $DISK/1-1/steps/1.out)" '^alice 600$' "its output is the user's"
has "$(lsattr -p $DISK/1-1/steps/1.out)" "$(lsattr -pd $DISK/1-1/work | awk '{print $1}')" "and counts against the job's disk"

# What cannot be.
exec_step 1 2 no-such-command
wait_step 1 2 ended
has "$(step 1 2)" 'command not found: no-such-command' "a missing command is named"
order '{"schema":"reeve/1","steps":[{"job":1,"attempt":1,"step":3,"want":"run","argv":["true"],"workdir":"/nowhere"}]}'
wait_step 1 3 ended
has "$(step 1 3)" 'cannot enter working directory /nowhere' "a missing directory is named"
order '{"schema":"reeve/1","steps":[{"job":1,"attempt":1,"step":4,"want":"run","argv":["sh","-c","env"],"env":["MINE=1","REEVE_JOB=99"]}]}'
wait_step 1 4 ended
has "$(out 1 4)" '^MINE=1$' "a step may have an environment of its own"
has "$(out 1 4)" '^REEVE_JOB=1$' "but not of another job"

submit 6 "$SMALL,\"pids\":3" '' sh -c 'sleep 1000 & sleep 1000 & wait'
wait_state 6 running
three_run() { [ "$(cat "/sys/fs/cgroup$(field 6 cgroup)/pids.current")" = 3 ]; }
wait_for 20 three_run
exec_step 6 1 true
wait_step 6 1 ended
has "$(step 6 1)" 'reached its limit of 3 processes' "a job at its process limit takes no step"
want 6 cancel

# Who waits for steps is the job's: charged to it, counted, outside no more.
waiters() { local i; for i in "$@"; do waiter 7 "$i"; done; }
outside() { # bytes charged to the steps' own units; without systemd to the supervisors' cgroup
	if [ "$MANAGER" = systemd ]; then
		cat /sys/fs/cgroup/system.slice/reeve-step-7-1-*.service/memory.current 2>/dev/null
	else
		cat /sys/fs/cgroup/reeve-test/supervisors/memory.current 2>/dev/null
	fi | awk '{ n += $1 } END { print n + 0 }'
}
submit 7 "$SMALL,\"pids\":130" '' sleep 1000
wait_state 7 running
cg7=/sys/fs/cgroup$(field 7 cgroup)
before=$(cat "$cg7/memory.current") out_before=$(outside)
for i in $(seq 1 60); do exec_step 7 "$i" sleep 1000; done
sixty_wait() { [ "$(grep -c . "$cg7/waiters/cgroup.procs")" = 60 ] && [ "$(grep -c . "$cg7/work/cgroup.procs")" = 61 ]; }
wait_for 60 sixty_wait; ok $? "who waits for 60 steps is in the job's unit" "$(wc -l "$cg7"/*/cgroup.procs)"
[ "$(cat "$cg7/pids.current")" = 121 ]; ok $? "and counts against its processes" "$(cat "$cg7/pids.current")"
[ "$(cat "$cg7/work/cgroup.procs" "$cg7/waiters/cgroup.procs" | sort -u | wc -l)" = 121 ]; ok $? "each once"
inside=$((($(cat "$cg7/memory.current") - before) / 60)) left=$((($(outside) - out_before) / 60))
echo "# a step takes $inside bytes of the job's memory, and $left outside"
[ "$left" -lt 65536 ] && [ "$left" -lt $((inside / 2)) ]; ok $? "and its memory against the job's" "inside $inside, outside $left"
for i in 61 62 63 64 65 66; do exec_step 7 "$i" sleep 1000; done
wait_step 7 66 ended
has "$(step 7 66)" 'reached its limit of 130 processes' "a job that is full of steps is refused more"
pid=$(waiter 7 1)
[ "$MANAGER" = cgroup ] || has "$(cat /proc/$pid/oom_score_adj)" '^-1000$' "the OOM killer spares who writes down the end"
want 7 cancel
wait_state 7 ended 60
seven_are_told() { [ "$(job 7 | grep -oE '"state":"ended"' | wc -l)" -ge 60 ]; }
wait_for 30 seven_are_told; ok $? "all end with their job"

# A job whose only process has made namespaces of its own, as its user may: the job's view is the one that its manager made.
keeper() { pgrep -f "reeve-launch --views $RUN/views"; }
kept() { ls "/proc/$(keeper)/fd" | wc -l; }
namespaces() { readlink "/proc/$1/ns/mnt" "/proc/$1/ns/ipc"; }
before=$(kept)
submit 8 "$SMALL" '' sh -c 'ls /var/tmp; exec unshare -Urmi sleep 786'
wait_state 8 running
wait_for 20 pgrep -u alice -xf 'sleep 786'
[ "$(kept)" = $((before + 3)) ]; ok $? "the view of a job is kept" "$before, then $(kept)"
exec_step 8 1 sh -c 'echo of-step >/var/tmp/of-step; echo of-step >/dev/shm/of-step; ipcmk -M 1234; readlink /proc/self/ns/mnt /proc/self/ns/ipc'
wait_step 8 1 ended
has "$(step 8 1)" '"exit_status":0,"signal":0' "a step enters a job whose only process is in namespaces of its own" "$(step 8 1)"
[ -e $DISK/8-1/vartmp/of-step ] && [ ! -e /var/tmp/of-step ]; ok $? "it sees the job's /var/tmp" "$(ls -l $DISK/8-1/vartmp /var/tmp)"
[ ! -e /dev/shm/of-step ] && ! ipcs -m | grep -qw 1234; ok $? "and its shared memory" "$(ls /dev/shm; ipcs -m)"
[ "$(out 8 1 | tail -n 2)" != "$(namespaces 1)" ] && [ "$(out 8 1 | tail -n 2)" != "$(namespaces "$(pgrep -u alice -xf 'sleep 786')")" ]
ok $? "which are neither the node's nor those of that process" "$(out 8 1)"
systemctl kill -s KILL reeve-agent
wait_for 30 agent_up
systemctl restart reeve-agent
wait_for 30 agent_up
exec_step 8 2 sh -c 'cat /var/tmp/of-step /dev/shm/of-step; ipcs -m'
wait_step 8 2 ended
has "$(out 8 2 | tr '\n' ' ')" 'of-step of-step .* 1234 ' "so it is after the agent was killed and restarted" "$(step 8 2) $(out 8 2)"
exec_step 8 3 sh -c 'exec dd if=/dev/zero of=/var/tmp/much bs=1M count=128'
wait_state 8 ended 60
has "$(job 8)" '"limit":"jobfs"' "what a step writes there counts against the job's disk" "$(job 8)"
is_let_go() { [ "$(kept)" = "$before" ]; }
wait_for 10 is_let_go; ok $? "the view is gone with the job" "$before, now $(kept)"
has "$(cat /proc/$(keeper)/cgroup)" 'reeve-views-1-run-reeve.service|/supervisors$' "who keeps views is in no job"

# Many at once.
began=$(date +%s%N)
for i in $(seq 100 199); do
	exec_step 1 "$i" sh -c "seq 1 2000; exit $((i - 100))"
done
all_ended() { [ "$(job 1 | grep -oE '"step":1[0-9][0-9],"state":"ended"' | wc -l)" = 100 ]; }
wait_for 60 all_ended; ok $? "100 steps end"
echo "# after $((($(date +%s%N) - began) / 1000000)) ms"
bad='' told=$(job 1)
seq 1 2000 >/tmp/wanted
for i in $(seq 100 199); do
	[[ $told == *"\"step\":$i,\"state\":\"ended\",\"exit_status\":$((i - 100)),"* ]] || bad="$bad $i: status"
	cmp -s /tmp/wanted "$DISK/1-1/steps/$i.out" || bad="$bad $i: output"
done
[ -z "$bad" ]; ok $? "each with its status and all of its output" "$bad"

# An agent that is killed.
exec_step 1 10 sh -c 'echo ran; until [ -e $HOME/go10 ]; do sleep 0.1; done; exit 9'
exec_step 1 11 sh -c 'echo ran; until [ -e $HOME/go11 ]; do sleep 0.1; done; exit 8'
has_run() { [ "$(out 1 "$1")" = ran ]; }
wait_for 20 has_run 10 && wait_for 20 has_run 11; ok $? "two more run"
systemctl kill -s KILL reeve-agent
wait_for 30 agent_up
step_is 1 10 running; ok $? "an agent that was killed finds them again" "$(job 1)"
has "$(step 1 1)" '"exit_status":5' "and how others ended"
exec_step 1 10 sh -c 'echo ran'
systemctl stop reeve-agent
touch $HOME_DIR/go11
waiter_is_gone() { [ -z "$(waiter 1 11)" ]; }
wait_for 20 waiter_is_gone
agent_start
wait_step 1 11 ended
has "$(step 1 11)" '"exit_status":8' "one that ended while the agent was away: its status is known"
touch $HOME_DIR/go10
wait_step 1 10 ended
has "$(step 1 10)" '"exit_status":9' "one that ran on: too"
has_run 10 && has_run 11; ok $? "nothing was started twice" "$(out 1 10)"

# Cancel.
exec_step 1 12 sh -c 'trap "" TERM; setsid sh -c "trap \"\" TERM; echo ran; sleep 777" & wait; sleep 777'
wait_for 20 has_run 12
cancel_step 1 12
wait_step 1 12 ended
has "$(step 1 12)" '"signal":9' "one that ignores SIGTERM is killed after the grace"
pgrep -f 'sleep 777' >/dev/null && r=1 || r=0
ok $r "with all that it started"
state_is 1 running; ok $? "the job goes on"
exec_step 1 13 sh -c 'echo ran; exec sleep 778'
wait_for 20 has_run 13
kill -9 "$(waiter 1 13)"
wait_step 1 13 ended
has "$(step 1 13)" '"signal":9' "a waiter that is killed is noticed"
pkill -u alice -f 'sleep 778'

# An agent that is killed at each step of one: it runs once and its end is known, whatever is done
# again. The order comes again until the node's list shows it, as the controller gives it.
n=300 bad=''
while read -r function where <&3; do
	n=$((n + 1))
	crash_at "$(agent_pid)" "$function" "$where" 60 >/tmp/armed.$n 2>&1 &
	probe=$!
	wait_for 10 test -s /tmp/armed.$n
	exec_step 1 $n sh -c 'echo ran; sleep 1; exit 7' >/dev/null
	wait $probe || bad="$bad $function $where: not killed;"
	wait_for 30 agent_up
	exec_step 1 $n sh -c 'echo ran; sleep 1; exit 7'
	wait_step 1 $n ended || bad="$bad $function $where: does not end;"
	has_run $n && step 1 $n | grep -q '"exit_status":7' || bad="$bad $function $where: $(step 1 $n) $(out 1 $n);"
done 3<<'END'
step_add return
steps_write_spec entry
steps_write_spec return
steps_spawn entry
steps_spawn return
steps_output_watch entry
step_take_end entry
step_take_end return
END
[ -z "$bad" ]; ok $? "killed at each of $((n - 300)) points of a step's life, it runs once" "$bad"

# Suspended with its job.
want 1 suspend
wait_state 1 suspended 20
exec_step 1 14 sh -c 'echo ran'
begun() { [ "$(stat -c %a /run/reeve/steps/1-1-14)" = 400 ] && [ "$(grep -c . "/sys/fs/cgroup$(field 1 cgroup)/waiters/cgroup.procs")" = 1 ]; }
wait_for 20 begun; ok $? "a step of a suspended job enters it"
[ -z "$(out 1 14)" ] && step_is 1 14 running; ok $? "and does not run"
want 1 run
wait_step 1 14 ended
has_run 14; ok $? "until the job goes on"

# Committed: forgotten.
acks=''
for i in 1 2 3 4 10 11 12 13 14 $(seq 100 199) $(seq 301 $n); do acks="$acks${acks:+,}{\"job\":1,\"attempt\":1,\"step\":$i}"; done
order "{\"schema\":\"reeve/1\",\"step_acks\":[$acks]}"
[ -z "$(ls /run/reeve/steps | grep ^1-)" ]; ok $? "what is acknowledged is forgotten" "$(ls /run/reeve/steps | head)"

# The job's limits are the steps'.
submit 2 "$SMALL" '' sleep 1000
wait_state 2 running
over=(map 512)
grep -q '^tier: [23]' <<<"$status" && over=(forks 16 40)
exec_step 2 1 "$LOAD" "${over[@]}"
wait_state 2 ended 30
has "$(job 2)" '"limit":"vmem"' "a step that exceeds vmem ends the job" "$(job 2)"
has "$(cat $HOME_DIR/t.e2)" 'vmem limit exceeded.*requested 256 MiB' "and its error file has the reason"
submit 3 "$SMALL,\"mem_bytes\":67108864" '' sleep 1000
wait_state 3 running
exec_step 3 1 "$LOAD" touch 128
wait_state 3 ended 60
has "$(job 3)" '"limit":"mem"' "memory: the same"
wait_step 3 1 ended 30
has "$(step 3 1)" '"signal":9' "how the step ended is known"
lost=$(journalctl -u reeve-agent | grep -c 'job 3: the waiter of step 1 was killed')
[ "$lost" = 0 ]; ok $? "from its waiter, which the OOM killer has spared"
submit 4 "$SMALL" '' sleep 1000
wait_state 4 running
exec_step 4 1 sh -c 'exec dd if=/dev/zero bs=1M count=128'
wait_state 4 ended 60
has "$(job 4)" '"limit":"jobfs"' "what a step prints counts against the job's disk"

# Over with the job.
submit 5 "$SMALL" '' sh -c 'until [ -e $HOME/go5 ]; do sleep 0.1; done; exit 6'
wait_state 5 running
exec_step 5 1 sh -c 'echo ran; exec setsid -w sleep 779'
five_runs() { [ "$(out 5 1)" = ran ]; }
wait_for 20 five_runs
touch $HOME_DIR/go5
wait_state 5 ended 30
has "$(job 5)" '"exit_status":6' "a job ends while a step runs"
pgrep -f 'sleep 779' >/dev/null && r=1 || r=0
ok $r "which ends with it"
wait_step 5 1 ended
ok $? "and is reported as ended" "$(job 5)"
exec_step 5 2 true
wait_step 5 2 ended
has "$(step 5 2)" 'the job ended' "another is refused, in words"
want 1 cancel
wait_state 1 ended 30
for i in 1 2 3 4 5 6 7 8; do settle $i; done
wait_for 10 holds_nothing; ok $? "all settled: the agent holds nothing"
[ -z "$(ls /run/reeve/steps)" ]; ok $? "and nothing of steps is left" "$(ls /run/reeve/steps)"
units_are_gone() { [ -z "$(systemctl list-units --all --plain --no-legend 'reeve-step-*')" ] && ! pgrep -f 'reeve-launch --step'; }
wait_for 20 units_are_gone; ok $? "nor of their waiters" "$(systemctl list-units --all --plain --no-legend 'reeve-step-*')"
[ -z "$(ls $DISK | grep -v lost+found)" ]; ok $? "no job disk is left" "$(ls $DISK)"
[ $tap_bad = 0 ] || journalctl --no-pager -u reeve-agent -u 'reeve-step-*' | tail -n 150 | sed 's/^/# /'
tap_end
