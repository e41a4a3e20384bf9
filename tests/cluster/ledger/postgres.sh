#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# postgres.sh - the ledger in PostgreSQL: a server of our own in a temporary directory, the tests of
# the ledger and of the controller's protocol on it, and a server that goes away in between. TAP.
set -u
cd "$(dirname "$0")/../../.." || exit 1
[ "$(id -u)" = 0 ] || { echo "1..0 # SKIP needs root to become the server's user"; exit 0; }
bin=$(echo /usr/lib/postgresql/*/bin | tr ' ' '\n' | tail -n 1)
[ -x "$bin/initdb" ] || { echo "1..0 # SKIP no PostgreSQL server: make deps"; exit 0; }
dir=$(mktemp -d /tmp/reeve-pg-XXXXXX) && chown postgres "$dir" && chmod 755 "$dir"
server() { # ACTION: start, stop; immediate, as if it had crashed
	runuser -u postgres -- "$bin/pg_ctl" -D "$dir/data" -l "$dir/log" -w -m immediate \
		-o "-k $dir -c listen_addresses= -c shared_buffers=16MB -c fsync=off" "$1" >"$dir/said" 2>&1 ||
		{ echo "Bail out! $(cat "$dir/said" "$dir/log")"; exit 1; }
}
trap 'server stop; rm -rf "$dir"' EXIT
runuser -u postgres -- "$bin/initdb" -D "$dir/data" -A trust -E UTF8 >"$dir/said" 2>&1 ||
	{ echo "Bail out! $(cat "$dir/said")"; exit 1; }
server start
export REEVE_TEST_POSTGRES="postgresql:///postgres?host=$dir&user=postgres" CMOCKA_MESSAGE_OUTPUT=TAP
status=0
tests='ledger exchanges lost segments given holds slurm slurm_batch slurm_fresh parts parts_end submission import days adjust usage ranks sharetree_ledger order kept quota quota_check quota_queue store_accounts store_gpus store_hooks store_steps storage outages stored survey'
# shellcheck disable=SC2086
make -s $(printf 'build/tests/unit/test_%s ' $tests) >&2 || exit 1
for t in $tests; do
	"build/tests/unit/test_$t" || status=1
done

for t in pg_lost pg_asked; do
	# shellcheck disable=SC2046
	${CC:-cc} -std=gnu17 -D_GNU_SOURCE -O1 -I. $(pkg-config --cflags libpq) -o "$dir/$t" "tests/cluster/lib/$t.c" \
		build/controller/postgres/*.o build/common/db/*.o build/common/err.o -lcmocka -lpq -lsqlite3 &&
		"$dir/$t" || status=1
done

# The same history in both, and every view of it alike.
reeve=$PWD/build/bin/reeve there="$REEVE_TEST_POSTGRES&options=-csearch_path%3Dhistory"
psql -q "$REEVE_TEST_POSTGRES" -c "CREATE SCHEMA history"
{
	echo '; UnixStartTime: 1000000000'
	for i in $(seq 3000); do
		echo "$i $((i * 900)) 5 $((i * 37 % 90000)) $((i % 64)) -1 -1 4 7200 -1 1 $((i % 9)) $((i % 4)) -1 -1 -1 -1 -1"
	done
} >"$dir/h.swf"
"$reeve" import swf "$dir/h.swf" --cluster bmrc --ledger "$dir/h.db" --json >"$dir/1.json"
"$reeve" import swf "$dir/h.swf" --cluster bmrc --ledger "$there" --json >"$dir/2.json"
same() { # NAME ARGUMENTS...
	local name=$1
	shift
	if diff <("$reeve" "$@" --ledger "$dir/h.db" 2>&1) <("$reeve" "$@" --ledger "$there" 2>&1) >"$dir/said"; then echo "ok - $name"; else
		sed 's/^/# /' "$dir/said"; echo "not ok - $name"; status=1
	fi
}
cmp -s "$dir/1.json" "$dir/2.json" && echo "ok - an import says the same" || { echo "not ok - an import says the same"; status=1; }
printf '[Account g1]\nUsers=u1=3,u2\n[Account g2]\nParent=g1\n[Allocation g1/x]\nKind=target\nAmount=2\nFrom=2001-04-01\nTo=2002-04-01\n' >"$dir/acc.conf"
while read -r verb; do
	# shellcheck disable=SC2086
	same "reeve ${verb//$dir\//}" $verb
done <<VERBS
usage --by account --monthly --csv
usage --by user --user u3 --csv
usage --profile bmrc --accounts $dir/acc.conf --json
admin accounts apply $dir/acc.conf --json
admin accounts set g1 Shares=7
admin accounts show
admin accounts log --csv -o revision,what
share --profile bmrc --csv
prio --profile bmrc -A g1 -u u1 -l ncpus=16
quota --profile alliance-narval --at 2001-10-01 --json
eff --by user --sort waste --csv
eff --by job --limit 20 --sort charge --csv
admin adjust --account g1 --user u1 --cluster bmrc --charge -12.5 --reason test --csv -o id,account,user,charge_ms,reason
admin adjustments --csv -o id,account,user,charge_ms,reason
usage --by account --csv
admin verify --json
VERBS

# Back to the tables of the release before, and forward again.
indices() {
	psql -qAt "$REEVE_TEST_POSTGRES" -c "SELECT indexdef FROM pg_indexes WHERE schemaname = 'history' ORDER BY 1"
}
schema() { psql -qAt "$REEVE_TEST_POSTGRES" -c "SELECT version FROM history.reeve_schema"; }
newest=$(schema) there_are=$(indices)
said=$("$reeve" admin downgrade --ledger "$there" 2>&1)
if [ $? = 0 ] && [ "$(schema)" = "$(sed -n 's|^#define STORE_SCHEMA_BEFORE ||p' controller/ledger/downgrade.h)" ] && [ "$(indices)" != "$there_are" ]; then echo "ok - a ledger goes back by one release"; else
	echo "# $(schema): $said"; echo "not ok - a ledger goes back by one release"; status=1
fi
if "$reeve" admin verify --ledger "$there" >"$dir/said" 2>&1 && [ "$(schema)" = "$newest" ] && [ "$(indices)" = "$there_are" ]; then
	echo "ok - and forward again"
else
	sed 's/^/# /' "$dir/said"; echo "not ok - and forward again"; status=1
fi

# Scripts and environments of everyone are in it: a role that was given nothing reads nothing.
psql -q "$REEVE_TEST_POSTGRES" -c "CREATE ROLE stranger LOGIN"
can=$(psql -qAt "$REEVE_TEST_POSTGRES" -c "SELECT count(*), count(*) FILTER (WHERE has_table_privilege('stranger', c.oid,
	'SELECT,INSERT,UPDATE,DELETE,TRUNCATE')) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
	WHERE c.relkind IN ('r', 'v', 'm') AND n.nspname !~ '^(pg_|information_schema)'")
said=$(psql -qAt "${there/user=postgres/user=stranger}" -c 'SELECT * FROM history.jobs LIMIT 1' 2>&1)
if [ "${can%|*}" -gt 20 ] && [ "${can#*|}" = 0 ] && [[ $said == *"permission denied"* ]]; then
	echo "ok - another role of the server reads and writes no table of a ledger"
else
	echo "# tables, of which a stranger may: $can; $said"; echo "not ok - another role of the server reads and writes no table of a ledger"; status=1
fi
tests/cluster/protocol/protocol.sh "${1:-10}" || status=1
tests/cluster/queue/submit.sh || status=1
exit $status
