#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Sampling, events, guard, device gate and profile, each on this host's kernel, on the virtual node's kernel
# and, where a disk with project quota is needed, on a whole virtual node. TAP; one line for
# each program and place, with what the program said below it.
# usage: run_scan.sh [host] [vm] [node]      (all three without arguments)
set -u

here=$(cd -- "$(dirname -- "$0")" && pwd)
top=$(cd -- "$here/../.." && pwd)
bin=${BUILD:-$top/build}/tests/bpf
tmp=$(mktemp -d "${TMPDIR:-/tmp}/run_scan.XXXXXX")
n=0
bad=0
trap 'umount "$tmp/bpf" 2>/dev/null; rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM

say()
{
	n=$((n + 1))
	if [ "$1" = 0 ]; then
		echo "ok $n - $2"
	else
		echo "not ok $n - $2"
		bad=1
	fi
	sed 's/^/    /' "$3"
}

skip()
{
	n=$((n + 1))
	echo "ok $n - $1 # SKIP $2"
}

on_host()
{
	if [ "$(id -u)" != 0 ]; then
		skip "on this host" "needs root"
		return
	fi
	mkdir -p "$tmp/bpf"
	mount -t bpf none "$tmp/bpf" || { skip "on this host" "cannot mount bpffs"; return; }
	for t in scan_test events_test guard_test devices_test prof_test gpuwork_test; do
		"$bin/$t" "$tmp/bpf/$t" >"$tmp/out" 2>&1
		say $? "$t on $(uname -r)" "$tmp/out"
	done
}

on_vm()
{
	for t in scan_test events_test guard_test devices_test prof_test gpuwork_test; do
		"$here/vmtest.sh" --timeout 600 -- "$bin/$t" "/sys/fs/bpf/$t" >"$tmp/out" 2>&1
		rc=$?
		if [ $rc = 126 ]; then
			skip "$t on the virtual node's kernel" "this host cannot run it"
		else
			say $rc "$t on the virtual node's kernel" "$tmp/out"
		fi
	done
}

on_node()
{
	mkdir -p "$tmp/payload/usr/lib/reeve-test"
	cp "$bin/scan_test" "$bin/guard_test" "$tmp/payload/usr/lib/reeve-test/"
	cat >"$tmp/inside" <<-'EOF'
		#!/bin/sh
		echo "+cpu +io +memory +pids" >/sys/fs/cgroup/cgroup.subtree_control
		for t in scan_test guard_test; do
			/usr/lib/reeve-test/$t /sys/fs/bpf/$t /var/lib/reeve/jobfs || bad=1
		done
		exit ${bad:-0}
	EOF
	chmod +x "$tmp/inside"
	for fs in ext4 xfs; do
		"$here/../vm/vm.sh" run --timeout 1800 --jobfs $fs --payload "$tmp/payload" \
			-- "$tmp/inside" >"$tmp/out" 2>&1
		rc=$?
		if [ $rc = 126 ]; then
			skip "disk figures and quota on $fs" "this host cannot run a node"
		else
			say $rc "disk figures and quota on $fs" "$tmp/out"
		fi
	done
}

[ $# -gt 0 ] || set -- host vm node
for place; do
	case $place in
	host | vm | node) "on_$place" ;;
	*) echo "usage: run_scan.sh [host] [vm] [node]" >&2; exit 64 ;;
	esac
done
echo "1..$n"
exit $bad
