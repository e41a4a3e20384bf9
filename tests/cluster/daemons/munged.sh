#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# munged.sh - a munged that does not answer (stopped): requests that need it wait, all others are answered meanwhile; when it goes on they are
# answered, and a controller ends with requests that wait. TAP. Needs root.
set -u
cd "$(dirname "$0")/../../.." || exit 1
. tests/cluster/lib/tap_lib.sh
. tests/cluster/lib/live_lib.sh
[ "$(id -u)" = 0 ] || { echo "1..0 # SKIP needs root to stop munged"; exit 0; }
live_dir munged
live_tool signed
live_munge
cp -p "$dir/munge.key" "$dir/others.key"
live_munge others # of the clients, as on another machine
configure() { live_controller >"$dir/controller.conf"; }
live_open configure
munged=$(cat "$dir/munge.pid")
on_exit() { kill -CONT "$munged" 2>/dev/null; live_end; }
trap on_exit EXIT
said=$(ask 0 GET /v1/jobs "" good others)
has "a request is answered" 200 "$said"

stop_munged() { # N: munged does not answer, and N requests wait for it: $waiting
	kill -STOP "$munged"
	for ((i = 0; i < $1; i++)); do
		ask 0 GET /v1/jobs "" good others >"$dir/waits.$i" &
		waiting[i]=$!
	done
	sleep 1
}

stop_munged 20
answered=0
for i in 1 2 3 4 5; do curl -sf -m 2 -o /dev/null "$url/metrics" && answered=$((answered + 1)); done
is "beside 20 requests that wait for munged, those that need none are answered" 5 "$answered"
is "none of the 20 is answered" 0 "$(cat "$dir"/waits.* | wc -c)"
kill -CONT "$munged"
wait "${waiting[@]}"
is "munged goes on: all are answered" 20 "$(cat "$dir"/waits.* | grep -c '^200')"
said=$(ask 0 GET /v1/jobs "" good others)
has "and so is the next" 200 "$said"

stop_munged 5
from=$SECONDS
kill "$controller"
for ((i = 0; i < 50; i++)); do
	kill -0 "$controller" 2>/dev/null || break
	sleep 0.1
done
! kill -0 "$controller" 2>/dev/null
tap_result $? "a controller ends within 5 s while requests wait for munged" "$((SECONDS - from)) s"
echo "# it took $((SECONDS - from)) s"
kill -CONT "$munged"
tap_end
