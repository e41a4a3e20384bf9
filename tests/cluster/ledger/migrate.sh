#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# migrate.sh [KILLS [SEED]] - `reeve admin migrate`: a ledger with everything in it moves from SQLite to PostgreSQL while it
# is killed at random; every view and the controller answer the same from there; what differs is named. TAP.
set -u
cd "$(dirname "$0")/../../.." || exit 1
. tests/cluster/lib/tap_lib.sh
. tests/cluster/lib/live_lib.sh
. tests/cluster/lib/play_lib.sh
. tests/cluster/lib/server_lib.sh
[ "$(id -u)" = 0 ] || { echo "1..0 # SKIP needs root to speak as several users"; exit 0; }
live_dir migrate
server_open || { echo "1..0 # SKIP no PostgreSQL server: make deps"; exit 0; }
live_munge
kills=${1:-12} seed=${2:-$RANDOM}
RANDOM=$seed
echo "# $kills kills, seed $seed"
binary_of_reeve=$PWD/build/bin/reeve
ledger=$dir/ledger.db
reeve() { "$binary_of_reeve" "$@" 2>&1; }
migrate() { reeve admin migrate --from "$ledger" --to "$@"; }
configure() { # DATABASE
	cat >"$dir/controller.conf" <<-CONF
		$(live_controller "$1")
		NodeLost = 600
		[Cluster main]
		DefaultResources = jobfs=100MB,walltime=1:00:00
		[Account physics]
		Users = daemon, bin
		[Account bio]
		Users = bin
	CONF
}

# ---- a history: jobs that ended, run, wait; arrays, steps, output, jobs on two nodes, imported ones ----
live_open configure "$ledger"
amounts='"ncpus":64,"mem_bytes":16000000000,"jobfs_bytes":10000000000,"ngpus":0'
on() { node_sync "node=$1" "${@:2}"; }
submit() { job_number "$(ask "$1" POST /v1/jobs "$(job_request "${@:2}")")"; } # UID KEY=VALUE...
post() { ask 0 POST "$1" "{\"schema\":\"reeve/1\"${2:-}}"; } # PATH [MEMBERS]
for k in n1 n2; do on $k >/dev/null; done
first=$(submit $daemon stream=true argv= more=',"script":"#!/bin/sh\necho \u00e9\t\\\n"')
second=$(submit $bin account=bio)
exited_3=$(submit $daemon)
array=$(submit $daemon more=',"array":{"first":0,"last":39,"at_once":2}')
held=$(submit $daemon more=',"hold":true')
after=$(submit $daemon more=",\"after\":[{\"job\":$held,\"kind\":\"afterok\"}]")
several=$(submit $daemon resources= more=',"select":"2:ncpus=2:vmem=1000000B","scatter":true')
cancelled=$(submit $bin)
post "/v1/jobs/$cancelled/cancel" >/dev/null
has_order() { on n1 | cat - <(on n2); }
soon "jobs come to their nodes" "\"job\":$second,\"attempt\":1,\"want\":\"run\"" has_order
for k in n1 n2; do
	on $k "jobs=$(job_entry "$first" running),$(job_entry "$second" running),$(job_entry "$exited_3" running),$(job_entry "$several" running)" \
		"reports=$(job_report "$first" 1 running running_s=1),$(job_report "$second" 1 running),$(job_report "$exited_3" 1 running),$(job_report "$several" 1 running)" \
		"output={\"job\":$first,\"attempt\":1,\"stream\":\"out\",\"offset\":0,\"data\":\"$(head -c 3000 /dev/urandom | base64 -w0)\"}" >/dev/null
done
ask $daemon POST "/v1/jobs/$first/steps" '{"schema":"reeve/1","nodes":["n1"],"argv":["/bin/ls","-l"]}' >/dev/null
sleep 1
for k in n1 n2; do
	on $k "reports=$(job_report "$first" 2 ended running_s=2 usage='"cpu_ns":1500000000'),$(job_report "$exited_3" 2 ended running_s=2 exit_status=3)" >/dev/null
done
ask 0 POST /v1/nodes/drain '{"schema":"reeve/1","nodes":["n2"],"reason":"it'"'"'s back\\slash"}' >/dev/null
live_stop
{
	echo '; UnixStartTime: 1000000000'
	seq 60000 | awk '{ print $1, $1 * 300, 5, $1 * 37 % 90000, $1 % 63 + 1, -1, -1, 4, 7200, -1, 1, $1 % 199, $1 % 40, -1, -1, -1, -1, -1 }'
} >"$dir/h.swf"
reeve import swf "$dir/h.swf" --cluster old --ledger "$ledger" >/dev/null
printf '[Account physics]\nUsers=daemon,bin\n[Account g1]\nUsers=u1=3,u2\n[Account g2]\nParent=g1\n' >"$dir/accounts.conf"
reeve admin accounts apply "$dir/accounts.conf" --ledger "$ledger" >/dev/null
reeve admin adjust --ledger "$ledger" --account g1 --user u1 --cluster old --charge -12.5 --reason "a 'refund'" >/dev/null
sqlite3 "$ledger" "INSERT INTO events(at_ns, job, node, what, text) WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60000)
	SELECT i, $first, 'n' || i, 'note', 'tab' || char(9) || ' line' || char(10) || ' back\slash ' || hex(zeroblob(i % 150)) FROM n" \
	"UPDATE jobs SET due_ns = 9223372036854775807, eligible_ns = -9223372036854775807 WHERE job = $cancelled"
tables=$(sqlite3 "$ledger" "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite!_%' ESCAPE '!' ORDER BY 1")
empty=$(for t in $tables; do [ "$(sqlite3 "$ledger" "SELECT COUNT(*) FROM (SELECT 1 FROM $t LIMIT 1)")" = 1 ] || echo "$t"; done | tr '\n' ' ')
echo "# $(wc -w <<<"$tables") tables, job numbers $first $second $exited_3 $array $held $after $several $cancelled; empty: $empty"

# ---- refusals ----
there=$(server_schema here)
live_open configure "$ledger"
out=$(migrate "$there")
is "a ledger whose controller runs is not moved" 1 $?
has "... with the controller's name" "at 127.0.0.1:$port, process $controller" "$out"
live_stop
out=$(reeve admin migrate --from "$ledger" --to "$dir/other.db")
has "a target that is not in PostgreSQL" "is not in PostgreSQL" "$out"
out=$(reeve admin migrate --from "$dir/none.db" --to "$there")
has "a source that does not exist" "$dir/none.db: No such file" "$out"
reeve import swf "$dir/h.swf" --cluster old --ledger "$(server_schema filled)" >/dev/null
out=$(migrate "$server_place&options=-csearch_path%3Dfilled")
has "a target that has rows" "is not empty (table associations has rows)" "$out"

# ---- killed at random ----
# As a migration that runs does for as long as it makes an index.
hold_lock() { # SCHEMA
	psql -q "$server_place" -c "SELECT pg_advisory_lock(1919247734, hashtext('$1')), pg_sleep(600)" >"$dir/held" 2>&1 &
	holder=$!
	soon "the lock is held" 1 server_sql "$server_place" "SELECT COUNT(*) FROM pg_locks WHERE locktype = 'advisory' AND granted AND classid = 1919247734"
}
give_lock() {
	server_sql "$server_place" "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(600)%' AND pid <> pg_backend_pid()" >/dev/null
	wait $holder
}
views() { # LEDGER
	local view
	for view in "usage --by account --monthly --csv" "usage --by user,cluster --json" "eff --by user --sort waste --csv" \
		"eff --by job --limit 20 --sort charge --csv" "admin adjustments --csv" "admin verify --json" "admin accounts show"; do
		# shellcheck disable=SC2086
		reeve $view --ledger "$1"
	done
}
views "$ledger" >"$dir/views"
pages() { # what the controller answers; not the clocks' running
	for j in $first $second $exited_3 $array $held $after $several $cancelled; do ask 0 GET "/v1/jobs/$j"; done
	ask 0 GET "/v1/jobs?limit=200"
	ask 0 GET /v1/usage
	ask 0 GET "/v1/jobs/$first/output?stream=out&offset=0" | md5sum
}
start=$(date +%s%N)
migrate "$(server_schema whole)" >"$dir/said" || bail "a migration without kills fails: $(cat "$dir/said")"
took=$((($(date +%s%N) - start) / 1000000))
echo "# without kills: $(cat "$dir/said"), $took ms"
done_before=''
for _ in $(seq "$kills"); do
	"$binary_of_reeve" admin migrate --from "$ledger" --to "$there" >"$dir/said" 2>&1 &
	victim=$!
	sleep "$(awk "BEGIN { print (50 + $((RANDOM % (took * 2 / kills)))) / 1000 }")"
	kill -9 $victim 2>/dev/null
	wait $victim 2>/dev/null
	done_before+=" $(server_sql "$there" "SELECT (SELECT COUNT(*) FROM events) || '+' || (SELECT COUNT(*) FROM imported) || '+' ||
		(SELECT COUNT(*) FROM rollups)" 2>/dev/null || echo none)"
done
echo "# rows that were there after each kill:$done_before"
case $(server_sql "$there" "SELECT is_done FROM reeve_migration") in
f)
	hold_lock here
	out=$(reeve usage --ledger "$there")
	has "an unfinished migration is not used" "the migration of $ledger into it has not finished" "$out"
	configure "$there"
	out=$("$binary" --config "$dir/controller.conf" 2>&1)
	has "... by a controller either, which does not wait for the migration's lock" "has not finished" "$out"
	give_lock
	out=$(migrate "$there")
	is "killed at any point, it goes on and ends" 0 $?
	has "... with every row compared" " rows compared, 0 differences" "$out"
	echo "# $out"
	;;
*) tap_result 1 "a kill comes before the end" "$done_before" ;;
esac
out=$(migrate "$there")
has "one that has finished is not done again" "is a ledger already" "$out"

# ---- the same rows, indices and answers ----
sums() { # TABLE of both: rows, and the sum of each column (of texts and blobs: of their lengths)
	local name type lite=COUNT\(*\) server=COUNT\(*\)
	while IFS='|' read -r name type; do
		if [ "$type" = INTEGER ]; then
			lite+=",COALESCE(SUM(\"$name\" % 1000003),'-')" server+=",COALESCE(SUM(\"$name\" % 1000003)::text,'-')"
		else
			lite+=",COALESCE(SUM(LENGTH(CAST(\"$name\" AS BLOB))),'-')" server+=",COALESCE(SUM(octet_length(\"$name\"))::text,'-')"
		fi
	done < <(sqlite3 "$ledger" "SELECT name, type FROM pragma_table_info('$1')")
	echo "$1: $(sqlite3 "$ledger" "SELECT $lite FROM $1")" >>"$dir/sums.1"
	echo "$1: $(server_sql "$there" "SELECT $server FROM $1")" >>"$dir/sums.2"
}
for t in $tables; do sums "$t"; done
is "counts and sums of every column of every table" "$(cat "$dir/sums.1")" "$(cat "$dir/sums.2")"
migrate_free=$(server_schema fresh)
configure "$migrate_free"
reeve admin adjustments --ledger "$migrate_free" >/dev/null
objects() { # SCHEMA: its indices and constraints
	server_sql "$server_place" "SELECT replace(indexdef, '$1.', '') FROM pg_indexes WHERE schemaname = '$1' AND tablename NOT LIKE 'reeve%'
		UNION ALL SELECT conrelid::regclass::text || conname || pg_get_constraintdef(oid) FROM pg_constraint WHERE connamespace = '$1'::regnamespace ORDER BY 1" |
		sed "s/\b$1\.//g"
}
is "the indices and constraints of a new ledger" "$(objects fresh)" "$(objects here)"
views "$there" >"$dir/views.there"
is "every view says the same" "$(cat "$dir/views")" "$(cat "$dir/views.there")"
live_open configure "$ledger"
pages >"$dir/pages"
live_stop
live_open configure "$there"
pages >"$dir/pages.there"
is "so does the controller" "$(sed 's/"\(now_ns\|at_ns\|waited_ns\)":[0-9]*//g' "$dir/pages")" "$(sed 's/"\(now_ns\|at_ns\|waited_ns\)":[0-9]*//g' "$dir/pages.there")"
is "numbers of jobs go on" $((cancelled + 1)) "$(submit $daemon)"
has "reports are accepted" '"acks":[{' "$(on n1 "reports=$(job_report "$second" 2 ended running_s=3)")"
live_stop
ids=$(server_sql "$there" "INSERT INTO events(at_ns, what, text) VALUES(1, 't', 't') RETURNING id > (SELECT MAX(id) FROM events)")
is "the next number of an event is a new one" t "$ids"
check "the sums hold there" "$binary_of_reeve" admin verify --ledger "$there"

# ---- a killed migration holds nothing up ----
slow=$(server_schema slow)
# Indices are made once before there are rows, and again when all are there.
server_sql "$server_place" "CREATE FUNCTION slow.wait() RETURNS event_trigger LANGUAGE plpgsql AS
	\$\$ BEGIN IF to_regclass('slow.reeve_migration') IS NOT NULL THEN PERFORM pg_sleep(300); END IF; END \$\$;
	CREATE EVENT TRIGGER slow_index ON ddl_command_end WHEN TAG IN ('CREATE INDEX') EXECUTE FUNCTION slow.wait()"
"$binary_of_reeve" admin migrate --from "$ledger" --to "$slow" >"$dir/said" 2>&1 &
victim=$!
sessions() { server_sql "$server_place" "SELECT COUNT(*) FROM pg_stat_activity WHERE query LIKE '%CREATE%INDEX%' AND pid <> pg_backend_pid() AND state = 'active'"; }
soon "a migration makes an index" 1 sessions
kill -9 $victim
wait $victim 2>/dev/null
soon "the server gives its locks back when it is killed, long before the index is made" 0 sessions
server_sql "$server_place" "DROP EVENT TRIGGER slow_index"

# ---- what differs is named ----
bad=$(server_schema bad)
cut() { # kills a migration into $bad when some rows of each table are there
	"$binary_of_reeve" admin migrate --from "$ledger" --to "$bad" >"$dir/said" 2>&1 &
	victim=$!
	until [ "$(server_sql "$bad" "SELECT EXISTS(SELECT FROM reeve_migration) AND EXISTS(SELECT FROM imported)" 2>/dev/null)" = t ]; do
		kill -0 $victim 2>/dev/null || break
		sleep 0.02
	done
	kill -9 $victim
	wait $victim 2>/dev/null
}
cut
server_sql "$bad" "UPDATE associations SET \"user\" = 'mallory' WHERE id = 3; DELETE FROM events WHERE id = 5;
	INSERT INTO accounts_log(id, revision, at_ns, author, op, section, name) VALUES(0, 1, 1, 'x', 1, 'x', 'x')"
out=$(migrate "$bad")
is "differences: exit status" 1 $?
has "a changed value is named, with both" "table associations, row id=3: user is $(sqlite3 "$ledger" 'SELECT user FROM associations WHERE id = 3') in the source, mallory in the target" "$out"
has "so is a row that is missing" "table events, row id=5: only in the source" "$out"
has "and one that is too many" "table accounts_log, row id=0: only in the target" "$out"
has "and all are counted" " 3 differences" "$out"
has "what differs is not used" "has not finished" "$(reeve usage --ledger "$bad")"
reeve admin adjust --ledger "$ledger" --account g1 --user u1 --cluster old --charge 1 --reason more >/dev/null
out=$(migrate "$bad")
has "a file that has changed since is refused" "has changed since; --restart" "$out"
out=$(migrate "$bad" --restart)
has "--restart begins again" " rows compared, 0 differences" "$out"

# ---- any value ----
cp "$dir/ledger.db" "$dir/strange.db"
python3 - "$dir/strange.db" <<'PY'
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
values = {"INTEGER": [-(1 << 62), 7], "BLOB": [bytes(range(256)) * 9, b""],
          "TEXT": ["".join(map(chr, range(1, 256))) + "\\N \\. \\x41 \U0001f600\u202e '\"", ""]}
for (t,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite!_%' ESCAPE '!'").fetchall():
    columns = db.execute(f"PRAGMA table_info({t})").fetchall()
    for i in (0, 1):
        db.execute(f"INSERT OR REPLACE INTO {t} VALUES({','.join('?' * len(columns))})", [values[c[2]][i] for c in columns])
    null = [c[1] for c in columns if not c[3] and not c[5]]
    if null: db.execute(f"UPDATE {t} SET {', '.join(n + ' = NULL' for n in null)} WHERE {columns[0][1]} IN (7, '')")
db.commit()
PY
out=$(ledger=$dir/strange.db; migrate "$(server_schema strange)")
has "any value of any column arrives as it was" " rows compared, 0 differences" "$out"
sqlite3 "$dir/strange.db" "UPDATE jobs SET name = CAST(x'61ff62' AS TEXT) WHERE job = 1"
out=$(ledger=$dir/strange.db; migrate "$(server_schema stranger)")
has "bytes that PostgreSQL refuses are named" "table jobs, row job=1: column name has bytes that PostgreSQL cannot store" "$out"
tap_end
