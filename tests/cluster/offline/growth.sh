#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# growth.sh - listing shares grows with their number, not with its square: instructions counted by
# valgrind, which are the same on every machine, for a tree and one of four times its size. TAP.
set -u
cd "$(dirname "$0")/../../.." || exit 1
command -v valgrind >/dev/null || { echo "1..0 # SKIP no valgrind: make deps"; exit 0; }
dir=$(mktemp -d /tmp/reeve-growth-XXXXXX)
trap 'rm -rf "$dir"' EXIT
tree() { # USERS: a twentieth as many accounts; usage and shares of all kinds, many ties
	awk -v n="$1" 'BEGIN {
		print "id,parent_id,account,user,raw_shares,order,leaf_usage"; print "1,,root,,1,0,0"
		for (a = 0; a < n / 20; a++) printf "%d,1,a%d,,%d,%d,0\n", a + 2, a, a % 7 + 1, a
		for (u = 0; u < n; u++) printf "%d,%d,a%d,u%d,1,%d,%d\n", n + u, u % (n / 20) + 2, u % (n / 20), u, u, u * 7919 % 1000
	}' >"$dir/$1.csv"
}
count() { # ARGUMENTS...: instructions
	valgrind --tool=cachegrind --cache-sim=no --cachegrind-out-file=/dev/null build/bin/reeve "$@" 2>&1 >/dev/null |
		sed -n 's/.*I *refs: *//p' | tr -d ,
}
n=0 status=0
tree 2000
tree 8000
for algorithm in fair-tree classic; do
	for form in csv table; do
		small=$(count fairshare --algorithm $algorithm --output $form "$dir/2000.csv")
		large=$(count fairshare --algorithm $algorithm --output $form "$dir/8000.csv")
		n=$((n + 1))
		if [ "${small:-0}" -gt 0 ] && [ "${large:-0}" -gt "$small" ] && [ "$large" -lt $((6 * small)) ]; then
			echo "ok $n - $algorithm, $form: four times the rows, $((large * 100 / small)) % of the instructions"
		else
			echo "not ok $n - $algorithm, $form: $small instructions for 2,000 users, $large for 8,000: more than sixfold"
			status=1
		fi
	done
done
echo "1..$n"
exit $status
