#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# build.sh FOLDER - copies the source to FOLDER/source, without what a build or a test left in it, and builds Debian's packages of
# it into FOLDER. FOLDER/source/build stays, for the next time.
set -eu
mkdir -p "$1/source"
folder=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."
unset MAKEFLAGS MFLAGS MAKELEVEL # of the make that called: its jobs and variables are not the packages'
find "$folder" -maxdepth 1 -type f -delete
find "$folder/source" -mindepth 1 -maxdepth 1 ! -name build -exec rm -rf '{}' +
tar -c --exclude=./build --exclude=./.git --exclude=./.cache --exclude=./.ci . | tar -x -C "$folder/source"
cd "$folder/source"
dpkg-buildpackage -b -nc -us -uc -j"$(nproc)" >../build.log 2>&1 || {
	tail -n 30 ../build.log >&2
	exit 1
}
ls "$folder"/*.deb
