#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# usage.sh - days of the site's zone, sums by month, refunds and recharges: in a ledger file, and
# through a real controller with a real munged. TAP. The live part needs root.
# shellcheck disable=SC2317 # called by name
set -u
cd "$(dirname "$0")/../../.." || exit 1
. tests/cluster/lib/tap_lib.sh
. tests/cluster/lib/live_lib.sh
. tests/cluster/lib/play_lib.sh
. tests/cluster/lib/past_lib.sh
reeve=$PWD/build/bin/reeve
live_dir usage
refused() { # NAME WORDS STATUS COMMAND...
	local name=$1 words=$2 want=$3 got
	shift 3
	"$@" >"$dir/out" 2>"$dir/err"
	got=$?
	is "$name: exit status" "$want" "$got"
	has "$name: the message" "$words" "$(cat "$dir/err")"
}
pick() { python3 -c 'import csv,sys; [print(*[r[c] for c in sys.argv[1:]], sep=",") for r in csv.DictReader(sys.stdin)]' "$@"; }

# ---- days of the zone, in a file: 2025-03 has 743 hours in Toronto, 2025-11 has 721 ----
# One core from 00:00 on the first of March for exactly that month, and again in November.
cat >"$dir/months.swf" <<'SWF'
; UnixStartTime: 0
1 1740805200 0 2674800 1 -1 -1 1 -1 -1 1 7 3 -1 -1 -1 -1 -1
2 1761969600 0 2595600 1 -1 -1 1 -1 -1 1 7 3 -1 -1 -1 -1 -1
SWF
db=$dir/t.db
months() { "$reeve" usage --ledger "$1" --by cluster --monthly --csv | pick month core_ms | grep -v ',0$'; }
check "a ledger is made in a zone" "$reeve" import swf "$dir/months.swf" --cluster c --time-zone America/Toronto --ledger "$db"
is "743 and 721 hours fall on two months" "2025-03,2674800000 2025-11,2595600000" "$(months "$db" | xargs)"
is "its first day has 24 hours" 86400000 "$("$reeve" usage --ledger "$db" --by cluster --start 2025-03-01 --end 2025-03-02 --csv | pick core_ms)"
is "the day clocks go forward 23" 82800000 "$("$reeve" usage --ledger "$db" --by cluster --start 2025-03-09 --end 2025-03-10 --csv | pick core_ms)"
is "the day they go back 25" 90000000 "$("$reeve" usage --ledger "$db" --by cluster --start 2025-11-02 --end 2025-11-03 --csv | pick core_ms)"
is "a period of parts of months" $((2674800000 - 86400000 + 86400000)) \
	"$("$reeve" usage --ledger "$db" --by cluster --start 2025-03-02 --end 2025-11-02 --csv | pick core_ms)"
check "sums are what the jobs say" "$reeve" admin verify --ledger "$db"
"$reeve" import swf "$dir/months.swf" --cluster c --ledger "$dir/utc.db" >/dev/null
has "the answer says which zone" '"time_zone": "America/Toronto"' "$("$reeve" usage --ledger "$db" --json)"
is "in UTC they do not" "2025-03,2660400000 2025-04,14400000 2025-11,2577600000 2025-12,18000000" "$(months "$dir/utc.db" | xargs)"
check "days are cut again in the zone" "$reeve" admin rebuild --ledger "$dir/utc.db" --time-zone America/Toronto
is "as if they had always been" "$(months "$db" | xargs)" "$(months "$dir/utc.db" | xargs)"
check "and so they verify" "$reeve" admin verify --ledger "$dir/utc.db"
refused "another zone" "keep TimeZone=America/Toronto" 1 \
	"$reeve" import swf "$dir/months.swf" --cluster d --time-zone Europe/Berlin --ledger "$db"
refused "no zone of this world" "'Europe/Atlantis' is not a time zone" 2 \
	"$reeve" import swf "$dir/months.swf" --cluster c --time-zone Europe/Atlantis --ledger "$dir/none.db"
check "leaves no ledger" test ! -e "$dir/none.db"
printf '[Policy]\nTimeZone = Asia/Tokyo\n[Cluster c]\nUnit = core-hours\n' >"$dir/tokyo.conf"
"$reeve" import swf "$dir/months.swf" --cluster c --profile "$dir/tokyo.conf" --ledger "$dir/tokyo.db" --json >"$dir/tokyo.json"
has "a profile brings its zone" '"time_zone": "Asia/Tokyo"' "$(cat "$dir/tokyo.json")"

# ---- adjustments, in a file ----
adjust() { "$reeve" admin adjust --ledger "$db" "$@"; }
usage() { "$reeve" usage --ledger "$db" --by user "$@" --csv | pick charge_requested_ms adjusted_ms; }
check "a refund is an entry" adjust --cluster c --job 1 --charge -12.5 --reason 'node n7 was broken'
is "usage shows the charge and beside it the refund" "5270400000,-45000000" "$(usage)"
check "a recharge, of a day gone by" adjust -A g3 -u u7 --cluster c --charge +0.25 --day 2025-03-31 --reason 'wrong bundle'
is "is in the sums of that day" "86400000,900000" "$(usage --start 2025-03-31 --end 2025-04-01)"
refused "more than the job was charged" "no more can be refunded" 1 adjust --cluster c --job 1 --charge -730.6 --reason x
check "all of it" adjust --cluster c --job 1 --charge -730.5 --reason 'all of it'
refused "no reason" "--reason" 2 adjust --cluster c --job 1 --charge -1
refused "a blank reason" "needs a reason" 2 adjust --cluster c --job 1 --charge 1 --reason ' '
refused "an amount that is none" "is not an amount" 2 adjust --cluster c --job 1 --charge 1e3 --reason x
refused "finer than a ledger holds" "finer than" 2 adjust --cluster c --job 1 --charge 0.0000001 --reason x
refused "no such job" "no job 99 of c" 4 adjust --cluster c --job 99 --charge 1 --reason x
refused "an unknown user" "nothing was ever charged to u9" 4 adjust -A g3 -u u9 --cluster c --charge 1 --reason x
refused "a day to come" "a day to come" 2 adjust --cluster c --job 1 --charge 1 --reason x --day 2100-01-01
is "the list has them all, in order" "-45000000,node n7 was broken 900000,wrong bundle -2629800000,all of it" \
	"$("$reeve" admin adjustments --ledger "$db" --csv | pick charge_ms reason | xargs)"
is "and whose hand it was" "$(id -un)" "$("$reeve" admin adjustments --ledger "$db" --csv | pick author | sort -u)"
check "sums are what jobs and entries say" "$reeve" admin verify --ledger "$db"
python3 - "$db" <<'PY'
import sqlite3, sys
d = sqlite3.connect(sys.argv[1])
d.execute("UPDATE adjustments SET charge_ms = charge_ms - 1 WHERE id = 2")
d.commit()
PY
"$reeve" admin verify --ledger "$db" >"$dir/out"
is "an entry that was edited is found" 1 $?
has "and named with its day" 'c, g3, u7, pool cpu, 2025-03-31: adjusted_ms is 900000 in the ledger, 899999' "$(cat "$dir/out")"
has "and its month" 'c, g3, u7, pool cpu, 2025-03: adjusted_ms' "$(cat "$dir/out")"
check "sums are rebuilt" "$reeve" admin rebuild --ledger "$db"
check "from what there is" "$reeve" admin verify --ledger "$db"

# ---- the same, live ----
[ "$(id -u)" = 0 ] || { skip "through a controller" "needs root to be a node and several users"; tap_end; }
live_munge
configure() { # ZONE
	cat >"$dir/controller.conf" <<-CONF
		$(live_controller "$dir/live.db")
		[Policy]
		TimeZone = $1
		[Cluster main]
		BundleCores = 1
		BundleMemory = 4GB
		DefaultResources = jobfs=100MB,walltime=1:00:00
		[Account physics]
		Users = daemon, bin
	CONF
}
live_open configure Asia/Tokyo
backdate_dispatch "$dir/live.db"
printf '[Client]\nController = %s\nMungeSocket = %s\n' "$url" "$dir/munge.sock" >"$dir/reeve.conf"
chmod 644 "$dir/reeve.conf"
export XDG_CONFIG_HOME=$dir
cp "$reeve" "$dir/reeve"
reeve_as() { # UID VERB...
	local uid=$1
	shift
	as "$uid" "$dir/reeve" "$@"
}
amounts='"ncpus":8,"mem_bytes":16000000000,"jobfs_bytes":10000000000,"ngpus":0'
sync_with() { node_sync jobs="$1" reports="$2" >"$dir/synced"; } # JOBS REPORTS
sync_with '' ''
printf '#!/bin/sh\ntrue\n' >"$dir/job.sh" && chmod 755 "$dir/job.sh"
has "a job is submitted" 1 "$(cd / && reeve_as 1 submit -l ncpus=2,vmem=4GB,walltime=1:00:00 --account physics "$dir/job.sh" 2>&1)"
for _ in $(seq 100); do # until it was given to the node
	sync_with '' ''
	[ "$(reeve_as 1 jobs -a -n --csv -o state)" = queued ] || break
	sleep 0.05
done
now=$(date +%s)
sync_with '' "{\"job\":1,\"attempt\":1,\"seq\":1,\"at_ns\":${now}000000000,\"state\":\"ended\",\
\"started_ns\":${now}000000000,\"ended_ns\":${now}000000000,\"running_ns\":1800000000000,\"suspended_ns\":0,\"usage\":{},\
\"end\":{\"kind\":\"exited\",\"exit_status\":0,\"signal\":0,\"reason\":{\"limit\":\"none\",\"requested\":-1,\
\"reached\":-1,\"at_ns\":0,\"host\":\"\",\"n_procs\":0,\"procs\":[],\"text\":\"\"}},\"cpus\":\"0-1\",\"note\":\"\"}"
live() { reeve_as 0 usage --by user --csv | pick charge_requested_ms adjusted_ms; }
is "a job of an hour of cores is charged" "3600000,0" "$(live)"
month=$(TZ=Asia/Tokyo date -d "@$now" +%Y-%m)
is "by month live, of the site's zone" "$month,3600000" "$(reeve_as 0 usage --by user --monthly --csv | pick month charge_requested_ms)"
has "so does reeve's" '"time_zone": "Asia/Tokyo"' "$(reeve_as 0 usage --json)"
has "the controller's answer says which zone" '"time_zone":"Asia/Tokyo"' "$(ask 0 GET /v1/usage)"
check "an operator refunds" reeve_as 0 admin adjust --job 1 --charge -0.75 --reason 'node n1 was broken'
is "usage shows it" "3600000,-2700000" "$(live)"
is "to its user too" "3600000,-2700000" "$(reeve_as 1 usage --by user --csv | pick charge_requested_ms adjusted_ms)"
refused "more than the job was charged" "no more can be refunded" 1 reeve_as 0 admin adjust --job 1 --charge -0.26 --reason x
refused "a user adjusts nothing" "only operators" 5 reeve_as 1 admin adjust --job 1 --charge -0.1 --reason x
refused "nor reads the entries" "only operators" 5 reeve_as 1 admin adjustments
has "reeve job shows the refund" 'adjusted -0.750 by an operator' "$(reeve_as 1 job 1 | tr -s ' ')"
tokyo=$(TZ=Asia/Tokyo date -d "@$now" '+%Y-%m-%d %H:%M:%S JST')
is "times are the site's, live, wherever one sits" "ended $tokyo" "$(TZ=America/Toronto reeve_as 1 job 1 | tr -s ' ' | grep '^ended [0-9]')"
is "in tables too" "$tokyo" "$(TZ=America/Toronto reeve_as 1 jobs -a -n -o ended_ns)"
is "json keeps nanoseconds" "${now}000000000" "$(reeve_as 1 jobs -a --csv -n -o ended_ns)"
is "the entry has its author" "root,1,node n1 was broken" "$(reeve_as 0 admin adjustments --job 1 --csv | pick author job reason)"
live_stop
cp "$dir/live.db" "$dir/copy.db"
check "a copy of the ledger verifies offline" "$reeve" admin verify --ledger "$dir/copy.db"
has "times of a ledger are the ledger's" ' JST -0.750' \
	"$(TZ=America/Toronto "$reeve" admin adjustments --ledger "$dir/copy.db" -n -o at_ns,charge_ms | tr -s ' ')"
is "and says the same" "3600000,-2700000" "$("$reeve" usage --ledger "$dir/copy.db" --by user --csv | pick charge_requested_ms adjusted_ms)"
refused "days of jobs that ran here are not cut again" "as it came" 1 \
	"$reeve" admin rebuild --ledger "$dir/copy.db" --time-zone Asia/Seoul
configure Asia/Seoul
live_start
is "a controller of another zone does not start" 1 $?
has "and says what to do" 'keep TimeZone=Asia/Tokyo' "$(cat "$dir/controller.log")"
tap_end
