#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# cluster.sh - the page of a cluster, of a real controller with played nodes: what of its core time was charged, free, drained, down, by day;
# who used most; how long jobs waited; who sees what; days before nodes were recorded; the same as CSV and JSON. TAP.
# shellcheck disable=SC2317 # functions are called by soon
set -u
cd "$(dirname "$0")/../../.." || exit 1
. tests/cluster/lib/tap_lib.sh
. tests/cluster/lib/live_lib.sh
. tests/cluster/lib/past_lib.sh
. tests/cluster/lib/play_lib.sh
[ "$(id -u)" = 0 ] || { echo "1..0 # SKIP needs root to exchange as several users"; exit 0; }
# Its jobs began half an hour ago, and are to be of one day: early in a day of UTC the controller's days are those of a zone where it is afternoon.
zone=UTC ahead=0
[ $(($(date +%s) % 86400)) -ge 43200 ] || zone=Etc/GMT-12 ahead=43200
live_dir cluster
live_munge
cp build/bin/reeve "$dir/reeve"
configure() {
	cat >"$dir/controller.conf" <<-CONF
		$(live_controller)
		NodeLost = 30
		[Policy]
		TimeZone = $zone
		[Cluster main]
		DefaultResources = jobfs=100MB,walltime=1:00:00
		[Account physics]
		Users = daemon
		[Account chemistry]
		Users = bin
	CONF
	printf '[Client]\nController = %s\nMungeSocket = %s/munge.sock\n' "$url" "$dir" >"$dir/reeve.conf"
	chmod 644 "$dir/reeve.conf"
}
live_open configure
backdate_dispatch "$dir/ledger.db" 1
enter() { web_enter "$dir/jar.$1" "$(as "$1" "$dir/reeve" web --print --config "$dir/reeve.conf")" >/dev/null; } # UID
get() { curl -s -b "$dir/jar.$1" "$url/web$2"; }                                                                   # UID PATH
text() { get "$1" "$2" | sed -e 's/<[^>]*>/ /g' | tr -s ' \n\t' ' '; }
status() { curl -s -o /dev/null -w '%{http_code}' -b "$dir/jar.$1" "$url/web$2"; }
like() { # NAME REGEX TEXT
	grep -qE -- "$2" <<<"$3"
	tap_result $? "$1" "$3"
}
unlike() { # NAME REGEX TEXT
	! grep -qE -- "$2" <<<"$3"
	tap_result $? "$1" "$3"
}
sql() { sqlite3 -cmd '.timeout 10000' "$dir/ledger.db" "$1"; }
amounts='"ncpus":16,"mem_bytes":64000000000,"jobfs_bytes":100000000000,"ngpus":0'
for u in 0 $daemon $bin; do enter "$u"; done

# ---- before anything ----
like "without nodes the page says that nothing is recorded" 'No node has reported yet' "$(text $daemon /cluster)"

# ---- records of nodes: a row a change ----
node_sync >/dev/null
node_sync >/dev/null
node_sync node=n2 >/dev/null
is "a node that only reports again adds no row" 'n1|0|16 n2|0|16' "$(sql "SELECT node, state, ncpus FROM node_changes ORDER BY node, at_ns" | tr '\n' ' ' | sed 's/ $//')"
ask 0 POST /v1/nodes/drain '{"schema":"reeve/1","nodes":["n2"],"reason":"disk"}' >/dev/null
is "a drain does" 'n2|1' "$(sql "SELECT node, state FROM node_changes WHERE node = 'n2' ORDER BY at_ns DESC LIMIT 1")"
node_sync node=n2 >/dev/null
is "the next report of a drained node does not" 2 "$(sql "SELECT COUNT(*) FROM node_changes WHERE node = 'n2'")"
ask 0 POST /v1/nodes/resume '{"schema":"reeve/1","nodes":["n2"]}' >/dev/null
node_sync node=n2 >/dev/null
is "its first report after the drain does" 'n2|0' "$(sql "SELECT node, state FROM node_changes WHERE node = 'n2' ORDER BY at_ns DESC LIMIT 1")"
sql "UPDATE nodes SET last_ns = last_ns - 600 * 1000000000 WHERE node = 'n2'"
is_down() { [ "$(sql "SELECT state FROM node_changes WHERE node = 'n2' ORDER BY at_ns DESC LIMIT 1")" = 2 ]; }
for _ in $(seq 300); do is_down && break; sleep 0.1; done
is_down; tap_result $? "a node that is silent for NodeLost seconds is down"

# ---- jobs: two days ago both nodes were there for a whole day ----
job_of() { job_number "$(ask "$1" POST /v1/jobs "$(job_request account="$2" resources='"ncpus":8,"vmem_bytes":1000000')")"; } # UID ACCOUNT
one=$(job_of $daemon physics)
two=$(job_of $bin chemistry)
is_started() { [[ $(node_sync wait=1) == *"\"job\":$two"* ]]; }
for _ in $(seq 20); do is_started && break; done
at=$(date +%s)
node_sync jobs="$(job_entry "$one" ended),$(job_entry "$two" ended)" reports="$(
	job_report "$one" 1 ended started_s=$((at - 1800)) running_s=1800 usage='"cpu_ns":3600000000000'),$(
	job_report "$two" 1 ended started_s=$((at - 900)) running_s=900 usage='"cpu_ns":7200000000000')" >/dev/null
is "each job's wait is counted once, by its size" '2|2' "$(sql 'SELECT SUM(jobs), COUNT(DISTINCT day) + COUNT(DISTINCT size) FROM waits')"
node_sync >/dev/null
live_stop
old=$(($(date +%s) / 86400 - 2))
begins=$((old * 86400 - ahead))
# What is done to the rollups is done to the totals, as the controller does it.
sql "UPDATE rollups SET day = $old; UPDATE totals SET begins = $old, version = version + 1 WHERE span = 0; DELETE FROM node_changes;
INSERT INTO node_changes VALUES('n1', ($begins - 3600) * 1000000000, 'main', 0, 16, 0), ('n2', ($begins - 3600) * 1000000000, 'main', 0, 16, 0),
('n2', ($begins + 6 * 3600) * 1000000000, 'main', 1, 16, 0), ('n2', ($begins + 12 * 3600) * 1000000000, 'main', 2, 16, 0)"
live_start || bail "the controller does not start again"
for u in 0 $daemon $bin; do enter "$u"; done
day=$(date -u -d "@$((old * 86400))" +%F)
page=$(text 0 /cluster)
like "what was charged, free, drained and down on a day" "$day 6\.000 474\.0 96\.0 192\.0 0\.8 %" "$page"
unlike "days of which nothing is known have no row" "$(date -u -d "@$(((old - 2) * 86400))" +%F) 0" "$page"
like "but a sentence" 'Days without a row: nothing was charged, and nodes were not recorded' "$page"
like "and since when they are" "recorded since $(date -u -d "@$(((old - 1) * 86400))" +%F)" "$page"
like "the chart has a bar for each" '<rect class="charged" x="' "$(get 0 /cluster)"
like "and words for who does not see it" 'role="img" aria-label="Core-hours by day' "$(get 0 /cluster)"
like "top accounts, the largest first" 'physics 4\.000 66\.7 % 0 chemistry 2\.000 33\.3 %' "$page"
like "idle core time by user" 'daemon 3\.000 75\.0 % 4\.000' "$page"
unlike "not of users whose cores worked" 'bin 0\.000' "$page"
like "waits by size" '2 to 15 2 0:0[0-9]:[0-9]+ ' "$page"

# ---- rights ----
page=$(text $daemon /cluster)
like "a user sees the sums of all" "$day 6\.000" "$page"
unlike "but no account of others" 'chemistry|physics 4' "$page"
unlike "and no users" 'Most idle' "$page"
is "nor has the document" '[] []' "$(get $daemon /cluster.json | python3 -c 'import json,sys; u=json.load(sys.stdin)["utilisation"]; print(u["accounts"], u["users"])')"

# ---- queries ----
is "a period" 200 "$(status 0 "/cluster?start=$day&end=$(date -u +%F)")"
like "of 93 days is refused in words" '1 to 92 days, not 93' "$(get 0 '/cluster?start=2026-01-01&end=2026-04-04')"
like "a cluster that is not there too" "no cluster &#39;west&#39;|no cluster 'west'" "$(get 0 '/cluster?cluster=west')"
is "one of bytes that are no text breaks nothing" 400 "$(status 0 '/cluster?cluster=%ff')"
like "CSV has the days of the page" "^$day,true,21600000,1706400000,345600000,691200000" "$(get 0 /cluster.csv)"
sql "UPDATE rollups SET account = '<b>&', user = '\"><i>' WHERE account = 'physics'; UPDATE totals SET version = version + 1"
unlike "an account's name is no markup" '<b>|<i>' "$(get 0 /cluster)"
like "but text" '&lt;b&gt;&amp;' "$(get 0 /cluster)"
tap_end
