#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# build.sh SUITE [compile|quick|demo|shell] - builds Reeve inside a root directory of another Debian release (bookworm, trixie).
#   compile  installs the packages of `tests/deps.sh build` and compiles and links every program (default)
#   quick    the same, then `make check-quick`
#   demo     the same, then `make demo`
#   shell    a shell there
# mmdebstrap makes the root once, in REEVE_CACHE (default: .cache in the repository). The tree is /src there, with a build directory
# of that release. Prints TAP. Needs root.
set -eu
cd "$(dirname "$0")/../.."
suite=${1:-} what=${2:-compile}
case $suite in bookworm | trixie) ;; *) sed -n '3,9s/^# \{0,1\}//p' "$0" >&2 && exit 64 ;; esac
case $what in
compile) run='tests/deps.sh build && make -s --no-print-directory CFLAGS="-O2 -g0" all' ;;
quick) run='make --no-print-directory check-quick' ;;
demo) run='make --no-print-directory demo' ;;
shell) run='exec bash' ;;
*) echo "build.sh: '$what' is not compile, quick, demo or shell" >&2 && exit 64 ;;
esac
[ "$(id -u)" -eq 0 ] || { echo "1..0 # SKIP a root of another release needs root"; exit 0; }
command -v mmdebstrap >/dev/null || { echo "1..0 # SKIP no mmdebstrap: make deps"; exit 0; }
cache=${REEVE_CACHE:-$PWD/.cache}
root=$cache/release-$suite
mkdir -p "$cache" build .cache
exec 9>"$cache/release-$suite.lock"
flock 9

if [ ! -e "$root/complete" ]; then
	# The mirror and the settings by which this machine fetches packages.
	mirror=$(apt-get indextargets --format '$(REPO_URI)' 2>/dev/null | grep -m1 '/debian/\?$' || true)
	rm -rf "$root"
	apt-config dump --format '%F "%v";%n' | grep -E '^(Acquire|APT::Authentication)::' |
		grep -v '^Acquire::IndexTargets' >"$cache/release-$suite.apt" || true
	[ -z "$mirror" ] || APT_CONFIG=$cache/release-$suite.apt /usr/lib/apt/apt-helper download-file "${mirror}dists/$suite/InRelease" \
		"$cache/release-$suite.in" >/dev/null 2>&1 || { echo "1..0 # SKIP no mirror of $suite answers" && exit 0; }
	echo "# making a root directory of $suite in $root (once, about a minute)"
	mmdebstrap --quiet --variant=apt --include=make --aptopt="$cache/release-$suite.apt" "$suite" "$root" ${mirror:+"$mirror"} >&2 ||
		{ echo "not ok 1 - a root directory of $suite is made"; exit 1; }
	touch "$root/complete"
fi

mkdir -p "$root/src" "$root/build" "$root/cache"
status=0
# shellcheck disable=SC2016
unshare --mount --propagation private bash -euc '
	root=$1 tree=$2 run=$3
	for d in proc sys dev; do mount --rbind "/$d" "$root/$d"; done
	mount -t tmpfs tmpfs "$root/run"
	mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
	cp /etc/resolv.conf "$root/etc/resolv.conf" 2>/dev/null || true
	mount --bind "$tree" "$root/src"
	mount --bind "$root/build" "$root/src/build"
	mount --bind "$root/cache" "$root/src/.cache"
	exec chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 TERM="${TERM:-dumb}" bash -c "cd /src && $run"
' bash "$root" "$PWD" "$run" || status=$?
[ "$what" != shell ] || exit $status
[ $status -eq 0 ] && echo "ok 1 - Reeve on $suite: $what" || echo "not ok 1 - Reeve on $suite: $what (exit status $status)"
echo "1..1"
exit $status
