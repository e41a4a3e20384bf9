#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# pages.sh [FILE.swf[.gz] | JOBS | --ledger PLACE] - every page of the controller over a large ledger: milliseconds by the clock, of the
# controller's processor time and of PostgreSQL's, and bytes of each, beside the rows of its first document by the database's own program
# (sqlite3, psql) in the same run. Without words: the CEA history of REEVE_TRACES. Goals: 100 ms, 200 KB. DATABASE=postgres: in
# PostgreSQL. ROUNDS: requests a page (21). PAGES: only those in whose line grep finds this. FIRST=1: each page once, as the first that is
# asked after a start of the controller. Needs root.
set -uo pipefail
cd "$(dirname "$0")/../../.." || exit 1
. tests/cluster/lib/tap_lib.sh
. tests/cluster/lib/live_lib.sh
. tests/cluster/lib/server_lib.sh
rounds=${ROUNDS:-21} year=
live_start_s=600 # a large ledger on a busy machine
live_dir pages-bench
live_munge
place=$dir/ledger.db
case ${1:-} in
--ledger) place=$2 ;;
*)
	what=${1:-${REEVE_TRACES:-}/CEA-Curie-2011-2.1-cln.swf.gz}
	if [[ $what =~ ^[0-9]+$ ]]; then
		${CC:-cc} -std=gnu17 -D_GNU_SOURCE -O2 -o "$dir/usage_gen" tests/bench/usage_gen.c && "$dir/usage_gen" "$what" >"$dir/year.swf"
		what=$dir/year.swf
	fi
	[ -r "$what" ] || { echo "no figures: no trace at $what; set REEVE_TRACES, or name a number of jobs"; exit 1; }
	if [ "${DATABASE:-sqlite}" = postgres ]; then
		server_open || { echo "no figures: no PostgreSQL server"; exit 1; }
		place=$(server_schema pages)
	fi
	build/bin/reeve import swf "$what" --cluster main --ledger "$place" >&2 || { echo "no figures: the import failed"; exit 1; }
	;;
esac
# A rival whose plan reads the whole ledger is ended after 5 s.
sql() { case $place in postgresql:*) psql -qAt "$place" -c "SET statement_timeout = 5000" -c "$1" 2>/dev/null ;; *) timeout 5 sqlite3 "$place" "$1" ;; esac; }
configure() { live_controller "$place" >"$dir/controller.conf"; printf '%s\n' '[Policy]' 'AllocationYearStart = 01-01' '[Cluster main]' '[Cluster vc]' >>"$dir/controller.conf"; }
live_open configure || exit 1
printf '[Client]\nController = %s\nMungeSocket = %s/munge.sock\n' "$url" "$dir" >"$dir/reeve.conf"
sign_in() { web_enter "$dir/jar" "$(build/bin/reeve web --print --config "$dir/reeve.conf")" >/dev/null; }
sign_in
jobs=$(sql 'SELECT COUNT(*) FROM jobs')
imported=$(sql 'SELECT SUM(jobs_started) FROM rollups')
job=$(sql 'SELECT MAX(job) FROM jobs WHERE state = 5')
account=$(sql 'SELECT account FROM associations ORDER BY id DESC LIMIT 1')
user=$(sql 'SELECT "user" FROM associations ORDER BY id DESC LIMIT 1')
day=$(sql 'SELECT MAX(day) FROM rollups')
year=$(date -u -d "@$((day * 86400))" +%Y)
month=$(date -u -d "@$((day * 86400))" +%Y-%m-01)
last=$(date -u -d "$month 1 month ago" +%Y-%m-%d)
since=$(($(date -u -d "$year-01-01" +%s) / 86400)) # the year's first day
sums='SUM(jobs_started), SUM(jobs_ended), SUM(running_ms), SUM(suspended_ms), SUM(cpu_ms), SUM(charge_requested_ms), SUM(charge_used_ms), SUM(core_ms), SUM(gpu_ms)'
rows='SELECT * FROM jobs j LEFT JOIN attempts a ON a.job = j.job AND a.attempt = j.attempt'
# A page, and the rows of its first document in SQL.
pages() {
	cat <<-LIST
		/	$rows WHERE j.state < 5 ORDER BY j.job DESC LIMIT 20
		/usage	SELECT account, pool, $sums FROM rollups WHERE day >= $since GROUP BY 1, 2
		/usage?by=user	SELECT "user", pool, $sums FROM rollups WHERE day >= $since GROUP BY 1, 2
		/usage?start=$year-01-01	SELECT account, pool, $sums FROM rollups WHERE day >= $since GROUP BY 1, 2
		/usage?by=user&start=$year-01-01	SELECT "user", pool, $sums FROM rollups WHERE day >= $since GROUP BY 1, 2
		/usage?by=cluster&start=$year-01-01	SELECT cluster, pool, $sums FROM rollups WHERE day >= $since GROUP BY 1, 2
		/usage?by=user&cluster=main&start=$year-01-01	SELECT "user", pool, $sums FROM rollups WHERE cluster = 'main' AND day >= $since GROUP BY 1, 2
		/usage?by=user&start=$last&end=$month	SELECT "user", pool, $sums FROM rollups WHERE day >= $(($(date -u -d "$last" +%s) / 86400)) AND day < $(($(date -u -d "$month" +%s) / 86400)) GROUP BY 1, 2
		/usage?by=user&start=$year-01-15	SELECT "user", pool, $sums FROM rollups WHERE day >= $((since + 14)) GROUP BY 1, 2
		/usage?account=$account&by=user&start=$year-01-01	SELECT "user", pool, $sums FROM rollups WHERE account = '$account' AND day >= $since GROUP BY 1, 2
		/jobs	$rows ORDER BY j.job DESC LIMIT 50
		/jobs?state=ended	$rows WHERE j.state = 5 ORDER BY j.job DESC LIMIT 50
		/jobs?account=$account	$rows WHERE j.account = '$account' ORDER BY j.job DESC LIMIT 50
		/jobs?user=$user	$rows WHERE j."user" = '$user' ORDER BY j.job DESC LIMIT 50
		${job:+/job/$job	$rows WHERE j.job = $job}
		/queue	$rows WHERE j.state = 0 ORDER BY j.job LIMIT 50
		/share	SELECT account, "user" FROM associations LIMIT 1000
		/quota	SELECT account, "user" FROM associations LIMIT 1000
		/nodes	SELECT * FROM nodes LIMIT 1000
		/cluster	SELECT day, $sums FROM rollups WHERE day >= $((day - 31)) GROUP BY 1
	LIST
}
cpu_ns() { cut -d' ' -f1 "/proc/$controller/schedstat"; }
server=
[[ $place != postgresql:* ]] || server=$(sql "SELECT split_part(pg_read_file('postmaster.pid'), E'\n', 1)")
children() { cat "/proc/$server/task/$server/children"; }
# Of the server's processes for clients: not its own work, and not workers of a parallel plan, which have ended by then.
server_ns() {
	local p
	[ -n "$server" ] || { echo 0; return; }
	for p in $(children); do
		[[ $(tr '\0' ' ' <"/proc/$p/cmdline") != *"[local]"* ]] || cut -d' ' -f1 "/proc/$p/schedstat"
	done 2>/dev/null | awk '{ s += $1 } END { printf "%d\n", s }'
}
# The rival's process of the server ends after its program: it is not to be counted.
wait_rival() {
	local i
	[ -n "$server" ] || return 0
	for ((i = 0; i < 100; i++)); do
		[ "$(sql "SELECT COUNT(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND application_name = 'psql' AND pid <> pg_backend_pid()")" != 0 ] || break
		sleep 0.02
	done
	sleep 0.05
}
start_again() {
	live_stop
	live_start || bail "the controller does not start: $(cat "$dir/controller.log")"
	sign_in
}
# Medians of `rounds`, in turns, so that both meet the same machine.
measure() { # PAGE SQL
	local i from base cpu=0 cpu_server=0
	: >"$dir/ours"
	: >"$dir/theirs"
	for ((i = 0; i < rounds; i++)); do
		[ -z "${FIRST:-}" ] || start_again
		wait_rival
		base=$(server_ns)
		from=$(cpu_ns)
		curl -s -o /dev/null -w '%{http_code} %{time_total} %{size_download}\n' -b "$dir/jar" "$url/web$1" >>"$dir/ours"
		cpu=$((cpu + $(cpu_ns) - from))
		cpu_server=$((cpu_server + $(server_ns) - base))
		from=${EPOCHREALTIME/./}
		sql "$2" >"$dir/rows"
		echo $((${EPOCHREALTIME/./} - from)) >>"$dir/theirs"
	done
	sort -k2n "$dir/ours" >"$dir/sorted"
	awk -v page="$1" -v n="$rounds" -v theirs="$(sort -n "$dir/theirs" | sed -n "$(((rounds + 1) / 2))p")" -v rows="$(wc -l <"$dir/rows")" \
		-v cpu="$((cpu / rounds))" -v cpu_server="$((cpu_server / rounds))" '
		NR == int((n + 1) / 2) { mid = $2 * 1000 } { most = $2 * 1000; bytes = $3; if ($1 != 200) status = " status " $1 }
		END { printf "%-52s %8.1f %8.1f %8.1f %8.1f %9d %9.1f (%d rows) x%.2f%s%s%s%s\n", page, mid, most, cpu / 1e6, cpu_server / 1e6, bytes, theirs / 1000, rows,
			mid * 1000 / theirs, status, (mid > 100 ? " OVER 100 ms" : ""), (cpu + cpu_server > 1e8 ? " OVER 100 ms of processor time" : ""),
			(bytes > 200000 ? " OVER 200 KB" : "") }' "$dir/sorted"
}
[ -z "${FIRST:-}" ] || rounds=1
echo "-- ${place%%:*}: $jobs jobs of its own, $imported in its sums, load $(cut -d' ' -f1 /proc/loadavg); milliseconds in the middle, at most, of the controller's processor time, of the server's; bytes; the rows by the database's own program"
while IFS=$'\t' read -r page query; do [ -z "$page" ] || measure "$page" "$query"; done < <(pages | grep -e "${PAGES:-.}")
live_stop
exit 0
