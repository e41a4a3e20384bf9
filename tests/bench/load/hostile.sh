# SPDX-License-Identifier: GPL-2.0-or-later
# hostile.sh - users who try to stop the controller's event loop, beside the fleet of load.sh, which sources this file: LOAD_HOSTILE=N queues
# N jobs. Each function below is one kind of load, by users of their own; hostile_stops prints how long the loop stood still meanwhile, by
# what ran. shellcheck shell=bash
# shellcheck disable=SC2154 # dir, url: of load.sh
hostile_accounts=2000
hostile_configure() {
	local i
	for i in $(seq $hostile_accounts); do printf '[Account more-%s]\nUsers = %s\n' "$i" "${users// /,}"; done
}
hostile_request() { # RESOURCES [MORE] [ACCOUNT]
	printf '{"schema":"reeve/1","request":{"cluster":"main","account":"%s","name":"hostile","argv":["/bin/true"],"env":[],"workdir":"/"%s%s}}' \
		"$3" "${1:+,\"resources\":{$1}}" "$2"
}
hostile_submit() { # USER RESOURCES [MORE]: prints the job's number
	ask "$(id -u "$1")" POST /v1/jobs "$(hostile_request "$2" "${3:-}" "of-$1")" "" others | grep -o '"job":[0-9]*' | head -n 1 | cut -d: -f2
}
hostile_ask() { # USER METHOD PATH [BODY]
	timed "hostile" ask "$(id -u "$1")" "$2" "$3" "${4:-}" "" others
}
hostile_queue() { # N: as arrays of ten users
	local u
	for u in $users; do hostile_submit "$u" '"ncpus":1' ",\"array\":{\"first\":1,\"last\":$(($1 / 10))}" >/dev/null; done
}
# Jobs of eight kinds of chunks: there is room for each kind, and for all together hardly ever.
hostile_kinds() { # N
	local i k text
	for i in $(seq "$1"); do
		[ ! -e "$dir/over" ] || return
		text=
		for k in 1 2 3 4 5 6 7 8; do text=$text${text:++}$((nodes / 5 + i)):ncpus=$((k % 2 ? 1 : 3)):vmem=$((i + k))GB; done
		hostile_submit man '' ",\"select\":\"$text\"" >>"$dir/kinds"
	done
}
hostile_why() { # USER
	local job
	while [ ! -e "$dir/over" ]; do
		# shellcheck disable=SC2013 # numbers
		for job in $(cat "$dir/kinds" 2>/dev/null); do
			hostile_ask "$1" GET "/v1/jobs/$job/why"
			[ ! -e "$dir/over" ] || return
		done
		sleep 0.1
	done
}
# Jobs that each wait for 256 others, which then end at once.
hostile_storm() { # USER N
	local i n after='' targets=() from
	for i in $(seq 256); do
		targets+=("$(hostile_submit "$1" '"ncpus":1' ',"hold":true')")
		after=$after${after:+,}"{\"kind\":\"afterok\",\"job\":${targets[-1]}}"
	done
	for n in $(seq "$2"); do
		hostile_submit "$1" '"ncpus":1' ",\"after\":[$after]" >/dev/null
		[ ! -e "$dir/over" ] || break
	done
	from=$SECONDS
	for i in "${targets[@]}"; do
		[ ! -e "$dir/over" ] || break # nodes that say no more would be lost
		ask "$(id -u "$1")" POST "/v1/jobs/$i/cancel" '{"schema":"reeve/1"}' "" others >/dev/null
	done
	echo "${#targets[@]} jobs with $n dependents each cancelled within $((SECONDS - from)) s"
}
# Arrays that are cancelled, held and released while their tasks start.
hostile_arrays() { # USER
	local job what
	while [ ! -e "$dir/over" ]; do
		job=$(hostile_submit "$1" '"ncpus":1' ',"array":{"first":1,"last":50000}')
		for what in hold release cancel; do
			[ -z "$job" ] || hostile_ask "$1" POST "/v1/jobs/$job/$what" '{"schema":"reeve/1"}'
			sleep 1
		done
	done
}
# Questions about much: by the operator and by users.
hostile_questions() { # USER
	local at
	while [ ! -e "$dir/over" ]; do
		for at in /v1/jobs?limit=0 /v1/jobs?all=1\&limit=0 /v1/usage?start=2000-01-01\&end=2030-01-01\&monthly=1\&by=user,cluster /v1/eff \
			/v1/share?all=1 /v1/prio /v1/quota /v1/balances /v1/utilisation?start=2000-01-01\&end=2030-01-01 /v1/nodes /v1/nodes/jobs \
			/v1/nodes/watch /v1/cluster /v1/accounts /v1/accounts/log /v1/adjustments; do
			hostile_ask "$1" GET "$at"
			[ ! -e "$dir/over" ] || return
		done
	done
}
hostile_start() {
	hostile_queue "$LOAD_HOSTILE"
	hostile_kinds 40 &
	hostile_why man >"$dir/times.why" &
	hostile_why root >"$dir/times.why-root" &
	hostile_storm games 1500 &
	hostile_arrays proxy >"$dir/times.arrays" &
	hostile_questions root >"$dir/times.questions-root" &
	hostile_questions sys >"$dir/times.questions" &
}
hostile_stops() { # what metrics.reconnected has, longest first
	sed -nE 's/^reeve_loop_longest_stop_seconds\{ran="([^"]*)"\} (.*)/\2 \1/p' "$dir/metrics.$1" | sort -rn | head -n 12 | awk '
		NR == 1 { printf "longest stop of the event loop: %.0f ms (x%.2f of 100), %s\n", $1 * 1e3, $1 * 10, $2; next }
		{ printf "   %.0f ms %s\n", $1 * 1e3, $2 }'
	grep -h 'the event loop stood still' "$dir/controller.log" | tail -n 5
}
