#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# shares.sh [ASSOCIATIONS] - `reeve share` of 100,000 associations below 3,000 accounts, from command to last row: clock and CPU of the
# command, CPU of the controller, of each form of the output. Beside, in the same run, rivals that print the same rows: `sort` of the
# printed lines, and sqlite3 from a table of these rows. A real controller on SQLite and munged. Goal: 100 ms by the clock.
# REEVE_BINARY, REEVE_CONTROLLER_BINARY: others to measure. Needs root.
set -u
cd "$(dirname "$0")/../../.." || exit 1
associations=${1:-100000} accounts=3000 runs=${RUNS:-11}
. tests/cluster/lib/tap_lib.sh
. tests/cluster/lib/live_lib.sh
. tests/cluster/lib/play_lib.sh
live_dir shares-bench
${CC:-cc} -O2 -D_GNU_SOURCE -std=gnu17 -o "$dir/cost" tests/bench/terminal/command_cost.c || bail "no command_cost"
cp "${REEVE_BINARY:-build/bin/reeve}" "$dir/reeve" && chmod 755 "$dir"/{cost,reeve}
export LC_ALL=C.UTF-8
live_munge
configure() {
	{ live_controller; echo '[Cluster main]'; } >"$dir/controller.conf"
	printf '[Client]\nController = %s\nControllerUser = root\nMungeSocket = %s/munge.sock\n' "$url" "$dir" >"$dir/reeve.conf"
}
# Below at most eight others each, so that the tree is a few deep.
make_accounts() {
	awk -v accounts="$accounts" -v users="$associations" 'BEGIN {
		for (a = 0; a < accounts; a++) {
			printf "[Account a%d]\nShares = %d\n", a, a % 7 + 1
			if (a > 8) printf "Parent = a%d\n", int(a / 8)
			list = "Users ="
			for (u = a; u < users; u += accounts) list = list (u == a ? " " : ", ") "u" u
			print list
		} }'
}
cpu_ms() { awk -v hz="$(getconf CLK_TCK)" '{ printf "%d", ($14 + $15) * 1000 / hz }' "/proc/$controller/stat"; }
line() { # WHAT COMMAND...: prints its line and sets $clock
	local what=$1 before got
	shift
	before=$(cpu_ms)
	got=$("$dir/cost" "$runs" "$@") || { echo "no figures: $what"; exit 1; }
	clock=$(cut -d' ' -f2 <<<"$got")
	# shellcheck disable=SC2086 # three words
	printf '%-46s %8s ms of CPU %8s ms %7s KB, and %s ms of the controller\n' "$what" $got $((($(cpu_ms) - before) / runs))
}
live_open configure
make_accounts >"$dir/accounts.conf"
XDG_CONFIG_HOME=$dir "$dir/reeve" admin accounts apply --config "$dir/reeve.conf" "$dir/accounts.conf" >"$dir/applied" 2>&1 ||
	bail "the accounts were not applied: $(tail -n 3 "$dir/applied")"
share=("$dir/reeve" share --config "$dir/reeve.conf" -a)
"${share[@]}" >"$dir/rows" || bail "no rows"
"${share[@]}" -P -n >"$dir/rows.psv" || bail "no rows"
[ "$(wc -l <"$dir/rows")" -ge "$((associations + accounts))" ] || bail "only $(wc -l <"$dir/rows") rows"
sqlite3 "$dir/rows.db" 'CREATE TABLE rows(cluster, pool, account, user, raw_shares, norm_shares, raw_usage, norm_usage, effective_usage, level_fs, fairshare, depth)' \
	".import $dir/rows.psv rows" || bail "no table"
echo "-- $(date -u +%F), load $(cut -d' ' -f1 /proc/loadavg); $(wc -l <"$dir/rows") lines; medians of $runs runs, largest memory"
line 'rival: sort of these lines' sort "$dir/rows"
sorted=$clock
line 'rival: sqlite3, these rows as columns' sqlite3 -column "$dir/rows.db" 'SELECT account, user, raw_shares, norm_shares, raw_usage, norm_usage, effective_usage, level_fs, fairshare FROM rows'
selected=$clock
for form in '' -P --json; do
	line "reeve share -a${form:+ $form}" "${share[@]}" $form
	awk -v c="$clock" -v s="$sorted" -v q="$selected" 'BEGIN { printf "   x%.2f of sort, x%.2f of sqlite3\n", c / s, c / q }'
done
