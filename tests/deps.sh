#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# deps.sh [build|demo|check] - install the Debian packages that building Reeve, its demos or its tests need; `check`, the default,
# includes `demo`, which includes `build`. Safe to run again: it asks apt only for missing packages.
set -eu
build='
	build-essential clang llvm bpftool pkg-config scdoc
	libbpf-dev libelf-dev zlib1g-dev libsystemd-dev libcgroup-dev libpam0g-dev libhwloc-dev
	libmicrohttpd-dev libgnutls28-dev libxslt1-dev libcurl4-gnutls-dev libjansson-dev libmunge-dev
	libsqlite3-dev libpq-dev libslurm-dev libsmartcols-dev libncurses-dev nettle-dev linux-libc-dev xfslibs-dev
	liblua5.1-0-dev'
demo='
	qemu-system-x86 mmdebstrap e2fsprogs xfsprogs busybox-static cpio zstd kmod uidmap curl util-linux procps'
check='
	munge postgresql slurmctld slurmd slurmdbd slurm-client slurm-wlm-basic-plugins mariadb-server
	libcmocka-dev clang-format clang-tidy cppcheck debhelper lintian git
	valgrind nginx-light openssl sqlite3 python3 python3-aiosmtpd prometheus tmux'
case ${1:-check} in
build) packages=$build ;;
demo) packages="$build $demo" ;;
check) packages="$build $demo $check" ;;
*)
	sed -n '3,4s/^# //p' "$0" >&2
	exit 64
	;;
esac

# The sanitizers' runtime of the clang that this release of Debian has; nothing before apt's first update.
sanitizers() {
	apt-cache depends clang 2>/dev/null | sed -n 's/.*Depends: clang-\([0-9]*\)$/libclang-rt-\1-dev/p'
}
missing_packages() {
	case $packages in *libcmocka-dev*) packages="$packages $(sanitizers)" ;; esac
	for p in $packages; do
		dpkg-query -W -f '${db:Status-Status}\n' "$p" 2>/dev/null | grep -qx installed || printf ' %s' "$p"
	done
}

missing=$(missing_packages)
[ -n "$missing" ] || exit 0
if ! command -v apt-get >/dev/null; then
	echo "deps: this is not Debian: install the equivalents of:$missing" >&2
	exit 1
fi
if [ "$(id -u)" -ne 0 ]; then
	echo "deps: run as root once, or: sudo apt-get install$missing" >&2
	exit 1
fi
echo "deps: installing$missing" >&2
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
missing=$(missing_packages)
# Services (munge, databases, nginx, prometheus) must not start on a build machine that has none: invoke-rc.d obeys RUNLEVEL.
RUNLEVEL=1 apt-get install -y -qq --no-install-recommends $missing >/dev/null
