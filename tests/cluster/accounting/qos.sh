#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# qos.sh - quality of service beside queues: its factor in the price, in what is billed and in
# what fairshare counts; its priority; who may use it; its limits; the default of an account,
# and that of the site.
# Needs root (to be several users), munged and build/bin; uses loopback only and leaves nothing
# behind. TAP.
set -u
cd "$(dirname "$0")/../../.." || exit 1
. tests/cluster/lib/tap_lib.sh
. tests/cluster/lib/live_lib.sh
. tests/cluster/lib/play_lib.sh
. tests/cluster/lib/past_lib.sh
reeve=$PWD/build/bin/reeve
export TZ=UTC LC_ALL=C
live_dir qos

policy() {
	cat <<-CONF
		[Policy]
		PriorityWeightQos = 1000
		[Cluster main]
		Unit = service-units
		DefaultResources = jobfs=100MB,vmem=1GB,walltime=1:00:00
		Queues = normal,express
		[Queue express]
		Factor = 3
		[Qos low]
		Factor = 1/2
		[Qos normal]
		Priority = 10
		[Qos high]
		Priority = 40
		Factor = 2
		MaxRunningCores = 8
		MaxQueuedJobs = 3
		MaxWalltime = 2:00:00
		AllowAccounts = science
		[Qos debug]
		Priority = 20
		Factor = 0
		AllowUsers = bin
	CONF
}

# ---- by a profile alone ----
policy >"$dir/profile.conf"
cost() { "$reeve" cost --profile "$dir/profile.conf" "$@" 2>&1; }
rate() { cost "$@" --json | sed -n 's/.*"rate": *"\([^"]*\)".*/\1/p'; }
is "a QOS multiplies the charge" "4 8 2 0" \
	"$(rate -l ncpus=4) $(rate -l ncpus=4 --qos high) $(rate -l ncpus=4 --qos low) $(rate -l ncpus=4 --qos debug)"
is "the queue's factor beside it" 24 "$(rate -l ncpus=4 -q express --qos high)"
is "-l states it as well" 8 "$(rate -l ncpus=4,qos=high)"
printf '#!/bin/sh\n#REEVE -l ncpus=4 --qos high\ntrue\n' >"$dir/script.sh"
is "and a script's line" 8 "$(rate "$dir/script.sh")"
has "the rule says both factors" "x queue factor 3 x QOS factor 2 = 24" "$(cost -l ncpus=4 -q express --qos high)"
has "one that is not there, with the nearest" "there is no QOS 'hihg'; did you mean 'high'?" "$(cost -l ncpus=4 --qos hihg)"
has "or with all that are" "there is no QOS 'zork'; there are: low, normal, high, debug" "$(cost -l ncpus=4 --qos zork)"
has "a profile without a QOS is named" "there is no QOS 'high': this site has none" "$("$reeve" cost --profile nci -l ncpus=1,vmem=1GB --qos high 2>&1)"

# ---- the default of the site ----
{ policy && printf '[Policy]\nDefaultQos = high\n'; } >"$dir/default.conf"
is "the site's default is that of a request that names none" "8 2" \
	"$("$reeve" cost --profile "$dir/default.conf" -l ncpus=4 --json | sed -n 's/.*"rate": *"\([^"]*\)".*/\1/p') $("$reeve" cost --profile "$dir/default.conf" -l ncpus=4 --qos low --json | sed -n 's/.*"rate": *"\([^"]*\)".*/\1/p')"
{ policy && printf '[Policy]\nDefaultQos = hihg\n'; } >"$dir/wrong.conf"
out=$("$reeve" admin check-config "$dir/wrong.conf" 2>&1)
is "check-config refuses a default that does not exist" 1 $?
has "with file and line, key, value, the nearest and what to do" \
	"wrong.conf, line $(grep -c . "$dir/wrong.conf"): [Policy] DefaultQos = hihg: there is no QOS 'hihg'; did you mean 'high'?; add a [Qos hihg] section" "$out"

# ---- a history that names them ----
sacct() { # ID QOS
	echo "$1|$1|main|normal|$2|physics|daemon|1|daemon|1|2026-01-10T00:00:00|2026-01-10T00:00:00|2026-01-10T00:00:00|2026-01-10T01:00:00|01:00:00|0:0|COMPLETED|1|4|4|1G|cpu=4|cpu=4,mem=1G|02:00:00|n1|t"
}
{ sacct 1 normal && sacct 2 high && sacct 3 low && sacct 4 foreign; } >"$dir/sacct.txt"
out=$("$reeve" import sacct "$dir/sacct.txt" --profile "$dir/profile.conf" --ledger "$dir/history.db" 2>&1)
is "imported jobs are charged by their QOS: 4 + 8 + 2 + 4 core-hours" $((18 * 3600000)) \
	"$("$reeve" usage --ledger "$dir/history.db" --csv --noheader -o charge_requested_ms | head -1)"
has "one that the profile does not have is listed" "foreign" "$out"

sacct 5 "" >"$dir/unnamed.txt"
"$reeve" import sacct "$dir/unnamed.txt" --profile "$dir/default.conf" --ledger "$dir/unnamed.db" >/dev/null 2>&1
is "an imported job that names none is charged by the site's default" $((8 * 3600000)) \
	"$("$reeve" usage --ledger "$dir/unnamed.db" --csv --noheader -o charge_requested_ms | head -1)"

# ---- live ----
[ "$(id -u)" = 0 ] || { skip "a live controller" "needs root to speak as several users"; tap_end; }
live_munge
configure() {
	cat >"$dir/controller.conf" <<-CONF
		$(live_controller)
	CONF
	policy >>"$dir/controller.conf"
}
live_open configure
backdate_dispatch "$dir/ledger.db"
printf '[Client]\nMungeSocket = %s\n' "$dir/munge.sock" >"$dir/client.conf"
cli() { # UID VERB...
	local uid=$1 verb=$2
	shift 2
	as "$uid" "$reeve" "$verb" --config "$dir/client.conf" --controller "$url" "$@" 2>&1
}
cat >"$dir/accounts.conf" <<'CONF'
[Account science]
[Account physics]
Parent = science
Users = daemon, bin
Qos = normal, low, high
DefaultQos = low
[Account theory]
Parent = physics
Users = daemon
[Account arts]
Users = daemon, bin
CONF
apply() { # REVISION, accounts from standard input
	local text
	text=$(sed 's/"/\\"/g' | sed ':a;N;$!ba;s/\n/\\n/g')
	ask 0 POST /v1/accounts "{\"schema\":\"reeve/1\",\"revision\":$1,\"text\":\"$text\\n\"}"
}
has "a default that an account may not use is no declaration" \
	"DefaultQos = debug is not in Qos = low,normal of physics" \
	"$(printf '[Account physics]\nUsers = daemon\nQos = normal, low\nDefaultQos = debug\n' | apply 0)"
has "accounts say which QOS they may use" 200 "$(apply 0 <"$dir/accounts.conf")"
amounts='"ncpus":16,"mem_bytes":64000000000,"jobfs_bytes":100000000000,"ngpus":0'
node() { node_sync jobs="${1:-}" reports="${2:-}" >/dev/null; } # [JOBS [REPORTS]]
submit() { # UID ACCOUNT [OPTION]...
	local uid=$1 account=$2
	shift 2
	(cd / && cli "$uid" submit -A "$account" -o /dev/null -j oe "$@" -- /bin/true)
}
field() { # JOB KEY
	ask 0 GET "/v1/jobs/$1" | sed -n "s/.*\"$2\":\"\\([^\"]*\\)\".*/\\1/p"
}

hours() { echo $(($1 * 3600000)); }

# who may
has "an unknown QOS is refused, with the nearest" "there is no QOS 'hihg'; did you mean 'high'?" "$(submit $daemon physics --qos hihg)"
has "an account that may not" "account 'arts' may not use QOS 'high'" "$(submit $daemon arts --qos high)"
has "and which it may" "in this account you may use: low, normal" "$(submit $daemon arts --qos high)"
has "a user who may not" "user 'daemon' may not use QOS 'debug'" "$(submit $daemon arts --qos debug)"
has "a list of the account is a bound also for one who may" "account 'physics' may not use QOS 'debug'" "$(submit $bin physics --qos debug)"
has "beyond its walltime" "walltime=2:00:01 is more than QOS 'high' allows one job: 2:00:00" \
	"$(submit $daemon physics --qos high -l walltime=2:00:01)"
has "nothing of that is in the ledger" '"jobs":[]' "$(ask 0 GET '/v1/jobs')"

# what is billed; what fairshare counts
submit $daemon physics -l ncpus=4 --qos high >/dev/null
submit $daemon physics -l ncpus=4 >/dev/null
submit $daemon theory -l ncpus=4 >/dev/null
submit $daemon arts -l ncpus=4 >/dev/null
submit $bin arts -l ncpus=4 --qos debug >/dev/null
is "a job has what it named, its account's default, or one above's, or none" "high low low  debug" \
	"$(echo "$(field 1 qos) $(field 2 qos) $(field 3 qos) $(field 4 qos) $(field 5 qos)")"
has "reeve job shows it" "QOS        high" "$(cli $daemon job 1)"
is "reeve jobs has a column" "4, 3,low 2,low 1,high" "$(cli $daemon jobs -a --csv --noheader -o job,qos | paste -sd' ')"
has "reeve cost of a request is that of the account's default" "QOS factor 0.5" "$(cli $daemon cost -A physics -l ncpus=4)"
has "and of one that is named" "QOS factor 2" "$(cli $daemon cost -A physics -l ncpus=4 --qos high)"
started() { ask 0 GET /v1/jobs | grep -o '"state":"starting"' | grep -c .; }
node
soon "four of four cores start" 4 started
now=$(date +%s)000000000
report() { # JOB
	echo "{\"job\":$1,\"attempt\":1,\"seq\":1,\"at_ns\":$now,\"state\":\"ended\",\
\"started_ns\":$now,\"ended_ns\":$now,\"running_ns\":3600000000000,\"suspended_ns\":0,\"usage\":{},\
\"end\":{\"kind\":\"exited\",\"exit_status\":0,\"signal\":0,\"reason\":{\"limit\":\"none\",\"requested\":-1,\
\"reached\":-1,\"at_ns\":0,\"host\":\"\",\"n_procs\":0,\"procs\":[],\"text\":\"\"}},\"cpus\":\"0-1\",\"note\":\"\"}"
}
is "the one of the highest QOS first, none last, though it was submitted before" '"state":"queued" high low low debug' \
	"$(ask 0 GET /v1/jobs/4 | grep -o '"state":"queued"') $(ask 0 GET '/v1/jobs?state=starting' | grep -o '"queue":"[^"]*","qos":"[^"]*","submitted' | cut -d'"' -f8 | tac | paste -sd' ')"
node "" "$(report 1),$(report 2),$(report 3),$(report 5)"
soon "and that one then" '"state":"starting"' ask 0 GET /v1/jobs/4
node "" "$(report 4)"
is "billed is the charge with the factor: 4 cores for an hour are 8, 2, 2, 4 and 0" \
	"1 $(hours 8) 2 $(hours 2) 3 $(hours 2) 4 $(hours 4) 5 0" \
	"$(ask 0 GET '/v1/jobs?state=ended' | grep -o '"job":[0-9]*\|"charge_requested_ms":[0-9]*' | cut -d: -f2 | paste -d' ' - - | sort -n | paste -sd' ')"
is "fairshare counts the same: 10 of physics, 2 of theory below it, 4 of arts" "ok" "$(cli 0 share --json | python3 -c '
import json, sys
rows = json.load(sys.stdin)["rows"]
raw = {r["account"]: r["RawUsage"] / 3600 for r in rows if not r.get("user")}
want = {"physics": 12, "theory": 2, "arts": 4}
print("ok" if all(abs(raw[a] - n) < 0.1 for a, n in want.items()) else raw)' 2>&1)"

# ---- limits of each user in it ----
node
submit $daemon physics -l ncpus=4 --qos high >/dev/null
submit $daemon physics -l ncpus=4 --qos high >/dev/null
soon "as many as its limit start" 2 started
has "a job that the limit would never let start is not taken" "it needs 9 cores, and user daemon in QOS high may run 8 at once" \
	"$(submit $daemon physics -l ncpus=9 --qos high)"
submit $daemon physics -l ncpus=4 --qos high >/dev/null
why() { cli $daemon why 8; }
soon "more wait, and say why" "limit of user daemon in QOS high: 8 cores at once, 8 run, this job needs 4" why
has "reeve prio shows the QOS and its factor" "8,high,1000.000000" "$(cli $daemon prio --csv --noheader -o job,qos_name,qos)"
submit $bin physics -l ncpus=4 --qos high >/dev/null
soon "another user passes by" '"state":"starting"' ask 0 GET /v1/jobs/9
submit $daemon physics -l ncpus=4 --qos normal >/dev/null
soon "so does another QOS" '"state":"starting"' ask 0 GET /v1/jobs/10
submit $daemon physics -l ncpus=1 --qos high >/dev/null
submit $daemon physics -l ncpus=1 --qos high >/dev/null
has "so many may wait, no more" "user daemon in QOS high has 3 jobs queued, and the limit is 3" \
	"$(submit $daemon physics -l ncpus=1 --qos high)"

# ---- the default of the site ----
with_default() { # NAME
	live_stop
	configure
	printf '[Policy]\nDefaultQos = %s\n' "$1" >>"$dir/controller.conf"
	live_start || bail "the controller does not start: $(cat "$dir/controller.log")"
}
last() { ask 0 GET /v1/jobs | grep -o '"job":[0-9]*' | cut -d: -f2 | sort -n | tail -1; }
submit $daemon arts -l ncpus=1 >/dev/null
before=$(last)
with_default normal
submit $daemon arts -l ncpus=1 >/dev/null
is "a job that names none, of an account without a default, has the site's" normal "$(field "$(last)" qos)"
has "and reeve job shows it" "QOS        normal" "$(cli $daemon job "$(last)")"
submit $daemon physics -l ncpus=1 >/dev/null
is "the account's own default goes before it" low "$(field "$(last)" qos)"
submit $daemon arts --qos low -l ncpus=1 >/dev/null
is "and what is named before both" low "$(field "$(last)" qos)"
is "a job that was submitted before has none" "" "$(field "$before" qos)"
with_default low
has "reeve cost applies it" "QOS factor 0.5" "$(cli $daemon cost -A arts -l ncpus=4)"
has "without an account as well" "QOS factor 0.5" "$(cli $daemon cost -l ncpus=4)"
with_default debug
has "a default that the user may not use is refused in words" "user 'daemon' may not use QOS 'debug'" "$(submit $daemon arts -l ncpus=1)"
submit $bin arts -l ncpus=1 >/dev/null
is "and is that of a user who may" debug "$(field "$(last)" qos)"
tap_end
