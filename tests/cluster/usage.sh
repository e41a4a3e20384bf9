#!/bin/bash
# usage.sh - days of the site's zone, sums by month, refunds and recharges: in a ledger file, and
# through a real controller with a real munged. TAP. The live part needs root.
# shellcheck disable=SC2317 # called by name
set -u
cd "$(dirname "$0")/../.." || exit 1
reeve=$PWD/build/bin/reeve
binary=${REEVE_CONTROLLER_BINARY:-$PWD/build/bin/reeve-controller}
dir=$(mktemp -d /tmp/reeve-usage-XXXXXX) && chmod 755 "$dir"
n=0 failed=0 controller=
stop_pid() { # PID: TERM, and wait until it is gone
	kill "$1" 2>/dev/null
	for _ in $(seq 200); do kill -0 "$1" 2>/dev/null || return; sleep 0.02; done
	kill -9 "$1" 2>/dev/null
}
stop() {
	[ -n "$controller" ] && stop_pid "$controller"
	[ -s "$dir/munged.pid" ] && stop_pid "$(cat "$dir/munged.pid")"
	wait
	rm -rf "$dir"
}
trap stop EXIT
trap 'exit 1' INT TERM
bail() { echo "Bail out! $*"; exit 1; }
check() { # NAME COMMAND...
	local name=$1
	shift
	n=$((n + 1))
	if "$@" >"$dir/said" 2>&1; then echo "ok $n - $name"; else
		sed 's/^/# /' "$dir/said"; echo "not ok $n - $name"; failed=1
	fi
}
is() { # NAME WANTED GOT
	check "$1" test "$2" = "$3"
	[ "$2" = "$3" ] || printf '# wanted %s\n# got    %s\n' "$2" "$3"
}
refused() { # NAME WORDS STATUS COMMAND...
	local name=$1 words=$2 want=$3 got
	shift 3
	"$@" >"$dir/out" 2>"$dir/err"
	got=$?
	is "$name: exit status" "$want" "$got"
	check "$name: it says so" grep -qF -- "$words" "$dir/err"
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
check "the answer says which zone" grep -q '"time_zone": "America/Toronto"' <("$reeve" usage --ledger "$db" --json)
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
check "a profile brings its zone" grep -q '"time_zone": "Asia/Tokyo"' "$dir/tokyo.json"

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
refused "nobody" "nothing was ever charged to u9" 4 adjust -A g3 -u u9 --cluster c --charge 1 --reason x
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
check "and named with its day" grep -q 'c, g3, u7, pool cpu, 2025-03-31: adjusted_ms is 900000 in the ledger, 899999' "$dir/out"
check "and its month" grep -q 'c, g3, u7, pool cpu, 2025-03: adjusted_ms' "$dir/out"
check "sums are made anew" "$reeve" admin rebuild --ledger "$db"
check "from what there is" "$reeve" admin verify --ledger "$db"

# ---- the same, live ----
if [ "$(id -u)" != 0 ]; then
	n=$((n + 1))
	echo "ok $n - through a controller # SKIP needs root to be a node and several users"
	echo "1..$n"
	exit $failed
fi
${CC:-cc} -std=gnu17 -D_GNU_SOURCE -O1 -I. -o "$dir/signed" tests/cluster/signed.c build/common/http/*.o \
	build/common/auth/auth.o build/common/err.o build/common/wire/*.o build/common/model/*.o \
	-lcurl -ljansson -lmunge -lnettle -lz -lsystemd || bail "signed.c does not compile"
dd if=/dev/urandom of="$dir/key" bs=128 count=1 2>/dev/null && chmod 600 "$dir/key"
munged --force --key-file="$dir/key" --socket="$dir/munge.sock" --pid-file="$dir/munged.pid" \
	--log-file="$dir/munged.log" --seed-file="$dir/seed" 2>"$dir/munged.err" || bail "munged does not start"
start() { # ZONE
	cat >"$dir/main.conf" <<-CONF
		[Controller]
		Listen = 127.0.0.1:$port
		Database = $dir/live.db
		MungeSocket = $dir/munge.sock
		Operators = root
		AcceptNodes = any
		[Policy]
		TimeZone = $1
		[Cluster main]
		BundleCores = 1
		BundleMemory = 4GB
		DefaultResources = jobfs=100MB,walltime=1:00:00
		[Account physics]
		Users = daemon, bin
	CONF
	"$binary" --config "$dir/main.conf" 2>"$dir/controller.log" &
	controller=$!
	for _ in $(seq 250); do
		curl -s -o /dev/null "$url/metrics" && return
		kill -0 "$controller" 2>/dev/null || { controller=; return 1; }
		sleep 0.02
	done
	return 1
}
for _ in $(seq 20); do
	port=$((20000 + RANDOM % 20000)) url=http://127.0.0.1:$port
	start Asia/Tokyo && break
done
[ -n "$controller" ] || bail "the controller does not start: $(cat "$dir/controller.log")"
printf '[Client]\nController = %s\nMungeSocket = %s\n' "$url" "$dir/munge.sock" >"$dir/reeve.conf"
chmod 644 "$dir/reeve.conf"
export XDG_CONFIG_HOME=$dir
as() { # UID VERB...: reeve
	local uid=$1
	shift
	setpriv --reuid "$uid" --regid "$uid" --clear-groups "$reeve" "$@"
}
amounts='"ncpus":8,"mem_bytes":16000000000,"jobfs_bytes":10000000000,"ngpus":0'
sync_with() { # JOBS REPORTS
	echo "{\"schema\":\"reeve/1\",\"node\":\"n1\",\"boot\":\"b1\",\"version\":\"t\",\"capacity\":{$amounts},\
\"free\":{$amounts},\"state\":\"up\",\"tier\":1,\"notes\":[],\"jobs\":[$1],\"reports\":[$2],\"output\":[]}" >"$dir/body"
	"$dir/signed" "$url" "$dir/munge.sock" POST /v1/node/sync "$dir/body" >"$dir/synced" 2>&1
}
sync_with '' ''
printf '#!/bin/sh\ntrue\n' >"$dir/job.sh" && chmod 755 "$dir/job.sh"
(cd / && as 1 submit -l ncpus=2,vmem=4GB,walltime=1:00:00 --account physics "$dir/job.sh") >"$dir/submit" 2>&1
sync_with '' ''
now=$(date +%s)
sync_with '' "{\"job\":1,\"attempt\":1,\"seq\":1,\"at_ns\":${now}000000000,\"state\":\"ended\",\
\"started_ns\":${now}000000000,\"ended_ns\":${now}000000000,\"running_ns\":1800000000000,\"suspended_ns\":0,\"usage\":{},\
\"end\":{\"kind\":\"exited\",\"exit_status\":0,\"signal\":0,\"reason\":{\"limit\":\"none\",\"requested\":-1,\
\"reached\":-1,\"at_ns\":0,\"host\":\"\",\"n_procs\":0,\"procs\":[],\"text\":\"\"}},\"cpus\":\"0-1\",\"note\":\"\"}"
check "a job is handed in" grep -qw 1 "$dir/submit"
live() { as 0 usage --by user --csv | pick charge_requested_ms adjusted_ms; }
is "a job of an hour of cores is charged" "3600000,0" "$(live)"
month=$(TZ=Asia/Tokyo date -d "@$now" +%Y-%m)
is "by month live, of the site's zone" "$month,3600000" "$(as 0 usage --by user --monthly --csv | pick month charge_requested_ms)"
check "so does reeve's" grep -q '"time_zone": "Asia/Tokyo"' <(as 0 usage --json)
check "the controller's answer says which zone" grep -q '"time_zone":"Asia/Tokyo"' <("$dir/signed" "$url" "$dir/munge.sock" GET /v1/usage)
check "an operator refunds" as 0 admin adjust --job 1 --charge -0.75 --reason 'node n1 was broken'
is "usage shows it" "3600000,-2700000" "$(live)"
is "to its user too" "3600000,-2700000" "$(as 1 usage --by user --csv | pick charge_requested_ms adjusted_ms)"
refused "more than the job was charged" "no more can be refunded" 1 as 0 admin adjust --job 1 --charge -0.26 --reason x
refused "a user adjusts nothing" "only operators" 5 as 1 admin adjust --job 1 --charge -0.1 --reason x
refused "nor reads the entries" "only operators" 5 as 1 admin adjustments
check "reeve job shows the refund" grep -q '^adjusted *-0.750 by hand' <(as 1 job 1)
tokyo=$(TZ=Asia/Tokyo date -d "@$now" '+%Y-%m-%d %H:%M:%S JST')
check "times are the site's, live, wherever one sits" grep -qx "ended *$tokyo" <(TZ=America/Toronto as 1 job 1)
is "in tables too" "$tokyo" "$(TZ=America/Toronto as 1 jobs -a -n -o ended_ns)"
is "json keeps nanoseconds" "${now}000000000" "$(as 1 jobs -a --csv -n -o ended_ns)"
is "the entry has its author" "root,1,node n1 was broken" "$(as 0 admin adjustments --job 1 --csv | pick author job reason)"
stop_pid "$controller"
controller=
cp "$dir/live.db" "$dir/copy.db"
check "a copy of the ledger verifies offline" "$reeve" admin verify --ledger "$dir/copy.db"
check "times of a ledger are the ledger's" grep -q ' JST *-0.750' <(TZ=America/Toronto "$reeve" admin adjustments --ledger "$dir/copy.db" -n -o at_ns,charge_ms)
is "and says the same" "3600000,-2700000" "$("$reeve" usage --ledger "$dir/copy.db" --by user --csv | pick charge_requested_ms adjusted_ms)"
refused "days of jobs that ran here are not cut again" "as it came" 1 \
	"$reeve" admin rebuild --ledger "$dir/copy.db" --time-zone Asia/Seoul
start Asia/Seoul
is "a controller of another zone does not start" 1 $?
check "and says what to do" grep -q 'keep TimeZone=Asia/Tokyo' "$dir/controller.log"
echo "1..$n"
exit $failed
