#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# demo.sh - `make demo`: real jobs on a real node. On this machine when it is fit (root, systemd as
# PID 1, cgroup v2), else on a virtual one; says which, and why. KEEP=1: its page is served until Ctrl-C.
# A history is shown beside the demo's jobs: the last 20,000 jobs of DEMO_TRACE (a .swf.gz), else of the CEA trace of
# REEVE_TRACES, else of a year that was made up, which is said. DEMO_OUT=DIR: a run on a virtual node that leaves what `reeve top`
# wrote to its terminal in DIR/terminal, for tests/browser/pictures.sh.
set -u
unset MAKEFLAGS MFLAGS MAKELEVEL # of the make that called: its jobs are not ours
cd "$(dirname "$0")/../../.."
O=build
tree=$O/demo-root

say() { printf 'demo: %s\n' "$*" >&2; }

why_not_native() {
	[ "$(id -u)" -eq 0 ] || { echo "not running as root"; return; }
	[ -d /run/systemd/system ] || { echo "systemd is not PID 1 here"; return; }
	[ "$(stat -fc %T /sys/fs/cgroup)" = cgroup2fs ] || { echo "cgroup v2 is not mounted alone here"; return; }
	! systemctl -q is-active reeve-agent || { echo "a Reeve agent already runs here"; return; }
	[ "${REEVE_DEMO:-}" != vm ] || echo "REEVE_DEMO=vm"
	[ -z "${DEMO_OUT:-}" ] || echo "DEMO_OUT"
}

rm -rf $tree
make --no-print-directory -s install DESTDIR="$PWD/$tree" >/dev/null || exit 1
make --no-print-directory -s $O/tests/node/load $O/tests/gpu/load $O/tests/gpu/libcuda.so.1 $O/tests/gpu/r535/libnvidia-ml.so.1 || exit 1
install -D -m 755 $O/tests/node/load $tree/usr/local/bin/load
install -D -m 755 -t $tree/usr/local/lib/reeve-demo tests/node/node_lib.sh tests/node/demo/guest.sh \
	$O/tests/gpu/libcuda.so.1 $O/tests/gpu/r535/libnvidia-ml.so.1
install -m 755 $O/tests/gpu/load $tree/usr/local/lib/reeve-demo/gpu-load
# The sums of a site's history, in the ledger that the demo's controller opens.
add_history() {
	local trace=${DEMO_TRACE:-${REEVE_TRACES:-}/CEA-Curie-2011-2.1-cln.swf.gz} what
	if [ -r "$trace" ]; then
		what="the last 20,000 jobs of $(basename "$trace")"
		{ zcat "$trace" | grep '^;'; zcat "$trace" | tail -n 20000; } >$O/demo.swf
	else
		what="a made-up year of 20,000 jobs (no trace: DEMO_TRACE=FILE.swf.gz)"
		${CC:-cc} -std=gnu17 -D_GNU_SOURCE -O2 -o $O/usage_gen tests/bench/usage_gen.c && $O/usage_gen 20000 >$O/demo.swf
	fi
	say "history: $what"
	rm -f $O/demo.db*
	$O/bin/reeve import swf $O/demo.swf --cluster history --ledger $O/demo.db >/dev/null &&
		install -m 600 $O/demo.db $tree/usr/local/lib/reeve-demo/history.db && echo "$what" >$tree/usr/local/lib/reeve-demo/history
}
add_history || say "the history could not be imported: the page has the demo's jobs alone"
[ -t 1 ] && export DEMO_COLOR=1

why=$(why_not_native)
if [ -z "$why" ]; then
	say "on this machine ($(uname -r)): root, systemd and cgroup v2 are here"
	exec $tree/usr/local/lib/reeve-demo/guest.sh "$PWD/$tree"
fi
say "on a virtual node ($why)"
if [ -n "${KEEP:-}" ]; then
	exec tests/vm/vm.sh run --smp 4 --mem 2G --timeout 86400 --forward 8641 --payload $tree -- \
		tests/node/demo/start.sh "${DEMO_COLOR:-}" 1
fi
exec tests/vm/vm.sh run --smp 4 --mem 2G --timeout 1200 ${DEMO_OUT:+--out "$DEMO_OUT"} --payload $tree -- \
	tests/node/demo/start.sh "${DEMO_COLOR:-}" "" "${DEMO_OUT:+1}"
