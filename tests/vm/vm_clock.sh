#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Runs inside a virtual node: fails when the node's clock does not run at the host's rate, within 5 %. The emulated
# real time clock is the host's time of day, whole seconds; the node's own clock is read where those change.
# vm_clock.sh [SECONDS]: for so long (10).
seconds=${1:-10}
rtc=/sys/class/rtc/rtc0/since_epoch

# The host's time when a second of it begins.
next_second()
{
	local from

	from=$(<"$rtc") || exit 1
	while [ "$(<"$rtc")" = "$from" ]; do
		sleep 0.02
	done
	cat "$rtc"
}

guest_ms()
{
	local up

	read -r up _ </proc/uptime && echo "${up/./}0"
}

host_s=$(next_second) guest=$(guest_ms)
sleep "$seconds"
host_s=$(($(next_second) - host_s)) guest=$(($(guest_ms) - guest))
echo "vm_clock: $guest ms of this node in $host_s s of the host"
[ "$host_s" -gt 0 ] && [ $((guest * 100)) -ge $((host_s * 95000)) ] && [ $((guest * 100)) -le $((host_s * 105000)) ]
