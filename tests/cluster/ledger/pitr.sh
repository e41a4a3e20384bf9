#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# pitr.sh - a ledger in PostgreSQL goes back to a moment by the commands of docs/operation.md ("A ledger in PostgreSQL: back to any moment"), which are
# read from there: base backup and log are taken while the controller runs and jobs end; what was acknowledged before that moment is there, what
# nodes send again is charged once. Nodes are played. TAP.
set -u
cd "$(dirname "$0")/../../.." || exit 1
. tests/cluster/lib/tap_lib.sh
. tests/cluster/lib/live_lib.sh
. tests/cluster/lib/server_lib.sh
. tests/cluster/lib/play_lib.sh
. tests/cluster/lib/past_lib.sh
[ "$(id -u)" = 0 ] || { echo "1..0 # SKIP needs root to become the server's user"; exit 0; }
live_dir pitr
server_open || { echo "1..0 # SKIP no PostgreSQL server: make deps"; exit 0; }
live_munge
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

# ---- the commands of the document, where they run ----
recipe() { # N: the N-th block of the section
	awk -v n="$1" '/^### /{on = /back to any moment/} on && /^```/ {if (inside) inside = 0; else {inside = 1; i++}; next} on && inside && i == n' docs/operation.md
}
systemctl() { # what the recipe asks of it
	case "$*" in
	'stop reeve-controller') live_stop || : ;; # its status is that of no command
	'start reeve-controller') live_start ;;
	'restart postgresql') server_do restart ;;
	'stop postgresql') runuser -u postgres -- "$server_bin/pg_ctl" -D "$data" -w -m fast stop >"$dir/pg.said" 2>&1 ;;
	'start postgresql') server_do start ;;
	*) echo "systemctl $*: the recipe is not known to do that" && return 1 ;;
	esac
}
reeve() { "$PWD/build/bin/reeve" "$@"; }
export PGHOST=$dir/pg PGUSER=postgres PGDATABASE=postgres
bin=$server_bin data=$dir/pg/data archive=$dir/archive/wal base=$dir/archive/base ledger=$place
mkdir "$dir/archive" && chmod 755 "$dir/archive"
has "the document's first block names the places" "bin=/usr/lib/postgresql/" "$(recipe 1)"
performing=0
perform() { # NAME N: the N-th block, each of its commands
	recipe "$2" >"$dir/block"
	[ -s "$dir/block" ] || bail "docs/operation.md has no block $2 in that section"
	performing=1
	set -e
	# shellcheck disable=SC1091
	. "$dir/block" >"$dir/performed" 2>&1
	set +e
	performing=0
	tap_result 0 "$1"
}
show_and_end() { # what went wrong, where a command of the recipe did
	[ $failed = 0 ] && [ "$performing" = 0 ] || tail -n 5 "$dir/performed" "$dir/pg/log" | sed 's/^/# /'
	server_end
}
trap show_and_end EXIT

live_open configure
backdate_dispatch "$place" 1
amounts='"ncpus":16,"mem_bytes":16000000000,"jobfs_bytes":10000000000,"ngpus":0'
start_s=$(date +%s)
knows=''
exchange() { node_sync jobs="${1:-}" reports="${2:-}" more="$knows"; } # [JOBS [REPORTS]]
report() { job_report "$1" "$2" "$3" started_s="$start_s" at_s=$((start_s + $4)) running_s="$4"; } # JOB SEQ STATE S
submit() { # NCPUS; a controller whose server was just restarted may refuse it once
	local number
	for _ in $(seq 50); do
		number=$(job_number "$(ask $daemon POST /v1/jobs "$(job_request resources="\"ncpus\":$1,\"vmem_bytes\":1000000")")")
		[ -z "$number" ] || break
		sleep 0.2
	done
	echo "$number"
}
job() { ask 0 GET "/v1/jobs/$1"; }
sql() { server_sql "$place" "$1"; }
charged() { sql 'SELECT SUM(charge_requested_ms) FROM attempts'; }
held() { echo "$(job_entry "$a" running),$(job_entry "$b" running)"; }

perform "the log is archived from now on" 2
exchange >/dev/null
a=$(submit 2) b=$(submit 2)
until_has "\"job\":$b" exchange
exchange "$(held)" "$(report "$a" 1 running 10),$(report "$b" 1 running 10)" >/dev/null

# ---- a base backup while jobs end ----
(perform "a base backup is made and verified while jobs end" 3; echo "$new" >"$dir/new") >"$dir/base.tap" 2>&1 &
backing=$!
ended=0 during=0 tries=0
while kill -0 $backing 2>/dev/null || [ $ended -lt 3 ]; do
	[ $((++tries)) -le 300 ] || bail "no jobs end while the backup is made: $out $(tail -n 3 "$dir/controller.log")"
	j=$(submit 1)
	until_has "\"job\":$j" exchange "$(held)"
	out=$(exchange "$(held),$(job_entry "$j" ended)" "$(report "$j" 1 ended 3)")
	[[ $out == *"{\"job\":$j,\"attempt\":1,\"seq\":1"* ]] && ended=$((ended + 1))
	kill -0 $backing 2>/dev/null && during=$ended
done
wait $backing
n=$((n + 1))
sed "s/^ok [0-9]*/ok $n/" "$dir/base.tap"
from=$(cat "$dir/new" 2>/dev/null) || bail "no base backup: $(cat "$dir/performed")"
[ $during -gt 0 ]
tap_result $? "$during jobs ended meanwhile" "none"

# ---- acknowledged before, and what comes after ----
out=$(exchange "$(job_entry "$a" ended),$(job_entry "$b" running)" "$(report "$a" 2 ended 20),$(report "$b" 2 running 20)")
has "an end is acknowledged" "{\"job\":$a,\"attempt\":1,\"seq\":2" "$out"
c=$(submit 16)
before=$(charged)
is "20 s of 2 cores twice, 3 s of 1 for each of $ended" $((80000 + ended * 3000)) "$before"
sleep 0.05
until=$(date -u '+%Y-%m-%d %H:%M:%S.%6N+00')
sleep 0.05
id=$(sql "SELECT value FROM meta WHERE key = 'ledger'")
exchange "$(job_entry "$b" ended)" "$(report "$b" 3 ended 30)" >/dev/null
until_has "\"job\":$c" exchange
exchange "$(job_entry "$c" ended)" "$(report "$c" 1 ended 5)" >/dev/null
d=$(submit 16)
until_has "\"job\":$d" exchange
exchange "$(job_entry "$d" running)" "$(report "$d" 1 running 1)" >/dev/null
is "10 s more of 2 cores, 6 s of 16" $((before + 20000 + 96000)) "$(charged)"

# ---- back ----
has "the document's fourth block names the moment and the backup" "until='" "$(recipe 4)" # the suite has its own
perform "the ledger goes back to that moment" 5
has "nodes learn of it" "numbered from" "$(cat "$dir/performed")"
is "what was acknowledged before is there, nothing of after" "$before" "$(charged)"
has "an end is there" '"kind":"exited"' "$(job "$a")"
has "a job that ran then runs" '"state":"running"' "$(job "$b")"
has "one that was queued is queued" '"state":"queued"' "$(job "$c")"
restored=$(sql "SELECT value FROM meta WHERE key = 'restored_ns'")
is "it is the same ledger" "$id" "$(sql "SELECT value FROM meta WHERE key = 'ledger'")"
knows=",\"ledger\":\"$id\",\"restored_ns\":0"
out=$(exchange "$(job_entry "$d" running)")
has "the node learns that the ledger was restored" "\"restored_ns\":$restored" "$out"
has "a job that was submitted after that moment is refused" "\"job\":$d,\"attempt\":1,\"why\":\"this job was never given" "$out"
knows=",\"ledger\":\"$id\",\"restored_ns\":$restored"
sent="$(report "$a" 2 ended 20),$(report "$b" 3 ended 30),$(report "$c" 1 ended 5)"
for _ in once twice; do exchange "" "$sent" >/dev/null; done
is "what nodes send again is charged once" $((before + 20000 + 80000)) "$(charged)"
has "each as it ended" '"kind":"exited"' "$(job "$c")"
e=$(submit 1)
until_has "\"job\":$e" exchange
tap_result $? "then jobs are dispatched" "$out"
has "the sums are those of the jobs" " 0 differences" "$(reeve admin verify --ledger "$place")"
is "the server is in no recovery, and archives" "f|on" "$(sql 'SELECT pg_is_in_recovery(), current_setting($$archive_mode$$)')"
tap_end
