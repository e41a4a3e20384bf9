#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# suite.sh ext4|xfs|image - the jobfs suite on a virtual node: on a disk with project
# quota, or in an image file where the disk has none. TAP comes out.
set -eu
cd "$(dirname "$0")/../../.."
kind=${1:?usage: suite.sh ext4|xfs|image}
O=build
make --no-print-directory -s $O/tests/node/jobfs/limits $O/tests/node/jobfs/removal >&2
tree=$(mktemp -d "${TMPDIR:-/tmp}/reeve-jobfs.XXXXXX")
trap 'rm -rf "$tree"' EXIT
lib=$tree/usr/local/lib/reeve-tests
install -D -m 755 -t "$lib" $O/tests/node/jobfs/limits $O/tests/node/jobfs/removal
cp -L "$(${CC:-cc} -print-file-name=libcmocka.so.0)" "$lib/"
disk=$kind args=
if [ "$kind" = image ]; then
	disk=none args=/var/lib/jobfs.img
fi
cat >"$tree/start.sh" <<END
#!/bin/sh
mkdir -p /var/lib/reeve
export LD_LIBRARY_PATH=/usr/local/lib/reeve-tests CMOCKA_MESSAGE_OUTPUT=TAP
cd /usr/local/lib/reeve-tests && status=0
for t in limits removal; do
	./\$t /var/lib/reeve/jobfs $args || status=1
done
exit \$status
END
chmod 755 "$tree/start.sh"
tests/vm/vm.sh run --jobfs "$disk" --payload "$tree" --timeout 900 -- "$tree/start.sh"
