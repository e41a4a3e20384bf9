#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# run.sh [SCRIPT] - the pages of a real controller, with jobs of a played node, in Debian's Chromium: tests/browser/pages.js, or SCRIPT.js ("guide":
# the paths of docs/guide_users.md). Screenshots are in
# build/check/browser. Needs chromium, node and npm, and installs playwright-core and axe-core below build/. TAP.
# shellcheck disable=SC2317 # functions are called by soon
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/lib/tap_lib.sh
. tests/cluster/lib/live_lib.sh
. tests/cluster/lib/play_lib.sh
skip_all() { echo "1..0 # SKIP $1"; exit 0; }
[ "$(id -u)" = 0 ] || skip_all "needs root to exchange as several users"
chromium=$(command -v chromium) || skip_all "no chromium here: apt-get install chromium"
command -v node npm >/dev/null || skip_all "no node and npm here"
mkdir -p build/browser build/check/browser
cp tests/browser/package.json build/browser/
[ -d build/browser/node_modules/axe-core ] || (cd build/browser && npm install --no-audit --no-fund --silent) ||
	skip_all "npm cannot install playwright-core and axe-core"
cp "tests/browser/${1:-pages}.js" build/browser/
live_dir browser
live_munge
configure() {
	cat >"$dir/controller.conf" <<-CONF
		$(live_controller)
		[Policy]
		PriorityWeightFairshare = 100000
		[Cluster main]
		BundleCores = 1
		BundleMemory = 4GB
		Queues = normal, express
		DefaultResources = vmem=1GB,jobfs=100MB,walltime=1:00:00
		[Queue express]
		Factor = 3
		[Account physics]
		Users = daemon
		[Account chemistry]
		Users = bin
	CONF
	printf '[Client]\nController = %s\nMungeSocket = %s/munge.sock\n' "$url" "$dir" >"$dir/reeve.conf"
}
live_open configure
amounts='"ncpus":16,"mem_bytes":64000000000,"jobfs_bytes":100000000000,"ngpus":2'
node_sync >/dev/null
node_sync node=n2 >/dev/null
node_sync node=n3 state=drain >/dev/null
for _ in 1 2 3 4 5 6 7 8; do
	ask "$daemon" POST /v1/jobs "$(job_request resources='"ncpus":4,"vmem_bytes":8589934592,"walltime_s":7200')" >/dev/null
done
ask "$daemon" POST /v1/jobs "$(job_request resources='"ncpus":16,"vmem_bytes":8589934592,"walltime_s":72000')" >/dev/null
ask "$bin" POST /v1/jobs "$(job_request account=chemistry)" >/dev/null
is_started() { [[ $(node_sync node="$1") == *'"want":"run"'* ]]; }
wait_started() { for _ in $(seq 100); do is_started "$1" && return; sleep 0.1; done; bail "no job was dispatched to $1"; }
wait_started n1
wait_started n2
use='"cpu_ns":3600000000,"rss_peak_bytes":2589934592,"vmem_peak_bytes":7589934592,"jobfs_peak_bytes":50000000'
use+=',"cores":[{"cpu":0,"ns":900000000},{"cpu":1,"ns":900000000},{"cpu":2,"ns":900000000},{"cpu":3,"ns":900000000}]'
at=$(date +%s)
# Job 1 over 100 minutes: cores busy, idle, suspended, not measured for a while; memory and disk that grow. Job 2 grows until it is killed.
values() { seq "$@" | paste -sd,; } # FIRST STEP LAST
uneven=$(encode_series 60000 5970000 \
	0="$(for i in $(seq 100); do echo $((i == 100 ? 90000 : i < 20 || (i > 40 && i < 60) || i > 70 ? 180000 + i % 7 * 9000 : i > 60 && i <= 70 ? 0 : 20000)); done | paste -sd,)" \
	1="$(values 20000 900 37100),$(printf -- '-,%.0s' {1..10})$(values 40000 30000 2110000)" 2="$(values 3000000 44000 7356000)" \
	3="$(values 100 480 47620)" 6="$(for i in $(seq 100); do echo $((i > 60 && i < 70 ? 60000 : i == 70 ? 20000 : 0)); done | paste -sd,)")
growing=$(encode_series 10000 60000 0=40000,40000,39000,40000,38000,40000 1=400000,800000,1600000,2000000,2400000,2529233 \
	2=2400000,4800000,6800000,7800000,8200000,8486264 3=10,10,10,10,10,10)
node_sync jobs="$(job_entry 1 ended)" reports="$(job_report 1 1 ended started_s=$((at - 1)) running_s=1 usage="$use" \
	more=",\"series\":\"$uneven\"")" >/dev/null
node_sync jobs="$(job_entry 2 ended)" reports="$(job_report 2 1 ended started_s=$((at - 1)) running_s=1 usage="$use" kind=limit limit=vmem \
	requested=8589934592 reached=8689934592 host=n1 more=",\"series\":\"$growing\"")" >/dev/null
node_sync jobs="$(job_entry 3 running)" reports="$(job_report 3 1 running cpus=0-3)" >/dev/null
node "build/browser/${1:-pages}.js" "$(build/bin/reeve web --print --config "$dir/reeve.conf")" "$PWD/build/check/browser" "$chromium" "$PWD/docs/guide_users.md"
