#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Runs inside the virtual node as reeve-vm.service: carries the test script's output and
# exit status to the host, then what it left in /out, then turns the machine off.
# The script writes to a pipe, not to the port: a port can be opened once only, and a script
# may well say `echo … >/dev/stderr`.
dir=/.reeve-vm
ports=/dev/virtio-ports
pipe=/run/reeve-vm.pipe

uptime_s()
{
	read -r up _ </proc/uptime && echo "$up"
}

if [ ! -e "$dir/cmd" ]; then
	printf 'Reeve virtual node, kernel %s. Leave with exit.\n' "$(uname -r)"
	(cd /root && bash -l)
	systemctl poweroff -ff
fi

modprobe virtio_console
for port in reeve.out reeve.ctl reeve.files; do
	until [ -c "$ports/$port" ]; do
		udevadm settle --timeout=1 --exit-if-exists="$ports/$port"
	done
done

mkdir -p /out
mkfifo -m 600 "$pipe"
cat "$pipe" >"$ports/reeve.out" &
cat=$!
begin_s=$(uptime_s)
echo alive >"$ports/reeve.ctl"
# shellcheck disable=SC1091
(. "$dir/cmd") >"$pipe" 2>&1 </dev/null
status=$?
end_s=$(uptime_s)

# What was written is drained; a process left behind that holds the pipe is not awaited.
timeout 3 tail --pid="$cat" -s 0.05 -f /dev/null
[ ! -e "$dir/want-out" ] || tar -C /out -cf "$ports/reeve.files" .
{
	cat "$dir/marks"
	printf 'begin %s\nend %s\nstatus %s\n' "$begin_s" "$end_s" "$status"
} >"$ports/reeve.ctl"
# All is with the host, which has consumed every write to a port; nothing on the disks is kept.
# A restart is the end of this machine (qemu's -no-reboot), sooner than a power-off.
echo b >/proc/sysrq-trigger
