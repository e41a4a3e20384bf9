#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# prometheus.sh - metrics, alerts and dashboards with a real Prometheus: it scrapes a real controller (OpenMetrics, with the token) on which
# played jobs run, end and exceed limits, and a real agent with a real job; promtool checks metrics and rules; each query of the dashboards has a result. TAP.
set -u
cd "$(dirname "$0")/../../.." || exit 1
. tests/cluster/lib/tap_lib.sh
. tests/cluster/lib/live_lib.sh
. tests/cluster/lib/play_lib.sh
. tests/cluster/monitoring/agent_lib.sh
[ "$(id -u)" = 0 ] || { echo "1..0 # SKIP needs root to exchange as several users"; exit 0; }
for tool in promtool prometheus; do command -v $tool >/dev/null || { echo "1..0 # SKIP no $tool here (Debian: prometheus)"; exit 0; }; done
amounts='"ncpus":16,"mem_bytes":64000000000,"jobfs_bytes":100000000000,"ngpus":0'

# ---- rules, without a server ----
out=$(promtool check rules monitoring/reeve.rules.yml 2>&1)
tap_result $? "promtool finds nothing wrong with the rules" "$out"
out=$(promtool test rules tests/cluster/monitoring/rules_test.yml 2>&1)
tap_result $? "each alert fires for its reason, and none without" "$out"
is "every alert is tested" "" "$(sed -n 's/.*- alert: //p' monitoring/reeve.rules.yml | while read -r name; do
	grep -q "$name" tests/cluster/monitoring/rules_test.yml || echo "$name"; done)"

# ---- a controller with jobs ----
live_dir prometheus
live_munge
echo 0123456789abcdef0123456789abcdef >"$dir/token"
chmod 600 "$dir/token"
year=$(date +%Y)
configure() {
	cat >"$dir/controller.conf" <<-CONF
		$(live_controller)
		MetricsToken = $dir/token
		[Policy]
		Quota = grant
		[Cluster main]
		DefaultResources = jobfs=100MB,walltime=1:00:00
		Unit = service-units
		Queues = normal
	CONF
}
live_open configure
text="[Account physics]\nUsers = daemon\n[Allocation physics/$year]\nKind = grant\nAmount = 10\nFrom = $((year - 1))-01-01\nTo = $((year + 2))-01-01\n"
text+="[Account chemistry]\nUsers = bin\n"
has "accounts are declared" 200 "$(ask 0 POST /v1/accounts "{\"schema\":\"reeve/1\",\"revision\":0,\"text\":\"$text\"}")"
scrape() { curl -s -H "Authorization: Bearer $(cat "$dir/token")" "$@" "$url/metrics"; } # CURL-ARGUMENT...
now=$(date +%s)
# One job that runs, one that waits, one that exceeded its vmem an hour after it began; more each round.
play_round() { # NUMBER
	local first second
	first=$(job_number "$(ask $daemon POST /v1/jobs "$(job_request)")")
	second=$(job_number "$(ask $daemon POST /v1/jobs "$(job_request)")")
	node_sync wait=2 >/dev/null
	node_sync jobs="$(job_entry "$first" running),$(job_entry "$second" running)" reports="$(job_report "$first" 1 running started_s=$((now - 600)) running_s=300),$(
		job_report "$second" 1 running started_s=$((now - 3600)) running_s=3500)" >/dev/null
	node_sync jobs="$(job_entry "$first" running)" reports="$(job_report "$second" 2 ended started_s=$((now - 3600)) running_s=3600 at_s="$now" \
		kind=limit limit=vmem requested=1000000 reached=2000000 'usage="cpu_ns":1800000000000,"vmem_peak_bytes":2000000')" >/dev/null
}
play_round 1
ask $daemon POST /v1/jobs "$(job_request 'resources="ncpus":16,"vmem_bytes":1000000')" >/dev/null

# ---- the text ----
for form in "text/plain" "application/openmetrics-text"; do
	scrape -H "Accept: $form" -D "$dir/headers" -o "$dir/metrics"
	has "a client that accepts $form gets it" "Content-Type: $form; version=" "$(cat "$dir/headers")"
done
is "OpenMetrics ends with its last line" "# EOF" "$(tail -n 1 "$dir/metrics")"
has "its counters are described without _total" "# TYPE reeve_kills counter" "$(cat "$dir/metrics")"
has "and have it in their samples" 'reeve_kills_total{limit="vmem"} 1' "$(cat "$dir/metrics")"
has "Prometheus' own preference is OpenMetrics" openmetrics "$(scrape -o /dev/null -D - \
	-H 'Accept: application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1')"
has "what is preferred comes first" "text/plain" "$(scrape -o /dev/null -D - -H 'Accept: text/plain, application/openmetrics-text')"
out=$(scrape | promtool check metrics 2>&1)
tap_result $? "promtool finds nothing wrong with the metrics" "$out"
lacks() { case $3 in *"$2"*) tap_result 1 "$1" "has: $2" ;; *) tap_result 0 "$1" ;; esac; }
has "an allocation and what is used of it" 'reeve_allocation_equivalent_seconds{account="physics",cluster="",pool="cpu"} 36000.000' "$(scrape)"
scrape | grep -qE '^reeve_allocation_used_equivalent_seconds\{account="physics",cluster="",pool="cpu"\} [0-9.]*[1-9]'
tap_result $? "is there with its account"
has "all allocations were read" 'reeve_allocations_unread 0' "$(scrape)"
lacks "for those who may see accounts alone" 'reeve_allocation' "$(curl -s "$url/metrics")"
lacks "an account without one has none" 'reeve_allocation_equivalent_seconds{account="chemistry"' "$(scrape)"

# ---- a real agent, with a job ----
prometheus_port=$((port + 1)) agent_port=$((port + 2))
agent_possible || { echo "Bail out! no cgroup v2 that jobs may be made in"; exit 1; }
trap 'agent_end; live_end' EXIT
agent_open "MetricsListen = 127.0.0.1:$agent_port" "MetricsToken = $dir/token" "Features = real" "ReservedCores = $(($(nproc) - 1))" # one core, so that nothing else goes there
until_has '"node":"n9"' ask 0 GET /v1/nodes || bail "the agent does not register: $(tail -n 3 "$agent_dir/log")"
ask $daemon POST /v1/jobs "$(job_request resources='"ncpus":1,"vmem_bytes":300000000,"jobfs_bytes":1000000,"walltime_s":3600,"features":"real"' \
	argv='"/bin/sh","-c","while :; do :; done"' more=',"out_path":"/dev/null","err_path":"/dev/null"')" >"$dir/said.job"
scrape_agent() { curl -s -H "Authorization: Bearer $(cat "$dir/token")" "http://127.0.0.1:$agent_port/metrics"; }
until_has reeve_node_job_vmem_bytes scrape_agent || bail "no job on the agent: $(cat "$dir/said.job")"
out=$(scrape_agent | promtool check metrics 2>&1)
tap_result $? "promtool finds nothing wrong with the agent's metrics" "$out"

# ---- a real Prometheus ----
cat >"$dir/prometheus.yml" <<-CONF
	global: { scrape_interval: 1s, evaluation_interval: 1s }
	rule_files: [$PWD/monitoring/reeve.rules.yml]
	scrape_configs:
	  - job_name: reeve
	    authorization: { credentials_file: $dir/token }
	    static_configs: [ { targets: ["127.0.0.1:$port"] } ]
	  - job_name: reeve-agent
	    authorization: { credentials_file: $dir/token }
	    static_configs: [ { targets: ["127.0.0.1:$agent_port"] } ]
CONF
prometheus --config.file="$dir/prometheus.yml" --storage.tsdb.path="$dir/tsdb" --web.listen-address="127.0.0.1:$prometheus_port" \
	--log.level=warn 2>"$dir/prometheus.log" &
prometheus=$!
prometheus_api() { curl -s "http://127.0.0.1:$prometheus_port/api/v1/$1" "${@:2}"; }
value() { prometheus_api query --data-urlencode "query=$1" | python3 -c 'import json,sys; r=json.load(sys.stdin)["data"]["result"]; print(r[0]["value"][1] if r else "")' 2>/dev/null; } # nothing before it listens
until_has 1 value 'up{job="reeve"} * on() up{job="reeve-agent"}' || bail "Prometheus scrapes nothing: $(tail -n 5 "$dir/prometheus.log")"
scrapes() { [ "$(value 'count_over_time(up{job="reeve"}[1h])')" -ge "$1" ] 2>/dev/null && echo enough; }
until_has enough scrapes 4
play_round 2
until_has enough scrapes $(($(value 'count_over_time(up{job="reeve"}[1h])') + 4))
is "Prometheus has what the controller counted" 2 "$(value 'reeve_kills_total{limit="vmem"}')"
is "and its rates" 1 "$(value 'increase(reeve_kills_total{limit="vmem"}[1h]) > bool 0')"
has "the rules are loaded" '"health":"ok"' "$(prometheus_api rules)"
lacks "none of them fails" '"health":"err"' "$(prometheus_api rules)"
for board in monitoring/grafana/*.json; do
	out=$(python3 - "$board" "http://127.0.0.1:$prometheus_port" <<-'PY'
		import json, sys, urllib.parse, urllib.request
		board, server = json.load(open(sys.argv[1])), sys.argv[2]
		bad, n = [], 0
		for panel in board["panels"]:
		    for t in panel["targets"]:
		        n += 1
		        expr = t["expr"].replace("$account", ".+").replace("$node", ".+")
		        url = server + "/api/v1/query?" + urllib.parse.urlencode({"query": expr})
		        try:
		            answer = json.load(urllib.request.urlopen(url))
		        except urllib.error.HTTPError as e:
		            answer = json.load(e)
		        if answer["status"] != "success" or not answer["data"]["result"]:
		            bad.append(f'{panel["title"]}: {expr}: {answer.get("error", "no result")}')
		print("\n".join(bad))
		raise SystemExit(bool(bad) or n < 8)
	PY
	)
	tap_result $? "each query of ${board##*/} has a result" "$out"
done
is "the cluster's dashboard shows the cores of both nodes" 17 "$(value 'sum(reeve_cores{job="reeve"})')"
is "the nodes' shows what the agent says" 1 "$(value 'sum(reeve_node_cores_held{job="reeve-agent"})')"
is "the job of the agent has its name in Prometheus" physics "$(prometheus_api query --data-urlencode 'query=reeve_node_job_cores' | grep -o '"account":"[^"]*"' | cut -d'"' -f4)"
live_end_pid $prometheus
tap_end
