#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# stored.sh - one user against the ledger's disk: steps on one node a thousand times, scripts without end,
# output; what is removed of jobs that ended, and what never is. A real controller, signed HTTP. TAP.
# shellcheck disable=SC2317 # functions are called by soon
set -u
cd "$(dirname "$0")/../../.." || exit 1
. tests/cluster/lib/tap_lib.sh
. tests/cluster/lib/live_lib.sh
. tests/cluster/lib/play_lib.sh
[ "$(id -u)" = 0 ] || { echo "1..0 # SKIP needs root to exchange as several users"; exit 0; }
live_dir stored
live_munge
bounds=$'MaxStoredPerUser = 3MB\nKeepOutput = 24:00:00'
configure() {
	cat >"$dir/controller.conf" <<-CONF
		$(live_controller)
		NodeLost = 600
		$bounds
		[Cluster main]
		DefaultResources = jobfs=100MB,walltime=1:00:00
		[Account physics]
		Users = daemon, bin
	CONF
}
live_open configure
amounts='"ncpus":8,"mem_bytes":16000000000,"jobfs_bytes":10000000000,"ngpus":0'
exchange() { node_sync jobs="${1:-}" output="${2:-}" reports="${3:-}"; } # [JOBS [OUTPUT [REPORTS]]]: of n1
submit() { ask "$1" POST /v1/jobs "$(job_request stream=true argv= workdir=/srv more=",$2")"; } # UID MORE
sql() { sqlite3 -cmd '.timeout 5000' "$dir/ledger.db" "$1"; }
bytes() { sql 'SELECT page_count * page_size FROM pragma_page_count, pragma_page_size'; }
grew() { # NAME MOST COMMAND...: the ledger by no more than that
	local before after name=$1 most=$2
	shift 2
	before=$(bytes)
	"$@"
	after=$(bytes)
	[ $((after - before)) -le "$most" ]
	tap_result $? "$name" "from $before to $after bytes"
	echo "# $name: +$((after - before)) bytes"
}
text() { head -c "$1" /dev/zero | tr '\0' "${2:-x}"; } # BYTES [LETTER]

# ---- steps ----
exchange >/dev/null
submit $daemon '"script":"#!/bin/sh\n"' >/dev/null
job=1
soon "a job comes to its node" '"job":1,' exchange
hold='{"job":1,"attempt":1,"state":"running"}'
exchange "$hold" '' "$(job_report 1 1 running)" >/dev/null
command=$(text 200000)
step() { ask $daemon POST /v1/jobs/$job/steps "{\"schema\":\"reeve/1\",\"nodes\":[$1],\"argv\":[\"$command\"]}" >"$dir/step"; }
thousand=$(for _ in $(seq 1000); do printf '"n1",'; done)
grew "one node a thousand times fills nothing" 100000 step "${thousand%,}"
has "... and is refused in words" "node 'n1' is named more than once" "$(cat "$dir/step")"
twenty() { for _ in $(seq 20); do step '"n1"'; done; }
grew "a command is stored once, not once a step" 1000000 twenty
has "its node gets all of it" "$command" "$(exchange "$hold")"

# ---- scripts ----
script=$(text 200000 s)
fifty() { for _ in $(seq 50); do submit $daemon "\"hold\":true,\"script\":\"#!/bin/sh\\n# $script\""; done >/dev/null; }
grew "a script is stored once, not once a job" 1000000 fifty
has "its owner sees all of it" "\"script\":\"#!/bin/sh\\n# $script\"" "$(ask $daemon GET /v1/jobs/7)"
many() { # of which each is another
	for i in $(seq 20); do submit $daemon "\"hold\":true,\"script\":\"#!/bin/sh\\n# $i $script\""; done >"$dir/said.many"
}
grew "what is another one each time ends at a bound" 4000000 many
refusal=$(grep -m1 too-much-stored "$dir/said.many")
has "which is named with its number" "MaxStoredPerUser is 3.00 MB" "$refusal"
has "... with what the user has" "user daemon fills 2." "$refusal"
has "... and a remedy" "submit many jobs with one script" "$refusal"
has "steps are refused as well" "too-much-stored" "$(command=$(text 250000 y); step '"n1"'; command=$(text 250000 z); step '"n1"'
	command=$(text 250000 w); step '"n1"'; command=$(text 250000 v); step '"n1"'; cat "$dir/step")"
# ---- dependencies ----
targets=$(sql "SELECT group_concat('{\"kind\":\"afterany\",\"job\":' || job || '}') FROM (SELECT job FROM jobs WHERE state = 0 LIMIT 256)")
waiting() { for _ in $(seq 150); do submit $daemon "\"hold\":true,\"script\":\"#!/bin/sh\\n\",\"after\":[$targets]"; done >"$dir/said.waiting"; }
waiting
has "dependencies count, and end at the bound too" "scripts, environments, steps, dependencies and output" "$(grep -m1 too-much-stored "$dir/said.waiting")"
has "another user is not held back" '"job":' "$(submit $bin '"hold":true,"script":"#!/bin/sh\n"')"
print() { # a megabyte
	printf '{"job":1,"attempt":1,"stream":"out","offset":0,"data":"%s"}' "$(text 1000000 o | base64 -w0)" >"$dir/output"
	exchange "$hold" "$(cat "$dir/output")" >/dev/null
}
grew "output ends there too" 1200000 print
[ "$(sql "SELECT SUM(size) FROM chunks WHERE job = 1")" -lt 900000 ]
tap_result $? "... and is cut" "$(sql "SELECT SUM(size) FROM chunks WHERE job = 1")"
has "... which it says" "the output is cut here" "$(sql "SELECT CAST(data AS TEXT) FROM chunks ORDER BY id DESC LIMIT 1")"
is "what is counted is what is there" "$(sql "SELECT bytes FROM stored WHERE user = 'daemon'")" \
	"$(sql "SELECT (SELECT SUM(size) FROM chunks) + (SELECT SUM(size) FROM texts WHERE user = 'daemon') + (SELECT 256 * COUNT(*) FROM steps) + (SELECT 64 * COUNT(*) FROM depends)")"

# ---- what has ended ----
exchange '' '' "$(job_report 1 2 ended)" >/dev/null
for j in $(sql "SELECT job FROM jobs WHERE state < 5"); do ask 0 POST "/v1/jobs/$j/cancel" '{"schema":"reeve/1"}' >/dev/null; done
verified=$(build/bin/reeve admin verify --ledger "$dir/ledger.db" 2>&1)
attempts=$(sql "SELECT COUNT(*) FROM attempts")
bounds=$'MaxStoredPerUser = 3MB\nKeepOutput = 1\nKeepEvents = 1'
live_stop
configure
live_start || bail "it does not start again: $(tail -n 5 "$dir/controller.log")"
left() { sql "SELECT 'left ' || ((SELECT COUNT(*) FROM chunks) + (SELECT COUNT(*) FROM streams) + (SELECT COUNT(*) FROM steps) +
	(SELECT COUNT(*) FROM texts)) || ', events ' || (SELECT COUNT(*) FROM events) || ', bytes ' || (SELECT SUM(bytes) FROM stored)"; }
soon "output, steps, scripts and events go after their time" "left 0, events 1, bytes 0" left
is "attempts stay" "$attempts" "$(sql "SELECT COUNT(*) FROM attempts")"
is "the sums can be recomputed as before" "$verified" "$(build/bin/reeve admin verify --ledger "$dir/ledger.db" 2>&1)"
check "... and hold" build/bin/reeve admin verify --ledger "$dir/ledger.db"
out=$(ask $daemon GET /v1/jobs/7)
has "a job is shown without its script" '"argv":[]' "$out"
lacks "... which is gone" '"script"' "$out"
has "the user may submit again" '"job":' "$(submit $daemon "\"hold\":true,\"script\":\"#!/bin/sh\\n# again $script\"")"
next=$(sql "SELECT MAX(id) FROM events")
[ "$next" -gt 1 ]
tap_result $? "numbers of events are not used again" "$next"
tap_end
