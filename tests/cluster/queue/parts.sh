#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# parts.sh - jobs on several nodes, over the wire: what each node gets and when, one kill for the whole
# job, usage that adds up whatever is lost on the way, and a controller that is killed in between. A real
# controller, on a file and on a PostgreSQL server of our own; nodes are played. TAP.
set -u
cd "$(dirname "$0")/../../.." || exit 1
. tests/cluster/lib/tap_lib.sh
. tests/cluster/lib/live_lib.sh
. tests/cluster/lib/play_lib.sh
. tests/cluster/lib/past_lib.sh
[ "$(id -u)" = 0 ] || { echo "1..0 # SKIP needs root to exchange as several users"; exit 0; }
live_dir parts
live_munge
reeve=$PWD/build/bin/reeve
configure() { # DATABASE NODE-LOST
	cat >"$dir/controller.conf" <<-CONF
		$(live_controller "$1")
		NodeLost = $2
		MaxRequeues = 1
		[Cluster main]
		DefaultResources = jobfs=100MB,walltime=1:00:00
		[Account physics]
		Users = daemon
	CONF
}
amounts='"ncpus":4,"mem_bytes":16000000000,"jobfs_bytes":10000000000,"ngpus":0'
sync() { node_sync wait="$1" node="$2" jobs="${3:-}" reports="${4:-}" boot="${5:-b1}"; } # WAIT NODE [JOBS [REPORTS [BOOT]]]
exchange() { sync 0 "$@"; } # NODE [JOBS [REPORTS [BOOT]]]
report() { # JOB SEQ STATE RUNNING_S CPU_S [KIND [HOST [ATTEMPT]]]
	local limit=none
	[ "${6:-}" != limit ] || limit=vmem
	job_report "$1" "$2" "$3" attempt="${8:-1}" started_s="$start_s" at_s=$((start_s + $4)) running_s="$4" kind="${6:-none}" \
		usage="\"cpu_ns\":$(($5 * 1000000000)),\"rss_peak_bytes\":500000" limit=$limit requested=1000000 reached=1500000 \
		host="${7:-}"
}
submit() { # CHUNKS [MORE]: each of 2 cores, on a node of its own
	job_number "$(ask $daemon POST /v1/jobs "$(job_request resources= env='"A=b"' \
		more=",\"select\":\"$1:ncpus=2:vmem=1000000B\",\"scatter\":true${2:-}")")"
}
job() { ask 0 GET "/v1/jobs/$1"; }
part() { # JOB PART KEYS: of the page of the job
	of_job "$1" "['parts'][$2]$3"
}
of_job() { # JOB KEYS
	job "$1" | tail -n 1 | python3 -c 'import json,sys; j = json.load(sys.stdin)["job"]; print(eval("j" + sys.argv[1]))' "$2"
}
await_allocation() { # JOB: until it is allocated; its nodes are ${at[@]}, the first one runs the command
	until_has '"nodes":' job "$1" || bail "job $1 is not allocated: $out"
	IFS=, read -ra at <<<"$(of_job "$1" "['nodes']")"
}
await_order() { # JOB ATTEMPT WANT NODE [JOBS]: until the node has that order
	until_has "\"job\":$1,\"attempt\":$2,\"want\":\"$3\"" exchange "$4" "${5:-}"
}
runs() { # JOB NODE [ATTEMPT]
	exchange "$2" "$(job_entry "$1" running "${3:-1}")" "$(report "$1" 1 running 0 0 none '' "${3:-1}")" >/dev/null
}
running() { # JOB: until it runs on all its nodes
	local k
	await_allocation "$1"
	for k in "${at[@]:1}" "${at[0]}"; do
		await_order "$1" 1 run "$k" || bail "$k has no order: $out"
		runs "$1" "$k"
	done
}
ends() { # JOB SEQ NODE RUNNING_S CPU_S KIND [ATTEMPT]
	exchange "$3" "$(job_entry "$1" ending "${7:-1}")" "$(report "$1" "$2" ended "$4" "$5" "$6" "$3" "${7:-1}")" >/dev/null
}

suite() { # WHAT DATABASE
	local w=$1 a b waiting k
	start_s=$(date +%s)
	for k in n1 n2; do exchange $k >/dev/null; done

	# ---- start ----
	a=$(submit 2)
	await_allocation "$a"
	await_order "$a" 1 run "${at[1]}"
	tap_result $? "$w: the second node gets its part at once" "$out"
	has "$w: which part is its own, and where the others are" "\"part\":{\"index\":1,\"n\":2,\"hosts\":\"${at[0]}=2,${at[1]}=2\"}" "$out"
	has "$w: its clock outlives that of the job" '"walltime_s":3900' "$out"
	has "$w: with the amounts of its part" '"ncpus":2' "$out"
	has "$w: and the job's environment" '"env":["A=b"]' "$out"
	lacks "$w: it runs no command" '"argv"' "$out"
	lacks "$w: the first one gets nothing yet" "\"job\":$a" "$(exchange "${at[0]}")"
	sync 20 "${at[0]}" >"$dir/waited" &
	waiting=$!
	exchange "${at[1]}" "$(job_entry "$a" starting)" >/dev/null
	is "$w: the job starts" starting "$(of_job "$a" "['state']")"
	runs "$a" "${at[1]}"
	wait $waiting
	out=$(cat "$dir/waited")
	has "$w: when the other part runs, the waiting first node gets its own" "\"job\":$a,\"attempt\":1,\"want\":\"run\",\"request\"" "$out"
	has "$w: with its command" '"argv":["/bin/true"]' "$out"
	has "$w: as part 0" '"part":{"index":0,"n":2,' "$out"
	has "$w: and the walltime that was asked for" '"walltime_s":3600' "$out"
	runs "$a" "${at[0]}"
	is "$w: it runs" running "$(of_job "$a" "['state']")"
	has "$w: it is listed with its nodes" "\"nodes\":\"${at[0]},${at[1]}\"" "$(ask 0 GET "/v1/jobs?node=${at[1]}")"

	# ---- usage, and a controller that is killed ----
	exchange "${at[0]}" "$(job_entry "$a" running)" "$(report "$a" 2 running 10 10)" >/dev/null
	has "$w: a report of the second node is acknowledged" '"seq":2' \
		"$(exchange "${at[1]}" "$(job_entry "$a" running)" "$(report "$a" 2 running 10 15)")"
	kill -KILL "$controller"
	wait "$controller" 2>/dev/null
	live_start || bail "the controller does not start: $(tail "$dir/controller.log")"
	has "$w: the controller killed; said again it changes nothing" '"seq":2' \
		"$(exchange "${at[1]}" "$(job_entry "$a" running)" "$(report "$a" 2 running 10 15)")"
	exchange "${at[0]}" "$(job_entry "$a" running)" "$(report "$a" 2 running 10 10)" >/dev/null
	is "$w: cpu time of both" 25000000000 "$(of_job "$a" "['usage']['cpu_ns']")"
	is "$w: peaks of both" 1000000 "$(of_job "$a" "['usage']['rss_peak_bytes']")"
	is "$w: charged by the first one's time: 10 s of 4 cores" 40000 "$(of_job "$a" "['charge_requested_ms']")"
	is "$w: of the second its own" 15000000000 "$(part "$a" 1 "['usage']['cpu_ns']")"
	has "$w: 25 s of the 40 s of all cores" 62.5 \
		"$(ask 0 GET "/v1/eff?jobs=$a" | tail -n 1 | python3 -c 'import json,sys; print(json.load(sys.stdin)["rows"][0]["cpu_percent"])')"

	# ---- suspended and resumed ----
	ask $daemon POST "/v1/jobs/$a/suspend" >/dev/null
	for k in "${at[@]}"; do
		has "$w: suspended: each node gets it" '"want":"suspend"' "$(exchange "$k" "$(job_entry "$a" running)")"
		exchange "$k" "$(job_entry "$a" suspended)" >/dev/null
	done
	is "$w: it is suspended" suspended "$(of_job "$a" "['state']")"
	ask $daemon POST "/v1/jobs/$a/resume" >/dev/null
	for k in "${at[@]}"; do
		has "$w: resumed: each node gets it" '"want":"run"' "$(exchange "$k" "$(job_entry "$a" suspended)")"
		exchange "$k" "$(job_entry "$a" running)" >/dev/null
	done

	# ---- one kill ----
	sync 20 "${at[0]}" "$(job_entry "$a" running)" >"$dir/waited" &
	waiting=$!
	ends "$a" 3 "${at[1]}" 12 16 limit
	wait $waiting
	out=$(cat "$dir/waited")
	has "$w: a part exceeds its limit: the first node gets cancel" "\"job\":$a,\"attempt\":1,\"want\":\"cancel\"" "$out"
	has "$w: with the reason, and where" "node ${at[1]}: vmem limit exceeded on ${at[1]}" "$out"
	ends "$a" 3 "${at[0]}" 12 12 cancelled
	is "$w: the job's end is that of the part" limit "$(of_job "$a" "['end']['kind']")"
	has "$w: in words" "vmem limit exceeded on ${at[1]}" "$(of_job "$a" "['end']['line']")"
	is "$w: the first one's own end is kept" cancelled "$(part "$a" 0 "['end']['kind']")"
	is "$w: usage of both to the end" 28000000000 "$(of_job "$a" "['usage']['cpu_ns']")"

	# ---- three nodes; the first one ends ----
	exchange n3 >/dev/null
	a=$(submit 3)
	running "$a"
	is "$w: on three nodes" 3 "${#at[@]}"
	sync 20 "${at[2]}" "$(job_entry "$a" running)" >"$dir/waited" &
	waiting=$!
	ends "$a" 2 "${at[0]}" 5 5 exited
	wait $waiting
	has "$w: the command ended: the others get cancel" '"want":"cancel","reason":"the job has ended"' "$(cat "$dir/waited")"
	is "$w: it has ended" exited "$(of_job "$a" "['end']['kind']")"
	ends "$a" 2 "${at[1]}" 6 9 cancelled
	ends "$a" 2 "${at[2]}" 6 8 cancelled
	is "$w: the last words of the others count" 22000000000 "$(of_job "$a" "['usage']['cpu_ns']")"
	is "$w: but not for the time that is charged" 30000 "$(of_job "$a" "['charge_requested_ms']")"

	# ---- cancelled before the first node got it ----
	b=$(submit 3)
	await_allocation "$b"
	ask $daemon POST "/v1/jobs/$b/cancel" >/dev/null
	for k in "${at[@]}"; do
		has "$w: cancelled at its start: each node gets cancel" "\"job\":$b,\"attempt\":1,\"want\":\"cancel\"" "$(exchange "$k")"
		ends "$b" 1 "$k" 0 0 cancelled
	done
	is "$w: it has ended so" cancelled "$(of_job "$b" "['end']['kind']")"

	# ---- a node that is lost ----
	live_stop
	configure "$2" 6
	live_start || bail "the controller does not start: $(tail "$dir/controller.log")"
	b=$(submit 2 ',"requeue":true')
	running "$b"
	local first=${at[0]} lost=${at[1]}
	await_order "$b" 1 cancel "$first" "$(job_entry "$b" running)"
	tap_result $? "$w: a node is lost: the first gets cancel" "$out"
	has "$w: why" "node $lost: lost with its node" "$out"
	ends "$b" 2 "$first" 2 2 cancelled
	has "$w: the attempt ended as lost" '"kind":"node-lost"' "$(job "$b")"
	has "$w: and the job is queued again" queued "$(of_job "$b" "['state']")"
	until_has "\"job\":$b,\"attempt\":1,\"why\":\"its node was lost" exchange "$lost" "$(job_entry "$b" running)"
	tap_result $? "$w: back with its part it is refused" "$out"
	for k in n1 n2 n3; do exchange $k >/dev/null; done
	await_allocation "$b"
	await_order "$b" 2 run "${at[1]}"
	tap_result $? "$w: it is allocated again" "$out"
	ends "$b" 1 "${at[1]}" 0 0 failed 2
	await_order "$b" 2 cancel "${at[0]}"
	tap_result $? "$w: a part that cannot be started brings it down" "$out"
	ends "$b" 1 "${at[0]}" 0 0 cancelled 2
	is "$w: and its end is failed" failed "$(of_job "$b" "['end']['kind']")"
	out=$("$reeve" admin verify --ledger "$2" 2>&1)
	tap_result $? "$w: the sums of the ledger are those of its jobs" "$out"
}

live_open configure "$dir/ledger.db" 60
backdate_dispatch "$dir/ledger.db" 1
suite file "$dir/ledger.db"
live_stop

# ---- the same in PostgreSQL ----
bin_dir=$(echo /usr/lib/postgresql/*/bin | tr ' ' '\n' | tail -n 1)
if [ -x "$bin_dir/initdb" ]; then
	mkdir "$dir/pg" && chown postgres "$dir/pg" && chmod 755 "$dir/pg"
	server() { runuser -u postgres -- "$bin_dir/pg_ctl" -D "$dir/pg/data" -l "$dir/pg/log" -w -m immediate \
		-o "-k $dir/pg -c listen_addresses= -c shared_buffers=16MB" "$1" >"$dir/pg.said" 2>&1; }
	trap 'server stop; live_end' EXIT
	runuser -u postgres -- "$bin_dir/initdb" -D "$dir/pg/data" -A trust -E UTF8 >"$dir/pg.said" 2>&1 && server start ||
		bail "no PostgreSQL server: $(cat "$dir/pg.said")"
	live_open configure "postgresql:///postgres?host=$dir/pg&user=postgres" 60
	backdate_dispatch "postgresql:///postgres?host=$dir/pg&user=postgres" 1
	suite postgres "postgresql:///postgres?host=$dir/pg&user=postgres"
	live_stop
else
	skip "the same in PostgreSQL" "no server: make deps"
fi
tap_end
