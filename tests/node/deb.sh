#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# deb.sh - Debian's packages: they are built and lintian has nothing against them; then tests/node/guest/deb.sh installs, upgrades,
# downgrades, removes and purges them on a virtual node, with those of a version that differs in its number alone. TAP.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/lib/tap_lib.sh
O=build
tree=$(mktemp -d "${TMPDIR:-/tmp}/reeve-deb.XXXXXX")
trap 'rm -rf "$tree"' EXIT
untracked() { git status --porcelain --ignored | grep -E '^(\?\?|!!)'; }
before=$(untracked)
out=$(make --no-print-directory -s deb 2>&1)
tap_result $? "make deb" "$out"
[ "$(untracked)" = "$before" ]
tap_result $? "it leaves nothing in the tree" "$(untracked)"
[ "$(for p in $O/deb/*.deb; do dpkg-deb -f "$p" Package; done | grep -v dbgsym | sort | paste -sd' ')" = "reeve reeve-agent reeve-controller reeve-doc reeve-slurm" ]
tap_result $? "five packages" "$(ls $O/deb)"
out=$(lintian --allow-root --fail-on error,warning --tag-display-limit 0 $O/deb/*.changes 2>&1)
tap_result $? "lintian finds no error and no warning" "$out"
scripts=$(for p in $O/deb/*.deb; do dpkg-deb --ctrl-tarfile "$p" | tar -xO --wildcards './p*' 2>/dev/null; done)
grep -q 'deb-systemd-invoke try-restart' <<<"$scripts" && ! grep -q 'deb-systemd-invoke.*reeve\.slice' <<<"$scripts"
tap_result $? "what they run restarts daemons and never stops the slice of the jobs" "$(grep deb-systemd-invoke <<<"$scripts")"
dist=$(make --no-print-directory -s dist) && tar -tzf "$dist" 2>/dev/null | grep -q '^reeve-[0-9.]*/debian/changelog$'
tap_result $? "make dist: the source as a tarball with the version in its name" "$dist"

# The next version: what was compiled is used again, but for the files that have the number.
mkdir -p $O/deb-next/source "$tree/next"
[ -d $O/deb-next/source/build ] || cp -a $O/deb/source/build $O/deb-next/source/
tar -c --exclude=./build --exclude=./debian -C $O/deb/source . | tar -x -C "$tree/next"
cp -rp debian "$tree/next/"
version=$(sed -n 's/.*REEVE_VERSION "\(.*\)"/\1/p' common/version.h)
next=${version%.*}.$((${version##*.} + 1))
sed -i "s/\"$version\"/\"$next\"/" "$tree/next/common/version.h"
sed "1s/$version/$next/" debian/changelog | cat - debian/changelog >"$tree/next/debian/changelog"
out=$("$tree/next/debian/build.sh" $O/deb-next 2>&1)
tap_result $? "packages of version $next" "$out"

make --no-print-directory -s $O/tests/node/load
install -D -m 755 $O/tests/node/load "$tree/root/usr/local/bin/load"
install -D -m 755 -t "$tree/root/usr/local/lib/reeve-tests" tests/node/node_lib.sh tests/node/guest/deb.sh
install -D -m 644 -t "$tree/root/usr/local/lib/reeve-tests/etc" tests/node/etc/reeve/*
for d in deb deb-next; do
	for p in $O/$d/*.deb; do
		[[ $p == *dbgsym* ]] || install -D -m 644 -t "$tree/root/srv/$d" "$p"
	done
done
printf '#!/bin/sh\nexec /usr/local/lib/reeve-tests/deb.sh %s %s\n' "$version" "$next" >"$tree/root/start.sh"
chmod 755 "$tree/root/start.sh"
tests/vm/vm.sh run --smp 2 --mem 2G --with slurm --timeout "${REEVE_SUITE_S:-1800}" --payload "$tree/root" -- "$tree/root/start.sh" >"$tree/out" 2>&1
status=$?
sed 's/^/    /' "$tree/out"
grep -q '^1\.\.' "$tree/out" && [ $status = 0 ]
tap_result $? "on a virtual node: $(grep -c '^ok ' "$tree/out") of $(grep -cE '^(not )?ok ' "$tree/out")" "exit status $status"
tap_end
