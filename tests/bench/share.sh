#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# share.sh [CHARGES] - what one charge costs the share tree of 304 accounts and 1,008 associations,
# beside rebuilding the tree in the same run; and with REEVE_TRACES the tree of the CEA trace
# itself, and `reeve share` of every row of it. Goal: 100 us a charge.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/bench/bench_lib.sh
charges=${1:-2000}
O=build
dir=$(mktemp -d /tmp/reeve-share-bench-XXXXXX)
trap 'rm -rf "$dir"' EXIT
mkdir -p $O/tests/bench
# shellcheck disable=SC2046 # words without blanks
${CC:-cc} -std=gnu17 -D_GNU_SOURCE -O2 -I. -o $O/tests/bench/share_bench tests/bench/share_bench.c \
	$(bench_objects controller/{sharetree,accounts,config,ledger,policy,history,postgres} common/{db,wire,model,conf,csv} common/{err,nearest,token,utf8}.c) \
	-lsqlite3 -lpq -lnettle -ljansson -lm
$O/tests/bench/share_bench 304 1008 "$charges"
$O/tests/bench/share_bench 3000 108000 20
trace=${REEVE_TRACES:-}/CEA-Curie-2011-2.1-cln.swf.gz
if [ ! -r "$trace" ]; then
	echo "the CEA trace: skipped, REEVE_TRACES is not set or lacks it"
	exit
fi
$O/bin/reeve import swf "$trace" --cluster curie --ledger "$dir/cea.db" >/dev/null
$O/tests/bench/share_bench "$dir/cea.db" "$charges"
TIMEFORMAT='reeve share of every row, from the ledger file: %U + %S s of CPU time'
time REEVE_PROFILES=units/profiles $O/bin/reeve share --ledger "$dir/cea.db" --profile mlcloud --csv >"$dir/rows"
echo "$(wc -l <"$dir/rows") lines"
