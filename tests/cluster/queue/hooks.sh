#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# hooks.sh - [Hooks]: a real controller runs a site's program for what happens to jobs and nodes,
# while a client plays the node. TAP. Needs root (to be nodes and users).
set -u
cd "$(dirname "$0")/../../.." || exit 1
. tests/cluster/lib/tap_lib.sh
. tests/cluster/lib/live_lib.sh
. tests/cluster/lib/play_lib.sh
[ "$(id -u)" = 0 ] || { echo "1..0 # SKIP needs root to be nodes and users"; exit 0; }
live_dir hooks
export HOME=$dir XDG_CONFIG_HOME=$dir/.config LC_ALL=C.UTF-8 TZ=UTC
unset REEVE_CONTROLLER REEVE_PROFILES
hook=$dir/hook log=$dir/events_seen
live_munge
database=$dir/live.db
if [ -n "${REEVE_TEST_POSTGRES:-}" ]; then
	psql -q "$REEVE_TEST_POSTGRES" -c "CREATE SCHEMA IF NOT EXISTS c$$_hooks" 2>/dev/null >&2
	database="$REEVE_TEST_POSTGRES&options=-csearch_path%3Dc$$_hooks"
fi
# Told: "EVENT WHAT". It hangs while $dir/hang is there, and fails with 7 while $dir/fail is.
cat >"$hook" <<HOOK
#!/bin/bash
cat >"$dir/doc.\$\$"
mv "$dir/doc.\$\$" "$dir/doc.\$REEVE_EVENT.\${REEVE_JOB:-\$REEVE_NODE}"
env >"$dir/env.\$REEVE_EVENT"
ls -l /proc/self/fd >"$dir/fds"
echo "\$REEVE_EVENT \${REEVE_JOB:-\$REEVE_NODE}" >>"$log.begun"
while [ -e "$dir/hang" ]; do sleep 0.05 & echo \$! >"$dir/child"; wait; done
echo "\$REEVE_EVENT \${REEVE_JOB:-\$REEVE_NODE}" >>"$log"
[ ! -e "$dir/fail" ] || exit 7
HOOK
chmod 755 "$hook"
: >"$log"; : >"$log.begun"
configure() { # KEYS of [Hooks], by blanks
	cat >"$dir/controller.conf" <<-CONF
		$(live_controller "$database")
		NodeLost = ${node_lost:-120}
		[Cluster main]
		GpuBundleGpus = 1
		DefaultResources = vmem=1GiB,jobfs=100MB,walltime=1:00:00
		[Account physics]
		Users = daemon, bin
		[Hooks]
		Program = $hook
	CONF
	tr ' ' '\n' <<<"$*" >>"$dir/controller.conf"
}
again() { # KEYS: restarts the controller
	live_stop
	configure "$@"
	live_start || bail "the controller does not start again: $(cat "$dir/controller.log")"
}
submit() { # [GPUS [UID]]
	ask "${2:-1}" POST /v1/jobs '{"schema":"reeve/1","request":{"cluster":"main","account":"physics","name":"j","workdir":"/","argv":["/bin/true"],
"resources":{"ncpus":1'"${1:+,\"ngpus\":$1}"'}}}' | python3 -c 'import json,sys; print(json.loads(sys.stdin.read().split("\n", 1)[1])["job"])'
}
now=$(date +%s)
sync_as() { # JOBS REPORTS [BOOT]
	local amounts='"ncpus":64,"mem_bytes":400000000000,"jobfs_bytes":100000000000,"ngpus":4'
	node_sync jobs="$1" reports="$2" boot="${3:-b1}" >"$dir/answer"
}
report() { # JOB SEQ STATE [IDLE_MIN [END]]
	local ended=0 end='' usage='"cpu_ns":1'
	[ -z "${4:-}" ] || usage="\"gpu_idle_ns\":$(($4 * 60000000000))"
	[ "$3" != ended ] || ended=${now}000000000 end=",\"end\":{${5:-\"kind\":\"exited\",\"exit_status\":0},\"signal\":0,\
\"reason\":{\"limit\":\"${6:-none}\",\"requested\":1,\"reached\":2,\"at_ns\":0,\"host\":\"n1\",\"n_procs\":0,\"procs\":[],\"text\":\"\"}}"
	sync_as "{\"job\":$1,\"attempt\":1,\"state\":\"$3\"}" "{\"job\":$1,\"attempt\":1,\"seq\":$2,\"at_ns\":${now}000000000,\"state\":\"$3\",\
\"started_ns\":$((now - 10))000000000,\"ended_ns\":$ended,\"running_ns\":$2,\"suspended_ns\":0,\"usage\":{$usage},\"cpus\":\"0\",\"note\":\"\"$end}"
}
until_is() { # NAME EXPECTED COMMAND...: polled
	local name=$1 want=$2 got
	shift 2
	for _ in $(seq 400); do
		got=$("$@")
		[ "$got" != "$want" ] || break
		sleep 0.05
	done
	is "$name" "$want" "$got"
}
events_seen() { paste -sd, "$log"; }
await_start() { # JOB: until it is on the node
	for _ in $(seq 200); do
		ask 0 GET "/v1/jobs/$1" | grep -q '"state":"starting"' && return
		sleep 0.02
	done
	bail "job $1 was not dispatched: $(ask 0 GET "/v1/jobs/$1")"
}
metric() { curl -s "$url/metrics" | sed -n "s/^reeve_hooks_$1 //p"; }

# ---- what may be a hook ----
port=1
fault() { # NAME WORDS KEYS
	configure "$3"
	has "$1" "$2" "$("$PWD/build/bin/reeve" admin check-config "$dir/controller.conf" 2>&1)"
}
configure Events=job-ended
check "a program of root's that only root writes is fine" "$PWD/build/bin/reeve" admin check-config "$dir/controller.conf"
chmod 777 "$hook"
fault "one that others can write is none: file, line, remedy" "Program = $hook: $hook can be written by others: chmod go-w $hook" ''
has "... with file and line" "$dir/controller.conf, line 14" "$("$PWD/build/bin/reeve" admin check-config "$dir/controller.conf" 2>&1)"
chmod 755 "$hook"
fault "an event that is none: which there are" "no event 'job-gone'; there are: job-submitted, job-started" Events=job-gone
hook=hook fault "a path that is not absolute" "it is not an absolute path" ''
fault "bounds" "TimeLimit" TimeLimit=0

# ---- a life, in its order ----
every=Events=job-submitted,job-started,job-suspended,job-resumed,job-killed,job-ended,gpu-idle,gpu-busy,node-lost,node-rebooted
live_open configure "$every"
sync_as '' ''
id=$(submit 1)
await_start "$id"
report "$id" 1 running 0
report "$id" 2 running 9
report "$id" 3 running 10
report "$id" 4 running 11
until_is "submitted, started, idle: once, however often it is reported" "job-submitted 1,job-started 1,gpu-idle 1" events_seen
is "the document: the job as the API has it, with the event" "reeve/1 gpu-idle True running True True" "$(python3 - "$dir/doc.gpu-idle.1" <<'PY'
import json, sys, time
d = json.load(open(sys.argv[1]))
print(d["schema"], d["event"], abs(d["at_ns"] / 1e9 - time.time()) < 300, d["state"], d["gpu_idle"], d["usage"]["gpu_idle_ns"] // 60000000000 in (9, 10, 11))
PY
)"
ask 1 GET /v1/jobs | tail -n +2 >"$dir/jobs"
is "... with the same fields" "[] ['at_ns', 'event', 'schema']" "$(python3 - "$dir/jobs" "$dir/doc.gpu-idle.1" <<'PY'
import json, sys
a, d = json.load(open(sys.argv[1]))["jobs"][0], json.load(open(sys.argv[2]))
print(sorted(set(a) - set(d)), sorted(set(d) - set(a)))
PY
)"
is "the environment: what it is of, and no more" "LANG PATH REEVE_EVENT REEVE_JOB" \
	"$(sed 's/=.*//' "$dir/env.gpu-idle" | grep -Ev '^(PWD|SHLVL|_|OLDPWD)$' | sort | paste -sd' ')"
lacks "no descriptor of the controller's" "socket:" "$(cat "$dir/fds")"
report "$id" 5 running 0
report "$id" 6 suspended
report "$id" 7 running 10
until_is "busy, suspended, resumed, idle again" \
	"job-submitted 1,job-started 1,gpu-idle 1,gpu-busy 1,job-suspended 1,job-resumed 1,gpu-idle 1" events_seen

# ---- restarts ----
: >"$log"
again "$every"
report "$id" 8 running 12
report "$id" 9 running 0
until_is "over a restart the idle period goes on: it is not reported again" "gpu-busy 1" events_seen
live_stop
again Events=gpu-idle
report "$id" 10 running 30
until_is "only what was asked for" "gpu-busy 1,gpu-idle 1" events_seen
kill -9 "$controller"; wait "$controller" 2>/dev/null; controller=
: >"$log"
live_start || bail "the controller does not start again"
report "$id" 11 running 31
report "$id" 12 running 0
report "$id" 13 running 10
until_is "after a kill of the controller the new period is reported" "gpu-idle 1" \
	bash -c "sort -u '$log' | paste -sd,"
: >"$log"
again "$every"
report "$id" 14 ended '' '"kind":"limit","exit_status":-1' vmem
until_is "killed for a limit: both events are reported, in order" "job-killed 1,job-ended 1" bash -c "tail -n 2 '$log' | paste -sd,"
is "... how, is in the document" "limit vmem" "$(python3 -c '
import json, sys
d = json.load(open(sys.argv[1]))
print(d["end"]["kind"], d["end"]["reason"]["limit"])' "$dir/doc.job-killed.1")"

# ---- a job so short that its node tells of its end alone; one that never left the queue ----
: >"$log"
id=$(submit)
await_start "$id"
report "$id" 1 ended
until_is "a job reported only at its end had started" "job-submitted 2,job-started 2,job-ended 2" events_seen
: >"$log"
id=$(submit 4) # all GPUs: the next one waits
await_start "$id"
waiting=$(submit 4)
ask 1 POST "/v1/jobs/$waiting/cancel" '{"schema":"reeve/1"}' >/dev/null
until_is "cancelled in the queue: it ended" "job-ended $waiting" bash -c "grep ended '$log'"
ask 1 POST "/v1/jobs/$id/cancel" '{"schema":"reeve/1"}' >/dev/null
report "$id" 1 running
until_is "a cancellation is not yet an end" "job-ended $waiting,job-started $id" bash -c "grep -v submitted '$log' | paste -sd,"
report "$id" 2 ended '' '"kind":"cancelled","exit_status":-1'
until_is "... the node's last word is" "job-ended $waiting,job-started $id,job-ended $id" bash -c "grep -v submitted '$log' | paste -sd,"
: >"$log"
sync_as '' '' b2
until_is "a node that was rebooted" "node-rebooted n1" events_seen
is "... is named" '{"at_ns": 0, "event": "node-rebooted", "node": "n1", "schema": "reeve/1"}' \
	"$(python3 -c 'import json,sys; d = json.load(open(sys.argv[1])); d["at_ns"] = 0; print(json.dumps(d, sort_keys=True))' "$dir/doc.node-rebooted.n1")"
has "metrics count the runs" 'reeve_hooks_total{result="done"}' "$(curl -s "$url/metrics")"

# ---- one user's events take no other user's place ----
gauges() { curl -s "$url/metrics" | sed -n "s/^reeve_hooks_\($1\) //p" | sort -n | paste -sd' '; }
: >"$log"; : >"$log.begun"
again Events=job-submitted AtOnce=2 QueueMax=3 TimeLimit=3600
touch "$dir/hang"
for _ in 1 2 3 4 5 6; do submit >/dev/null; done
until_is "the queue is full of one user's events" "1 2 3" gauges 'running\|waiting\|dropped_total'
others=$(submit '' 2)
until_is "an event of another user displaces one" "2 2 3" gauges 'running\|waiting\|dropped_total'
rm "$dir/hang"
until_is "all that waited are reported" "0 0" gauges 'running\|waiting'
has "and the other user's is among them" "job-submitted $others" "$(cat "$log")"

# ---- a program that hangs delays no request, and is killed ----
: >"$log"; : >"$log.begun"
again Events=job-submitted AtOnce=2 QueueMax=3 TimeLimit=3600
touch "$dir/hang"
for _ in 1 2 3 4 5 6 7 8; do submit >/dev/null; sleep 0.05; done
until_is "two at once, three wait, the others are dropped and counted" "2 3 3" \
	bash -c "curl -s '$url/metrics' | sed -n 's/^reeve_hooks_\(running\|waiting\|dropped_total\) //p' | sort -n | paste -sd' '"
has "... and logged" "events dropped" "$(cat "$dir/controller.log")"
check "a sync beside it is answered" sync_as '' '' b2
has "... at once" '"acks"' "$(cat "$dir/answer")"
id=$(submit)
await_start "$id"
live_stop
is "none was finished when the controller went" "" "$(events_seen)"
rm "$dir/hang"
: >"$log.begun"
again Events=job-submitted TimeLimit=3600
until_is "an unfinished event is reported again" yes bash -c "[ \$(sort -u '$log' | wc -l) -ge 5 ] && echo yes"
until_is "... to the end" "0 0" bash -c "curl -s '$url/metrics' | sed -n 's/^reeve_hooks_\(running\|waiting\) //p' | paste -sd' '"
again Events=job-submitted TimeLimit=1
touch "$dir/hang"
submit >/dev/null
until_is "beyond its time it is killed" 1 metric 'total{result="timed-out"}'
child=$(cat "$dir/child")
until_is "... with all it started" gone bash -c "kill -0 $child 2>/dev/null || echo gone"
has "... which is logged" "killed: it took more than 1 s" "$(cat "$dir/controller.log")"
rm "$dir/hang"
touch "$dir/fail"
submit >/dev/null
until_is "one that fails is counted" 1 metric 'total{result="failed"}'
has "... with its exit status" "hook job-submitted: exit status 7 after" "$(cat "$dir/controller.log")"
rm "$dir/fail"
chmod 777 "$hook"
: >"$log"
submit >/dev/null
until_is "one that others can write by now is not run" 2 metric 'total{result="failed"}'
has "... and why" "hook can be written by others" "$(tail -n 3 "$dir/controller.log")"
is "... not at all" "" "$(events_seen)"
chmod 755 "$hook"

# ---- a node that is not heard of ----
node_lost=5 again Events=node-lost
sync_as '' '' b2
until_is "a node that is lost" "node-lost n1" events_seen

# ---- none: and one that comes back later is not told what was ----
live_stop
configure
sed -i '/^\[Hooks\]/,$d' "$dir/controller.conf"
live_start || bail "the controller does not start without hooks"
: >"$log"
submit >/dev/null
again Events=job-submitted
last=$(submit)
until_is "a changed program gets events from then on" "job-submitted $last" events_seen
tap_end
