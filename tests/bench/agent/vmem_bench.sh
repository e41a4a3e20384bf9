#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Time to death and cost of counting, per tier: tier 1 on the virtual node's kernel (emulated: read
# the ratios), tier 2 and 3 on this host's. With the word `cost` the cost alone.
set -u
here=$(cd -- "$(dirname -- "$0")" && pwd)
top=$(cd -- "$here/../../.." && pwd)
bin=${BUILD:-$top/build}/tests/bench/agent/vmem_bench
echo "== tier 1, virtual node's kernel"
"$top/tests/bpf/vmtest.sh" --mem 3G --timeout 550 -- "$bin" --tier 1 --ops 1000 ${1:+"$1"} || echo "no figures (exit $?)"
for tier in 2 3; do
	echo "== tier $tier, $(uname -r)"
	"$bin" --tier $tier ${1:+"$1"} || echo "no figures (exit $?)"
done
