# SPDX-License-Identifier: GPL-2.0-or-later
# live_lib.sh - a real munged and a real controller in a directory of the test's own, for suites that
# speak as several users (root's). To be sourced after tap_lib.sh. shellcheck shell=bash
#
#	live_dir NAME			sets $dir; taken away at the end, with all that was started
#	live_munge [KEY]		a munged of its own: $dir/KEY.sock (default: munge)
#	live_open CONFIGURE [ARG]...	a free $port and $url; CONFIGURE ARG... writes a configuration to
#					$dir/controller.conf; the controller answers, or the suite bails
#	live_controller [DATABASE]	prints the section [Controller] that most suites have, for a configuration
#	live_start [CONFIG]		the controller again, on that port; 1: it does not answer within $live_start_s
#	live_stop			and away
#	web_enter JAR LINK		enters the pages with curl's file of cookies
#	as UID COMMAND...		ask UID METHOD PATH [BODY]: one signed exchange
controller='' port='' url='' live_start_s=60
binary=${REEVE_CONTROLLER_BINARY:-$PWD/build/bin/reeve-controller}
daemon=1 bin=2 stranger=65534
live_end_pid() { # PID: TERM, and wait until it is gone
	kill "$1" 2>/dev/null
	for _ in $(seq 200); do kill -0 "$1" 2>/dev/null || return; sleep 0.02; done
	kill -9 "$1" 2>/dev/null
}
live_stop() {
	[ -z "$controller" ] || live_end_pid "$controller"
	controller=
}
live_end() {
	live_stop
	for f in "$dir"/*.pid; do [ -s "$f" ] && live_end_pid "$(cat "$f")"; done
	for f in $(builtin jobs -p); do live_end_pid "$f"; done # what the suite left running
	wait
	rm -rf "$dir"
}
live_dir() {
	dir=$(mktemp -d "/tmp/reeve-$1-XXXXXX") && chmod 755 "$dir"
	trap live_end EXIT
	trap 'exit 1' INT TERM
}
live_munge() {
	local k=${1:-munge}
	[ -s "$dir/$k.key" ] || { dd if=/dev/urandom of="$dir/$k.key" bs=128 count=1 2>/dev/null && chmod 600 "$dir/$k.key"; }
	munged --force --key-file="$dir/$k.key" --socket="$dir/$k.sock" --pid-file="$dir/$k.pid" \
		--log-file="$dir/$k.log" --seed-file="$dir/$k.seed" 2>"$dir/$k.err" ||
		bail "munged does not start: $(cat "$dir/$k.err")"
}
live_controller() { # [DATABASE]: any node may register, root is the operator
	printf '[Controller]\nListen = 127.0.0.1:%s\nDatabase = %s\nMungeSocket = %s/munge.sock\nOperators = root\nAcceptNodes = any\n' \
		"$port" "${1:-$dir/ledger.db}" "$dir"
}
live_start() {
	local end=$((SECONDS + live_start_s))
	"$binary" --config "${1:-$dir/controller.conf}" 2>>"$dir/controller.log" &
	controller=$!
	while kill -0 "$controller" 2>/dev/null && [ $SECONDS -lt $end ]; do
		curl -s -o /dev/null "$url/metrics" && return
		sleep 0.02
	done
	live_stop
	return 1
}
live_open() {
	live_stop
	for _ in $(seq 20); do
		port=$((20000 + RANDOM % 12000)) # below those that the kernel gives to clients
		url=http://127.0.0.1:$port
		curl -s -m 5 -o /dev/null "$url"
		[ $? = 7 ] || continue # 7: refused. A service that accepts and is silent holds the port too.
		"$@"
		live_start && return
	done
	bail "the controller does not start: $(cat "$dir/controller.log")"
}
web_enter() { # JAR LINK: as a browser that opens the link of `reeve web` and presses the button; prints the status
	curl -s -o /dev/null -c "$1" "$2"
	curl -s -o /dev/null -w '%{http_code}' -b "$1" -c "$1" -d "ticket=${2##*=}" "${2%%\?*}"
}
as() {
	local uid=$1
	shift
	if [ "$uid" = 0 ]; then "$@"; else setpriv --reuid "$uid" --regid "$uid" --clear-groups "$@"; fi
}
live_tool() { # NAME|FILE.c [FLAG]...: tests/cluster/lib/NAME.c, or the file, as $dir/NAME
	local source=tests/cluster/lib/$1.c name
	[[ $1 != *.c ]] || source=$1
	shift
	name=$(basename "$source" .c)
	${CC:-cc} -std=gnu17 -D_GNU_SOURCE -O1 "$@" -I. -o "$dir/$name" "$source" build/common/http/*.o \
		build/common/auth/auth.o build/common/err.o build/common/utf8.o build/common/wire/*.o build/common/wire/json/*.o build/common/model/*.o \
		-lcurl -ljansson -lmunge -lnettle -lz -lsystemd -lm || bail "$source does not compile"
	chmod 755 "$dir/$name"
}
ask() { live_ask "$@"; }
live_ask() { # UID METHOD PATH [BODY [HOW [KEY]]]; what was said besides the answer is in $dir/said
	local body=
	[ -x "$dir/signed" ] || live_tool signed
	if [ -n "${4:-}" ]; then
		body=$dir/body.$BASHPID
		printf '%s' "$4" >"$body"
		chmod 644 "$body"
	fi
	as "$1" "$dir/signed" "$url" "$dir/${6:-munge}.sock" "$2" "$3" "$body" "${5:-good}" 2>"$dir/said"
	rm -f "$body"
}
