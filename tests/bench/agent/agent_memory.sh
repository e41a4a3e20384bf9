#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# agent_memory.sh [JOBS [PROCESSES]] - what a reeve-agent weighs that holds 1,000 jobs of 10
# processes. The agent is the real one with the cgroup manager, below a cgroup of this bench's
# own: it starts every job itself, samples without a controller, is killed, comes back, adopts.
# Its state names a controller that does not answer (munge signs all the same), so that what it
# builds to send is in the figures. Needs root.
set -u
cd "$(dirname "$0")/../../.." || exit 1
jobs=${1:-1000} each=${2:-10}
bin=${BUILD:-$PWD/build}
mount=/sys/fs/cgroup
[ -e $mount/cgroup.procs ] || mount=$mount/unified
name=reeve-bench-agent-$$
pid=
[ "$(id -u)" = 0 ] || { echo "no figures: needs root"; exit 1; }
[ -e "$mount/cgroup.procs" ] || { echo "no figures: no cgroup v2 here"; exit 1; }
dir=$(mktemp -d "${TMPDIR:-/tmp}/reeve-bench.XXXXXX") && chmod 755 "$dir" || exit 1

stop_pid() { # PID of a child
	kill -9 "$1"
	wait "$1"
}
remove_cgroups() {
	echo 1 >"$mount/$name/cgroup.kill"
	for _ in $(seq 100); do
		find "$mount/$name" -depth -type d -exec rmdir {} + 2>/dev/null
		[ -d "$mount/$name" ] || return
		sleep 0.1
	done
	echo "left behind: $mount/$name"
}
stop() {
	[ -z "$pid" ] || stop_pid "$pid" 2>/dev/null
	[ ! -s "$dir/munged.pid" ] || kill "$(cat "$dir/munged.pid")"
	[ ! -d "$mount/$name" ] || remove_cgroups
	wait
	umount "$dir/bpf" 2>/dev/null
	rm -rf "$dir"
}
trap stop EXIT
trap 'exit 1' INT TERM
fail() { echo "no figures: $*"; [ ! -s "$dir/log" ] || grep -v 'note:' "$dir/log" | tail -n 5; exit 1; }

start_munge() {
	command -v munged >/dev/null || fail "no munged"
	dd if=/dev/urandom of="$dir/munge.key" bs=128 count=1 2>/dev/null && chmod 600 "$dir/munge.key"
	munged --force --key-file="$dir/munge.key" --socket="$dir/munge.sock" \
		--pid-file="$dir/munged.pid" --log-file="$dir/munge.log" --seed-file="$dir/munge.seed" \
		2>"$dir/munge.err" || fail "munged does not start: $(cat "$dir/munge.err")"
}

start_agent() {
	: >"$dir/log"
	"$bin/bin/reeve-agent" --config "$dir/agent.conf" >/dev/null 2>>"$dir/log" &
	pid=$!
}

wait_for() { # SECONDS WHAT COMMAND...
	local end=$((SECONDS + $1)) what=$2
	shift 2
	until "$@"; do
		kill -0 "$pid" 2>/dev/null || fail "the agent ended before $what"
		[ $SECONDS -lt $end ] || fail "$what: not within the time"
		sleep 0.5
	done
}

count_is() { # PATTERN N: so many lines of the agent's log
	[ "$(grep -c "$1" "$dir/log")" -ge "$2" ]
}
processes() { cat "$mount/$name"/jobs/*/work/cgroup.procs 2>/dev/null | wc -l; }
all_run() { [ "$(processes)" -ge $((jobs * each)) ]; }
is_sampled() { # every job has a figure of its processes on record, as measured
	[ "$(sqlite3 -readonly "$dir/state/agent.db" "SELECT count(*) FROM attempts
		WHERE json_extract(body, '\$.step') = 'running'
		AND json_extract(body, '\$.usage.$figure') >= $1" 2>/dev/null)" = "$jobs" ]
}

kib() { sed -nE "s/^$1:[[:space:]]*([0-9]+) kB/\1/p" "/proc/$pid/$2"; } # KEY FILE
weigh() { # WHAT GOAL_KIB
	local rss pss goal_kib=$2
	rss=$(kib VmRSS status) pss=$(kib Pss smaps_rollup)
	printf '%-26s %6d KiB resident, x%s of the goal of %d KiB' "$1" "$rss" \
		"$(awk "BEGIN { printf \"%.2f\", $rss / $goal_kib }")" $goal_kib
	printf ': %d its own, %d of files and maps; %d at most; %d KiB Pss\n' "$(kib RssAnon status)" \
		"$(kib RssFile status)" "$(kib VmHWM status)" "$pss"
	[ -z "${KEEP_MAPS:-}" ] || cp "/proc/$pid/smaps" "$KEEP_MAPS/${1// /-}.smaps"
	last_rss=$rss
}

mkdir "$dir/run" "$dir/state" "$dir/bpf" "$dir/jobfs"
mount -t bpf none "$dir/bpf" || fail "cannot mount bpffs"
cp "$bin/tests/bench/agent/agent_memory" "$bin/bin/reeve-launch" "$dir/" && chmod 755 "$dir"/agent_memory || exit 1
start_munge
cat >"$dir/agent.conf" <<-CONF
	[Agent]
	Node = bench
	Controller = http://127.0.0.1:9
	ControllerUser = nobody
	MungeSocket = $dir/munge.sock
	RunDirectory = $dir/run
	StateDirectory = $dir/state
	JobfsDirectory = $dir/jobfs
	PinDirectory = $dir/bpf/reeve
	LaunchProgram = $dir/reeve-launch
	CgroupParent = $name
	Manager = cgroup
	ReservedCores = 0
	SampleInterval = 2s
	ReportInterval = 5s
CONF

figure=procs_peak
[ -e "$mount/cgroup.controllers" ] && grep -q pids "$mount/cgroup.controllers" || figure=rss_peak_bytes
start_agent
wait_for 60 "it was ready" count_is ': tier ' 1
sleep 3
weigh "no job" 8192
empty_rss=$last_rss
stop_pid "$pid" 2>/dev/null
"$dir/agent_memory" fill "$dir/state" "$jobs" "$dir/agent_memory" "$each" || fail "the state cannot be made"
start_agent
begin=$SECONDS
wait_for 400 "all jobs ran" all_run
echo "$jobs jobs, $(processes) processes: started by the agent in $((SECONDS - begin)) s"
wait_for 60 "all jobs were measured" is_sampled 1
sleep 10
weigh "all started by it" 12288
stop_pid "$pid" 2>/dev/null
start_agent
wait_for 60 "all jobs were found again" count_is 'found again' "$jobs"
sleep 15
[ "$(processes)" -ge $((jobs * each)) ] || fail "jobs were lost: $(processes) processes are left"
weigh "found again after a kill" 12288
echo "$(((last_rss - empty_rss) * 1024 / jobs)) bytes resident for each job"
