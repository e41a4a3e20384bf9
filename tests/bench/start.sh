#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# start.sh [JOBS] - from the submission of a job to its arrival at a node that waits, on an idle cluster: a real
# controller, munge and ledger on disk, a played node. Goal: under 50 ms. Needs root.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/lib/tap_lib.sh
. tests/cluster/lib/live_lib.sh
live_dir start-bench
live_tool tests/bench/start_bench.c -O2
live_munge
configure() {
	live_controller >"$dir/controller.conf"
	printf '%s\n' '[Cluster main]' 'DefaultResources = jobfs=100MB' '[Account physics]' 'Users = daemon' \
		>>"$dir/controller.conf"
}
live_open configure
"$dir/start_bench" "$url" "$dir/munge.sock" 1 "${1:-200}" || echo "no figures: see above"
