#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# native.sh - `make demo` as it goes where the machine itself is fit: from a tree of its own, not
# installed, on a node without a disk for jobs; and that it leaves nothing behind. TAP.
set -eu
cd "$(dirname "$0")/../../.."
O=build
tree=$(mktemp -d "${TMPDIR:-/tmp}/reeve-native.XXXXXX")
trap 'rm -rf "$tree"' EXIT
root=$tree/opt/reeve-tree
make --no-print-directory -s install DESTDIR="$root" >/dev/null
make --no-print-directory -s $O/tests/node/load $O/tests/gpu/load $O/tests/gpu/libcuda.so.1 $O/tests/gpu/r535/libnvidia-ml.so.1
install -D -m 755 $O/tests/node/load "$root/usr/local/bin/load"
install -D -m 755 -t "$root/usr/local/lib/reeve-demo" tests/node/node_lib.sh tests/node/demo/guest.sh \
	$O/tests/gpu/libcuda.so.1 $O/tests/gpu/r535/libnvidia-ml.so.1
install -m 755 $O/tests/gpu/load "$root/usr/local/lib/reeve-demo/gpu-load"
cat >"$tree/start.sh" <<'EOF'
#!/bin/bash
. /opt/reeve-tree/usr/local/lib/reeve-demo/node_lib.sh
left() { # what a Reeve of any kind would leave
	systemctl list-units --all --plain --no-legend 'reeve*' | awk '{print $1}'
	ls -d /dev/nvidia* /run/reeve* /sys/fs/bpf/reeve* /sys/fs/cgroup/reeve* /var/lib/reeve-* /etc/reeve 2>/dev/null
	grep -o ' /[^ ]*reeve-demo[^ ]*' /proc/mounts
	losetup -n -O BACK-FILE 2>/dev/null | grep reeve
	pgrep -a '^reeve|^load$'
}
before=$(left)
out=$(/opt/reeve-tree/usr/local/lib/reeve-demo/guest.sh /opt/reeve-tree 2>&1)
ok $? "the demo runs" "$out"
has "$out" 'good +exit 0 ' "the job that keeps to its request ends well"
has "$out" 'many-forks +vmem limit ' "one that exceeds vmem is killed for it"
has "$out" 'big-file +jobfs limit ' "so is one that exceeds jobfs, on a disk image"
has "$out" 'too-long +walltime limit ' "and one that exceeds walltime"
has "$out" '2 a100-40 \(2 free\) \(simulated\)' "its GPUs are named simulated"
has "$out" 'gpu-idle +running .* GPU idle [1-9][0-9]* min' "an allocated GPU that does nothing is reported"
has "$out" 'GPU-simulated-[01] .*nvml \(simulated\)' "on the job's page too"
has "$out" ' 1 0:0[0-9]:[0-9]{2} +[1-9][0-9]\.[0-9] .* 4\.00 GiB' "and how busy the other one was"
has "$out" 'physics cpu +14 ' "all are charged"
has "$out" 'physics gpu +2 ' "GPUs to their own pool"
ok $([ "$before" = "$(left)" ] && echo 0 || echo 1) "nothing is left behind" "$(diff <(echo "$before") <(left))"
tap_end
EOF
chmod 755 "$tree/start.sh"
tests/vm/vm.sh run --smp 4 --mem 2G --jobfs none --timeout 1800 --payload "$tree" -- "$tree/start.sh"
