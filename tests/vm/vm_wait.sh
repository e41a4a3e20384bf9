#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Runs inside a node that is to be saved (vm_state.sh), in the place of vm_guest.sh: says that the
# node is booted and its clock right, then waits. The machine is saved in this wait and restored in it, with a new job
# disk. After that the node gets the host's time and randomness of its own, the payload is laid over
# / and what it enables is started, as a boot would; then vm_guest.sh of the payload goes on.
dir=/.reeve-vm
ports=/dev/virtio-ports
laid=/run/reeve-vm.laid

# The host boots a node instead.
give_up()
{
	echo "vm_wait: $1" >/dev/ttyS0
	echo b >/proc/sysrq-trigger
}

is_laid()
{
	grep -qE "$1" "$laid"
}

modprobe virtio_console
for port in reeve.go reeve.ctl reeve.files; do
	until [ -c "$ports/$port" ]; do
		udevadm settle --timeout=1 --exit-if-exists="$ports/$port"
	done
done
udevadm settle
rate=$("$dir/vm_clock.sh" 5) || give_up "the clock has not the host's rate: $rate"
find / -xdev ! -type d -printf '%P\n' >"$ports/reeve.files"
exec 3<"$ports/reeve.go"
echo ready >"$ports/reeve.ctl"
read -r now seed <&3
exec 3<&-

read -r restored_s _ </proc/uptime
date -s "@$now" >/dev/null || give_up "no time from the host"
# RNDADDENTROPY, then RNDRESEEDCRNG: a node must not draw the numbers of its twin.
perl -e 'open my $r, ">", "/dev/urandom" or die; my $s = pack "H*", $ARGV[0];
	ioctl $r, 0x40085203, pack "iia*", 8 * length $s, length $s, $s or die "random: $!";
	ioctl $r, 0x5207, 0 or die "random: $!"' "$seed" ||
	give_up "no randomness from the host"
blockdev --flushbufs /dev/vdb
tar -C / -xv --keep-directory-symlink --no-overwrite-dir -f /dev/vdb >"$laid" ||
	give_up "cannot lay the payload over"
echo "restored $restored_s" >"$dir/marks"
! is_laid '/dbus-1/' || systemctl reload dbus
! is_laid '/tmpfiles\.d/' ||
	sed -n 's,^\./\(.*/tmpfiles\.d/.*\.conf\)$,/\1,p' "$laid" |
	xargs -r systemd-tmpfiles --create --remove --boot
if is_laid '/systemd/(system|user)/'; then
	systemctl daemon-reload
	systemctl start multi-user.target
fi
exec "$dir/guest"
