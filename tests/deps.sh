#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# deps.sh - install what building and testing Reeve need, from Debian's own packages. Safe to run
# again: it looks first, and asks apt only for what is missing.
set -eu
packages='
	build-essential clang llvm bpftool pkg-config
	libbpf-dev libelf-dev zlib1g-dev libsystemd-dev libcgroup-dev libpam0g-dev libhwloc-dev
	libmicrohttpd-dev libgnutls28-dev libxslt1-dev libcurl4-gnutls-dev libjansson-dev libmunge-dev munge
	libsqlite3-dev libpq-dev libslurm-dev postgresql libsmartcols-dev libncurses-dev nettle-dev linux-libc-dev xfslibs-dev
	liblua5.1-0-dev slurmctld slurmd slurmdbd slurm-client slurm-wlm-basic-plugins mariadb-server
	libcmocka-dev libclang-rt-14-dev clang-format clang-tidy cppcheck scdoc debhelper lintian
	qemu-system-x86 mmdebstrap e2fsprogs xfsprogs busybox-static cpio zstd kmod
	valgrind nginx-light openssl curl util-linux procps sqlite3 python3 python3-aiosmtpd prometheus uidmap tmux'
missing=
for p in $packages; do
	dpkg-query -W -f '${db:Status-Status}\n' "$p" 2>/dev/null | grep -qx installed ||
		missing="$missing $p"
done
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
# Services (munge, databases, nginx, prometheus) must not start on a build machine that has none: invoke-rc.d obeys RUNLEVEL.
RUNLEVEL=1 apt-get install -y -qq --no-install-recommends $missing >/dev/null
