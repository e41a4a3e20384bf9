#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# generate_controller.sh [--write] - reeve-controller(8): its frame from docs/man/reeve-controller.8.scd, and the keys
# from their table (`reeve admin check-config --keys`); on standard output, or with --write into that file, which is
# read here: never redirect the output to it. The tests compare the two.
set -eu
cd "$(dirname "$0")/../.."
page=docs/man/reeve-controller.8.scd
grep -q '^# EXIT STATUS' $page || { echo "$0: $page has no frame any more: git checkout $page" >&2; exit 1; }
if [ "${1:-}" = --write ]; then
	"$0" >$page.tmp
	mv $page.tmp $page
	exit
fi
sed -n '1,/^# \[CONTROLLER\]/p' docs/man/reeve-controller.8.scd | sed '$d'
build/bin/reeve admin check-config --keys --output raw -n | awk -F '\t' '
	BEGIN { n = split("Cluster NodeType GpuModel Queue Qos Account Node", w, " "); while (n) named[w[n--]] = 1 }
	$1 != section { section = $1; printf "# [%s%s]\n\n", toupper(section), section in named ? " NAME" : "" }
	{ gsub(/_/, "\\_", $4); printf "*%s* = %s\n\t%s%s.%s\n\n", $2, $3, toupper(substr($4, 1, 1)), substr($4, 2),
		$5 == "restart" ? " Needs a restart." : "" }'
sed -n '/^# EXIT STATUS/,$p' docs/man/reeve-controller.8.scd
