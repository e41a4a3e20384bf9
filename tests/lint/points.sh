#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# points.sh - each function at which tests/node/agent/steps.sh kills the agent is in the agent, once. That
# suite is one of a release: a function that was renamed, inlined or doubled is to be seen sooner.
suite=tests/node/agent/steps.sh agent=build/bin/reeve-agent bad=0
points=$(sed -n "/^POINTS='/,/'\$/p" $suite | tr -d "'" | awk '{ print $2 }' | sort -u)
# "latch.isra.0" is latch, as crash_at.c looks for it.
functions=$(nm $agent | awk '$2 ~ /^[tT]$/ && $3 !~ /\.cold/ { sub(/\..*/, "", $3); print $3 }')
[ -n "$points" ] && [ -n "$functions" ] || { echo "no points in $suite or no functions in $agent"; exit 1; }
for f in $points; do
	n=$(echo "$functions" | grep -cx "$f")
	[ "$n" = 1 ] || { echo "$suite: $agent has $n functions $f"; bad=1; }
done
exit $bad
