#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# units.sh - systemd-analyze rates each unit as docs/security.md records it, or lower, and finds no mistake in it. TAP.
set -u
cd "$(dirname "$0")/../../.." || exit 1
. tests/cluster/lib/tap_lib.sh
systemd-analyze --version >/dev/null 2>&1 || { echo "1..0 # SKIP no systemd-analyze"; exit 0; }
recorded() { sed -nE "s/^\\| \`$1\` \\| ([0-9.]+) .*/\\1/p" docs/security.md; }
for unit in units/*.service; do
	name=${unit##*/}
	was=$(recorded "$name")
	is=$(systemd-analyze security --offline=yes "$unit" 2>&1 | sed -nE 's/.*Overall exposure level for .*: ([0-9.]+) .*/\1/p')
	if [ -n "$was" ] && [ -n "$is" ] && awk -v a="$is" -v b="$was" 'BEGIN { exit !(a <= b) }'; then
		tap_result 0 "$name is rated $was at most"
	else
		tap_result 1 "$name is rated $was at most" "docs/security.md has '$was', systemd-analyze says '$is'"
	fi
done
wrong=$(systemd-analyze verify --man=no units/*.service units/*.timer units/*.socket units/*.slice 2>&1 | grep -E '^[^ ]*units/|reeve-.*:' |
	grep -vE 'is not executable|not-found|Failed to (load|add)')
is "no unit has a mistake" "" "$wrong"
tap_end
