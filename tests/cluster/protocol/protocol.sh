#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# protocol.sh [KILLS [SEED]] - the controller's protocol without a node: a real munged, a real controller,
# a client that plays node and users. TAP on standard output. Needs root (to be several users) and
# build/bin; uses loopback only and leaves nothing behind.
set -u
cd "$(dirname "$0")/../../.." || exit 1
. tests/cluster/lib/tap_lib.sh
. tests/cluster/lib/live_lib.sh
. tests/cluster/lib/past_lib.sh
kills=${1:-50} seed=${2:-$((RANDOM * 32768 + RANDOM))}
[ "$(id -u)" = 0 ] || { echo "1..0 # SKIP needs root to speak as several users"; exit 0; }
live_dir cluster
result() { tap_result "$@"; }

# ---- tools, two munged with different keys, the controller ----
live_tool signed
live_tool storm
for k in ours other; do live_munge $k; done
database() { # NAME: a file; or, with REEVE_TEST_POSTGRES, a schema of its own in PostgreSQL
	local schema=c$$_$1
	[ -n "${REEVE_TEST_POSTGRES:-}" ] || { echo "$dir/$1.db"; return; }
	psql -q "$REEVE_TEST_POSTGRES" -c "CREATE SCHEMA IF NOT EXISTS $schema" 2>/dev/null >&2
	echo "$REEVE_TEST_POSTGRES&options=-csearch_path%3D$schema"
}
lost=120 # seconds: not while the suite itself is slow
configure() { # NAME AcceptNodes [more lines of [Controller]]
	cat >"$dir/$1.conf" <<-CONF
		[Controller]
		Listen = 127.0.0.1:$port
		Database = $(database "$1")
		MungeSocket = $dir/ours.sock
		Operators = root
		AcceptNodes = $2
		NodeLost = $lost
		RequestTimeout = 4
		${3:-}
		[Policy]
		Scheduler = fifo
		[Cluster main]
		BundleCores = 1
		BundleMemory = 4GB
		DefaultResources = jobfs=100MB,walltime=1:00:00
		MaxResources = walltime=2-0:00:00
		[Cluster units]
		Unit = service-units
		DefaultResources = jobfs=100MB,walltime=1:00:00
		Queues = normal,express,whole
		CoresPerNode = 48
		[Queue express]
		Factor = 3
		[Queue whole]
		Exclusive = yes
		[Account physics]
		Users = daemon, bin
		[Account chemistry]
		Users = bin
		[Node n1]
		[Node u1]
		Cluster = units
		[Node far]
		Address = 192.0.2.1
	CONF
}
start() { live_start "$dir/$1.conf"; } # NAME
open_main() { configure main any && cp "$dir/main.conf" "$dir/controller.conf"; }
live_open open_main
backdate_dispatch "$(database main)" 1
ask() { # UID METHOD PATH [BODY [HOW [SOCKET]]]
	live_ask "$1" "$2" "$3" "${4:-}" "${5:-good}" "${6:-ours}"
}
amounts='"ncpus":8,"mem_bytes":16000000000,"jobfs_bytes":10000000000,"ngpus":0'
node() { # NAME [JOBS [REPORTS [OUTPUT]]]
	echo "{\"schema\":\"reeve/1\",\"node\":\"$1\",\"boot\":\"b1\",\"version\":\"t\",\"capacity\":{$amounts},\
\"free\":{$amounts},\"state\":\"up\",\"tier\":1,\"notes\":[\"a note\"],\"jobs\":[${2:-}],\
\"reports\":[${3:-}],\"output\":[${4:-}]}"
}
job() { # RESOURCES [MORE]
	echo "{\"schema\":\"reeve/1\",\"request\":{\"cluster\":\"main\",\"account\":\"${3:-physics}\",\
\"queue\":\"normal\",\"name\":\"t\",\"resources\":{$1},\"vmem_policy\":\"kill\",\"stream\":true,\"join\":false,\
\"argv\":[\"/bin/true\"],\"env\":[],\"workdir\":\"/\"${2:-}}}"
}
small='"ncpus":2,"vmem_bytes":10000000000'
number() { grep -o "\"$2\": *-\?[0-9]*" <<<"$1" | head -n 1 | grep -o -- '-\?[0-9]*$'; }

# ---- start-up ----
out=$("$binary" --config "$dir/main.conf" --check 2>&1)
result $? "--check accepts a good configuration" "$out"
printf '[Controller]\nListn = 1\n' >"$dir/bad.conf"
out=$("$binary" --config "$dir/bad.conf" --check 2>&1)
[ $? = 78 ] && [[ $out == *bad.conf* && $out == *Listen* ]]
result $? "--check names file, key and the key that was meant" "$out"
printf '[Cluster c]\nBundleCores = 1e3\n' >"$dir/bad.conf"
out=$("$binary" --config "$dir/bad.conf" --check 2>&1)
has "--check refuses an inexact bundle" "1e3" "$out"

# ---- who is it? ----
has "a signed request is answered" 200 "$(ask $daemon GET /v1/nodes)"
for how in replay path none garbage; do
	has "credential: $how is refused" 401 "$(ask $daemon GET /v1/nodes '' $how)"
done
has "credential: another body is refused" 401 "$(ask $daemon POST /v1/jobs "$(job "$small")" body)"
has "credential: another site's key is refused" 401 "$(ask $daemon GET /v1/nodes '' good other)"
has "only root speaks for a node" 403 "$(ask $daemon POST /v1/node/sync "$(node n1)")"
has "a node of another address is refused" 403 "$(ask 0 POST /v1/node/sync "$(node far)")"
has "jobs do not run as root" 403 "$(ask 0 POST /v1/jobs "$(job "$small")")"

# ---- bodies ----
has "not JSON" 400 "$(ask $daemon POST /v1/jobs '{"schema":')"
has "another schema" 400 "$(ask $daemon POST /v1/jobs '{"schema":"reeve/9"}')"
has "an unknown path" 404 "$(ask $daemon GET /v1/nothing)"
has "a wrong method" 405 "$(ask $daemon GET /v1/node/sync)"
has "a number that is none" 404 "$(ask $daemon GET /v1/jobs/1x)"
has "gzip is understood" 200 "$(ask $daemon POST /v1/cost "$(job "$small")" gzip)"
head -c 9000000 /dev/zero | gzip -9 >"$dir/bomb.gz"
out=$(curl -s -w '%{http_code}' -H 'Content-Encoding: gzip' --data-binary @"$dir/bomb.gz" "$url/v1/jobs")
has "a gzip bomb without a credential is not looked at" 401 "$out"
has "a gzip bomb is not inflated" 413 "$(ask $daemon POST /v1/jobs "$(head -c 3000000 /dev/zero | tr '\0' ' ')" gzip)"
exec 9<>"/dev/tcp/127.0.0.1/$port"
printf 'POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: 9000000\r\n\r\n' >&9
has "9 MB without a credential are refused before they are sent" 401 "$(head -n 1 <&9)"
exec 9>&-
large=$(head -c 3000000 /dev/zero | tr '\0' ' ')
# It is answered, and the connection closed, while the body is being sent: a client may see that before it reads the answer.
soon "3 MB are too large for a job" 413 ask $daemon POST /v1/jobs "$large"
has "the path of a wrong key is named" 'reports[0]' "$(ask 0 POST /v1/node/sync "$(node n1 '' '{"job":1}')")"
out=$(ask $daemon POST /v1/cost "$(job "$small")")
has "cost: the rate is exact" '"rate":"2.5"' "$out"
has "cost: memory decides" '"decided_by":"memory"' "$out"
has "cost: 1 hour" '"charge":"9000"' "$out"

units() { job "$small" | sed "s/\"cluster\":\"main\"/\"cluster\":\"units\"/; s/\"queue\":\"normal\"/\"queue\":\"$1\"/"; }
out=$(ask $daemon POST /v1/cost "$(units express)")
has "cost: service units, by the queue's factor" '"rate":"6"' "$out"
has "cost: the unit is said" '"unit":"service-unit"' "$out"
has "cost: 2 cores, express, 1 hour" '"charge":"6"' "$out"
out=$(ask $daemon POST /v1/cost "$(units whole)")
has "cost: an exclusive queue, all cores of the node" '"charge":"48"' "$out"

# ---- submission ----
out=$(ask $stranger POST /v1/jobs "$(job "$small")")
has "a user without an account is refused" unknown-account "$out"
has "a foreign account: own ones are listed" 'yours are: physics' "$(ask $daemon POST /v1/jobs "$(job "$small" '' chemistry)")"
out=$(ask $bin POST /v1/jobs "$(job "$small" '' physics | sed 's/"account":"physics",//')")
has "no account stated and several: they are listed" 'chemistry, physics' "$out"
has "beyond the site's bound" too-large "$(ask $daemon POST /v1/jobs "$(job "$small,\"walltime_s\":999999")")"
out=$(ask $daemon POST /v1/jobs "$(job "$small" | sed 's/"account":"physics",//')")
has "the only account is the default" '"job":1' "$out"
soon "no node yet: the job shows it" 'No node has registered' ask $daemon GET /v1/jobs/1
has "another user's job does not exist" 404 "$(ask $bin GET /v1/jobs/1)"
has "nor can it be cancelled" 404 "$(ask $bin POST /v1/jobs/1/cancel)"
lacks "nor is it listed" '"job":1' "$(ask $bin GET /v1/jobs)"
has "nor asked for by name" 403 "$(ask $bin GET '/v1/jobs?user=daemon')"
has "nor its usage" 403 "$(ask $bin GET '/v1/usage?user=daemon')"
has "an operator sees it" '"user":"daemon"' "$(ask 0 GET /v1/jobs/1)"
has "with the rule of its charge, as it was at submission" 'memory, 10GB / 4GB = 2.5' "$(ask 0 GET /v1/jobs/1)"
has "a queued job cannot be suspended" 409 "$(ask $daemon POST /v1/jobs/1/suspend)"

# ---- a node takes, shows, reports ----
out=$(ask 0 POST '/v1/node/sync?wait=20' "$(node n1)")
has "the job comes with its request" '"argv"' "$out"
has "the answer is signed" signed-by "$(cat "$dir/said")"
has "a request larger than any node names the nearest" 'the nearest, n1, has 8 cores' \
	"$(ask $daemon POST /v1/jobs "$(job '"ncpus":9,"vmem_bytes":1000000')")"
ask $daemon POST /v1/jobs "$(job '"ncpus":7,"vmem_bytes":1000000')" >/dev/null
soon "a pending job shows the numbers" 'needs 7 cores; n1 has 6 of 8 free' ask $daemon GET /v1/jobs/2
ask $daemon POST /v1/jobs "$(job '"ncpus":1,"vmem_bytes":1000000')" >/dev/null
has "no job overtakes" 'waits behind job 2' "$(ask $daemon GET /v1/jobs/3)"
now=$(date +%s)
report() { # JOB SEQ STATE RUNNING_S [END]
	echo "{\"job\":$1,\"attempt\":1,\"seq\":$2,\"at_ns\":${now}000000000,\"state\":\"$3\",\
\"started_ns\":${now}000000000,\"ended_ns\":0,\"running_ns\":${4}000000000,\"suspended_ns\":0,\"usage\":{},\
\"end\":{\"kind\":\"none\",\"exit_status\":-1,\"signal\":0,\"reason\":{\"limit\":\"none\",\"requested\":-1,\
\"reached\":-1,\"at_ns\":0,\"host\":\"\",\"n_procs\":0,\"procs\":[],\"text\":\"\"}},\"cpus\":\"0-1\",\"note\":\"\"}"
}
list='{"job":1,"attempt":1,"state":"running"}'
has "a report is acknowledged" '"seq":5' "$(ask 0 POST /v1/node/sync "$(node n1 "$list" "$(report 1 5 running 10)")")"
has "a repeat too" '"seq":5' "$(ask 0 POST /v1/node/sync "$(node n1 "$list" "$(report 1 5 running 10)")")"
has "an older one changes nothing" '"charge_requested_ms":25000' \
	"$(ask 0 POST /v1/node/sync "$(node n1 "$list" "$(report 1 4 running 99)")" >/dev/null
	ask $daemon GET /v1/jobs/1)"
has "a job never given is refused" 'never given' \
	"$(ask 0 POST /v1/node/sync "$(node n1 "$list" "$(report 77 1 running 5)")")"
has "another node cannot report it" 'never given' \
	"$(ask 0 POST /v1/node/sync "$(node n2 '' "$(report 1 9 running 500)")")"
has "its charge is as before" '"charge_requested_ms":25000' "$(ask $daemon GET /v1/jobs/1)"

# ---- long polls ----
SECONDS=0
(ask 0 POST '/v1/node/sync?wait=20' "$(node n1 "$list")" >"$dir/held") &
held=$!
for _ in $(seq 100); do curl -s "$url/metrics" | grep -q '^reeve_long_polls 1' && break; sleep 0.02; done
out=$(curl -s "$url/metrics")
has "with nothing to say a sync is held" 'reeve_long_polls 1' "$out"
has "no request waits for a turn where few nodes report" 'reeve_requests_deferred_total 0' "$out"
ask $daemon POST /v1/jobs/1/suspend >/dev/null
wait $held
has "a changed desired state wakes it" '"want":"suspend"' "$(cat "$dir/held")"
[ $SECONDS -lt 10 ]
result $? "at once"
ask 0 POST /v1/node/sync "$(node n1 '{"job":1,"attempt":1,"state":"suspended"}' "$(report 1 6 suspended 10)")" >/dev/null
soon "a suspended job's cores go to others" '"state":"starting"' ask $daemon GET /v1/jobs/2
chunk='{"job":1,"attempt":1,"stream":"out","offset":0,"data":"aGVsbG8K"}'
(ask $daemon GET '/v1/jobs/1/output?stream=out&wait=20' >"$dir/output") &
reader=$!
for _ in $(seq 100); do curl -s "$url/metrics" | grep -q '^reeve_long_polls 1' && break; sleep 0.02; done
has "output is acknowledged" '"offset":6' "$(ask 0 POST /v1/node/sync "$(node n1 "$list" '' "$chunk")")"
wait $reader
has "output reaches who waits for it" '"data":"aGVsbG8K"' "$(cat "$dir/output")"
has "output is read on from an offset" '"data":"bGxvCg=="' "$(ask $daemon GET '/v1/jobs/1/output?offset=2')"
has "output of others does not exist" 404 "$(ask $bin GET /v1/jobs/1/output)"
from=$(date +%s%N)
has "an acknowledgement" '"acks":[{"job":1,' "$(ask 0 POST '/v1/node/sync?wait=0&linger_ms=300' "$(node n1 "$list" "$(report 1 5 running 10)")")"
[ $(($(date +%s%N) - from)) -ge 300000000 ]
result $? "... waits as long as the node lets it"
(ask 0 POST '/v1/node/sync?wait=0&linger_ms=10000' "$(node n1 "$list" "$(report 1 7 running 10)")" >"$dir/held") &
held=$!
for _ in $(seq 100); do curl -s "$url/metrics" | grep -q '^reeve_long_polls 1' && break; sleep 0.02; done
ask $daemon POST /v1/jobs/1/cancel >/dev/null
wait $held
has "cancel reaches the node" '"want":"cancel","reason":"cancelled by daemon"' "$(cat "$dir/held")"
has "... with the acknowledgement that waited for it" '"seq":7' "$(cat "$dir/held")"
has "and is not taken twice" 409 "$(ask $daemon POST /v1/jobs/1/cancel)"

# ---- clients that dawdle ----
SECONDS=0
exec 9<>"/dev/tcp/127.0.0.1/$port"
(for _ in $(seq 160); do printf 'G' >&9 2>/dev/null || break; sleep 0.25; done) 2>/dev/null &
dawdler=$!
printf 'POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{' >&9
timeout 60 cat <&9 >/dev/null
code=$?
exec 9>&-
kill $dawdler 2>/dev/null
[ $code = 0 ] && [ $SECONDS -lt 30 ]
result $? "a client that trickles is cut off" "cut after $SECONDS s, cat: $code"

# ---- metrics ----
curl -s "$url/metrics" >"$dir/metrics"
if command -v promtool >/dev/null; then
	out=$(promtool check metrics <"$dir/metrics" 2>&1)
	result $? "promtool finds nothing wrong with the metrics" "$out"
else
	out=$(awk '/^# (HELP|TYPE) reeve_[a-z_]+ ./ { if ($2 == "TYPE") t[$3] = 1; next }
		{ name = $1; sub(/\{.*/, "", name) }
		!(name in t) || !/^reeve_[a-z_]+(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? -?[0-9]+(\.[0-9]+)?$/ { print }
		' "$dir/metrics")
	[ -z "$out" ] && [ -s "$dir/metrics" ]
	result $? "every metric has help, a type and a number" "$out"
fi
lacks "no metric has a job in its labels" 'job="' "$(cat "$dir/metrics")"
has "charges are there, of all accounts together" '_total{pool="cpu"} 25.000' "$(cat "$dir/metrics")"
has "and by account for operators" 'account="physics",pool="cpu"} 25.000' "$(ask 0 GET /metrics)"

# ---- silence ----
live_stop
lost=5 configure main any
start main || bail "the controller does not start: $(cat "$dir/controller.log")"
ask 0 POST /v1/node/sync "$(node n1 "$list")" >/dev/null
for _ in $(seq 100); do
	out=$(ask $daemon GET /v1/nodes)
	[[ $out == *'"state":"lost"'* ]] && break
	sleep 0.2
done
has "a silent node becomes lost" '"state":"lost"' "$out"
has "its jobs end with it" node-lost "$(ask 0 GET /v1/jobs)"
out=$(ask 0 POST /v1/node/sync "$(node n1 "$list")" >/dev/null; ask $daemon GET /v1/nodes)
has "and it is back when it speaks" '"node":"n1","cluster":"main","state":"up"' "$out"
live_stop

# ---- nodes that must be listed ----
configure listed listed
start listed || bail "the controller does not start: $(cat "$dir/controller.log")"
has "a node that is not listed is refused" unknown-node "$(ask 0 POST /v1/node/sync "$(node n2)")"
has "one that is listed is not" 200 "$(ask 0 POST /v1/node/sync "$(node n1)")"

# ---- whole nodes ----
ask 0 POST /v1/node/sync "$(node u1)" >/dev/null
ask $daemon POST /v1/jobs "$(units whole)" >/dev/null
has "a job of an exclusive queue gets an empty node" '"job":1' "$(ask 0 POST '/v1/node/sync?wait=5' "$(node u1)")"
ask $daemon POST /v1/jobs "$(units normal)" >/dev/null
soon "all of the node: no other job has a core there" 'It needs 2 cores, 9.31 GiB memory and 95.4 MiB jobfs; u1 has 0 of 8 cores, ' ask $daemon GET /v1/jobs/2
ask $daemon POST /v1/jobs "$(units normal)" >/dev/null

# ---- how much later ----
weigh() { ask "$1" POST "/v1/jobs/$2/priority" "$3"; }
has "the owner lowers a priority" '"job":2' "$(weigh $daemon 2 '{"schema":"reeve/1","nice":5}')"
has "and does not raise it" nice "$(weigh $daemon 2 '{"schema":"reeve/1","nice":-5}')"
has "nor another's, which is not seen" 404 "$(weigh $bin 2 '{"schema":"reeve/1","nice":5}')"
has "nor sets the site's part" 'only operators' "$(weigh $daemon 2 '{"schema":"reeve/1","site":5}')"
has "which operators do" '"job":2' "$(weigh 0 2 '{"schema":"reeve/1","site":500}')"
has "prio shows both" '"nice"' "$(ask $daemon GET '/v1/prio?job=2')"
has "a job that was given has none any more" 'not queued any more' "$(weigh $daemon 1 '{"schema":"reeve/1","nice":5}')"
has "a missing field is named" 'whole number' "$(weigh $daemon 2 '{"schema":"reeve/1"}')"

# ---- munged away ----
live_end_pid "$(cat "$dir/ours.pid")"
rm -f "$dir/ours.pid"
out=$(curl -s -H 'Authorization: Munge MUNGE:AwQ:' "$url/v1/nodes" -w '%{http_code}')
has "without munged it answers 503" 503 "$out"
live_munge ours
has "and recovers with it" 200 "$(ask $daemon GET /v1/nodes)"
live_stop

# ---- stopped, and started by its socket ----
if command -v systemd-socket-activate >/dev/null; then
	systemd-socket-activate -l "127.0.0.1:$port" "$binary" --config "$dir/listed.conf" 2>>"$dir/listed.log" &
	controller=$!
	for _ in $(seq 250); do curl -s -o /dev/null "$url/metrics" && break; sleep 0.02; done
	has "a socket from systemd is served" 200 "$(ask $daemon GET /v1/nodes)"
	(ask 0 POST '/v1/node/sync?wait=30' "$(node n1)" >"$dir/held") &
	held=$!
	for _ in $(seq 100); do curl -s "$url/metrics" | grep -q '^reeve_long_polls 1' && break; sleep 0.02; done
	kill $controller
	wait $controller
	result $? "SIGTERM under a held sync ends it cleanly"
	wait $held
	has "and the sync was answered" 200 "$(cat "$dir/held")"
	controller=
else
	result 0 "a socket from systemd is served # SKIP no systemd-socket-activate here"
fi

# ---- killed again and again ----
lost=60 configure storm any
start storm || bail "the controller does not start: $(cat "$dir/controller.log")"
jobs=40
for i in $(seq $jobs); do
	case $((i % 4)) in
	0) r='"ncpus":1,"vmem_bytes":4000000000' ;;
	1) r='"ncpus":2,"vmem_bytes":10000000000' ;;
	2) r='"ncpus":1,"vmem_bytes":8000000000' ;;
	3) r='"ncpus":3,"vmem_bytes":3000000000' ;;
	esac
	ask $daemon POST /v1/jobs "$(job "$r")" >"$dir/submitted"
done
has "$jobs jobs are taken" "\"job\":$jobs" "$(cat "$dir/submitted")"
live_stop
echo "# storm: $kills kills, seed $seed"
"$dir/storm" "$binary" "$dir/storm.conf" "$url" "$dir/ours.sock" $jobs "$kills" \
	"$seed" 2>"$dir/storm.err" >"$dir/storm.out"
code=$?
grep -E '^#|^Bail' "$dir/storm.out"
while read -r ok rest; do
	case $ok in
	ok) result 0 "storm: ${rest#* - }" ;;
	not) result 1 "storm: ${rest#* - }" ;;
	esac
done <"$dir/storm.out"
[ $code = 0 ] || tail -n 5 "$dir/storm.err" | sed 's/^/# /'
result $code "the storm came to its end"
tap_end
