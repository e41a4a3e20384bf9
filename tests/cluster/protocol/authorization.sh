#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# authorization.sh - who sees and who changes what over HTTP: each route asked by everyone there is, from a stranger to
# an operator, of a real controller with a real munged; figures for monitoring; the ledger's files.
# TAP. Needs root to be those users.
set -u
cd "$(dirname "$0")/../../.." || exit 1
. tests/cluster/lib/tap_lib.sh
. tests/cluster/lib/live_lib.sh
. tests/cluster/lib/past_lib.sh
[ "$(id -u)" = 0 ] || { echo "1..0 # SKIP needs root to speak as several users"; exit 0; }
live_dir who
live_munge
live_tool signed
# Account physics: daemon, who owns the jobs, and bin; games coordinates it. sys is the operator; the stranger has
# no account. Root is a node's, and no operator.
owner=$daemon fellow=$bin coordinator=5 operator=3 node=0
ledger=$dir/state/ledger.db
mkdir -m 700 "$dir/state"
configure() { # [LINE of [Controller]]...
	cat >"$dir/controller.conf" <<-CONF
		[Controller]
		Listen = 127.0.0.1:$port
		Database = $ledger
		MungeSocket = $dir/munge.sock
		Operators = sys
		AcceptNodes = listed
		$(printf '%s\n' "$@")
		[Cluster main]
		DefaultResources = vmem=1GB,jobfs=100MB,walltime=1:00:00
		[Cluster side]
		Engine = slurm
		[Node n1]
		[Node n2]
		[Node far]
		Address = 192.0.2.1
	CONF
}
again() { # [LINE]...
	live_stop
	configure "$@"
	live_start || bail "the controller does not start again: $(cat "$dir/controller.log")"
}
document() { sed 1d <<<"$1"; }
number() { grep -o "\"$2\": *[0-9]*" <<<"$1" | head -n 1 | grep -o '[0-9]*$'; }
sync() { # [ATTEMPT [REPORT]]
	local amounts='"ncpus":64,"mem_bytes":640000000000,"jobfs_bytes":100000000000,"ngpus":0'
	echo '{"schema":"reeve/1","node":"n1","boot":"b1","version":"t","capacity":{'$amounts'},"free":{'$amounts'},
"state":"up","tier":1,"notes":[],"jobs":['"${1:-}"'],"reports":['"${2:-}"'],"output":[]}'
}
submit() { # [MORE]: prints the number
	number "$(ask $owner POST /v1/jobs '{"schema":"reeve/1","request":{"cluster":"main","account":"physics","name":"secretive",
"workdir":"/","script":"#!/bin/sh\n# open-sesame\n","env":["TOKEN=swordfish"],"argv":["x"],"resources":{"ncpus":1}'"${1:-}"'}}')" job
}
live_open configure
backdate_dispatch "$ledger" 1

# ---- the ledger's files ----
modes() { find "$dir/state" -type f -printf '%f %m\n' | sort; }
is "the ledger, its log and its lock are their owner's alone" 'ledger.db 600
ledger.db-shm 600
ledger.db-wal 600
ledger.db.lead 600' "$(modes)"
live_stop
cp "$ledger" "$ledger.damaged-1"
touch "$dir/state/other"
chmod 644 "$dir/state"/*
again
is "what an earlier version left open is closed at the start" 'ledger.db 600
ledger.db-shm 600
ledger.db-wal 600
ledger.db.damaged-1 600
ledger.db.lead 600
other 644' "$(modes)"
has "and the log records it" 'could be read by others (mode 644)' "$(cat "$dir/controller.log")"
live_stop
chmod 777 "$dir/state"
timeout 20 "$binary" --config "$dir/controller.conf" >"$dir/refused" 2>&1
has "no ledger is kept in a directory in which everyone may make files" 'chmod o-w' "$(cat "$dir/refused")"
chmod 700 "$dir/state"
again

# ---- accounts, a node, a job of the owner's that runs ----
ask $operator POST /v1/accounts '{"schema":"reeve/1","revision":0,"text":"[Account physics]\nUsers = daemon,bin\nCoordinators = games\n[Account hidden]\nUsers = sys\n"}' >"$dir/out"
has "an operator declares the accounts" '"applied":true' "$(cat "$dir/out")"
ask $node POST /v1/node/sync "$(sync)" >"$dir/out"
job=$(submit)
for _ in $(seq 200); do
	grep -q '"want":"run"' <<<"$(ask $node POST '/v1/node/sync' "$(sync)")" && break
	sleep 0.05
done
now=$(date +%s)
listed='{"job":'$job',"attempt":1,"state":"running"}'
report='{"job":'$job',"attempt":1,"seq":1,"at_ns":'$now'000000000,"state":"running","started_ns":'$now'000000000,"ended_ns":0,
"running_ns":10000000000,"suspended_ns":0,"usage":{"mem_peak_bytes":424242},"end":{"kind":"none","exit_status":-1,"signal":0,
"reason":{"limit":"none","requested":-1,"reached":-1,"at_ns":0,"host":"","n_procs":0,"procs":[],"text":""}},"cpus":"0","note":""}'
ask $node POST /v1/node/sync "$(sync "$listed" "$report")" >"$dir/out"
soon "the node runs a job of the owner's" '"state":"running"' ask $owner GET "/v1/jobs/$job"

# ---- every route, asked by everyone ----
# who NAME METHOD PATH BODY STATUSES: of no credential, root of a node, a stranger, a fellow of the account,
# its coordinator, the owner, an operator. NEW in PATH: a job of the owner's made for the question, held.
asked=
actors=("$node" "$stranger" "$fellow" "$coordinator" "$owner" "$operator")
who_one() { # UID|none METHOD PATH BODY
	local path=${3/JOB/$job}
	[[ $path != *NEW* ]] || path=${path/NEW/$(submit ',"hold":true')}
	if [ "$1" = none ]; then ask $stranger "$2" "$path" "$4" none; else ask "$1" "$2" "$path" "$4"; fi | head -n 1
}
who() {
	local uid pids=() got=()
	asked="$asked $2:${3%%\?*}"
	for uid in none "${actors[@]}"; do
		who_one "$uid" "$2" "$3" "$4" >"$dir/got.$uid" &
		pids+=($!)
	done
	wait "${pids[@]}"
	for uid in none "${actors[@]}"; do got+=("$(cat "$dir/got.$uid")"); done
	is "$1" "$5" "${got[*]}"
}
#                                                                   none node stranger fellow coordinator owner operator
who "sync: nodes alone" POST /v1/node/sync "$(sync "$listed")" "401 200 403 403 403 403 403"
who "jobs: a list is everyone's, of their own" GET /v1/jobs '' "401 200 200 200 200 200 200"
who "jobs of others: operators" GET '/v1/jobs?user=daemon' '' "401 403 403 403 403 200 200"
who "jobs of an account: its coordinator, operators" GET '/v1/jobs?account=physics&user=daemon' '' "401 403 403 403 200 200 200"
who "job: its owner, its coordinator, operators" GET /v1/jobs/JOB '' "401 404 404 404 200 200 200"
who "why: its owner, its coordinator, operators" GET /v1/jobs/JOB/why '' "401 404 404 404 200 200 200"
who "series: its owner, its coordinator, operators" GET /v1/jobs/JOB/series '' "401 404 404 404 200 200 200"
who "output: its owner, operators" GET /v1/jobs/JOB/output '' "401 404 404 404 404 200 200"
who "steps: its owner, operators" GET /v1/jobs/JOB/steps '' "401 404 404 404 404 200 200"
who "start of a step: its owner alone" POST /v1/jobs/JOB/steps '{"schema":"reeve/1","nodes":["n1"],"argv":["true"]}' "401 404 404 404 404 201 403"
who "output of steps: its owner, operators" GET '/v1/jobs/JOB/steps/output?first=1&last=1' '' "401 404 404 404 404 200 200"
who "end of a step: its owner alone" POST /v1/jobs/JOB/steps/cancel '{"schema":"reeve/1","step":1}' "401 404 404 404 404 200 403"
step=$(number "$(ask $owner POST "/v1/jobs/$job/steps" '{"schema":"reeve/1","nodes":["n1"],"argv":["sh"],"console":"pipes"}')" step)
format=$(sed -n 's/^#define CONSOLE_FORMAT //p' common/model/console/console.h)
console='{"schema":"reeve/1","step":'$step',"token":"0123456789abcdef"'
who "console of a step: its owner alone" POST /v1/jobs/JOB/console "$console}" "401 404 404 404 404 200 403"
who "consoles of a node: nodes alone" POST /v1/node/console '{"schema":"reeve/1","format":'$format',"node":"n1","steps":[]}' "401 200 403 403 403 403 403"
who "consoles of a node whose agent names no format: refused" POST /v1/node/console '{"schema":"reeve/1","node":"n1","steps":[]}' "401 409 403 403 403 403 403"
who "consoles of a node at another address: no node" POST /v1/node/console '{"schema":"reeve/1","format":'$format',"node":"far","steps":[]}' "401 403 403 403 403 403 403"
who "consoles of a node that is not named: no node" POST /v1/node/console '{"schema":"reeve/1","format":'$format',"node":"n9","steps":[]}' "401 403 403 403 403 403 403"
who "hold: its owner, operators" POST /v1/jobs/NEW/hold '' "401 404 404 404 404 200 200"
who "release: its owner, operators" POST /v1/jobs/NEW/release '' "401 404 404 404 404 200 200"
who "priority down: its owner, operators" POST /v1/jobs/NEW/priority '{"schema":"reeve/1","nice":5}' "401 404 404 404 404 200 200"
who "priority up: operators" POST /v1/jobs/NEW/priority '{"schema":"reeve/1","nice":-5}' "401 404 404 404 404 400 200"
who "priority by the site: operators" POST /v1/jobs/NEW/priority '{"schema":"reeve/1","site":5}' "401 404 404 404 404 403 200"
who "cancel: its owner, operators" POST /v1/jobs/NEW/cancel '' "401 404 404 404 404 200 200"
who "suspend: its owner, operators" POST /v1/jobs/JOB/suspend '' "401 404 404 404 404 200 200"
who "resume: its owner, operators" POST /v1/jobs/JOB/resume '' "401 404 404 404 404 200 200"
who "submission: users of the account" POST /v1/jobs '{"schema":"reeve/1","request":{"cluster":"main","account":"physics","name":"t","workdir":"/","argv":["x"],"hold":true,"resources":{"ncpus":1}}}' "401 403 400 201 400 201 400"
who "price of a job: its owner, its coordinator, operators" GET /v1/jobs/JOB/price '' "401 404 404 404 200 200 200"
who "what a job used: its owner, its coordinator, operators" GET /v1/jobs/JOB/eff '' "401 404 404 404 200 200 200"
who "cores of nodes: everyone" GET /v1/nodes/jobs '' "401 200 200 200 200 200 200"
who "what of the nodes needs a look: everyone" GET /v1/nodes/watch '' "401 200 200 200 200 200 200"
who "nodes: everyone" GET /v1/nodes '' "401 200 200 200 200 200 200"
who "drain: operators" POST /v1/nodes/drain '{"schema":"reeve/1","nodes":["n1"],"reason":"test"}' "401 403 403 403 403 403 200"
who "resume of a node: operators" POST /v1/nodes/resume '{"schema":"reeve/1","nodes":["n1"]}' "401 403 403 403 403 403 200"
who "use of a cluster: everyone" GET /v1/utilisation '' "401 200 200 200 200 200 200"
who "usage: everyone, of their own" GET /v1/usage '' "401 200 200 200 200 200 200"
who "usage of others: operators" GET '/v1/usage?user=daemon' '' "401 403 403 403 403 200 200"
who "usage of an account: its coordinator, operators" GET '/v1/usage?account=physics&user=daemon' '' "401 403 403 403 200 200 200"
who "efficiency of others: as usage" GET '/v1/eff?user=daemon' '' "401 403 403 403 403 200 200"
who "refunds: operators see them" GET /v1/adjustments '' "401 403 403 403 403 403 200"
who "refunds: operators make them" POST /v1/adjustments '{"schema":"reeve/1","charge_ms":-1,"reason":"test","cluster":"main","account":"physics","user":"daemon","pool":"cpu"}' "401 403 403 403 403 403 201"
who "shares of accounts: every user" GET /v1/share '' "401 200 200 200 200 200 200"
who "priorities: everyone, of their own" GET /v1/prio '' "401 200 200 200 200 200 200"
who "quota: members, coordinators, operators" GET '/v1/quota?account=physics' '' "401 404 404 200 200 200 200"
who "balances of all accounts: operators" GET /v1/balances '' "401 403 403 403 403 403 200"
who "outages: everyone" GET /v1/outages '' "401 200 200 200 200 200 200"
who "outages: operators declare them" POST /v1/outages '{"schema":"reeve/1","from":"2026-05-01","to":"2026-05-08","reason":"cooling"}' \
	"401 403 403 403 403 403 201"
who "outages: operators remove them" POST /v1/outages/remove '{"schema":"reeve/1","id":1}' "401 403 403 403 403 403 200"
who "storage: everyone, of the accounts that they are in" GET /v1/storage '' "401 200 200 200 200 200 200"
who "storage of an account: members, coordinators, operators" GET '/v1/storage?account=physics' '' "401 404 404 200 200 200 200"
who "readings of storage: operators import them" POST /v1/storage '{"schema":"reeve/1","rows":[{"account":"physics","filesystem":"/project","bytes":4242,"at_ns":1}]}' \
	"401 403 403 403 403 403 200"
who "readings of storage: operators remove them" POST /v1/storage/remove '{"schema":"reeve/1","filesystem":"/project"}' "401 403 403 403 403 403 200"
who "price of a request: everyone" POST /v1/cost '{"schema":"reeve/1","request":{"cluster":"main","name":"t","workdir":"/","argv":["x"],"resources":{"ncpus":1}}}' "401 200 200 200 200 200 200"
who "a link to the pages: everyone, with their own rights" POST /v1/web/tickets '{"schema":"reeve/1"}' "401 200 200 200 200 200 200"
who "clusters and queues: everyone" GET /v1/cluster '' "401 200 200 200 200 200 200"
who "version and clock: everyone" GET /v1/about '' "401 200 200 200 200 200 200"
who "accounts: everyone, what they are in" GET /v1/accounts '' "401 200 200 200 200 200 200"
who "accounts: operators change them" POST /v1/accounts '{"schema":"reeve/1","revision":1,"text":"[Account x]\n","dry_run":true}' "401 403 403 403 403 403 200"
who "changes of accounts: operators" GET /v1/accounts/log '' "401 403 403 403 403 403 200"
# Root is the SlurmUser, which cannot be told from root of a node here.
slurm='"schema":"reeve/1","cluster":"side"'
who "what Slurm has of jobs: its user" POST /v1/slurm/jobs "{$slurm,\"source\":\"slurmctld\",\"at_s\":$(date +%s),\"jobs\":[]}" "401 200 403 403 403 403 403"
who "what the ledger has of Slurm's jobs: its user, operators" GET '/v1/slurm/attempts?cluster=side' '' "401 200 403 403 403 403 200"
who "a submission to Slurm: its user, operators" POST /v1/slurm/submit "{$slurm,\"user\":\"bin\",\"account\":\"physics\",\"ncpus\":1,\"walltime_s\":60}" \
	"401 200 403 403 403 403 200"
who "what waits in Slurm: its user, operators" POST /v1/slurm/pending "{$slurm,\"first\":true,\"last\":true,\"jobs\":[]}" "401 200 403 403 403 403 200"
who "metrics: everyone, without accounts" GET /metrics '' "200 200 200 200 200 200 200"

is "no route of the controller was left out" '' "$(sed -nE 's/^\t\{ "([A-Z]+)", "([^"]+)",.*/\1:\2/p' controller/api/routes.c | while read -r route; do
	grep -qxF "$route" <<<"$(tr ' ' '\n' <<<"$asked" | sed 's/JOB\|NEW/#/')" || echo "$route"
done)"

# ---- what is in the answers ----
has "its owner reads script and environment" swordfish "$(ask $owner GET "/v1/jobs/$job")"
out=$(ask $coordinator GET "/v1/jobs/$job")
has "a coordinator sees the job" '"mem_peak_bytes":424242' "$out"
lacks "without the script" open-sesame "$out"
lacks "and the environment" swordfish "$out"
lacks "nor is either in a list, an operator's too" swordfish "$(ask $operator GET '/v1/jobs?user=daemon')"
for uid in $stranger $fellow $node; do
	is "uid $uid: a job of others is answered as one that is not there" \
		"$(ask $uid GET /v1/jobs/4242 | sed 's/job 4242/job N/g')" "$(ask $uid GET "/v1/jobs/$job" | sed "s/job $job/job N/g")"
	lacks "uid $uid: and is in no list" secretive "$(ask $uid GET /v1/jobs; ask $uid GET /v1/prio; ask $uid GET '/v1/eff?jobs='"$job"; ask $uid GET /v1/nodes)"
	lacks "uid $uid: nor its owner's usage anywhere" daemon "$(ask $uid GET /v1/usage; ask $uid GET '/v1/share?users=all'; ask $uid GET '/v1/quota'; ask $uid GET /v1/cluster)"
done
has "a coordinator sees the users' shares" daemon "$(ask $coordinator GET '/v1/share?users=all')"
lacks "accounts: a member does not see others'" hidden "$(ask $owner GET /v1/accounts)"
has "accounts: an operator does" hidden "$(ask $operator GET /v1/accounts)"
has "another address speaks for no node" 403 "$(ask $node POST /v1/node/sync "$(sync | sed 's/"n1"/"far"/')")"
has "nor does one that is not named" 403 "$(ask $node POST /v1/node/sync "$(sync | sed 's/"n1"/"n9"/')")"

# ---- consoles ----
# printed SERIAL TEXT HEARD, typed TEXT: messages in base64 (common/model/console/console.h).
printed() { python3 -c 'import base64, struct, sys
t = sys.argv[2].encode()
print(base64.b64encode(b"RCO2" + struct.pack("<IQQQQQIqqIqI32x", 0, int(sys.argv[1]), int(sys.argv[3]), 0, 1, int(sys.argv[1]), 0, 0, 0, len(t), 0, 0) + t).decode())' "$@"; }
typed() { python3 -c 'import base64, struct, sys
print(base64.b64encode(b"RCI2" + struct.pack("<IQIIQQ64xQQqI", 0, 0, 0, 80, 1, 1, 1, 1, 0, 0) + sys.argv[1].encode() + bytes(32)).decode())' "$@"; }
from_node() { # NODE [ATTEMPT [SERIAL TEXT]]
	local body=$dir/relay.$BASHPID size
	: >"$body.bytes"
	[ $# -lt 4 ] || printed "$3" "$4" "${5:-1}" | base64 -d >"$body.bytes"
	size=$(stat -c %s "$body.bytes")
	printf '{"schema":"reeve/1","format":%s,"node":"%s","steps":[{"job":%s,"attempt":%s,"step":%s,"size":%s}]}' "$format" "$1" "$job" "${2:-1}" "$step" "$size" >"$body"
	[ "$size" = 0 ] || { printf '\0'; cat "$body.bytes"; } >>"$body"
	as $node "$dir/signed" "$url" "$dir/munge.sock" POST /v1/node/console "$body" 2>/dev/null |
		python3 -c 'import base64, sys
text, _, message = sys.stdin.buffer.read()[:-1].partition(b"\0")
print(text.decode()); print("message", base64.b64encode(message).decode())'
}
ask $owner POST "/v1/jobs/$job/console" "$console"',"message":"'"$(typed swordfish)"'"}' >"$dir/out"
has "the node of a step has its input" 'message UkNJM' "$(from_node n1)"
lacks "another node does not, though it names the step" UkNJM "$(from_node n2)"
lacks "nor does an earlier attempt" UkNJM "$(from_node n1 7)"
from_node n2 1 99 forged 9223372036854775807 >"$dir/out"
from_node n1 7 98 forged 9223372036854775807 >"$dir/out"
lacks "what another node says is not the step's output" UkNPM "$(ask $owner POST "/v1/jobs/$job/console" "$console}")"
heard=$(from_node n1 | sed -n 's/^message //p' | base64 -d | python3 -c 'import struct, sys; print(struct.unpack_from("<Q", sys.stdin.buffer.read(), 8)[0])')
from_node n1 1 97 genuine "$heard" >"$dir/out"
has "what its own node says is" '"message":"UkNPM' "$(ask $owner POST "/v1/jobs/$job/console" "$console}")"
for uid in $stranger $fellow $coordinator $operator; do
	lacks "uid $uid: types nothing into it" 200 "$(ask $uid POST "/v1/jobs/$job/console" '{"schema":"reeve/1","step":'"$step"',"take_over":true,"token":"fedcba9876543210","message":"'"$(typed rm)"'"}' | head -n 1)"
done

# ---- members who see what the others of their account used ----
again "[Policy]" "MembersSee = account" "Quota = target"
ask $operator POST /v1/accounts '{"schema":"reeve/1","revision":1,"text":"[Account physics]\nUsers = daemon,bin\nCoordinators = games\n[Account hidden]\nUsers = sys\n[Allocation physics/all]\nKind = target\nAmount = 1\nFrom = 2020-01-01\nTo = 2120-01-01\n"}' >"$dir/out"
#                                                                   none node stranger fellow coordinator owner operator
who "MembersSee = account: usage: members, coordinators, operators" GET '/v1/usage?account=physics&user=daemon' '' "401 403 403 200 200 200 200"
who "MembersSee = account: efficiency: likewise" GET '/v1/eff?account=physics&user=daemon' '' "401 403 403 200 200 200 200"
who "MembersSee = account: but not over all accounts" GET '/v1/usage?user=daemon' '' "401 403 403 403 403 200 200"
who "MembersSee = account: jobs stay its coordinator's" GET '/v1/jobs?account=physics&user=daemon' '' "401 403 403 403 200 200 200"
who "MembersSee = account: so does each job" GET /v1/jobs/JOB '' "401 404 404 404 200 200 200"
has "MembersSee = account: and the sum of all users" '"user":"daemon"' "$(ask $fellow GET '/v1/usage?account=physics&by=user')"
has "MembersSee = account: a member sees the users' shares" daemon "$(ask $fellow GET '/v1/share?users=all')"
has "MembersSee = account: and each one's part of the quota" daemon "$(ask $fellow GET '/v1/quota?account=physics')"
lacks "MembersSee = account: a stranger sees none" daemon "$(ask $stranger GET '/v1/share?users=all'; ask $stranger GET '/v1/quota'; ask $stranger GET /v1/usage)"
again

# ---- metrics ----
sums='reeve_charge_requested_equivalent_seconds_total{pool="cpu"}'
of_physics='reeve_charge_requested_equivalent_seconds_total{account="physics",pool="cpu"}'
scrape() { curl -s "$@" "$url/metrics"; }
out=$(scrape)
has "metrics: anyone gets the sums of all accounts" "$sums" "$out"
lacks "metrics: anyone gets no account" physics "$out"
lacks "metrics: nor does a user of it" physics "$(ask $owner GET /metrics)"
has "metrics: an operator gets the accounts" "$of_physics" "$(ask $operator GET /metrics)"
has "metrics: a wrong credential is refused" 401 "$(ask $operator GET /metrics '' garbage)"
has "metrics: a token is refused where there is none" 401 "$(scrape -o /dev/null -w '%{http_code}' -H 'Authorization: Bearer 0123456789abcdef0123456789abcdef')"
token=0123456789abcdef0123456789abcdef
echo $token >"$dir/token" && chmod 640 "$dir/token"
again "MetricsToken = $dir/token"
has "metrics: who has the token gets the accounts" "$of_physics" "$(scrape -H "Authorization: Bearer $token")"
lacks "metrics: who has not gets none" physics "$(scrape)"
for wrong in "Bearer ${token%?}0" "Bearer ${token%?}" "Bearer " "Basic $token"; do
	has "metrics: '$wrong' is refused" 401 "$(scrape -o /dev/null -w '%{http_code}' -H "Authorization: $wrong")"
done
echo another-token-$token >"$dir/token"
has "metrics: a token is changed without a restart" "$of_physics" "$(scrape -H "Authorization: Bearer another-token-$token")"
chmod 644 "$dir/token"
has "metrics: a token that everyone can read opens nothing" 401 "$(scrape -o /dev/null -w '%{http_code}' -H "Authorization: Bearer another-token-$token")"
has "metrics: nor does the controller start with it" 'chmod 640' "$("$binary" --config "$dir/controller.conf" --check 2>&1)"
again "MetricsAccounts = public"
has "metrics: a site may show the accounts to everyone" "$of_physics" "$(scrape)"

# The whole past is summed up for it, and who has no credential asks as often as they can.
live_stop
rm -f "$ledger"*
echo '; UnixStartTime: 1000000000' >"$dir/past.swf"
for i in $(seq 8000); do echo "$i $((i * 9000)) 5 $((i * 37 % 9000)) $((i % 64)) -1 -1 4 7200 -1 1 $((i % 500)) $((i % 100)) -1 -1 -1 -1 -1"; done >>"$dir/past.swf"
build/bin/reeve import swf "$dir/past.swf" --cluster main --ledger "$ledger" >"$dir/out" 2>&1 || bail "no import: $(cat "$dir/out")"
again "MetricsAccounts = public"
spent() { awk '{ print int($1 / 1000) }' "/proc/$controller/schedstat"; } # us
while a=$(spent); sleep 0.5; [ $(($(spent) - a)) -gt 200 ]; do :; done # until what a start costs is over
sleep 2
a=$(spent)
scrape >"$dir/out"
b=$(spent)
for _ in $(seq 60); do scrape >"$dir/out"; done
c=$(spent)
has "metrics: there is a past" 'reeve_jobs_ended_total{account="g7",' "$(cat "$dir/out")"
# Where the first one was kept already, what a look costs in processor time is small by itself.
[ $((c - b)) -lt $((30 * (b - a))) ] || [ $((c - b)) -lt 300000 ]
tap_result $? "metrics: sixty questions cost less than thirty passes over the past" "first $((b - a)) us, then $((c - b)) us"
if command -v promtool >/dev/null; then check "metrics: promtool finds nothing wrong" promtool check metrics < <(scrape); fi
tap_end
