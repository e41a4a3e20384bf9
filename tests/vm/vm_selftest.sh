#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Runs inside the virtual node and says, as TAP, whether the node is what the tests of Reeve
# build on. Fails where a piece is missing:
#   vm.sh run --jobfs ext4 -- tests/vm/vm_selftest.sh ext4
#   vm.sh run --jobfs xfs  -- tests/vm/vm_selftest.sh xfs
jobfs=${1:-ext4}
disk=/var/lib/reeve/jobfs
cgroups=/sys/fs/cgroup
count=0
failed=0

# check WHAT COMMAND...: one TAP line; the command's output is shown when it fails.
check()
{
	local what=$1 said

	shift
	count=$((count + 1))
	if said=$("$@" 2>&1); then
		echo "ok $count - $what"
	else
		failed=$((failed + 1))
		echo "not ok $count - $what"
		printf '%s\n' "$said" | sed 's/^/# /'
	fi
}

has_word()
{
	grep -qw "$2" "$1"
}

is_running()
{
	[ "$(systemctl is-system-running --wait)" = running ] ||
		{ systemctl --failed --no-legend --plain && false; }
}

# A limit set through systemd arrives in the cgroup file.
scope_limit_arrives()
{
	systemd-run -q --scope -p MemoryMax=64M -p AllowedCPUs=1 bash -c '
		dir=/sys/fs/cgroup$(cut -d: -f3 </proc/self/cgroup)
		[ "$(cat "$dir/memory.max")" = 67108864 ] && [ "$(nproc)" = 1 ]'
}

# Memory beyond the limit is not given: the process is killed.
memory_limit_kills()
{
	! systemd-run -q --wait -p MemoryMax=32M -p MemorySwapMax=0 \
		sh -c 'head -c 200M /dev/zero | tail -n 1 >/dev/null'
}

user_unit_runs()
{
	[ "$(systemd-run -q --pipe --wait --uid=alice id -un)" = alice ]
}

munge_round_trip()
{
	runuser -u bob -- munge -n | unmunge | grep -q 'UID:.*bob'
}

munge_refuses_damage()
{
	! munge -n | sed 's/:./:!/' | unmunge
}

lingering_user_manager()
{
	loginctl enable-linger carol &&
		timeout 30 sh -c 'until systemctl is-active -q user@1003; do sleep 0.2; done' &&
		systemd-run -q --user -M carol@ --pipe --wait true
}

fs_is()
{
	[ "$(findmnt -n -o FSTYPE "$disk")" = "$1" ] &&
		findmnt -n -o OPTIONS "$disk" | grep -q 'prjquota\|pquota'
}

# Sets project 4711 to at most 4 MiB on a fresh directory, then alice writes 8 MiB to it.
# (Not root: ext4 lets CAP_SYS_RESOURCE pass every hard limit; XFS does not.)
quota_stops_write()
{
	local dir=$disk/selftest out

	chmod 755 "$disk"
	mkdir "$dir" || return 1
	xfs_io -c 'chproj -R 4711' -c 'chattr +P' "$dir" || return 1
	xfs_quota -f -x -c 'limit -p bhard=4m 4711' "$disk" || return 1
	chown alice "$dir"
	out=$(LC_ALL=C runuser -u alice -- dd if=/dev/zero of="$dir/f" bs=64k count=128 2>&1)
	echo "$out" && stat -c '%s bytes' "$dir/f"
	echo "$out" | grep -q 'No space left\|quota exceeded' || return 1
	[ "$(stat -c %s "$dir/f")" -le 4194304 ] &&
		[ "$(stat -c %s "$dir/f")" -ge 2097152 ]
}

# The same write beside the project passes, so it was the quota that stopped the first.
write_beside_passes()
{
	install -d -o alice "$disk/beside"
	runuser -u alice -- dd if=/dev/zero of="$disk/beside/f" bs=64k count=128
}

check "systemd is PID 1" test "$(cat /proc/1/comm)" = systemd
check "the system is running, no unit failed" is_running
check "cgroup v2 alone" test "$(stat -f -c %T "$cgroups")" = cgroup2fs
for c in cpuset cpu io memory pids; do
	check "cgroup controller $c" has_word "$cgroups/cgroup.controllers" "$c"
done
check "types for BPF (BTF)" test -s /sys/kernel/btf/vmlinux
check "BPF LSM is active" has_word /sys/kernel/security/lsm bpf
check "bpffs is mounted" test "$(stat -f -c %T /sys/fs/bpf)" = bpf_fs
check "tracefs is mounted" test -d /sys/kernel/tracing/events/sched
check "busctl reaches systemd" busctl get-property org.freedesktop.systemd1 \
	/org/freedesktop/systemd1 org.freedesktop.systemd1.Manager Version
check "systemd-run --scope sets limits" scope_limit_arrives
check "a memory limit kills" memory_limit_kills
check "systemd-run as a user" user_unit_runs
check "a user's own systemd runs" lingering_user_manager
check "munged is a running service" systemctl is-active munge
check "munge: a credential of bob is bob's" munge_round_trip
check "munge: a damaged credential is refused" munge_refuses_damage
check "atd runs" systemctl is-active atd
check "cron runs" systemctl is-active cron
check "alice is 1001" test "$(id -u alice)" = 1001
check "bob is 1002" test "$(id -u bob)" = 1002
check "carol is 1003" test "$(id -u carol)" = 1003
for so in libbpf.so.1 libcgroup.so libcurl-gnutls.so.4 libhwloc.so.15 libjansson.so.4 \
	libmicrohttpd.so.12 libmunge.so.2 libnettle.so.8 libsmartcols.so.1 libsqlite3.so.0 \
	libsystemd.so.0 libxslt.so.1; do
	check "library $so" sh -c "ldconfig -p | grep -q '^[[:space:]]*$so'"
done
if [ "$jobfs" = none ]; then
	check "no job disk" sh -c "! mountpoint -q $disk"
else
	check "job disk is $jobfs with project quota" fs_is "$jobfs"
	check "a project quota stops a write" quota_stops_write
	check "a write beside it passes" write_beside_passes
fi
echo "1..$count"
[ "$failed" = 0 ]
