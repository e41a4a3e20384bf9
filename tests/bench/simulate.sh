#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# simulate.sh [FILE.swf.gz] - what `reeve simulate` takes, the whole command with reading the trace, on one
# core: under each baseline beside zcat(1) of the same file and the plain oracle in Python, in the same
# run; and under every profile that ships, on one pool and on the nodes of Curie. Goals for the CEA
# trace: 0.5 s under easy, 10 s under a profile, 60 s on 5,040 nodes. SIMULATE_BENCH="nci bmrc": these
# profiles alone, on nodes alone.
set -euo pipefail
cd "$(dirname "$0")/../.."
file=${1:-${REEVE_TRACES:-}/CEA-Curie-2011-2.1-cln.swf.gz}
[ -r "$file" ] || { echo "SKIP: no trace at $file; set REEVE_TRACES"; exit 0; }
dir=$(mktemp -d /tmp/reeve-bench-simulate-XXXXXX)
trap 'rm -rf "$dir"' EXIT
TIMEFORMAT='%R %U %S'
# spent COMMAND...: wall and cpu seconds on one core, the best of $rounds
rounds=5
spent() {
	local i
	for i in $(seq $rounds); do
		{ time taskset -c 0 "$@" >"$dir/out"; } 2>&1
	done | awk '{ if (NR == 1 || $1 < w) w = $1; c = $2 + $3; if (NR == 1 || c < b) b = c } END { printf "%.2f %.2f", w, b }'
}
tell() { # NAME "WALL CPU" RIVAL'S CPU NAME
	awk -v n="$1" -v s="$2" -v r="${3:-}" -v rn="${4:-}" 'BEGIN { split(s, a, " "); split(r, b, " ")
		printf "%s: %.2f s wall, %.2f s cpu", n, a[1], a[2]
		if (rn) printf "; %s %.2f s cpu: x%.1f", rn, b[2], a[2] / (b[2] > 0 ? b[2] : 0.01)
		print "" }'
}
on_nodes() { # PROFILE
	tell "profile $1 on 5040x16" "$(rounds=1 && spent build/bin/reeve simulate "$file" --nodes 5040x16 --profile "$1" --json)"
}
export REEVE_PROFILES=${REEVE_PROFILES:-units/profiles}
if [ -n "${SIMULATE_BENCH:-}" ]; then
	for p in $SIMULATE_BENCH; do on_nodes "$p"; done
	exit
fi
rival=$(spent zcat "$file")
for p in fcfs easy; do
	ours=$(spent build/bin/reeve simulate "$file" --profile $p --json)
	tell "$p" "$ours" "$rival" "zcat of the trace"
	tell "$p, the plain oracle" "$(rounds=1 && spent tests/oracle/replay.py $p "$file")"
done
tell "easy with --jobs" "$(spent build/bin/reeve simulate "$file" --profile easy --jobs "$dir/jobs.csv" --json)"
rounds=1
for p in units/profiles/*.conf; do
	p=$(basename "$p" .conf)
	tell "profile $p" "$(spent build/bin/reeve simulate "$file" --profile "$p" --json)"
	on_nodes "$p"
done
