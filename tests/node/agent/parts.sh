#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# parts.sh MANAGER - the part of a job whose command runs on another node: it is held, what is
# put into it keeps to its limits, and it ends by order, by a limit, or with its holder.
# shellcheck source=tests/node/agent/agent_lib.sh
. "${AGENT_LIB:-/usr/local/lib/reeve-tests/agent_lib.sh}"
agent_configure "${1:-systemd}"
agent_start || { echo "Bail out! the agent does not start"; exit 1; }

is_fd_null() { [ "$(readlink "$1")" = /dev/null ]; }
opens_nothing() { # PID
	local fd

	for fd in /proc/"$1"/fd/*; do is_fd_null "$fd" || return 1; done
}
enter() { # ID COMMAND...: as the user in the job's cgroup and its view of the files, as a step would be
	local id=$1 disk=/var/lib/reeve/jobfs/$1-1/work

	shift
	# shellcheck disable=SC2016
	bash -c 'echo $$ >"$0/work/cgroup.procs" && exec nsenter --mount --target "$1" setpriv --reuid alice --regid alice \
		--init-groups --no-new-privs "${@:2}"' "/sys/fs/cgroup$(field "$id" cgroup)" "$(field "$id" pid)" \
		env TMPDIR="$disk" REEVE_JOBFS="$disk" "$@"
}
ends() { # ID TEXT: within a while, in a way of which TEXT is written
	wait_state "$1" ended 40
	has "$(job "$1")" "$2" "$3" "$(job "$1")"
}
none_of_alice() { ! pgrep -u alice "$1"; }

# ---- it is held ----
submit_part 31 "$SMALL,\"pids\":50" '"stream":true'
wait_state 31 running 30
ok $? "a part without a command runs" "$(job 31)"
state_is 31 running || { journalctl --no-pager -u reeve-agent | tail -n 40; echo "Bail out! no part runs"; exit 1; }
pid=$(field 31 pid) cg=/sys/fs/cgroup$(field 31 cgroup) disk=/var/lib/reeve/jobfs/31-1
closes() { opens_nothing "$pid"; }
wait_for 10 closes; ok $? "its holder has nothing open" "$(ls -l "/proc/$pid/fd" 2>&1)"
has "$(stat -c %U "/proc/$pid")" alice "and is the user's"
has "$(cat "/proc/$pid/cgroup")" 'reeve-job-31-1.service/work' "in the job's cgroup"
has "$(awk '/State/ {print $2}' "/proc/$pid/status")" S "asleep"
[ ! -e $HOME_DIR/t.o31 ] && [ ! -e $HOME_DIR/t.e31 ] && [ ! -e "$disk/out" ]
ok $? "no output file is made" "$(ls $HOME_DIR "$disk")"
has "$(cat "$disk/hostfile")" '^n1 slots=3$' "its disk has the hostfile"
has "$(grep -cx n1 "$disk/nodefile") $(grep -cx n-2 "$disk/nodefile")" '^3 1$' "and the list of nodes, by cores"
has "$(stat -c '%U %a' "$disk/hostfile" "$disk/nodefile" | sort -u)" '^root 444$' "both root's, to read"
enter 31 cat "$disk/hostfile" >/dev/null; ok $? "the user reads them"
enter 31 rm -f "$disk/hostfile" 2>/dev/null; [ -e "$disk/hostfile" ]; ok $? "and cannot replace them"

# ---- its limits hold what is started in it ----
out=$(enter 31 grep Cpus_allowed_list /proc/self/status)
has "$out" "[[:space:]]$(field 31 cpus)$" "what is started there has its cores" "$out"
enter 31 "$LOAD" work 3 16 >/dev/null
measured() { [ "$(field 31 cpu_ns)" -gt 1000000000 ]; }
wait_for 20 measured; ok $? "and is measured" "$(job 31)"
enter 31 sleep 300 &
by_hand=$!
inside() { [ "$(wc -l <"$cg/work/cgroup.procs")" -ge 2 ]; }
wait_for 10 inside; ok $? "a process beside the holder"

want 31 suspend
wait_state 31 suspended 20; ok $? "a part is suspended" "$(job 31)"
has "$(cat "$cg/cgroup.events")" 'frozen 1' "with all that is in it"
[ -z "$(field 31 cpus)" ]; ok $? "its cores are free"
want 31 run
wait_state 31 running 20; ok $? "and resumed" "$(job 31)"

kill -9 "$(agent_pid)"
wait_for 30 agent_up
wait_state 31 running 20; ok $? "an agent that was killed finds it again" "$(job 31)"
[ "$pid" = "$(field 31 pid)" ] && kill -0 "$pid"; ok $? "untouched"

systemctl stop reeve-agent
rm -f /var/lib/reeve/agent.db*
agent_start
found() { reeve-agent --status | grep -q 'of which the agent has no record'; }
wait_for 20 found; ok $? "without its database it is one that the agent does not know"
submit_part 31 "$SMALL,\"pids\":50" '"stream":true'
wait_state 31 running 20; ok $? "and starts when it gets the order" "$(job 31)"
[ "$pid" = "$(field 31 pid)" ] && kill -0 "$pid"; ok $? "as it runs"

want 31 cancel
ends 31 '"kind":"cancelled"' "by order it ends as cancelled"
has "$(job 31)" '"vmem_peak_bytes":[1-9]' "its usage is reported"
wait "$by_hand" 2>/dev/null
none_of_alice sleep; ok $? "what was started in it has ended too"
[ ! -e $HOME_DIR/t.e31 ]; ok $? "and nothing is written anywhere"
[ ! -e "$disk" ]; ok $? "its disk is gone"

# ---- limits end it ----
over=(map 512)
reeve-agent --status | grep -q '^tier: [23]' && over=(forks 16 40)
submit_part 32 "$SMALL" ''
wait_state 32 running 30
enter 32 "$LOAD" "${over[@]}" >/dev/null 2>&1
ends 32 '"limit":"vmem"' "vmem of what was started there: the part is killed"
submit_part 33 "$SMALL" ''
wait_state 33 running 30
enter 33 "$LOAD" file 128 >/dev/null 2>&1
ends 33 '"limit":"jobfs"' "jobfs: killed"
submit_part 34 '"ncpus":1,"vmem_bytes":268435456,"jobfs_bytes":67108864,"walltime_s":3' ''
ends 34 '"limit":"walltime"' "walltime: killed"
submit_part 35 "$SMALL" ''
wait_state 35 running 30
enter 35 sleep 300 &
by_hand=$!
is_there() { pgrep -u alice sleep; }
wait_for 10 is_there
kill -9 "$(field 35 pid)"
ends 35 '"signal":9' "a kill of its holder ends it, by that signal"
wait "$by_hand" 2>/dev/null
none_of_alice sleep; ok $? "with what was started in it"

# ---- what a part's environment must say ----
# shellcheck disable=SC2016
submit 36 "$SMALL" '"part":{"index":0,"n":2,"hosts":"n1=2,n-2=1"}' sh -c 'env; cat $REEVE_NODEFILE
	echo "sees $(cat /sys/fs/cgroup$(sed -n "s/^0:://p" /proc/self/cgroup)/cpuset.cpus.effective)"'
wait_state 36 ended 30
out=$(cat $HOME_DIR/t.o36)
has "$out" '^REEVE_NODELIST=n1,n-2$' "part 0 gets the nodes"
has "$out" '^REEVE_NCPUS_ALL=3$' "and all the cores"
has "$out" '^OMPI_MCA_plm_rsh_agent=reeve exec --rsh$' "an MPI gets the way to start there"
has "$out" '^n1 slots=2$' "and its file is there"
has "$out" "^sees $(sed -n 's/^REEVE_CPUS=//p' <<<"$out")$" "where libraries look for its cores, it sees those alone"
submit_part 37 "$SMALL" '' 'n1=3,n-2'
ends 37 'the nodes of the job cannot be read' "nodes that cannot be read: refused, in words"
for i in 31 32 33 34 35 36 37; do settle $i; done
wait_for 10 holds_nothing; ok $? "no part is left"
[ $tap_bad = 0 ] || journalctl --no-pager -u reeve-agent | tail -n 150 | sed 's/^/# /'
tap_end
