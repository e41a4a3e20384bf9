#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# lead.sh - two real controllers on one ledger: one leads, the other stands by and takes over; a leader
# that was stopped and wakes writes nothing. On a file, and on a PostgreSQL server of our own. TAP.
set -u
cd "$(dirname "$0")/../../.." || exit 1
. tests/cluster/lib/tap_lib.sh
. tests/cluster/lib/live_lib.sh
[ "$(id -u)" = 0 ] || { echo "1..0 # SKIP needs root to speak as several users"; exit 0; }
live_dir lead
live_munge
live_tool signed
live_tool cli_http
reeve=$PWD/build/bin/reeve

declare -A pid at
lease=3
configure() { # NAME DATABASE
	at[$1]=$((20000 + RANDOM % 20000))
	cat >"$dir/$1.conf" <<-CONF
		[Controller]
		Listen = 127.0.0.1:${at[$1]}
		Database = $2
		MungeSocket = $dir/munge.sock
		Operators = root
		AcceptNodes = any
		LeadLease = $lease
		[Cluster main]
		DefaultResources = jobfs=100MB,walltime=1:00:00
		[Account physics]
		Users = daemon
	CONF
	printf '[Client]\nController = http://127.0.0.1:%d\nMungeSocket = %s/munge.sock\n' \
		"${at[$1]}" "$dir" >"$dir/$1.client"
}
start() { # NAME: until it answers, as leader or as standby
	"$binary" --config "$dir/$1.conf" 2>>"$dir/$1.log" &
	pid[$1]=$!
	until_is "$1" 200 503 || bail "$1 does not start: $(cat "$dir/$1.log")"
}
on() { # NAME UID METHOD PATH [BODY]
	url=http://127.0.0.1:${at[$1]:-0}
	live_ask "${@:2}"
}
until_is() { # NAME STATUS...: it answers with one of them
	local got
	for _ in $(seq 300); do
		got=$(on "$1" $daemon GET /v1/nodes | head -n 1)
		[[ " ${*:2} " == *" $got "* ]] && return
		sleep 0.1
	done
	return 1
}
job='{"schema":"reeve/1","request":{"cluster":"main","account":"physics","queue":"normal","name":"t","resources":{"ncpus":1,"vmem_bytes":1000000},"vmem_policy":"kill","stream":false,"join":false,"argv":["/bin/true"],"env":[],"workdir":"/"}}'
submit() { on "$1" $daemon POST /v1/jobs "$job"; }
jobs() { on "$1" 0 GET /v1/jobs | grep -o '"job":[0-9]*' | sort -u | wc -l; }
leading() { # the names of those who answer as leaders
	local c
	for c in a b; do [ "$(on $c $daemon GET /v1/nodes | head -n 1)" != 200 ] || printf %s $c; done
}
leaders() {
	local all
	all=$(leading)
	echo ${#all}
}
finish() { # NAME [SIGNAL]
	kill "-${2:-TERM}" "${pid[$1]}" && wait "${pid[$1]}"
}

two() { # WHAT DATABASE
	local what=$1 both
	for c in a b; do configure $c "$2"; done
	both=http://127.0.0.1:${at[a]},http://127.0.0.1:${at[b]}
	start a
	has "$what: alone it leads at once" '"job":1' "$(submit a)"
	start b
	out=$(submit b)
	has "$what: the second stands by" 503 "$out"
	has "$what: and answers that it stands by" '"code":"standby"' "$out"
	has "$what: with who leads, and where" "at 127.0.0.1:${at[a]}, process ${pid[a]}" "$out"
	is "$what: one leads" 1 "$(leaders)"
	out=$("$dir/cli_http" loop "$both" "$dir/munge.sock" -1 /v1/nodes)
	is "$what: of two addresses the leader's answers" "0 " "$out"
	out=$("$dir/cli_http" loop "http://127.0.0.1:${at[b]}, http://127.0.0.1:${at[a]}/" "$dir/munge.sock" -1 /v1/nodes)
	is "$what: in either order" "0 " "$out"
	out=$("$dir/cli_http" loop "http://127.0.0.1:${at[b]}" "$dir/munge.sock" -1 /v1/nodes)
	has "$what: a client that reaches only the standby gets its answer" "503 this controller stands by; " "$out"

	finish a KILL
	until_is b 200
	tap_result $? "$what: the leader killed, the other leads" "$(cat "$dir/b.log")"
	is "$what: what was acknowledged is there" 1 "$(jobs b)"
	has "$what: and new is taken" '"job":2' "$(submit b)"
	out=$("$reeve" --version >/dev/null && as $daemon env REEVE_CONTROLLER="$both" "$reeve" jobs \
		--config "$dir/b.client" --controller "$both" --csv -o job 2>&1 | sort)
	is "$what: the command finds it by the second address" $'1\n2\njob' "$out"

	start a
	has "$what: come back it stands by" '"code":"standby"' "$(submit a)"
	finish b
	until_is a 200
	tap_result $? "$what: the leader ended, the other leads"
	has "$what: the numbers of jobs go on" '"job":3' "$(submit a)"
	start b
}

# ---- a file ----
two file "$dir/ledger.db"
kill -STOP "${pid[a]}"
for _ in $(seq 20); do [ "$(ps -o stat= -p "${pid[a]}" | cut -c1)" = T ] && break; sleep 0.1; done
lease_over() { for _ in $(seq 45); do [ "$(on b $daemon GET /v1/nodes | head -n 1)" = 503 ] || return 1; sleep 0.1; done; }
lease_over
tap_result $? "file: a leader that is only stopped still leads: no other controller writes"
kill -CONT "${pid[a]}"
until_is a 200
has "file: and goes on" '"job":4' "$(submit a)"
rm "$dir/ledger.db.lead"
until_is b 200
tap_result $? "file: its lock taken away, another may lead"
until_is a 503
tap_result $? "file: and it steps down by itself" "$(tail -n 3 "$dir/a.log")"
is "file: one leads" 1 "$(leaders)"
finish a
finish b

# ---- PostgreSQL ----
server=$(echo /usr/lib/postgresql/*/bin | tr ' ' '\n' | tail -n 1)
if [ ! -x "$server/initdb" ]; then
	skip "two controllers on PostgreSQL" "no PostgreSQL server: make deps"
	tap_end
fi
mkdir "$dir/pg" && chown postgres "$dir/pg"
pg() { # ACTION
	runuser -u postgres -- "$server/pg_ctl" -D "$dir/pg/data" -l "$dir/pg/log" -w -m immediate \
		-o "-k $dir/pg -c listen_addresses= -c shared_buffers=16MB" "$1" >"$dir/said" 2>&1 ||
		bail "$(cat "$dir/said" "$dir/pg/log")"
}
trap 'pg stop; live_end' EXIT
runuser -u postgres -- "$server/initdb" -D "$dir/pg/data" -A trust -E UTF8 >"$dir/said" 2>&1 || bail "$(cat "$dir/said")"
pg start
objects() { # ROOM...: of the sources that are there now
	find "$@" -name '*.c' | sed 's,\(.*\)\.c$,build/\1.o,'
}
there="postgresql:///postgres?host=$dir/pg&user=postgres"
query() { psql -qtA "$there" -c "$1"; }
# shellcheck disable=SC2046
${CC:-cc} -std=gnu17 -D_GNU_SOURCE -O1 -I. $(pkg-config --cflags libpq) -o "$dir/pg_lead" tests/cluster/lib/pg_lead.c \
	$(objects controller/{ledger,policy,postgres,accounts,history} common) -lcmocka -lpq -lsqlite3 -ljansson -lmunge -lnettle -lz -lcurl -lsystemd -lm 2>"$dir/said" ||
	bail "pg_lead.c: $(cat "$dir/said")"
out=$(REEVE_TEST_POSTGRES=$there CMOCKA_MESSAGE_OUTPUT=TAP "$dir/pg_lead" 2>&1)
tap_result $? "postgres: who leads, step by step" "$out"
lease=8
two postgres "$there"
epoch=$(query 'SELECT epoch FROM reeve_lead')

# Stopped while it has nothing to do: its lock and its connections are there, its beat is not.
kill -STOP "${pid[a]}"
until_is b 200
tap_result $? "postgres: a leader that does not move is replaced after the lease" "$(cat "$dir/b.log")"
is "postgres: in a new epoch" $((epoch + 1)) "$(query 'SELECT epoch FROM reeve_lead')"
has "postgres: which takes jobs" '"job":4' "$(submit b)"
# The stopped controller reads this request first when it continues.
(submit a >"$dir/late") &
late=$!
sleep 0.3
kill -CONT "${pid[a]}"
wait $late
lacks "postgres: what it is asked when it wakes is not acknowledged" '"job"' "$(cat "$dir/late")"
until_is a 503
tap_result $? "postgres: it steps down and stands by" "$(tail -n 3 "$dir/a.log")"
has "postgres: and logs it" 'another controller leads now; standing by' "$(cat "$dir/a.log")"
is "postgres: nothing of it was written" 4 "$(jobs b)"
is "postgres: one leads" 1 "$(leaders)"

# Stopped in the middle of a write, with the writers' lock in its hands: another session holds the
# lock first, so that the leader waits for it; then both are stopped dead.
mkfifo "$dir/sql"
psql -qtA "$there" <"$dir/sql" >"$dir/psql.log" 2>&1 &
psql=$!
exec 8>"$dir/sql"
echo "SELECT pg_advisory_lock(1919247734, hashtext(current_schema()));" >&8
held() { query "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND classid = 1919247734 AND granted"; }
waiting() { query "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND classid = 1919247734 AND NOT granted"; }
for _ in $(seq 50); do [ "$(held)" = 1 ] && break; sleep 0.1; done
(submit b >"$dir/late") 8>&- &
late=$!
for _ in $(seq 50); do [ "$(waiting)" = 1 ] && break; sleep 0.1; done
is "postgres: a write waits for its turn" 1 "$(waiting)"
kill -STOP "${pid[b]}"
echo "SELECT pg_advisory_unlock(1919247734, hashtext(current_schema()));" >&8
exec 8>&-
wait $psql
for _ in $(seq 50); do [ "$(held)" = 1 ] && break; sleep 0.1; done
is "postgres: the leader is stopped with the writers' lock in its hands" 1 "$(held)"
until_is a 200
tap_result $? "postgres: the other takes over all the same" "$(tail -n 5 "$dir/a.log")"
has "postgres: and writes" '"job":5' "$(submit a)"
kill -CONT "${pid[b]}"
wait $late
lacks "postgres: the write under way is not acknowledged" '"job"' "$(cat "$dir/late")"
until_is b 503
is "postgres: nor is it in the ledger" 5 "$(jobs a)"

# ---- the server goes away under both ----
pg stop
pg start
for _ in $(seq 50); do
	for c in a b; do out=$(submit $c) && [[ $out == 201* ]] && break 2; done
	sleep 0.2
done
has "postgres: after a restart of the server jobs are accepted again" 201 "$out"
# The controller that locks first leads; the other one sees it at its next heartbeat.
for _ in $(seq 200); do
	c=$(leading)
	[ ${#c} = 1 ] && break
	sleep 0.1
done
is "postgres: and one leads" 1 "${#c}"
is "postgres: with one job more" 6 "$(jobs "$c")"
finish a
finish b
tap_end
