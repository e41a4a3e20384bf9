#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# crash.sh [KILLS] - kill -9 of the agent wherever it happens to be in the life of its jobs:
# each runs once, to its own end, and is measured and reported once.
# shellcheck source=tests/node/agent/agent_lib.sh
. "${AGENT_LIB:-/usr/local/lib/reeve-tests/agent_lib.sh}"
KILLS=${1:-30}
mkdir -p /etc/systemd/system/reeve-agent.service.d
printf '[Unit]\nStartLimitIntervalSec=0\n[Service]\nRestartSec=50ms\n' \
	>/etc/systemd/system/reeve-agent.service.d/test.conf
agent_configure systemd
agent_start || { echo "Bail out! the agent does not start"; exit 1; }

TINY='"ncpus":1,"vmem_bytes":67108864,"jobfs_bytes":8388608,"walltime_s":600'
submit 1 "$TINY" '' sleep 3000
wait_state 1 running
pid=$(field 1 pid)
submit_part 2 "$TINY" ''
wait_state 2 running
holder=$(field 2 pid)
want 2 suspend # its core is the others'
wait_state 2 suspended
id=10
declare -A want_end
for i in $(seq "$KILLS"); do
	wait_for 60 agent_up
	id=$((id + 1))
	case $((i % 3)) in
	0) submit $id "$TINY" '' sh -c 'echo ran; sleep 1; exit 7' && want_end[$id]='"exit_status":7' ;;
	1) submit $id "$TINY" '' sh -c 'echo ran; kill -SEGV $$' && want_end[$id]='"signal":11' ;;
	2) submit $id "$TINY" '' sh -c "echo ran; exec $LOAD map 200" && want_end[$id]='"limit":"vmem"' ;;
	esac
	sleep "$((RANDOM % 3)).$((RANDOM % 10))"
	kill -9 "$(agent_pid)"
done
wait_for 60 agent_up
kill -0 "$pid"; ok $? "the long job ran through $KILLS kills of the agent"
kill -0 "$holder" && [ "$(field 2 pid)" = "$holder" ]; ok $? "so did the part that holds"
bad=0
for i in "${!want_end[@]}"; do
	wait_state "$i" ended 60
	j=$(job "$i") runs=$(grep -c ran $HOME_DIR/t.o"$i")
	if ! grep -q -- "${want_end[$i]}" <<<"$j" || [ "$runs" != 1 ]; then
		bad=$((bad + 1))
		echo "# job $i ran $runs times, wanted ${want_end[$i]}: $j"
		journalctl --no-pager -o short-precise | grep -E "job-$i-1|job $i:" | sed 's/^/#   /'
	fi
done
ok $bad "${#want_end[@]} jobs each ran once and ended as they did"
want 1 cancel
want 2 run
wait_state 2 running 30; ok $? "which goes on, suspended as it was all the time" "$(job 2)"
want 2 cancel
wait_state 2 ended 30; has "$(job 2)" '"kind":"cancelled"' "the part ends by order"
wait_state 1 ended 30
run=$(field 1 running_ns)
[ "$run" -gt 1000000000 ] && [ "$(field 1 suspended_ns)" = 0 ]; ok $? "the long job's clock went on: $run ns"
for i in 1 2 "${!want_end[@]}"; do settle "$i"; done
wait_for 10 holds_nothing; ok $? "nothing is held"
ls /var/lib/reeve/jobfs | grep -qE '^[0-9]'; ok $((!$?)) "nothing is left in jobfs"
find /sys/fs/cgroup/reeve.slice -name 'reeve-job*' | grep -q .; ok $((!$?)) "no cgroup is left"
[ -z "$(ls /run/reeve/final)" ]; ok $? "no final record is left"
tap_end
