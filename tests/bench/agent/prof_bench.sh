#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# prof_bench.sh - what Reeve costs at a context switch: which of its programs are there by
# default, and the opt-in profile of one job on this host's kernel and on the virtual node's.
set -u
cd "$(dirname "$0")/../../.." || exit 1
O=build
rc=0

for o in "$O"/bpf/*.bpf.o; do
	case $(basename "$o") in
	prof.bpf.o) continue ;;
	esac
	n=$(readelf -WS "$o" | grep -c 'sched_switch')
	[ "$n" = 0 ] || { echo "$o has $n programs at sched_switch"; rc=1; }
done
[ $rc = 1 ] || echo "by default: 0 programs at sched_switch, 0 ns a switch"

# The test's own line, as ratios to the same rounds without a program.
show() { # WHERE
	sed -nE 's/^# ([0-9]+) ns a run .* switches: ([0-9]+) ns without, ([0-9]+) ns outside the job, ([0-9]+) ns in it.*/\1 \2 \3 \4/p' |
		awk -v where="$1" '{ n++
			printf "profile, %s: %d ns a switch, x%.2f of the goal of 150 ns; ", where, $1, $1 / 150
			printf "two switches through a pipe: %d ns without, ", $2
			printf "outside the job x%.2f, in it and timed x%.2f\n", $3 / $2, $4 / $2 }
			END { if (!n) print "no figures: " where; exit !n }'
}
if [ "$(id -u)" = 0 ]; then
	$O/tests/bpf/prof_test | show "$(uname -r)" || rc=1
else
	echo "no figures: this host: needs root"
	rc=1
fi
tests/bpf/vmtest.sh -- $O/tests/bpf/prof_test | show "virtual node's kernel" || rc=1
exit $rc
