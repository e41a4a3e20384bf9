#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# smoke.sh - runs the benches that need minutes with small numbers: a bench that no longer builds or runs shows nothing. Its figures are
# not looked at. TAP.
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/lib/tap_lib.sh
[ "$(id -u)" = 0 ] || { echo "1..0 # SKIP needs root, as the benches do"; exit 0; }
for name in usage schedule ledger ended fairshare share gpu start series past cycle top tls; do
	text=$(USAGE_BENCH=2000 USAGE_PROFILES=units/profiles/nci.conf LEDGER_BENCH=3000 ENDED_BENCH=2000 ENDED_ROUNDS=1 TOP_BENCH='20 20 20' TLS_BENCH=1 REEVE_TRACES='' tests/bench/run.sh "$name" 2>&1)
	tap_result $? "bench $name runs" "$(tail -n 5 <<<"$text")"
done
tap_end
