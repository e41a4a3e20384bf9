#!/bin/bash
# suite.sh GUEST [VM-OPTION...] - run tests/node/guest/GUEST.sh on a virtual node with Reeve
# installed and configured as in tests/node/etc. TAP comes out; what it leaves in /out goes to
# build/check/GUEST.
set -eu
cd "$(dirname "$0")/../.."
guest=$1
shift
O=build
tree=$(mktemp -d "${TMPDIR:-/tmp}/reeve-suite.XXXXXX")
trap 'rm -rf "$tree"' EXIT
make --no-print-directory -s install DESTDIR="$tree" >/dev/null
cp -r tests/node/etc/. "$tree/etc/"
for p in load escape sql; do
	make --no-print-directory -s $O/tests/node/$p
	install -D -m 755 $O/tests/node/$p "$tree/usr/local/bin/$p"
done
install -D -m 755 -t "$tree/usr/local/lib/reeve-tests" tests/node/node_lib.sh tests/node/slurm_lib.sh "tests/node/guest/$guest.sh"
cat > "$tree/start.sh" <<EOF
#!/bin/sh
exec env ${KILLS:+KILLS=$KILLS} /usr/local/lib/reeve-tests/$guest.sh
EOF
mkdir -p $O/check/"$guest"
tests/vm/vm.sh run --smp 4 --mem 2G --timeout 1800 "$@" --payload "$tree" --out $O/check/"$guest" -- "$tree/start.sh"
