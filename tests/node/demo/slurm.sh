#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# slurm.sh - `make demo-slurm`: Debian's Slurm with Reeve beside it on a virtual node, and what a user of Slurm sees.
set -eu
cd "$(dirname "$0")/../../.."
tree=build/demo-slurm-root
begun=$SECONDS
rm -rf $tree
make --no-print-directory -s install DESTDIR="$PWD/$tree" >/dev/null
make --no-print-directory -s build/tests/node/load
cp -r tests/node/etc/. $tree/etc/
install -D -m 755 build/tests/node/load $tree/usr/local/bin/load
install -D -m 755 -t $tree/usr/local/lib/reeve-demo tests/node/node_lib.sh tests/node/slurm_lib.sh tests/node/demo/slurm_guest.sh
[ -t 1 ] && color=1 || color=
echo "demo-slurm: on a virtual node; the first run installs Slurm's packages in its image" >&2
status=0
tests/vm/vm.sh run --with slurm --net host --smp 4 --mem 2G --timeout 1200 --payload $tree -- tests/node/demo/slurm_start.sh "$color" || status=$?
echo "demo-slurm: $((SECONDS - begun)) s" >&2
exit $status
