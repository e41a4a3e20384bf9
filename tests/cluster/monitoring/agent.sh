#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# agent.sh - the metrics of a real agent with real jobs: what they say, who gets those of jobs, and that no client, however many and however
# slow, keeps the agent from its work. TAP.
set -u
cd "$(dirname "$0")/../../.." || exit 1
. tests/cluster/lib/tap_lib.sh
. tests/cluster/lib/live_lib.sh
. tests/cluster/lib/play_lib.sh
. tests/cluster/monitoring/agent_lib.sh
agent_suite metrics
configure() {
	printf '%s\n[Cluster main]\nDefaultResources = jobfs=100MB,walltime=1:00:00\nQueues = normal\n' "$(live_controller)" >"$dir/controller.conf"
}
live_open configure
text="[Account physics]\nUsers = daemon\n"
has "accounts are declared" 200 "$(ask 0 POST /v1/accounts "{\"schema\":\"reeve/1\",\"revision\":0,\"text\":\"$text\"}")"

# ---- the key ----
for bad in 0.0.0.0:9640 localhost:9640 127.0.0.1:0 "[::]:9640" metrics.sock; do
	printf '[Agent]\nNode = n1\nMetricsListen = %s\n' "$bad" >"$dir/bad.conf"
	out=$(build/bin/reeve-agent --config "$dir/bad.conf" --check 2>&1)
	is "MetricsListen = $bad is refused" 78 $?
	has "by file, line, key, value and remedy" "$dir/bad.conf, line 3: MetricsListen = $bad: " "$out"
	has "..." "write the path of a socket (/run/reeve/metrics.sock), 127.0.0.1:PORT or [::1]:PORT" "$out"
done
printf '[Agent]\nNode = n1\nMetricsToken = token\n' >"$dir/bad.conf"
has "a token's file has an absolute path" "MetricsToken = token: it is not an absolute path" "$(build/bin/reeve-agent --config "$dir/bad.conf" --check 2>&1)"

# ---- a socket ----
metrics_port=$((port + 1))
agent_open "MetricsListen = $dir/metrics.sock" "MetricsGroup = daemon"
sock() { curl -s -m 20 --unix-socket "$dir/metrics.sock" "$@" http://n9/metrics; } # CURL-ARGUMENT...
value() { sock | awk -v name="$1" 'index($0, name " ") == 1 || index($0, name "{") == 1 { print $NF; exit }'; } # NAME
until_has 'reeve_agent_controller_up 1' sock || bail "the agent answers nothing: $(tail -n 5 "$agent_dir/log")"
submit() { # KEY=VALUE...: $job
	out=$(ask $daemon POST /v1/jobs "$(job_request "$@" more=',"out_path":"/dev/null","err_path":"/dev/null"')")
	job=$(job_number "$out")
	[ -n "$job" ] || bail "no job is submitted: $out"
}
submit resources='"ncpus":1,"vmem_bytes":300000000,"walltime_s":3600,"jobfs_bytes":1000000' argv='"/bin/sh","-c","while :; do :; done"'
until_has "reeve_node_job_cpu_seconds_total{job_id=\"$job\"" sock || bail "no job runs: $(grep -v note "$agent_dir/log" | tail -n 5)"
is "root and a group may open the socket" "660 root daemon" "$(stat -c '%a %U %G' "$dir/metrics.sock")"
has "a member of the group does" reeve_node_cores "$(setpriv --reuid 2 --regid 1 --clear-groups curl -s --unix-socket "$dir/metrics.sock" http://n9/metrics)"
is "another user cannot" "" "$(setpriv --reuid 2 --regid 2 --clear-groups curl -s --unix-socket "$dir/metrics.sock" http://n9/metrics)"
label="job_id=\"$job\",attempt=\"1\",user=\"daemon\",account=\"physics\""
for metric in reeve_node_job_cores reeve_node_job_cpu_requested_seconds_total reeve_node_job_memory_limit_bytes \
	reeve_node_job_vmem_requested_bytes reeve_node_job_walltime_requested_seconds reeve_node_job_running_seconds_total; do
	has "$metric has job, user and account" "$metric{$label} " "$(sock)"
done
is "what the job requested is there as it was" 300000000 "$(value reeve_node_job_vmem_requested_bytes)"
uses_cpu() { awk -v n="$(value reeve_node_job_cpu_seconds_total)" 'BEGIN { if (n > 0.5) print "yes" }'; }
until_has yes uses_cpu
is "and what it used: processor time" 0 $?
uses_mem() { awk -v n="$(value reeve_node_job_vmem_bytes)" 'BEGIN { if (n > 100000 && n < 300000000) print "yes" }'; }
until_has yes uses_mem
is "and vmem" 0 $?
is "the node says what it has" "$(sock | sed -n 's/^reeve_node_cores_held //p')" 1
has "and what it is" 'reeve_node_info{node="n9",node_type="",engine="reeve"} 1' "$(sock)"
has "and the agent, how it does" 'reeve_agent_exchanges_failed_total 0' "$(sock)"
more_than() { awk -v n="$(value "$1")" -v least="$2" 'BEGIN { if (n > least) print "yes" }'; } # NAME LEAST
is "it measures" yes "$(more_than reeve_agent_samplings_total 0)"
is "which takes time" yes "$(more_than reeve_agent_sampling_seconds_total 0)"
is "its own memory is known" yes "$(more_than process_resident_memory_bytes 1000000)"
is "and processor time" yes "$(more_than process_cpu_seconds_total 0)"
if command -v promtool >/dev/null; then
	out=$(sock | promtool check metrics 2>&1)
	tap_result $? "promtool finds nothing wrong with the metrics" "$out"
else
	skip "promtool finds nothing wrong with the metrics" "no promtool here (Debian: prometheus)"
fi
has "OpenMetrics for those who want it" 'application/openmetrics-text' "$(sock -D - -o /dev/null -H 'Accept: application/openmetrics-text;version=1.0.0,text/plain;q=0.5')"
is "ends with its last line" "# EOF" "$(sock -H 'Accept: application/openmetrics-text' | tail -n 1)"
is "no metric has two heads, no series two samples" "" "$(sock | sed 's/ [^ ]*$//' | grep -v '^# HELP' | sort | uniq -d)"
has "HEAD has no body" "Content-Length: " "$(curl -s -m 5 -I --unix-socket "$dir/metrics.sock" http://n9/metrics)"
is "another path is not there" 404 "$(curl -s -m 5 -o /dev/null -w '%{http_code}' --unix-socket "$dir/metrics.sock" http://n9/)"

# ---- a limit ----
runs=$job
submit resources='"ncpus":1,"vmem_bytes":300000000,"walltime_s":1,"jobfs_bytes":1000000' argv='"/bin/sleep","987"'
over=$job job=$runs
until_has 'reeve_node_kills_total{limit="walltime"} 1' sock
is "a job that exceeds a limit is counted" 0 $?
has "among those that ended, too" 'reeve_node_jobs_ended_total{how="limit"} 1' "$(sock)"
lacks "and has no series any more" "job_id=\"$over\"" "$(sock)"

# ---- the controller is away ----
live_stop
until_has 'reeve_agent_controller_up 0' sock
is "an exchange that failed is seen" 0 $?
is "and counted" yes "$(more_than reeve_agent_exchanges_failed_total 0)"
waits() { more_than reeve_agent_spool_reports 0; }
until_has yes waits
is "reports wait" 0 $?
lags() { more_than reeve_agent_report_lag_seconds 0; }
until_has yes lags
is "the oldest has an age" 0 $?

is "without https the agent has not loaded libcurl" 0 "$(grep -c libcurl "/proc/$agent_pid/maps")"

# ---- misbehaving clients ----
clients() { python3 tests/cluster/monitoring/metrics_clients.py "$dir/metrics.sock" "$@"; } # KIND [N]
is "garbage has an answer of one line" "whole 200|bytes 400|nul 400|tls 400|long 431|post 405|path 404|http2 400|twice 200|bytes in pieces 200|" \
	"$(clients garbage | tr '\n' '|')"
fds() { find "/proc/$agent_pid/fd" | wc -l; }
before=$(fds)
crowd_of() { # KIND N: that many stay while we look
	coproc CROWD { clients "$1" "$2"; }
	crowd_in=${CROWD[1]} crowd_pid=$CROWD_PID
	read -r -t 60 -u "${CROWD[0]}" crowd_said
}
for kind in silent deaf; do
	crowd_of $kind 1000
	is "1000 $kind clients connect" open "$crowd_said"
	has "meanwhile another has its answer" reeve_node_cores "$(sock)"
	[ $(($(fds) - before)) -le 40 ]
	tap_result $? "and the agent keeps few of them" "$(fds) descriptors, $before before"
	echo >&"$crowd_in"
	wait "$crowd_pid" 2>/dev/null
done
closed() { [ "$(fds)" -le $((before + 1)) ] && echo yes; }
until_has yes closed
is "all of them are closed" 0 $?
took=$(clients slow 30)
awk -v n="$took" 'BEGIN { exit !(n < 9) }'
tap_result $? "a client that sends a byte a second is closed after some seconds" "$took s"
is "many whole requests are answered, one after the other" 40 "$(clients burst 40)"
has "the agent has its jobs" "job_id=\"$job\"" "$(sock)"
is "and is the same process" yes "$(kill -0 "$agent_pid" && echo yes)"
agent_stop
is "it takes its socket away" no "$([ -e "$dir/metrics.sock" ] && echo yes || echo no)"

# ---- a port ----
live_start || bail "the controller does not start again"
echo 0123456789abcdef0123456789abcdef >"$dir/token"
chmod 600 "$dir/token"
sed -i "s|^MetricsListen.*|MetricsListen = 127.0.0.1:$metrics_port\nMetricsToken = $dir/token|" "$agent_dir/agent.conf"
agent_start
tcp() { curl -s -m 20 "$@" "http://127.0.0.1:$metrics_port/metrics"; } # CURL-ARGUMENT...
until_has 'reeve_node_jobs{state="running"} 1' tcp
is "at a port every user sees sums" 0 $?
lacks "and no jobs" job_id= "$(tcp)"
until_has "job_id=\"$job\"" tcp -H "Authorization: Bearer $(cat "$dir/token")"
is "who sends the token sees jobs" 0 $?
is "a wrong one is refused" 401 "$(tcp -o /dev/null -w '%{http_code}' -H 'Authorization: Bearer 0123456789abcdef0123456789abcdeX')"
is "it listens at that address alone" "127.0.0.1:$metrics_port" "$(ss -Hltn "sport = $metrics_port" | awk '{ print $4 }')"

# ---- what it cannot listen at ----
agent_stop
python3 -c "import socket,sys; s=socket.create_server(('127.0.0.1', $metrics_port)); print('up', flush=True); sys.stdin.read()" < <(sleep 60) >"$dir/taken" &
until_has up cat "$dir/taken"
: >"$agent_dir/log"
agent_start
until_has "metrics: cannot listen at 127.0.0.1:$metrics_port: bind: Address already in use" cat "$agent_dir/log"
is "a port that is taken is a note, and the agent runs" 0 $?
is "with its jobs" yes "$(kill -0 "$agent_pid" && echo yes)"
tap_end
