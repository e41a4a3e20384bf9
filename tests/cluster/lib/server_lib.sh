# SPDX-License-Identifier: GPL-2.0-or-later
# server_lib.sh - a PostgreSQL server of the suite's own below $dir, for suites of ledgers in both databases. To be
# sourced after live_lib.sh. shellcheck shell=bash
#
#	server_open		starts it; $server_place is where, as Database takes it; 1: no PostgreSQL is installed
#	server_schema NAME	makes a schema and prints the place of a ledger in it
#	server_sql PLACE SQL	rows without a header, fields with |
server_bin=$(echo /usr/lib/postgresql/*/bin | tr ' ' '\n' | tail -n 1)
server_place='' server_shared=${server_shared:-16MB} server_more=${server_more:-} # further options of the server
server_do() { # ACTION
	runuser -u postgres -- "$server_bin/pg_ctl" -D "$dir/pg/data" -l "$dir/pg/log" -w -m immediate \
		-o "-k $dir/pg -c listen_addresses= -c shared_buffers=$server_shared $server_more" "$1" >"$dir/pg.said" 2>&1
}
server_end() {
	server_do stop
	live_end
}
server_open() {
	[ -x "$server_bin/initdb" ] || return 1
	mkdir "$dir/pg" && chown postgres "$dir/pg" && chmod 755 "$dir/pg"
	runuser -u postgres -- "$server_bin/initdb" -D "$dir/pg/data" -A trust -E UTF8 >"$dir/pg.said" 2>&1 && server_do start ||
		{ echo "Bail out! $(cat "$dir/pg.said" "$dir/pg/log")"; exit 1; }
	trap server_end EXIT
	server_place="postgresql:///postgres?host=$dir/pg&user=postgres"
}
server_schema() {
	psql -q "$server_place" -c "CREATE SCHEMA $1" >&2
	echo "$server_place&options=-csearch_path%3D$1"
}
server_sql() { psql -qtA -v ON_ERROR_STOP=1 "$1" -c "$2"; }
