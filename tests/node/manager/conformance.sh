#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# conformance.sh systemd|cgroup|hybrid - the laws of agent/enforce/manager/manager.h, as TAP.
#   systemd  the systemd manager on a virtual node
#   cgroup   the manager of hosts without systemd, on a virtual node, in a cgroup that systemd
#            has handed over: all controllers are there
#   hybrid   the same here, beside v1 hierarchies, as far as it goes
# With "guest" in front: what runs inside the node.
set -u
lib=/usr/local/lib/reeve-tests
dir=/run/reeve-conformance

in_guest()
{
	local launcher=/usr/libexec/reeve/reeve-launch

	if [ "$1" = systemd ]; then
		exec $lib/conformance systemd $launcher reeveconformance.slice $dir 1001
	fi
	# The unit's own cgroup must be without processes before its children get controllers.
	cat >$dir.inside <<-EOF
		#!/bin/sh -e
		own=\$(sed -n 's/^0:://p' /proc/self/cgroup)
		mkdir /sys/fs/cgroup\$own/test
		echo \$\$ >/sys/fs/cgroup\$own/test/cgroup.procs
		exec $lib/conformance cgroup $launcher \${own#/}/reeve $dir 1001
	EOF
	chmod 755 $dir.inside
	exec systemd-run --quiet --wait --pipe -p Delegate=yes -p Nice=-5 -p OOMScoreAdjust=-900 \
		$dir.inside
}

build()
{
	make --no-print-directory -s -f Makefile -f tests/node/manager/conformance.mk \
		build/tests/node/manager/conformance build/bin/reeve-launch >&2 || exit 1
}

in_node()
{
	local tree

	build
	tree=$(mktemp -d "${TMPDIR:-/tmp}/reeve-conformance.XXXXXX") || exit 1
	# shellcheck disable=SC2064
	trap "rm -rf '$tree'" EXIT
	install -D -m 755 build/bin/reeve-launch "$tree/usr/libexec/reeve/reeve-launch"
	install -D -m 755 -t "$tree$lib" build/tests/node/manager/conformance \
		tests/node/manager/conformance.sh
	printf '#!/bin/sh\nexec %s/conformance.sh guest %s\n' $lib "$1" >"$tree/start.sh"
	tests/vm/vm.sh run --smp 2 --mem 1G --jobfs none --timeout 900 --payload "$tree" -- \
		"$tree/start.sh"
}

# Every cgroup and directory is the test's own and goes with it, also when it fails.
in_hybrid()
{
	local mount=/sys/fs/cgroup name rc

	name=reeve-conformance-$$
	dir=/run/$name
	if [ "$(id -u)" != 0 ] || [ -e $mount/cgroup.procs ] || [ ! -w $mount/unified ]; then
		echo "ok 1 - a hybrid host # SKIP needs root and cgroup2 at $mount/unified"
		echo 1..1
		exit 0
	fi
	build
	trap 'remove_all "$mount/unified/$name"; rm -rf "$dir" "$dir.launcher"' EXIT
	install -D -m 755 build/bin/reeve-launch "$dir.launcher/reeve-launch"
	trap 'exit 130' INT TERM
	build/tests/node/manager/conformance cgroup "$dir.launcher/reeve-launch" "$name" "$dir" \
		65534 &
	wait $!
	rc=$?
	exit $rc
}

remove_all()
{
	local n=0

	[ -d "$1" ] || return 0
	echo 1 >"$1/cgroup.kill"
	until find "$1" -depth -type d -exec rmdir {} + 2>/dev/null || [ $n = 100 ]; do
		read -rt 0.05 <> <(:)
		n=$((n + 1))
	done
}

if [ "${1:-}" = guest ]; then
	in_guest "$2"
fi
cd "$(dirname "$0")/../../.." || exit 1
case ${1:-} in
systemd | cgroup) in_node "$1" ;;
hybrid) in_hybrid ;;
*) sed -n '3,8s/^# \{0,1\}//p' "$0" >&2 && exit 64 ;;
esac
