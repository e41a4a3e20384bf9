#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# vmem in every tier: tier 1 and 2 on the virtual node's kernel, tier 2 and 3 on this host's. TAP;
# one line for each program, tier and place, with what the program said below it.
# usage: run_vmem.sh [host] [vm]      (both without arguments)
# shellcheck disable=SC2317 # the places are called by name
set -u

here=$(cd -- "$(dirname -- "$0")" && pwd)
top=$(cd -- "$here/../.." && pwd)
bin=${BUILD:-$top/build}/tests/bpf
ops=${OPS:-100000}
out=$(mktemp "${TMPDIR:-/tmp}/run_vmem.XXXXXX")
n=0
bad=0
trap 'rm -f "$out"' EXIT
trap 'exit 130' INT TERM

skip()
{
	n=$((n + 1))
	echo "ok $n - $1 # SKIP $2"
}

# say STATUS NAME: a program that skipped its whole plan is a skip here.
say()
{
	why=$(sed -n 's/^1\.\.0 # SKIP //p' "$out")
	if [ "$1" = 126 ]; then
		skip "$2" "this host cannot run a virtual machine"
	elif [ "$1" = 0 ] && [ -n "$why" ]; then
		skip "$2" "$why"
	elif [ "$1" = 0 ] && grep -q '^1\.\.[1-9]' "$out"; then
		n=$((n + 1))
		echo "ok $n - $2"
	else
		n=$((n + 1))
		bad=1
		echo "not ok $n - $2 (exit $1)"
	fi
	sed 's/^/    /' "$out"
}

on_host()
{
	for tier in 2 3; do
		for t in storm attack room restart idle moves refused places; do
			name="$t, tier $tier on $(uname -r)"
			if [ "$(id -u)" != 0 ]; then
				skip "$name" "needs root"
				continue
			fi
			"$bin/vmem_$t" --tier "$tier" --ops "$ops" >"$out" 2>&1
			say $? "$name"
		done
	done
}

# Tier 2 has all its operations on the host; here it is emulated, and shows that it works on this
# kernel too.
on_vm()
{
	for tier in 1 2; do
		[ "$tier" = 1 ] && many=$ops || many=$((ops / 4))
		for t in storm attack room restart idle moves refused places; do
			# A kernel that preempts itself interrupts between the release of a lock and
			# the hook behind it: where `moves` is dangerous.
			[ "$t" = moves ] && preempt=full || preempt=voluntary
			"$here/vmtest.sh" --mem 2G --timeout 1200 --kernel-arg "preempt=$preempt" -- \
				"$bin/vmem_$t" --tier "$tier" --ops "$many" >"$out" 2>&1
			say $? "$t, tier $tier on the virtual node's kernel"
		done
	done
}

[ $# -gt 0 ] || set -- host vm
for place; do
	case $place in
	host | vm) "on_$place" ;;
	*) echo "usage: run_vmem.sh [host] [vm]" >&2; exit 64 ;;
	esac
done
echo "1..$n"
exit $bad
