#!/bin/sh
# generate_controller.sh - reeve-controller(8) on standard output: its frame, and the keys as their table
# says them (`reeve admin check-config --keys`). docs/man/reeve-controller.8.scd is the result; the
# tests compare the two.
set -eu
cd "$(dirname "$0")/../.."
sed -n '1,/^# \[CONTROLLER\]/p' docs/man/reeve-controller.8.scd | sed '$d'
build/bin/reeve admin check-config --keys --output raw -n | awk -F '\t' '
	BEGIN { n = split("Cluster NodeType GpuModel Queue Qos Account Node", w, " "); while (n) named[w[n--]] = 1 }
	$1 != section { section = $1; printf "# [%s%s]\n\n", toupper(section), section in named ? " NAME" : "" }
	{ gsub(/_/, "\\_", $4); printf "*%s* = %s\n\t%s%s.\n\n", $2, $3, toupper(substr($4, 1, 1)), substr($4, 2) }'
sed -n '/^# EXIT STATUS/,$p' docs/man/reeve-controller.8.scd
