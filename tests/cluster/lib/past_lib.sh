# SPDX-License-Identifier: GPL-2.0-or-later
# past_lib.sh - reports of hours within seconds. A job is charged at most the time since its dispatch to
# the node; suites whose nodes report longer times move the dispatch into the past. To be sourced.
# shellcheck shell=bash
#
#	backdate_dispatch LEDGER [HOURS]	from now on the ledger (a file, or postgresql:///...), which a controller
#					has made, dates each dispatch so many hours back (default: 24)
backdate_dispatch() {
	local ns=$((${2:-24} * 3600000000000))
	case $1 in
	postgresql:*)
		psql -q -v ON_ERROR_STOP=1 "$1" <<-SQL || bail "no trigger in $1"
			CREATE OR REPLACE FUNCTION backdate_dispatch() RETURNS trigger LANGUAGE plpgsql AS
			'BEGIN NEW.given_ns := NEW.given_ns - $ns; RETURN NEW; END';
			DROP TRIGGER IF EXISTS backdate_dispatch ON attempts;
			CREATE TRIGGER backdate_dispatch BEFORE INSERT ON attempts FOR EACH ROW EXECUTE FUNCTION backdate_dispatch();
		SQL
		;;
	*)
		sqlite3 -cmd '.timeout 10000' "$1" "DROP TRIGGER IF EXISTS backdate_dispatch;
			CREATE TRIGGER backdate_dispatch AFTER INSERT ON attempts BEGIN
			UPDATE attempts SET given_ns = given_ns - $ns WHERE job = NEW.job AND attempt = NEW.attempt; END" ||
			bail "no trigger in $1"
		;;
	esac
}
