#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# balances.sh - `reeve admin balances`: the file that Open OnDemand's dashboard reads (version 1 of its balance files), of a live
# controller with played jobs. Needs root (to be several users), munged and build/bin; loopback only. TAP.
set -u
cd "$(dirname "$0")/../../.." || exit 1
. tests/cluster/lib/tap_lib.sh
. tests/cluster/lib/live_lib.sh
. tests/cluster/lib/play_lib.sh
. tests/cluster/lib/past_lib.sh
reeve=$PWD/build/bin/reeve
export TZ=UTC LC_ALL=C
live_dir balances
[ "$(id -u)" = 0 ] || { skip "a live controller" "needs root to speak as several users"; tap_end; }
live_munge
configure() { # POLICY LINES
	cat >"$dir/controller.conf" <<-CONF
		$(live_controller "$dir/$database")
		[Policy]
		$1
		[Cluster main]
		Unit = service-units
		DefaultResources = jobfs=100MB,walltime=1:00:00
		[Cluster far]
		$far
	CONF
}
far='Unit = service-units'
open_site() { # NAME POLICY
	database=$1.db
	live_open configure "$2"
}
apply() { # accounts from standard input
	local text
	text=$(sed 's/"/\\"/g' | sed ':a;N;$!ba;s/\n/\\n/g')
	ask 0 POST /v1/accounts "{\"schema\":\"reeve/1\",\"revision\":${1:-0},\"text\":\"$text\\n\"}" >"$dir/applied"
	grep -q 200 "$dir/applied" || echo "Bail out! $(cat "$dir/applied")"
}
printf '[Client]\nMungeSocket = %s\n' "$dir/munge.sock" >"$dir/client.conf"
balances() { "$reeve" admin balances --config "$dir/client.conf" --controller "$url" "$@" 2>&1; }
# What the dashboard does with the file: https://osc.github.io/ood-documentation, "Balance warnings"; one line a balance of USER.
dashboard() { # FILE USER
	python3 - "$@" <<'PY'
import json, sys, time
doc = json.load(open(sys.argv[1]))
assert sorted(doc) == ["balances", "config", "timestamp", "version"], doc
assert doc["version"] == 1 and type(doc["timestamp"]) is int and abs(doc["timestamp"] - time.time()) < 60
assert sorted(doc["config"]) == ["project_type", "unit"] and all(type(v) is str for v in doc["config"].values())
for b in doc["balances"]:
    assert sorted(b) == ["project", "user", "value"], b
    assert type(b["user"]) is str and b["user"] and type(b["project"]) is str and b["project"]
    assert type(b["value"]) in (int, float)
for b in doc["balances"]:
    if b["user"] == sys.argv[2]:
        print(b["project"], b["value"], int(b["value"]), doc["config"]["unit"])
PY
}
year=$(date +%Y)
period="From = $((year - 1))-01-01
To = $((year + 2))-01-01"

# ---- grants ----
open_site grant "Quota = grant"
balances --file "$dir/none.json"
is "a site without accounts has an empty list" "" "$(dashboard "$dir/none.json" daemon)"
apply <<-CONF
	[Account physics]
	Users = daemon
	Coordinators = bin
	[Account optics]
	Parent = physics
	Users = daemon
	[Account art]
	Users = daemon
	[Allocation art/far]
	Kind = grant
	Amount = 12.3
	Cluster = far
	$period
	[Allocation physics/$year]
	Kind = grant
	Amount = 100
	$period
	[Allocation physics/gpus]
	Kind = grant
	Amount = 7
	Pool = gpu
	$period
CONF
file=$dir/balances.json
check "it writes the file" balances --file "$file"
is "each account that a user is in, what the account above it left included" \
	"art@far 12.3 12 SU optics 100.0 100 SU physics 100.0 100 SU" "$(dashboard "$file" daemon | xargs)"
is "a coordinator that is no member as well" "physics 100.0 100 SU" "$(dashboard "$file" bin)"
is "nothing of who is in no account" "" "$(dashboard "$file" games)"
is "a new file can be read by the dashboard, which runs as each user" 644 "$(stat -c %a "$file")"
chmod 640 "$file"
balances --pool gpu --file "$file"
is "GPUs are a file of their own" "optics 7.0 7 SU physics 7.0 7 SU" "$(dashboard "$file" daemon | xargs)"
is "a file that is replaced keeps its mode" 640 "$(stat -c %a "$file")"
balances --cluster main --file "$file"
is "of one cluster alone" "optics 100.0 100 SU physics 100.0 100 SU" "$(dashboard "$file" daemon | xargs)"
is "without a file it is printed" "$(python3 -c 'import json,sys; print(json.load(open(sys.argv[1]))["balances"])' "$file")" \
	"$(balances --cluster main | python3 -c 'import json,sys; print(json.load(sys.stdin)["balances"])')"
body='{"schema":"reeve/1","request":{"cluster":"main","account":"physics","name":"t","resources":{"ncpus":16,"vmem_bytes":1000000000,
"walltime_s":5400},"vmem_policy":"kill","stream":true,"join":false,"argv":["/bin/true"],"env":[],"workdir":"/"}}'
has "a job that waits reserves" 201 "$(ask $daemon POST /v1/jobs "$body")"
balances --file "$file"
is "and the balance is less at once" "physics 76.0 76 SU" "$(dashboard "$file" bin)"

# ---- who, and what cannot be written ----
out=$(as $daemon "$reeve" admin balances --config "$dir/client.conf" --controller "$url" 2>&1)
has "other users are refused" "only operators" "$out"
before=$(cat "$file")
has "a cluster that is not there" "no cluster 'mars'" "$(balances --cluster mars --file "$file")"
is "leaves the file as it was" "$before" "$(cat "$file")"
has "a folder that is not there" "No such file" "$(balances --file "$dir/no/balances.json")"
is "nothing is left beside it" "" "$(find "$dir" -name 'balances.json.*')"

# ---- readers see a whole file at any time ----
(for _ in $(seq 40); do balances --file "$file"; done) &
writer=$! broken=0
while kill -0 $writer 2>/dev/null; do
	python3 -c 'import json,sys; json.load(open(sys.argv[1]))' "$file" 2>/dev/null || broken=$((broken + 1))
done
wait $writer
is "a reader meanwhile never sees a part" 0 $broken

# ---- thousands of accounts come in several answers ----
open_site many "Quota = grant"
for i in $(seq 3000); do
	printf '[Account a%s]\nUsers = daemon\n[Allocation a%s/x]\nKind = grant\nAmount = %s\n%s\n' "$i" "$i" "$i" "$period"
done >"$dir/many.conf"
apply <"$dir/many.conf"
has "one answer goes on at the next" '"next":"a' "$(ask 0 GET /v1/balances)"
balances --file "$file"
is "all accounts are in the file, each once" "3000 3000 4501500" \
	"$(dashboard "$file" daemon | awk '{ n++; s += $2; names[$1] } END { print n, length(names), s }')"

# ---- two units ----
far='Unit = core-hours'
open_site units "Quota = grant"
apply <<-CONF
	[Account art]
	Users = daemon
	[Allocation art/near]
	Kind = grant
	Amount = 1
	Cluster = main
	$period
	[Allocation art/far]
	Kind = grant
	Amount = 2
	Cluster = far
	$period
CONF
has "two units do not go into one file" "write a file for each cluster" "$(balances)"
balances --cluster far --file "$file"
is "each cluster has its own" "art@far 2.0 2 core-h" "$(dashboard "$file" daemon)"

# ---- a window and a target ----
far='Unit = service-units'
open_site window "Quota = window"
apply <<-CONF
	[Account physics]
	Users = daemon
	[Allocation physics/$year]
	Kind = monthly
	Amount = 10
	$period
CONF
balances --file "$file"
is "of a window what this month may still use" "physics $(as $daemon "$reeve" quota --config "$dir/client.conf" --controller "$url" \
	--csv --noheader --columns available_ms | awk '{ printf "%.1f %d SU", $1 / 3600000, $1 / 3600000 }')" "$(dashboard "$file" daemon)"
open_site target "Quota = target"
apply <<-CONF
	[Account physics]
	Users = daemon
	[Allocation physics/$year]
	Kind = target
	Amount = 1
	From = $year-01-01
	To = $year-12-31
CONF
balances --file "$file"
is "of a target what its period has left" "physics $((24 * ($(date -d "$year-12-31" +%j) - 1))).0" "$(dashboard "$file" daemon | cut -d' ' -f1,2)"
tap_end
