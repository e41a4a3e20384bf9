#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# listing.sh - `reeve jobs` lists any number of jobs by one command, each once, in every form. Needs root.
set -u
cd "$(dirname "$0")/../../.." || exit 1
. tests/cluster/lib/tap_lib.sh
. tests/cluster/lib/live_lib.sh
root=$PWD
export LC_ALL=C.UTF-8 TZ=UTC HOME=/nonexistent
unset REEVE_CONTROLLER
configure() {
	live_controller >"$dir/controller.conf"
	printf '%s\n' '[Cluster main]' 'DefaultResources = jobfs=100MB,walltime=1:00:00' '[Account physics]' 'Users = daemon, bin' >>"$dir/controller.conf"
	printf '[Client]\nController = %s\nMungeSocket = %s/munge.sock\nAccount = physics\n' "$url" "$dir" >"$dir/reeve.conf"
	chmod 644 "$dir/reeve.conf"
}
live_dir listing
live_munge
cp build/bin/reeve "$dir/reeve" && chmod 755 "$dir/reeve"
live_open configure
reeve() { # VERB ARG... of the user daemon
	local verb=$1
	shift
	as $daemon "$dir/reeve" "$verb" --config "$dir/reeve.conf" "$@" 2>"$dir/err"
}
# Thousands of lines are compared by their number and sum.
same() { is "$1" "$(wc -l <<<"$2") $(md5sum <<<"$2")" "$(wc -l <<<"$3") $(md5sum <<<"$3")"; }
cd "$dir" || exit 1 # a job's directory that the user may enter
first=$(reeve submit -N a+b -l ncpus=3,vmem=2GB -- /bin/true)
is "a job" "1 " "$first $(cat "$dir/err")"
as $bin "$dir/reeve" submit --config "$dir/reeve.conf" -l ncpus=1,vmem=1GB -- /bin/true >/dev/null
live_stop
columns=$(sqlite3 "$dir/ledger.db" "SELECT group_concat(name, ',') FROM pragma_table_info('jobs') WHERE name <> 'job'")
# 2,500 more of them, of three states in turn; those that have ended are not active.
sqlite3 -bail "$dir/ledger.db" "INSERT INTO jobs(job, $columns) WITH RECURSIVE k(i) AS (SELECT 101 UNION ALL SELECT i + 1 FROM k WHERE i < 2600)
	SELECT k.i, ${columns//,/, } FROM jobs, k WHERE jobs.job = 1;
	UPDATE jobs SET state = 5, ended_ns = submitted_ns WHERE job > 100 AND job % 5 = 0" || bail "the ledger cannot be filled"
live_start || bail "the controller does not start: $(tail -n 3 "$dir/controller.log")"
active=$({ echo 1; seq 101 2600 | awk '$1 % 5'; } | sort -rn)
same "all, newest first, each once" "$active" "$(reeve jobs --limit 0 --csv -n -o job)"
is "... without a word on stderr" "" "$(cat "$dir/err")"
is "as JSON: one document" "$(wc -l <<<"$active") 2GB" "$(reeve jobs --limit 0 --json | python3 -c '
import json, sys
jobs = json.load(sys.stdin)["jobs"]
print(len(jobs), "2GB" if all(j["vmem_bytes"] == 2000000000 and j["name"] == "a+b" and j["ncpus"] == 3 for j in jobs) else "")')"
is "as a table: one header" "$(($(wc -l <<<"$active") + 1)) 1" \
	"$(reeve jobs --limit 0 | awk '/^ *JOB/ { heads++ } END { print NR, heads }')"
same "a limit of more than a page" "$(head -n 1500 <<<"$active")" "$(reeve jobs --limit 1500 --parsable2 -n -o job)"
is "... that names the next page" "reeve jobs: 1500 shown; there may be older ones: --limit 0 shows all, --before $(sed -n 1500p <<<"$active") the next" "$(cat "$dir/err")"
same "... which goes on there" "$(tail -n +1501 <<<"$active")" "$(reeve jobs --limit 0 --before "$(sed -n 1500p <<<"$active")" --csv -n -o job)"
same "without a limit all that have not ended" "$active" "$(reeve jobs --csv -n -o job 2>"$dir/err")"
is "... of which nothing is left to say" "" "$(cat "$dir/err")"
is "of those that have ended the newest 100" 100 "$(reeve jobs -a --csv -n -o job 2>"$dir/err" | wc -l)"
has "... and how to see all" "--limit 0 shows all" "$(cat "$dir/err")"
same "a page and no more" "$(head -n 1000 <<<"$active")" "$(reeve jobs --limit 1000 --csv -n -o job)"
is "with those that have ended" 2501 "$(reeve jobs -a --limit 0 --csv -n -o job | sort -u | wc -l)"
same "of one state" "$(seq 105 5 2600 | sort -rn)" "$(reeve jobs --state ended --limit 0 --csv -n -o job)"
is "none is a document too" "[]" "$(reeve jobs --state running --limit 0 --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["jobs"])')"
# ---- hints are for people who read a table ----
typed() { script -qec "'$dir/reeve' jobs --config '$dir/reeve.conf' --state running $1" /dev/null </dev/null 2>&1 | tr -d '\r'; } # REST
is "on a terminal an empty list says what shows more" "no jobs now; -a shows those that have ended" "$(typed '' | tail -n 1)"
is "with -n there is no word" "" "$(typed -n)"
lacks "nor into a pipe" "no jobs now" "$(typed '| cat')"
# ---- completion of their numbers: what is asked is bounded ----
complete_job() { # VERB BEGINNING: from a directory with the command and its configuration
	as $daemon env PATH="$dir:$PATH" XDG_CONFIG_HOME="$dir" bash -c '. "$1/units/bash-completion/reeve"
		COMP_WORDS=(reeve "$2" "$3") COMP_CWORD=2; _reeve; printf "%s\n" "${COMPREPLY[@]}"' - "$root" "$1" "$2" 2>/dev/null
}
is "completion: the newest that have not ended" "100 2599 2476" "$(complete_job cancel '' | awk 'NR == 1 { first = $1 } END { print NR, first, $1 }')"
is "... of a beginning that an older one has" "1239 1238 1237 1236 1234 1233 1232 1231" "$(complete_job cancel 123 | xargs)"
is "... and with those that have ended" "1239 1238 1237 1236 1235 1234 1233 1232 1231 1230" "$(complete_job job 123 | xargs)"
is "... of one that only shorter numbers have" "779 778 777 776 774 773 772 771" "$(complete_job cancel 77 | xargs)"
is "... of one that no job has" "" "$(complete_job job 9999)"
is "... which is no number" "" "$(complete_job job '1+x[$(touch '"$dir"'/x)]'; ls "$dir/x" 2>/dev/null)"
is "an operator sees all users'" "$(($(wc -l <<<"$active") + 1))" \
	"$("$dir/reeve" jobs --config "$dir/reeve.conf" --limit 0 --csv -n -o user | wc -l)"
tap_end
