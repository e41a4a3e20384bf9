#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# group.sh [guide] - the questions of a PI in Debian's Chromium, over half an allocation year of a site: tests/browser/paths_usage.js, or the paths of
# docs/guide_pis.md. Screenshots are in
# build/check/browser. Needs chromium, node and npm, as run.sh. TAP.
# shellcheck disable=SC2317 # functions are called by name
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/lib/tap_lib.sh
. tests/cluster/lib/live_lib.sh
. tests/cluster/lib/play_lib.sh
. tests/cluster/lib/group_lib.sh
skip_all() { echo "1..0 # SKIP $1"; exit 0; }
[ "$(id -u)" = 0 ] || skip_all "needs root to exchange as several users"
chromium=$(command -v chromium) || skip_all "no chromium here: apt-get install chromium"
command -v node npm >/dev/null || skip_all "no node and npm here"
mkdir -p build/browser build/check/browser
script=paths_usage last=
[ "${1:-}" != guide ] || { script=guide last=$PWD/docs/guide_pis.md; }
cp tests/browser/package.json "tests/browser/$script.js" build/browser/
[ -d build/browser/node_modules/axe-core ] || (cd build/browser && npm install --no-audit --no-fund --silent) ||
	skip_all "npm cannot install playwright-core and axe-core"
live_dir group
live_munge
group_open target
node "build/browser/$script.js" "$(as "$daemon" "$dir/reeve" web --print --config "$dir/reeve.conf")" "$PWD/build/check/browser" "$chromium" "${last:-$group_last}"
