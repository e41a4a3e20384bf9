#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# backup_postgres.sh - a ledger in PostgreSQL is dumped while its controller runs, restored by pg_restore and marked: what ran meanwhile is charged
# once, and no job number is given twice. Nodes are played. TAP.
set -u
cd "$(dirname "$0")/../../.." || exit 1
. tests/cluster/lib/tap_lib.sh
. tests/cluster/lib/live_lib.sh
. tests/cluster/lib/server_lib.sh
. tests/cluster/lib/play_lib.sh
. tests/cluster/lib/past_lib.sh
[ "$(id -u)" = 0 ] || { echo "1..0 # SKIP needs root to become the server's user"; exit 0; }
live_dir backup-pg
server_open || { echo "1..0 # SKIP no PostgreSQL server: make deps"; exit 0; }
live_munge
reeve=$PWD/build/bin/reeve
place=$(server_schema live)
configure() {
	cat >"$dir/controller.conf" <<-CONF
		$(live_controller "$place")
		[Cluster main]
		DefaultResources = jobfs=100MB,walltime=1:00:00
		[Account physics]
		Users = daemon
	CONF
}
live_open configure
backdate_dispatch "$place" 1
amounts='"ncpus":8,"mem_bytes":16000000000,"jobfs_bytes":10000000000,"ngpus":0'
start_s=$(date +%s)
knows=''
exchange() { node_sync jobs="${1:-}" reports="${2:-}" more="$knows"; } # [JOBS [REPORTS]]
report() { job_report "$1" "$2" "$3" started_s="$start_s" at_s=$((start_s + $4)) running_s="$4"; } # JOB SEQ STATE S
submit() { job_number "$(ask $daemon POST /v1/jobs "$(job_request resources="\"ncpus\":$1,\"vmem_bytes\":1000000")")"; } # NCPUS
job() { ask 0 GET "/v1/jobs/$1"; }
sql() { server_sql "$place" "$1"; }
charged() { sql 'SELECT SUM(charge_requested_ms) FROM attempts'; }

exchange >/dev/null
a=$(submit 2)
until_has "\"job\":$a" exchange
exchange "$(job_entry "$a" running)" "$(report "$a" 1 running 10)" >/dev/null
c=$(submit 8)
out=$("$reeve" admin backup "$dir" --ledger "$place" 2>&1)
has "reeve admin backup names PostgreSQL's means" "pg_dump --format=custom" "$out"
taken=$(date -u +%Y-%m-%dT%H:%M:%SZ)
check "the ledger is dumped while the controller runs" pg_dump --format=custom --schema=live --file="$dir/dump" "$server_place"
exchange "$(job_entry "$a" ended)" "$(report "$a" 2 ended 20)" >/dev/null
until_has "\"job\":$c" exchange
exchange "$(job_entry "$c" ended)" "$(report "$c" 1 ended 5)" >/dev/null
d=$(submit 8)
until_has "\"job\":$d" exchange
exchange "$(job_entry "$d" running)" "$(report "$d" 1 running 1)" >/dev/null
id=$(sql "SELECT value FROM meta WHERE key = 'ledger'")
out=$("$reeve" admin restore --mark --taken "$taken" --ledger "$place" 2>&1)
is "a ledger that a controller has is not marked" 1 $?
has "in words" "a controller has the ledger" "$out"
live_stop
sql 'DROP SCHEMA live CASCADE' 2>/dev/null
check "it is restored" pg_restore --dbname="$server_place" "$dir/dump"
out=$("$reeve" admin restore --mark --taken "$taken" --ledger "$place" 2>&1)
is "and marked" 0 $?
first=$(grep -o 'numbered from [0-9]*' <<<"$out" | grep -o '[0-9]*$')
restored=$(sql "SELECT value FROM meta WHERE key = 'restored_ns'")
live_start || bail "the controller does not start: $(tail -n 3 "$dir/controller.log")"
is "a new job gets a number that none had" "$first" "$(submit 8)"
knows=",\"ledger\":\"$id\",\"restored_ns\":0"
out=$(exchange "$(job_entry "$d" running)")
has "the node learns that the ledger was restored" "\"restored_ns\":$restored" "$out"
has "a job that was submitted after the dump is refused" "\"job\":$d,\"attempt\":1,\"why\":\"this job was never given" "$out"
knows=",\"ledger\":\"$id\",\"restored_ns\":$restored"
exchange "" "$(report "$a" 2 ended 20),$(report "$c" 1 ended 5)" >/dev/null
has "what ran has ended as it did" '"kind":"exited"' "$(job "$a")"
has "what was queued then too" '"kind":"exited"' "$(job "$c")"
is "each is charged once: 20 s of 2 cores, 5 s of 8" 80000 "$(charged)"
until_has "\"job\":$first" exchange
tap_result $? "then jobs are dispatched" "$out"
has "the sums are those of the jobs" " 0 differences" "$("$reeve" admin verify --ledger "$place")"
tap_end
