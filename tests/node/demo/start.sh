#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# start.sh COLOR KEEP [RECORD] - what the virtual node runs for `make demo`. With KEEP the host's port 8641 leads here; with RECORD
# /out/terminal has what `reeve top` wrote to a terminal of 80x24.
if [ -n "$2" ]; then
	printf '[Match]\nName=e*\n[Network]\nAddress=10.0.2.15/24\n' >/etc/systemd/network/host.network
	systemctl start systemd-networkd
fi
DEMO_COLOR=$1 KEEP=$2 RECORD=${3:-} exec /usr/local/lib/reeve-demo/guest.sh /
