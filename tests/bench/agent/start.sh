#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# start.sh [JOBS] - what a job of `true` costs on its node, and how long a user waits for it: a real controller, `reeve run` and a
# real agent with the cgroup manager, ledger and state on disk. Beside it the least that this machine needs (spawn_floor.c).
# Goals: `reeve run -- true` in 25 ms, 3 ms of the agent's processor time a job, no stop of its loop above 1 ms. Needs root.
set -uo pipefail
cd "$(dirname "$0")/../../.." || exit 1
. tests/cluster/lib/tap_lib.sh
. tests/cluster/lib/live_lib.sh
. tests/cluster/lib/play_lib.sh
. tests/cluster/monitoring/agent_lib.sh
jobs=${1:-100}
[ "$(id -u)" = 0 ] && agent_possible || { echo "no figures: needs root and a cgroup v2"; exit 1; }
live_dir agent-start
trap 'agent_end; live_end' EXIT
bail() { echo "no figures: $*" && exit 1; }
live_munge
configure() {
	live_controller >"$dir/controller.conf"
	printf '%s\n' '[Cluster main]' 'DefaultResources = jobfs=1MB,walltime=1:00:00,vmem=100MB' '[Account physics]' 'Users = daemon' \
		>>"$dir/controller.conf"
}
live_open configure
cp build/bin/reeve "$dir/reeve"
printf '[Client]\nController = %s\nMungeSocket = %s/munge.sock\n' "$url" "$dir" >"$dir/client.conf"
chmod 644 "$dir/client.conf"
for how in "-shared -fPIC -o $dir/watch.so" "-DCONTROL -o $dir/watch"; do
	# shellcheck disable=SC2086 # words
	${CC:-cc} -std=gnu17 -D_GNU_SOURCE -O2 $how tests/bench/agent/loop_watch.c || bail "loop_watch.c does not compile"
done
${CC:-cc} -std=gnu17 -D_GNU_SOURCE -O2 -o "$dir/floor" tests/bench/agent/spawn_floor.c || bail "spawn_floor.c does not compile"
# shellcheck disable=SC2034 # of agent_lib.sh
AGENT_PRELOAD=$dir/watch.so AGENT_STATE_ON_DISK=1
export LOOP_WATCH=$dir/watch.words
r() { setpriv --reuid 1 --regid 1 --clear-groups env HOME=/ "$dir/reeve" "$@"; }
true_job() { r run --config "$dir/client.conf" -l ncpus=1 -d / -- /bin/true; }
agent_open
is_up() { ask 0 GET /v1/nodes | grep -o '"state":"up"'; }
until_has up is_up || bail "no node: $(tail -n 5 "$agent_dir/log")"
true_job >"$dir/o" 2>&1 || bail "no job runs: $(cat "$dir/o"); $(tail -n 5 "$agent_dir/log")"

cpu_us() { awk '{ ns += $1 } END { printf "%d\n", ns / 1000 }' /proc/"$agent_pid"/task/*/schedstat; } # of all its threads
exchanges() { ask 0 GET /metrics | awk '$1 == "reeve_syncs_total" { print $2 }'; }
now_us() { echo $(($(date +%s%N) / 1000)); }
percentiles() { sort -n | awk '{ v[NR] = $1 } END { printf "p50 %.1f p99 %.1f least %.1f", v[int((NR + 1) / 2)], v[int((NR * 99 + 99) / 100)], v[1] }'; }
settled() { [ "$(ask 0 GET '/v1/jobs?limit=500' | grep -oE '"state":"(queued|running|starting|pending)"' | wc -l)" = 0 ] && echo settled; }
echo "-- $(uname -r), $(nproc) cores, load $(cut -d' ' -f1-3 /proc/loadavg)"
mkdir "$agent_group/floor"
"$dir/floor" "$agent_group/floor" "$agent_dir/floor" "$jobs" >"$dir/floor.out" || bail "$(cat "$dir/floor.out")"
rmdir "$agent_group/floor"
echo "floor, means: $(cat "$dir/floor.out")"
floor=$(awk '{ print $2 + $6 }' "$dir/floor.out")

"$dir/watch" "$LOOP_WATCH" reset
before=$(cpu_us) told=$(exchanges)
for _ in $(seq "$jobs"); do
	from=$(now_us)
	true_job >/dev/null 2>&1 || bail "a job failed: $(tail -n 5 "$agent_dir/log")"
	echo "$((($(now_us) - from)))" | awk '{ print $1 / 1000 }'
done >"$dir/times"
[ "$(wc -l <"$dir/times")" = "$jobs" ] || bail "$(tail -n 1 "$dir/times")"
until_has settled settled
watched=$("$dir/watch" "$LOOP_WATCH") || bail "the loop was not watched"
echo "reeve run -- true, ms: $(percentiles <"$dir/times"), x$(sort -n "$dir/times" | awk -v f="$floor" '{ v[NR] = $1 } END { printf "%.1f", v[int((NR + 1) / 2)] / f }') of the floor (a process in a cgroup, a synced page)"
awk -v t=$(($(cpu_us) - before)) -v e=$(($(exchanges) - told)) -v n="$jobs" \
	'{ printf "agent: %.2f ms of processor time a job, %.1f exchanges, %.1f syncs a job\n", t / 1000 / n, e / n, $12 / n }' <<<"$watched"
echo "its loop, us: $watched"

"$dir/watch" "$LOOP_WATCH" reset
before=$(cpu_us) told=$(exchanges) from=$(now_us)
r submit --config "$dir/client.conf" -l ncpus=1 -d / -o /dev/null -e /dev/null -J "1-$jobs" -- /bin/true >"$dir/o" 2>&1 || bail "$(cat "$dir/o")"
array_over() { r jobs -a --config "$dir/client.conf" --json 2>/dev/null | grep -oE '"state": ?"(queued|running|starting|pending|held)"' | wc -l; }
for _ in $(seq 1200); do [ "$(array_over)" = 0 ] && break; sleep 0.2; done
took=$(($(now_us) - from))
watched=$("$dir/watch" "$LOOP_WATCH") || bail "the loop was not watched"
awk -v t=$(($(cpu_us) - before)) -v e=$(($(exchanges) - told)) -v n="$jobs" -v us=$took \
	'{ printf "an array of %d, one core each: %.1f jobs/s; agent: %.2f ms of processor time a job, %.1f exchanges, %.1f syncs a job\n", n, n * 1e6 / us, t / 1000 / n, e / n, $12 / n }' <<<"$watched"
echo "its loop, us: $watched"
