#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# backup.sh - the ledger of a running controller is copied and restored: whatever kills or fills the way, a backup that has its name is whole; and
# after a restore what ran meanwhile is charged once, and no job number is given twice. Played nodes, then a real agent. TAP.
set -u
cd "$(dirname "$0")/../../.." || exit 1
. tests/cluster/lib/tap_lib.sh
. tests/cluster/lib/live_lib.sh
. tests/cluster/lib/play_lib.sh
. tests/cluster/lib/past_lib.sh
. tests/cluster/monitoring/agent_lib.sh
[ "$(id -u)" = 0 ] || { echo "1..0 # SKIP needs root to exchange as several users"; exit 0; }
live_dir backup
full=$dir/full
trap 'agent_end; umount "$full" 2>/dev/null; live_end' EXIT
live_munge
reeve=$PWD/build/bin/reeve
ledger=$dir/ledger.db
configure() {
	cat >"$dir/controller.conf" <<-CONF
		$(live_controller)
		NodeLost = 30
		[Cluster main]
		DefaultResources = jobfs=100MB,walltime=1:00:00
		[Account physics]
		Users = daemon
	CONF
}
live_open configure
backdate_dispatch "$ledger" 1
amounts='"ncpus":8,"mem_bytes":16000000000,"jobfs_bytes":10000000000,"ngpus":0'
start_s=$(date +%s)
knows='' # what the node says of the ledger
exchange() { node_sync node="$1" jobs="${2:-}" reports="${3:-}" more="$knows"; } # NODE [JOBS [REPORTS]]
report() { job_report "$1" "$2" "$3" started_s="$start_s" at_s=$((start_s + $4)) running_s="$4" kind="${5:-none}"; } # JOB SEQ STATE S [KIND]
submit() { job_number "$(ask $daemon POST /v1/jobs "$(job_request resources="\"ncpus\":${1:-2},\"vmem_bytes\":1000000")")"; } # [NCPUS]
job() { ask 0 GET "/v1/jobs/$1"; }
sql() { sqlite3 "$ledger" "$1"; }
charged() { sql 'SELECT SUM(charge_requested_ms) FROM attempts'; }
member() { grep -o "\"$1\": *\"*[^\",}]*" <<<"$2" | head -n 1 | sed 's/.*[: "]//'; } # KEY DOCUMENT

# ---- a backup ----
exchange n1 >/dev/null
a=$(submit) b=$(submit)
until_has "\"job\":$b" exchange n1
exchange n1 "$(job_entry "$a" running),$(job_entry "$b" running)" "$(report "$a" 1 running 10),$(report "$b" 1 running 10)" >/dev/null
c=$(submit 8)
e=$(submit 8)
# an array whose tasks get their rows one after the other
array=$(job_number "$(ask $daemon POST /v1/jobs "$(job_request more=',"array":{"first":1,"last":3,"at_once":1}')")")
t1=$((array + 1)) t2=$((array + 2)) t3=$((array + 3))
is "20 s of 2 cores are charged" 40000 "$(charged)"
mkdir "$dir/backups"
backup() { "$reeve" admin backup "$dir/backups" --ledger "$ledger" "$@" 2>&1; }
out=$(backup)
is "the ledger of a running controller is copied" 0 $?
has "and verified" verified "$out"
db=$(echo "$dir"/backups/ledger-*.db)
is "it is named by its time, with a manifest" "$db $db.json" "$(echo "$dir"/backups/*)"
is "only their owner can read copy and manifest" "600 600" "$(stat -c %a "$db" "$db.json" | xargs)"
manifest=$(cat "$db.json")
is "the manifest has its SHA-256" "$(sha256sum <"$db" | cut -d' ' -f1)" "$(member sha256 "$manifest")"
is "how many jobs it has" 6 "$(member jobs "$manifest")"
is "what they were charged" 40000 "$(member charge_requested_ms "$manifest")"
is "and its schema" "$(sql 'PRAGMA user_version')" "$(member ledger_schema "$manifest")"
cmp -s <(sqlite3 "$db" .dump | grep -v 'INSERT INTO \(nodes\|boots\)') <(sql .dump | grep -v 'INSERT INTO \(nodes\|boots\)')
is "every row is the ledger's" 0 $?
out=$("$reeve" admin backup "$db" --ledger "$ledger" 2>&1)
is "a file that exists is not replaced" 1 $?
has "in words" "exists: give another name, or a directory" "$out"

# ---- writes that fail, kills ----
mkdir "$full" && mount -t tmpfs -o size=200k none "$full"
out=$("$reeve" admin backup "$full" --ledger "$ledger" 2>&1)
is "on a full disk it fails" 1 $?
is "and leaves nothing" "" "$(ls -A "$full")"
umount "$full"
big=$dir/big.db
"$reeve" admin backup "$big" --ledger "$ledger" --no-verify >/dev/null
sqlite3 "$big" "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 150000)
	INSERT INTO events(at_ns, what, text) SELECT i, 'filler', hex(randomblob(100)) FROM n" >/dev/null
former=$(sha256sum "$db" "$db.json")
killed=0 left=0
mkdir "$dir/timed"
from=${EPOCHREALTIME/./}
"$reeve" admin backup "$dir/timed" --ledger "$big" >/dev/null 2>&1
took_us=$((${EPOCHREALTIME/./} - from)) # the same backup, here and now: it is killed at parts of that time
for percent in 3 8 15 25 35 45 55 65 75 90 20 30 40 50 60; do
	delay=$(printf '%d.%06d' $((took_us * percent / 100000000)) $((took_us * percent / 100 % 1000000)))
	"$reeve" admin backup "$dir/backups" --ledger "$big" >/dev/null 2>&1 &
	pid=$!
	sleep "$delay"
	if kill -9 $pid 2>/dev/null; then
		killed=$((killed + 1))
	else # it takes less than the first one did
		took_us=$((took_us * 2 / 3))
	fi
	wait $pid 2>/dev/null
	for f in "$dir"/backups/ledger-*.db; do
		[ "$(sha256sum <"$f" | cut -d' ' -f1)" = "$(member sha256 "$(cat "$f.json")")" ] || left=$((left + 1))
	done
done
is "killed at any point: what has a backup's name is whole" 0 $left
[ $killed -ge 5 ]
tap_result $? "it was killed ($killed times)"
is "the former backup stays" "$former" "$(sha256sum "$db" "$db.json")"
sleep 1 # a name of its own
out=$(backup)
is "the next backup is made" 0 $?
is "and removes what those left" "" "$(find "$dir/backups" -name '*.part*')"
sleep 1
out=$(backup --keep 2)
is "two of them are kept" 2 "$(find "$dir/backups" -name '*.db' | wc -l)"
is "each with its manifest alone" 2 "$(find "$dir/backups" -name '*.json' | wc -l)"
db=$(find "$dir/backups" -name '*.db' | sort | tail -n 1)
out=$(ask $daemon GET /v1/jobs)
sleep 1
sqlite3 "$big" "UPDATE rollups SET charge_requested_ms = charge_requested_ms + 1" >/dev/null
out=$("$reeve" admin backup "$dir/backups" --keep 1 --ledger "$big" 2>&1)
is "of a ledger whose sums differ a backup is made, with status 1" 1 $?
has "in words" "no older backup was removed" "$out"
[ -e "$db" ]
is "and none is removed" 0 $?

# ---- what happens after it ----
exchange n1 "$(job_entry "$a" ended),$(job_entry "$b" running)" "$(report "$a" 2 ended 20 exited),$(report "$b" 2 running 20)" >/dev/null
exchange n1 "$(job_entry "$b" ended)" "$(report "$b" 3 running 25)" >/dev/null
exchange n1 "$(job_entry "$b" ended)" "$(report "$b" 4 ended 30 exited)" >/dev/null
until_has "\"job\":$c" exchange n1
exchange n1 "$(job_entry "$c" ended)" "$(report "$c" 1 ended 5 exited)" >/dev/null
until_has "\"job\":$e" exchange n1
exchange n1 "$(job_entry "$e" running)" "$(report "$e" 1 running 2)" >/dev/null
exchange n1 "$(job_entry "$e" ended)" "$(report "$e" 2 ended 2 exited)" >/dev/null
until_has "\"job\":$t1" exchange n1
exchange n1 "$(job_entry "$t1" ended)" "$(report "$t1" 1 ended 3 exited)" >/dev/null
until_has "\"job\":$t2" exchange n1
exchange n1 "$(job_entry "$t2" running)" "$(report "$t2" 1 running 1)" >/dev/null
d=$(submit)
is "20 and 30 s of 2 cores, 5 and 2 s of 8, 3 and 1 s of 1" 160000 "$(charged)"

# ---- a restore ----
restore() { "$reeve" admin restore "$@" --ledger "$ledger" 2>&1; }
out=$(restore "$db")
is "a ledger that a controller has is not restored" 1 $?
has "in words" "a controller has the ledger" "$out"
id=$(sql "SELECT value FROM meta WHERE key = 'ledger'")
live_stop
out=$(restore "$db")
is "nor is one that is there replaced" 1 $?
has "in words" "is a ledger: move it away" "$out"
mkdir "$dir/away" && mv "$ledger"* "$dir/away/"
cp "$db" "$dir/bad.db" && cp "$db.json" "$dir/bad.db.json"
printf x | dd of="$dir/bad.db" bs=1 seek=9000 conv=notrunc 2>/dev/null
out=$(restore "$dir/bad.db")
is "a damaged backup is refused" 1 $?
has "in words" "is damaged: " "$out"
is "and nothing is left" "ledger.db.lead" "$(cd "$dir" && echo ledger.db*)"
for delay in 0.005 0.01 0.02 0.03; do
	"$reeve" admin restore "$db" --ledger "$ledger" >/dev/null 2>&1 &
	pid=$!
	sleep "$delay"
	kill -9 $pid 2>/dev/null
	wait $pid 2>/dev/null
	[ ! -e "$ledger" ] || break
done
[ -e "$ledger" ] && rm -f "$ledger"
out=$(restore "$db")
is "one that was killed is called again" 0 $?
first=$(grep -o 'numbered from [0-9]*' <<<"$out" | grep -o '[0-9]*$')
[ "${first:-0}" -gt 1000000 ]
tap_result $? "new jobs are numbered far behind ($first)" "$out"
is "only its user reads it" 600 "$(stat -c %a "$ledger")"
has "its sums are those of its jobs" " 0 differences" "$("$reeve" admin verify --ledger "$ledger")"
is "it is as it was" 40000 "$(charged)"
restored=$(sql "SELECT value FROM meta WHERE key = 'restored_ns'")
is "it is the same ledger" "$id" "$(sql "SELECT value FROM meta WHERE key = 'ledger'")"

# ---- its nodes send what they have ----
live_start || bail "the controller does not start: $(tail -n 3 "$dir/controller.log")"
f=$(submit)
is "a new job gets a number that none had" "$first" "$f"
knows=",\"ledger\":\"$id\",\"restored_ns\":0"
out=$(exchange n1 "$(job_entry "$t2" running),$(job_entry "$d" running)")
has "the node learns that the ledger was restored" "\"restored_ns\":$restored" "$out"
has "a job that was submitted after the backup is refused" "\"job\":$d,\"attempt\":1,\"why\":\"this job was never given" "$out"
lacks "one that was dispatched after it is not, though the array had no row of it" "\"job\":$t2,\"attempt\":1,\"why\"" "$out"
sleep 1
lacks "until the node has sent what it has, nothing is dispatched" '"request"' \
	"$(exchange n1 "$(job_entry "$t2" running)" | sed "s/.\"job\":\($a\|$b\),.*//")"
has "and nothing is missing" '"state":"running"' "$(job "$a")"
knows=",\"ledger\":\"$id\",\"restored_ns\":$restored"
sent="$(report "$a" 2 ended 20 exited),$(report "$b" 4 ended 30 exited),$(report "$c" 1 ended 5 exited),$(report "$e" 2 ended 2 exited)"
sent=$sent,"$(report "$t1" 1 ended 3 exited)"
out=$(exchange n1 "$(job_entry "$t2" running)" "$sent,$(report "$d" 1 ended 9 exited)")
for i in "$a" "$b" "$c" "$e" "$t1"; do
	has "job $i: its end is acknowledged" "{\"job\":$i,\"attempt\":1,\"seq\":" "$out"
	has "and it has ended" '"kind":"exited"' "$(job "$i")"
done
exchange n1 "$(job_entry "$t2" running)" "$(report "$t2" 2 running 4)" >/dev/null
is "each is charged once: 20 and 30 s of 2 cores, 5 and 2 s of 8, 3 and 4 s of 1" 163000 "$(charged)"
exchange n1 "$(job_entry "$t2" running)" "$sent" >/dev/null
is "sent twice, charged once" 163000 "$(charged)"
exchange n1 "$(job_entry "$t2" ended)" "$(report "$t2" 3 ended 6 exited)" >/dev/null
is "to its end" 165000 "$(charged)"
until_has "\"job\":$f" exchange n1
tap_result $? "then jobs are dispatched" "$out"
until_has "\"job\":$t3" exchange n1
tap_result $? "the array goes on" "$out"
lacks "none that has run" "\"job\":$c," "$out"
has "the sums are those of the jobs" " 0 differences" "$("$reeve" admin verify --ledger "$ledger")"
is "every attempt is there once" "$(printf '%s|1\n' "$a" "$b" "$c" "$e" "$t1" "$t2" "$t3" "$f")" "$(sql 'SELECT job, attempt FROM attempts ORDER BY job')"

# ---- a ledger that was put back by other means ----
live_stop
out=$("$reeve" admin restore --mark --taken 2026-11-24T03:00:00Z --first-job 9000000 --ledger "$ledger" 2>&1)
is "a ledger is marked as restored" 0 $?
has "with the number that was given" "numbered from 9000000 on" "$out"
out=$("$reeve" admin restore --mark --taken 2026-11-24T03:00:00Z --first-job 5 --ledger "$ledger" 2>&1)
is "not with one that was used" 2 $?
has "in words" "cannot be 5" "$out"

# ---- a newer ledger ----
sqlite3 "$ledger" "PRAGMA user_version = 4711"
out=$("$binary" --config "$dir/controller.conf" 2>&1)
is "a controller does not open the ledger of a newer one" 1 $?
has "it names both versions and the remedy" "has schema version 4711; this program knows up to $(sqlite3 "$db" 'PRAGMA user_version'): use the newer program, or its reeve admin downgrade, or a backup of before the upgrade" "$out"

# ---- a real agent ----
if ! agent_possible; then
	skip "a real agent" "no cgroup v2 that jobs may be made in"
	tap_end
fi
rm -f "$ledger"* && live_start || bail "the controller does not start: $(tail -n 3 "$dir/controller.log")"
agent_open
mkdir -m 777 "$agent_dir/ran"
cores=$(nproc)
script() { # NCPUS SECONDS: leaves a line of each start; $job
	job=$(job_number "$(ask $daemon POST /v1/jobs "$(job_request resources="\"ncpus\":$1,\"vmem_bytes\":300000000,\"jobfs_bytes\":1000000" \
		argv="\"/bin/sh\",\"-c\",\"echo started >>$agent_dir/ran/$1-$2; sleep $2\"" more=',"out_path":"/dev/null","err_path":"/dev/null"')")")
}
script "$cores" 6 && long=$job
until_has '"state":"running"' job "$long"
tap_result $? "a job of a real agent runs" "$(tail -n 5 "$agent_dir/log")"
script 1 1 && short=$job
script 1 9 && lasting=$job
rm -rf "$dir/backups"/* "$dir/away"
backup >/dev/null
until_has '"state":"ended"' job "$long"
until_has '"state":"ended"' job "$short"
until_has '"state":"running"' job "$lasting"
script 1 2 && late=$job
figures="SELECT job, attempt, running_ns, charge_requested_ms FROM attempts WHERE job IN ($long, $short) ORDER BY job"
was=$(sql "$figures")
live_stop
mkdir "$dir/away" && mv "$ledger"* "$dir/away/"
restore "$dir"/backups/ledger-*.db >/dev/null
live_start || bail "the controller does not start: $(tail -n 3 "$dir/controller.log")"
script 1 3 && new=$job
[ "$new" -gt "$late" ]
tap_result $? "a new job has a number that none had: $new, $late"
for i in "$long" "$short" "$lasting" "$new"; do
	until_has '"kind":"exited"' job "$i"
	tap_result $? "job $i ended by itself" "$out"
done
is "charged as in the ledger that was lost" "$was" "$(sql "$figures")"
is "each was started once" "$(printf 'started\n%.0s' 1 2 3 4)" "$(cat "$agent_dir/ran/$cores-6" "$agent_dir/ran/1-1" "$agent_dir/ran/1-9" "$agent_dir/ran/1-3")"
is "and has one attempt" 4 "$(sql 'SELECT COUNT(*) FROM attempts')"
has "the sums are those of the jobs" " 0 differences" "$("$reeve" admin verify --ledger "$ledger")"
tap_end
