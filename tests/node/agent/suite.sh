#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# suite.sh SCRIPT [ARG]... - run tests/node/agent/SCRIPT.sh on a virtual node with the agent
# installed and no controller. TAP comes out. `steps 0 1` does
# every step, in twelve minutes or more under emulation.
set -eu
cd "$(dirname "$0")/../../.."
script=$1
shift
O=build
tree=$(mktemp -d "${TMPDIR:-/tmp}/reeve-agent.XXXXXX")
trap 'rm -rf "$tree"' EXIT
make --no-print-directory -s install DESTDIR="$tree" >/dev/null
for p in load escape progs crash_at; do
	make --no-print-directory -s $O/tests/node/$p
	install -D -m 755 $O/tests/node/$p "$tree/usr/local/bin/$p"
done
install -D -m 755 -t "$tree/usr/local/lib/reeve-tests" tests/node/node_lib.sh tests/node/agent/agent_lib.sh "tests/node/agent/$script.sh"
printf '#!/bin/sh\nexec /usr/local/lib/reeve-tests/%s.sh %s\n' "$script" "$*" >"$tree/start.sh"
tests/vm/vm.sh run --smp 4 --mem 2G --timeout 1500 --payload "$tree" -- "$tree/start.sh"
