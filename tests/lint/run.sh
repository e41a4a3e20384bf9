#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# run.sh - the lints, as TAP.
n=0 bad=0
for what in "graph.sh build" "prefixes.py build" paths.py sizes.sh text.sh words.py statics.py forks.sh faults.sh points.sh events.py version.sh spdx.py; do
	n=$((n + 1))
	# shellcheck disable=SC2086
	if out=$(tests/lint/$what 2>&1); then
		echo "ok $n - ${what%% *}"
	else
		bad=1
		echo "$out"
		echo "not ok $n - ${what%% *}"
	fi
done
echo "1..$n"
exit $bad
