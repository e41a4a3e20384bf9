#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# activation.sh - a controller whose sockets another process opened and keeps, as systemd does with reeve-controller.socket: while it
# restarts, connections wait, and no command is refused. TAP.
set -u
cd "$(dirname "$0")/../../.." || exit 1
. tests/cluster/lib/tap_lib.sh
. tests/cluster/lib/live_lib.sh
. tests/cluster/lib/play_lib.sh
[ "$(id -u)" = 0 ] || { echo "1..0 # SKIP needs root to speak as several users"; exit 0; }
live_dir activation
live_munge
export LC_ALL=C.UTF-8 TZ=UTC
conf=$dir/controller.conf
configure() { # [LINE]...
	live_controller >"$conf"
	printf '%s\n' "$@" '[Cluster main]' 'DefaultResources = ncpus=1,jobfs=1MB,vmem=100MB,walltime=1:00:00' '[Account physics]' 'Users = daemon' >>"$conf"
}
reeve() { as 1 timeout 20 "$PWD/build/bin/reeve" "$1" --config "$dir/client.conf" --controller "$url" "${@:2}"; }
log() { cat "$dir/controller.log"; }

# ---- without it ----
live_open configure
printf '[Client]\nMungeSocket = %s/munge.sock\n' "$dir" >"$dir/client.conf"
has "a controller opens its own socket" "listening on 127.0.0.1:$port" "$(log)"
lacks "and says nothing of systemd's" "systemd's" "$(log)"
{ kill -9 "$controller"; wait "$controller"; } 2>/dev/null
has "while it restarts a command is refused" 'Connection refused' "$(reeve jobs 2>&1)"
controller=''

# ---- with it ----
keeper=''
keep() { # ADDRESS...: the sockets are kept, and the controller is started again whenever it ends
	: >"$dir/controller.log"
	tests/cluster/daemons/socket_keeper.py "$dir/kept" "$@" -- build/bin/reeve-controller --config "$conf" 2>>"$dir/controller.log" &
	keeper=$!
}
let_go() { live_end_pid "$keeper"; }
keep "$port"
soon "the controller says that the socket is systemd's" "the socket 127.0.0.1:$port is systemd's: connections wait in it while the controller restarts" log
lacks "and no more, where it is that of Listen" 'in place of' "$(log)"
soon "it answers" '"jobs"' reeve jobs --json
good=0
for i in {1..10}; do
	was=$(cat "$dir/kept")
	kill -9 "$was"
	reeve submit -A physics -N "n$i" --workdir / --hold -- true >>"$dir/ids" 2>>"$dir/failed" && good=$((good + 1))
done
is "ten times killed with SIGKILL: each submission behind it is answered" "10" "$good"
is "and none had to be repeated" "" "$(cat "$dir/failed")"
is "each is in the ledger, once" 10 "$(reeve jobs -n --limit 100 | wc -l)"
is "the number of each is that of its job" "$(sort -n "$dir/ids")" "$(reeve jobs -n -o job --limit 100 --csv | sort -n)"

# Commands without a pause, while it is killed at any moment: what was in the middle of an exchange breaks off; nothing is refused.
loops=()
for i in 1 2 3; do
	while [ ! -e "$dir/enough" ]; do
		if said=$(reeve jobs 2>&1); then echo good; else echo "bad $said" | tr '\n' ' '; echo; fi
	done >"$dir/loop.$i" &
	loops+=($!)
done
for _ in {1..8}; do
	sleep 0.$((RANDOM % 10))
	kill -9 "$(cat "$dir/kept")"
	sleep 1
done
touch "$dir/enough"
wait "${loops[@]}"
has "commands without a pause were answered" good "$(cat "$dir"/loop.*)"
lacks "none was refused" refused "$(cat "$dir"/loop.*)"
broken=$(grep -ch ^bad "$dir"/loop.* | paste -sd+ | bc)
[ "$broken" -le 24 ]
tap_result $? "no more broke off than can have been in the middle of an exchange (8 times 3)" "$(grep -h ^bad "$dir"/loop.*)"
echo "# $(grep -ch ^good "$dir"/loop.* | paste -sd+ | bc) commands answered, $broken broken off by 8 kills"
kill -TERM "$(cat "$dir/kept")"
check "a controller that ends in order loses none either" reeve jobs
let_go

# ---- addresses that differ, and sockets that are wrong ----
sed -i "s/^Listen = .*/Listen = 127.0.0.1:1/" "$conf"
keep "$port"
soon "the socket goes before Listen, and that is said" "it is used in place of Listen = 127.0.0.1:1" log
soon "where it listens is the socket's address" "listening on 127.0.0.1:$port" log
check "there it answers" reeve jobs
let_go
configure "WebSocket = $dir/web.sock" 'WebSocketUser = bin'
keep "$port" "$dir/web.sock"
soon "a second socket with a path is that of the pages' proxy" "the proxy's socket $dir/web.sock is systemd's" log
page() { as "$bin" curl -s -m 20 --unix-socket "$dir/web.sock" -H 'X-Remote-User: daemon' -o /dev/null -w '%{http_code}' http://reeve/web/; }
soon "it serves them" 200 page
kill -9 "$(cat "$dir/kept")"
is "and waits for the next controller too" 200 "$(page)"
is "another user's process gets none" 000 "$(as "$daemon" curl -s -m 20 --unix-socket "$dir/web.sock" -o /dev/null -w '%{http_code}' http://reeve/web/)"
let_go
rm -f "$dir/web.sock"
configure
keep "$port" "$dir/web.sock"
soon "without WebSocket it ends, and says what to set" "systemd passed the socket $dir/web.sock, and WebSocket= is not set: set it and WebSocketUser=" log
let_go
keep "$port" $((port + 1))
soon "two addresses are refused" "systemd passed 127.0.0.1:$((port + 1)) too: the socket unit has one address and one path at most" log
let_go
tap_end
