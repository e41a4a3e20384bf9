# past_lib.sh - reports of hours within seconds. A node is charged at most the time since a job was
# given to it; suites whose nodes tell of longer times have jobs given to them long ago. To be sourced;
# shellcheck shell=bash
#
#	given_long_ago LEDGER [HOURS]	from now on the ledger (a file, or postgresql:///...), which a controller
#					has made, dates each gift so many hours back (default: 24)
given_long_ago() {
	local ns=$((${2:-24} * 3600000000000))
	case $1 in
	postgresql:*)
		psql -q -v ON_ERROR_STOP=1 "$1" <<-SQL || bail "no trigger in $1"
			CREATE OR REPLACE FUNCTION given_long_ago() RETURNS trigger LANGUAGE plpgsql AS
			'BEGIN NEW.given_ns := NEW.given_ns - $ns; RETURN NEW; END';
			DROP TRIGGER IF EXISTS given_long_ago ON attempts;
			CREATE TRIGGER given_long_ago BEFORE INSERT ON attempts FOR EACH ROW EXECUTE FUNCTION given_long_ago();
		SQL
		;;
	*)
		sqlite3 -cmd '.timeout 10000' "$1" "DROP TRIGGER IF EXISTS given_long_ago;
			CREATE TRIGGER given_long_ago AFTER INSERT ON attempts BEGIN
			UPDATE attempts SET given_ns = given_ns - $ns WHERE job = NEW.job AND attempt = NEW.attempt; END" ||
			bail "no trigger in $1"
		;;
	esac
}
