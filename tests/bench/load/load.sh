#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# load.sh [SECONDS] - LOAD_NODES (10000) simulated nodes with LOAD_JOBS (100000) running jobs, each node a connection, an address and a name
# of its own, that report every 30 s to one controller for SECONDS (600); beside them one `reeve submit` a second, and a view every 2 s
# (reeve jobs, reeve nodes, the pages of jobs, queue and nodes). Then all nodes drop their connections at once. The jobs are submitted as
# arrays of ten users, and dispatched by the controller's own cycles. LOAD_DATABASES: sqlite postgres. All programs share this machine;
# the fleet, the submitter and the viewer have a munged of their own, as on other machines, so that the controller's is counted alone.
# Prints latencies of acknowledgements, submissions and views, CPU by program, and what was lost: in the end the ledger is compared with what
# the nodes had acknowledged. LOAD_HOSTILE=N: users who try to stop the event loop, and N queued jobs (hostile.sh). Exit status 1: something was lost, or could not run. LOAD_KEEP: a folder for logs. LOAD_SAMPLE_MS (10000): the agents' SampleInterval; a series has all its 120 points after
# 120 of them: 400 makes reports in the first minutes as large as they are after twenty. LOAD_OVERTAKEN: see fleet.c. LOAD_SERVER: options of the PostgreSQL server. LOAD_NICE: of all of these
# programs, below 0 on a machine that is busy with other work. LOAD_STATEMENTS=1: with PostgreSQL, the statements that took the server longest
# (pg_stat_statements), while the jobs started and while reports were measured. LOAD_ZONE: the ledger's time zone, so that a midnight can be within the ten
# minutes: at 11:57 of UTC Etc/GMT-12. Needs root.
set -uo pipefail
cd "$(dirname "$0")/../../.." || exit 1
. tests/cluster/lib/tap_lib.sh
. tests/cluster/lib/live_lib.sh
. tests/cluster/lib/server_lib.sh
. tests/bench/load/hostile.sh
seconds=${1:-600} nodes=${LOAD_NODES:-10000} jobs=${LOAD_JOBS:-100000}
users="daemon bin sys games man lp mail uucp proxy backup"
live_start_s=120
server_shared=${LOAD_SHARED:-256MB}
# As docs/operation.md says for thousands of nodes.
server_more=${LOAD_SERVER--c max_wal_size=8GB -c wal_compression=lz4}
[ -z "${LOAD_STATEMENTS:-}" ] || server_more="$server_more -c shared_preload_libraries=pg_stat_statements"
export LC_ALL=C.UTF-8
ulimit -n "$(ulimit -Hn)"
[ "$(ulimit -n)" -ge $((nodes * 3 / 2 + 2000)) ] || { echo "no figures: $((nodes * 3 / 2 + 2000)) open files are needed"; exit 1; }
[ -z "${LOAD_NICE:-}" ] || renice -n "$LOAD_NICE" -p $$ >/dev/null || { echo "no figures: LOAD_NICE=$LOAD_NICE is not allowed"; exit 1; }
live_dir load
O=build
${CC:-cc} -std=gnu17 -D_GNU_SOURCE -O2 -I. -DSAMPLE_MS="${LOAD_SAMPLE_MS:-10000}" -o "$dir/fleet" tests/bench/load/*.c $O/common/http/{response,buffer}.o $O/common/auth/auth.o \
	$O/common/{err,utf8}.o $O/common/wire/*.o $O/common/wire/json/*.o $O/common/model/*.o $O/common/model/series/series.o -ljansson -lmunge -lnettle -lz -lm ||
	bail "the fleet does not compile"
live_tool signed
cp $O/bin/reeve "$dir/reeve" && chmod 755 "$dir/reeve"
live_munge
cp -p "$dir/munge.key" "$dir/others.key"
live_munge others
tell() { echo "$(date +%T) $*" >&2; }
configure() { # PLACE
	local connections=$((nodes * 2)) most=$(($(ulimit -n) - 1000)) u
	[ "$connections" -ge 4096 ] || connections=4096
	[ "$connections" -le $most ] || connections=$most
	live_controller "$1" >"$dir/controller.conf"
	printf '%s\n' "MaxConnections = $connections" "MaxArraySize = 1000000" "MaxQueuedPerUser = 0" ${LOAD_ZONE:+'[Policy]' "TimeZone = $LOAD_ZONE"} '[Cluster main]' \
		'DefaultResources = vmem=1GB,jobfs=100MB,walltime=24:00:00' >>"$dir/controller.conf"
	for u in $users; do printf '[Account of-%s]\nUsers = %s\n' "$u" "$u"; done >>"$dir/controller.conf"
	[ -z "${LOAD_HOSTILE:-}" ] || hostile_configure >>"$dir/controller.conf"
	printf '[Client]\nController = %s\nControllerUser = root\nMungeSocket = %s/others.sock\n' "$url" "$dir" >"$dir/reeve.conf"
	chmod 644 "$dir/reeve.conf"
}
submit_all() { # an array of each user
	local u n=0 each=$(((jobs + 9) / 10)) last
	for u in $users; do
		last=$((n + each <= jobs ? each : jobs - n))
		[ "$last" -gt 0 ] || break
		n=$((n + last))
		[[ $(ask "$(id -u "$u")" POST /v1/jobs "{\"schema\":\"reeve/1\",\"request\":{\"cluster\":\"main\",\"account\":\"of-$u\",\"name\":\"load\",\
\"resources\":{\"ncpus\":1},\"argv\":[\"/bin/true\"],\"env\":[\"PATH=/usr/bin:/bin\",\"HOME=/home/$u\",\"LANG=C.UTF-8\"],\
\"workdir\":\"/home/$u/project\",\"array\":{\"first\":1,\"last\":$last}}}" "" others) == 201* ]] || bail "$u cannot submit: $(cat "$dir/said")"
	done
}
# ---- beside the fleet: a line for each, "NAME us" or "NAME failed" ----
timed() { # NAME COMMAND...
	local name=$1 from=${EPOCHREALTIME/./}
	shift
	if "$@" >"$dir/beside.$name" 2>&1; then echo "$name $((${EPOCHREALTIME/./} - from))"; else echo "$name failed"; fi
}
page() { # PATH: whole, and no page that says why it is none
	curl -s -f -m 60 -b "$dir/jar" "$url$1" -o "$dir/beside.page" && grep -q '</html>' "$dir/beside.page"
}
every() { # US, since the last call
	local now=${EPOCHREALTIME/./}
	next=$((${next:-now} + $1))
	[ "$next" -le "$now" ] || sleep "$(((next - now) / 1000000)).$(printf %06d $(((next - now) % 1000000)))"
}
submit_on() {
	local next=
	while [ ! -e "$dir/over" ]; do
		timed submit as 1 "$dir/reeve" submit --config "$dir/reeve.conf" -A of-daemon -N one -l ncpus=1 -- /bin/true
		every 1000000
	done >"$dir/times.submit"
}
view_on() {
	local next=
	web_enter "$dir/jar" "$("$dir/reeve" web --print --config "$dir/reeve.conf")" >/dev/null
	while [ ! -e "$dir/over" ]; do
		timed jobs as 1 "$dir/reeve" jobs --config "$dir/reeve.conf"
		every 2000000
		timed nodes "$dir/reeve" nodes --config "$dir/reeve.conf"
		every 2000000
		for at in jobs queue nodes; do
			timed "page-$at" page "/web/$at"
			every 2000000
		done
	done >"$dir/times.view"
}
# ---- figures ----
ticks() { # PID...: of processes, their threads included
	local p sum=0 stat
	for p; do
		read -r stat <"/proc/$p/stat" || continue
		stat=${stat##*) }
		# shellcheck disable=SC2086 # fields
		set -- $stat
		sum=$((sum + ${12} + ${13}))
	done 2>/dev/null
	echo "$sum"
}
server_pids() {
	local main=$1
	[ -z "$main" ] || echo "$main $(cat "/proc/$main/task/$main/children" 2>/dev/null)"
}
server_main() { head -n 1 "$dir/pg/data/postmaster.pid" 2>/dev/null; }
snapshot() { # NAME TICKS-OF-THE-FLEET: hundredths of a second of CPU so far, by program
	# shellcheck disable=SC2046 # pids
	printf '%s %s %s %s %s %s\n' "${EPOCHREALTIME/./}" "$(ticks "$controller")" "$(ticks "$(cat "$dir/munge.pid")")" \
		"$(ticks $(server_pids "$server"))" "$2" "$(ticks "$(cat "$dir/others.pid")")" >"$dir/cpu.$1"
	curl -s "$url/metrics" >"$dir/metrics.$1"
}
counts_between() { # FROM TO
	awk 'NR == FNR { was[$1] = $2; next } { v[$1] = $2 - was[$1] } END { n = v["reeve_syncs_total"]; b = v["reeve_sync_batches_total"]; c = v["reeve_cycles_total"]
		if (n && b && c) printf "%d exchanges in %d commits (%.1f each), %.2f ms in the ledger each; %d cycles, %.0f ms each\n", n, b, n / b,
			v["reeve_ingest_seconds_total"] * 1e3 / n, c, v["reeve_cycle_seconds_total"] * 1e3 / c }' "$dir/metrics.$1" "$dir/metrics.$2"
}
cpu_between() { # FROM TO: percent of a core
	paste -d' ' "$dir/cpu.$1" "$dir/cpu.$2" | awk '{ s = ($7 - $1) / 1e6; if (s <= 0) s = 1
		printf "CPU, percent of one core: controller %.0f, its munged %.0f, database %.0f; fleet %.0f, its munged %.0f\n",
			($8 - $2) / s, ($9 - $3) / s, ($10 - $4) / s, ($11 - $5) / s, ($12 - $6) / s }'
}
show_times() { # of submissions and views
	cat "$dir"/times.* | sort -k1,1 -k2,2n | awk '
		function out() { if (name != "") printf "%s: %d, p50 %.0f ms, p99 %.0f, longest %.0f; failed %d\n", name, n, v[int((n - 1) * 0.5)] / 1e3, v[int((n - 1) * 0.99)] / 1e3, v[n - 1] / 1e3, bad }
		$1 != name { out(); name = $1; n = bad = 0; delete v }
		$2 == "failed" { bad++; next }
		{ v[n++] = $2 }
		END { out() }'
}
# The nodes' last acknowledged reports, and what the ledger has of all attempts that it has not closed; and its sums against its rows.
check_ledger() { # PLACE; prints what differs
	local sql='SELECT job, attempt, seq, running_ns FROM attempts WHERE closed = 0 ORDER BY 1' twice
	twice="SELECT COUNT(*) FROM attempts a WHERE a.running_ns <> (SELECT COALESCE(SUM(x.running_ns), 0) FROM stretches x WHERE x.job = a.job AND x.attempt = a.attempt)"
	case $1 in
	postgresql:*) server_sql "$1" "$sql" | tr '|' ' ' >"$dir/in-ledger" && twice=$(server_sql "$1" "$twice") ;;
	*) sqlite3 -separator ' ' "$1" "$sql" >"$dir/in-ledger" && twice=$(sqlite3 "$1" "$twice") ;;
	esac
	sort -n "$dir/acked" >"$dir/acked.sorted"
	lost=$(diff "$dir/acked.sorted" "$dir/in-ledger" | grep -c '^<')
	more=$(diff "$dir/acked.sorted" "$dir/in-ledger" | grep -c '^>')
	echo "ledger: $(wc -l <"$dir/in-ledger") attempts run; $lost of $(wc -l <"$dir/acked") differ from the last acknowledged report; $twice whose run intervals are not its running time"
	"$dir/reeve" admin verify --ledger "$1" >"$dir/verify" 2>&1 || { echo "verify: $(tail -n 3 "$dir/verify")"; lost=$((lost + 1)); }
	tail -n 1 "$dir/verify"
	lost=$((lost + more + twice))
}
# A server that fills an empty ledger within a minute has no statistics of it yet, as that of a real ledger has: autovacuum looks once a minute.
# A tenth of the time at most.
analyze_on() {
	local from
	while [ ! -e "$dir/filled" ]; do
		from=${EPOCHREALTIME/./}
		server_sql "$1" ANALYZE 2>/dev/null
		from=$(((${EPOCHREALTIME/./} - from) / 110000))
		for _ in $(seq $((from > 3 ? from : 3))); do [ -e "$dir/filled" ] || sleep 1; done
	done
}
# statements WHEN: what took the server longest since the last call
statements() {
	[ -n "${LOAD_STATEMENTS:-}" ] && [ -n "$server" ] || return 0
	server_sql "$server_place" "SELECT '$1: ' || round(sum(total_exec_time)) || ' ms in statements of the server' FROM pg_stat_statements"
	server_sql "$server_place" "SELECT round(total_exec_time) || ' ms, ' || calls || ' times: ' || left(regexp_replace(query, '\s+', ' ', 'g'), 100)
		FROM pg_stat_statements ORDER BY total_exec_time DESC LIMIT 12"
	server_sql "$server_place" "SELECT pg_stat_statements_reset()" >"$dir/statements.said"
}
course() { # reads what the fleet says of its phases
	local what rest
	while read -r what rest; do
		tell "$what ${rest% cpu *}"
		case $what in
		ready)
			snapshot ready "${rest##* }"
			statements "while they start"
			: >"$dir/filled"
			[ -z "${LOAD_HOSTILE:-}" ] || hostile_start
			submit_on &
			view_on &
			echo "filled: $jobs jobs submitted, dispatched to $nodes nodes and reported in ${rest%% *} s" ;;
		measured)
			snapshot measured "${rest##* }"
			: >"$dir/over"
			echo "$rest" | awk '{ printf "acknowledgements: %d, p50 %.1f ms, p99 %.1f (x%.2f of 250), longest %.1f (x%.2f); %d above 250 ms; %d long polls; failed %d\n", $11, $3, $5, $5 / 250, $7, $7 / 250, $9, $13, $15 }'
			cpu_between ready measured
			counts_between ready measured
			statements "since then" ;;
		reconnected)
			snapshot reconnected "${rest##* }"
			echo "$rest" | awk '{ printf "all nodes reconnect at once: acknowledged again after %.1f s (x%.2f of 60); p50 %.0f ms, longest %.0f, failed %d\n", $1, $1 / 60, $3, $7, $15 }'
			cpu_between measured reconnected
			awk '$1 == "reeve_requests_deferred_total" { print "requests that waited for a turn: " $2 }' "$dir/metrics.reconnected" ;;
		end) rest=${rest#lost } && given_up=$rest ;;
		late) echo "no figures: late $rest" ;;
		esac
	done
}
run_load() { # DATABASE
	local place=$dir/ledger.db given_up=-1
	server=''
	if [ "$1" = postgres ]; then
		server_open || { echo "postgres: not measured, no server is installed"; return 0; }
		place=$(server_schema load)
		server=$(server_main)
		[ -z "${LOAD_STATEMENTS:-}" ] || server_sql "$server_place" 'CREATE EXTENSION pg_stat_statements'
	fi
	rm -f "$dir/over" "$dir/filled"
	live_open configure "$place"
	[ -z "$server" ] || analyze_on "$place" &
	submit_all
	echo "-- $1: $nodes nodes, $jobs jobs, $seconds s${LOAD_NICE:+, nice $LOAD_NICE}${server:+; server: shared_buffers=$server_shared $server_more}; load average $(cut -d' ' -f1-3 /proc/loadavg)"
	mkfifo "$dir/phases"
	"$dir/fleet" "$port" "$dir/others.sock" 0 "$nodes" "$jobs" "$seconds" "$dir/acked" ${LOAD_OVERTAKEN:+"$LOAD_OVERTAKEN"} >"$dir/phases" 2>"$dir/fleet.err" &
	fleet=$!
	course <"$dir/phases"
	wait $fleet || { echo "no figures: the fleet failed: $(head -n 3 "$dir/fleet.err")"; bad=1; }
	rm "$dir/phases"
	: >"$dir/over"
	: >"$dir/filled"
	for f in $(builtin jobs -p); do [ "$f" = "$controller" ] || wait "$f"; done
	show_times
	[ -z "${LOAD_HOSTILE:-}" ] || hostile_stops measured
	echo "memory of the controller: $(awk '/^VmHWM/ { printf "%.0f MB at most", $2 / 1000 } /^VmRSS/ { printf ", %.0f MB at the end", $2 / 1000 }' "/proc/$controller/status")"
	live_stop
	[ -n "$server" ] || echo "the ledger's file: $(($(stat -c %s "$place") / 1000000)) MB"
	check_ledger "$place"
	echo "$1: lost or counted twice: $((lost + (given_up > 0 ? given_up : 0)))"
	[ "$lost" = 0 ] && [ "$given_up" = 0 ] || bad=1
	[ -z "${LOAD_KEEP:-}" ] || cp "$dir"/{controller.log,fleet.err,times.*,verify} "$LOAD_KEEP"
	[ -z "${LOAD_KEEP:-}" ] || [ -z "$server" ] || cp "$dir/pg/log" "$LOAD_KEEP/postgres.log"
	echo "load average at the end $(cut -d' ' -f1-3 /proc/loadavg)"
}
bad=0
for database in ${LOAD_DATABASES:-sqlite postgres}; do run_load "$database"; done
exit $bad
