#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# steps.sh [PART PARTS] - kill -9 of the agent at every step of a job's start and end: where a
# step of its life begins and where it ends, and before and after each effect in between (or at every
# PARTS-th of them). A new job for each; the agent comes back and goes on with those before. Each
# job then has run once, ended as it did, and left nothing.
# shellcheck source=tests/node/agent/agent_lib.sh
. "${AGENT_LIB:-/usr/local/lib/reeve-tests/agent_lib.sh}"

mkdir -p /etc/systemd/system/reeve-agent.service.d
printf '[Unit]\nStartLimitIntervalSec=0\n[Service]\nRestartSec=1ms\n' \
	>/etc/systemd/system/reeve-agent.service.d/test.conf
PART=${1:-0} PARTS=${2:-1}
agent_configure systemd
agent_start || { echo "Bail out! the agent does not start"; exit 1; }
TINY='"ncpus":1,"vmem_bytes":67108864,"jobfs_bytes":8388608,"walltime_s":600'

# KIND FUNCTION WHERE: every act of the flow (agent/job/phases.c), entered after its step was saved
# and left before the next is; what it does in between; and each save and report.
POINTS='exit job_new return
exit job_prepare entry
exit jobfs_create entry
exit jobfs_create return
exit job_prepare return
exit job_start_unit entry
exit job_start_unit return
exit job_on_unit_started entry
exit on_hello entry
exit vmem_add return
exit events_add return
exit guard_add return
exit sample_add return
exit on_hello return
exit on_opened entry
exit on_opened return
exit limit_arm_clock entry
exit report_put return
exit on_final entry
exit job_finish entry
exit report_measure_last return
exit vmem_remove return
exit job_detach return
exit job_finish return
exit job_drain entry
exit job_clean entry
exit jobfs_remove entry
exit jobfs_remove return
exit on_removed entry
exit job_report_final entry
exit spool_put return
exit final_remove entry
exit final_remove return
exit job_settle entry
exit state_forget return
limit limit_on_vmem entry
limit job_kill_now return
limit limit_on_vmem return
limit end_message_write return
cancel job_latch_end return
cancel job_terminate entry
cancel job_terminate return
part jobfs_create return
part on_hello entry
part on_hello return
part on_opened entry
part on_opened return
part limit_arm_clock entry
held job_latch_end return
held job_terminate return
held job_finish return'

dispatch() { # KIND ID: sends the job as the controller does, until the node has it
	case $1 in
	exit) submit "$2" "$TINY" '' sh -c 'echo ran; exit 7' ;;
	limit) submit "$2" "$TINY" '' sh -c "echo ran; exec $LOAD map 200" ;;
	cancel) submit "$2" "$TINY" '' sh -c 'echo ran; exec sleep 600' ;;
	part | held) submit_part "$2" "$TINY" '' ;;
	esac >/dev/null
}
declare -A END=([exit]='"exit_status":7' [limit]='"limit":"vmem"' [cancel]='"kind":"cancelled"'
	[part]='"kind":"cancelled"' [held]='"kind":"cancelled"')

settle_all() { for i in $(seq 101 $id); do settle "$i" >/dev/null; done; }
left_over() { # what is still here of any job
	find /sys/fs/cgroup -name 'reeve-job-*'
	find /var/lib/reeve/jobfs /run/reeve/final -name '*-1'
	busctl get-property org.reeve.Agent1 /org/reeve/Agent1 org.reeve.Agent1 Jobs | grep -v '^ax 0$'
}
nothing_is_left() { [ -z "$(left_over)" ]; }

crash() { # KIND FUNCTION WHERE
	local armed=/tmp/armed.$id probe

	crash_at "$(agent_pid)" "$2" "$3" 60 >"$armed" 2>&1 &
	probe=$!
	wait_for 10 test -s "$armed"
	dispatch "$1" $id
	if [ "$1" = cancel ]; then
		wait_for 20 grep -qs ran "$HOME_DIR/t.o$id"
		want $id cancel >/dev/null
	elif [ "$1" = held ]; then
		wait_state $id running 20
		want $id cancel >/dev/null
	elif [ "$2" = job_settle ] || [ "$2" = state_forget ]; then
		wait_state $id ended 30
		settled[$id]=1
		settle $id >/dev/null
	fi
	wait $probe
	ok $? "killed at $2, $3 ($1)" "$(cat "$armed")"
	wait_for 30 agent_up
	[ -z "${settled[$id]:-}" ] || return
	dispatch "$1" $id
	[ "$1" != part ] || wait_state $id running 20
	[[ $1 = exit || $1 = limit ]] || want $id cancel >/dev/null
}

why() { # ID KIND: what is wrong with it
	local j ran

	wait_state "$1" ended 30 || echo "it did not end"
	j=$(job "$1")
	grep -q -- "${END[$2]}" <<<"$j" || echo "not ${END[$2]}"
	grep -q '"running_ns":[1-9]' <<<"$j" || echo "no running time"
	if [ "$2" = part ] || [ "$2" = held ]; then
		[ ! -e "$HOME_DIR/t.o$1" ] || echo "it made an output file"
		return
	fi
	ran=$(grep -c ran "$HOME_DIR/t.o$1")
	[ "$ran" = 1 ] || echo "it ran $ran times"
}

id=100 n=0
declare -A kinds settled
while read -r kind function where <&3; do
	n=$((n + 1))
	[ $((n % PARTS)) = "$PART" ] || continue
	id=$((id + 1))
	kinds[$id]=$kind
	crash "$kind" "$function" "$where"
done 3<<<"$POINTS"
bad=0
for i in $(seq 101 $id); do
	[ -z "${settled[$i]:-}" ] || continue
	w=$(why "$i" "${kinds[$i]}")
	[ -n "$w" ] || continue
	bad=$((bad + 1))
	printf '# job %d: %s %s\n' "$i" "$w" "$(job "$i")"
	journalctl --no-pager -o short-precise | grep -E "job-$i-1|job $i:" | tail -n 20 | sed 's/^/#   /'
done
ok $bad "each of $((id - 100)) jobs ran once and ended as it did"
settle_all
wait_for 15 nothing_is_left; ok $? "nothing is left of any" "$(left_over)"
tap_end
