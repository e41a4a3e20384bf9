#!/bin/bash
# parts.sh - jobs on several nodes, over the wire: what each node gets and when, one kill for the whole
# job, usage that adds up whatever is lost on the way, and a controller that is killed in between. A real
# controller, on a file and on a PostgreSQL server of our own; nodes are played. TAP.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/tap_lib.sh
. tests/cluster/live_lib.sh
. tests/cluster/past_lib.sh
[ "$(id -u)" = 0 ] || { echo "1..0 # SKIP needs root to speak as several users"; exit 0; }
live_dir parts
live_munge
reeve=$PWD/build/bin/reeve
configure() { # DATABASE NODE-LOST
	cat >"$dir/controller.conf" <<-CONF
		[Controller]
		Listen = 127.0.0.1:$port
		Database = $1
		MungeSocket = $dir/munge.sock
		Operators = root
		AcceptNodes = any
		NodeLost = $2
		MaxRequeues = 1
		[Cluster main]
		DefaultResources = jobfs=100MB,walltime=1:00:00
		[Account physics]
		Users = daemon
	CONF
}
amounts='"ncpus":4,"mem_bytes":16000000000,"jobfs_bytes":10000000000,"ngpus":0'
sync() { # WAIT NODE [JOBS [REPORTS [BOOT]]]
	ask 0 POST "/v1/node/sync?wait=$1" "{\"schema\":\"reeve/1\",\"node\":\"$2\",\"boot\":\"${5:-b1}\",\"number\":$(date +%s%N),\
\"version\":\"t\",\"capacity\":{$amounts},\"free\":{$amounts},\"state\":\"up\",\"tier\":1,\"notes\":[],\"jobs\":[${3:-}],\
\"reports\":[${4:-}],\"output\":[]}"
}
speak() { sync 0 "$@"; } # NODE [JOBS [REPORTS [BOOT]]]
hold() { echo "{\"job\":$1,\"attempt\":${3:-1},\"state\":\"$2\"}"; } # JOB STATE [ATTEMPT]
report() { # JOB SEQ STATE RUNNING_S CPU_S [KIND [HOST [ATTEMPT]]]
	local ended=0 limit=none
	[ "$3" != ended ] || ended=$((start_s + $4))000000000
	[ "${6:-}" != limit ] || limit=vmem
	echo "{\"job\":$1,\"attempt\":${8:-1},\"seq\":$2,\"at_ns\":$((start_s + $4))000000000,\"state\":\"$3\",\
\"started_ns\":${start_s}000000000,\"ended_ns\":$ended,\"running_ns\":$(($4 * 1000000000)),\"suspended_ns\":0,\
\"usage\":{\"cpu_ns\":$(($5 * 1000000000)),\"rss_peak_bytes\":500000},\"end\":{\"kind\":\"${6:-none}\",\"exit_status\":0,\"signal\":0,\
\"reason\":{\"limit\":\"$limit\",\"requested\":1000000,\"reached\":1500000,\"at_ns\":0,\"host\":\"${7:-}\",\"n_procs\":0,\
\"procs\":[],\"text\":\"\"}},\"cpus\":\"0-1\",\"note\":\"\"}"
}
submit() { # CHUNKS [MORE]: each of 2 cores, on a node of its own
	ask $daemon POST /v1/jobs "{\"schema\":\"reeve/1\",\"request\":{\"cluster\":\"main\",\"account\":\"physics\",\
\"queue\":\"normal\",\"name\":\"t\",\"resources\":{},\"select\":\"$1:ncpus=2:vmem=1000000B\",\"scatter\":true,\
\"vmem_policy\":\"kill\",\"stream\":false,\"join\":false,\"argv\":[\"/bin/true\"],\"env\":[\"A=b\"],\"workdir\":\"/\"${2:-}}}" >"$dir/submitted"
	grep -o '"job":[0-9]*' "$dir/submitted" | cut -d: -f2
}
job() { ask 0 GET "/v1/jobs/$1"; }
part() { # JOB PART KEYS: of the page of the job
	of_job "$1" "['parts'][$2]$3"
}
of_job() { # JOB KEYS
	job "$1" | tail -n 1 | python3 -c 'import json,sys; j = json.load(sys.stdin)["job"]; print(eval("j" + sys.argv[1]))' "$2"
}
until_has() { # NEEDLE COMMAND...
	for _ in $(seq 200); do
		out=$("${@:2}")
		[[ $out == *"$1"* ]] && return
		sleep 0.1
	done
	return 1
}
placed() { # JOB: until it is given; its nodes are ${at[@]}, the first one runs the command
	until_has '"nodes":' job "$1" || bail "job $1 is not given: $out"
	IFS=, read -ra at <<<"$(of_job "$1" "['nodes']")"
}
told() { # JOB ATTEMPT WANT NODE [JOBS]: until the node is
	until_has "\"job\":$1,\"attempt\":$2,\"want\":\"$3\"" speak "$4" "${5:-}"
}
runs() { # JOB NODE [ATTEMPT]
	speak "$2" "$(hold "$1" running "${3:-1}")" "$(report "$1" 1 running 0 0 none '' "${3:-1}")" >/dev/null
}
running() { # JOB: until it runs on all its nodes
	local k
	placed "$1"
	for k in "${at[@]:1}" "${at[0]}"; do
		told "$1" 1 run "$k" || bail "$k is not told: $out"
		runs "$1" "$k"
	done
}
ends() { # JOB SEQ NODE RUNNING_S CPU_S KIND [ATTEMPT]
	speak "$3" "$(hold "$1" ending "${7:-1}")" "$(report "$1" "$2" ended "$4" "$5" "$6" "$3" "${7:-1}")" >/dev/null
}

suite() { # WHAT DATABASE
	local w=$1 a b waiting k
	start_s=$(date +%s)
	for k in n1 n2; do speak $k >/dev/null; done

	# ---- start ----
	a=$(submit 2)
	placed "$a"
	told "$a" 1 run "${at[1]}"
	tap_result $? "$w: the second node gets its part at once" "$out"
	has "$w: which part is its own, and where the others are" "\"part\":{\"index\":1,\"n\":2,\"hosts\":\"${at[0]}=2,${at[1]}=2\"}" "$out"
	has "$w: its clock outlives that of the job" '"walltime_s":3900' "$out"
	has "$w: with the amounts of its part" '"ncpus":2' "$out"
	has "$w: and the job's environment" '"env":["A=b"]' "$out"
	lacks "$w: it runs no command" '"argv"' "$out"
	lacks "$w: the first one is not told yet" "\"job\":$a" "$(speak "${at[0]}")"
	sync 20 "${at[0]}" >"$dir/waited" &
	waiting=$!
	speak "${at[1]}" "$(hold "$a" starting)" >/dev/null
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
	speak "${at[0]}" "$(hold "$a" running)" "$(report "$a" 2 running 10 10)" >/dev/null
	has "$w: a report of the second node is acknowledged" '"seq":2' \
		"$(speak "${at[1]}" "$(hold "$a" running)" "$(report "$a" 2 running 10 15)")"
	kill -KILL "$controller"
	wait "$controller" 2>/dev/null
	live_start || bail "the controller does not start: $(tail "$dir/controller.log")"
	has "$w: the controller killed; said again it changes nothing" '"seq":2' \
		"$(speak "${at[1]}" "$(hold "$a" running)" "$(report "$a" 2 running 10 15)")"
	speak "${at[0]}" "$(hold "$a" running)" "$(report "$a" 2 running 10 10)" >/dev/null
	is "$w: cpu time of both" 25000000000 "$(of_job "$a" "['usage']['cpu_ns']")"
	is "$w: peaks of both" 1000000 "$(of_job "$a" "['usage']['rss_peak_bytes']")"
	is "$w: charged by the first one's time: 10 s of 4 cores" 40000 "$(of_job "$a" "['charge_requested_ms']")"
	is "$w: of the second its own" 15000000000 "$(part "$a" 1 "['usage']['cpu_ns']")"
	has "$w: 25 s of the 40 s of all cores" 62.5 \
		"$(ask 0 GET "/v1/eff?jobs=$a" | tail -n 1 | python3 -c 'import json,sys; print(json.load(sys.stdin)["rows"][0]["cpu_percent"])')"

	# ---- suspended and resumed ----
	ask $daemon POST "/v1/jobs/$a/suspend" >/dev/null
	for k in "${at[@]}"; do
		has "$w: suspended: each node gets it" '"want":"suspend"' "$(speak "$k" "$(hold "$a" running)")"
		speak "$k" "$(hold "$a" suspended)" >/dev/null
	done
	is "$w: it is suspended" suspended "$(of_job "$a" "['state']")"
	ask $daemon POST "/v1/jobs/$a/resume" >/dev/null
	for k in "${at[@]}"; do
		has "$w: resumed: each node gets it" '"want":"run"' "$(speak "$k" "$(hold "$a" suspended)")"
		speak "$k" "$(hold "$a" running)" >/dev/null
	done

	# ---- one kill ----
	sync 20 "${at[0]}" "$(hold "$a" running)" >"$dir/waited" &
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
	speak n3 >/dev/null
	a=$(submit 3)
	running "$a"
	is "$w: on three nodes" 3 "${#at[@]}"
	sync 20 "${at[2]}" "$(hold "$a" running)" >"$dir/waited" &
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
	placed "$b"
	ask $daemon POST "/v1/jobs/$b/cancel" >/dev/null
	for k in "${at[@]}"; do
		has "$w: cancelled at its start: each node gets cancel" "\"job\":$b,\"attempt\":1,\"want\":\"cancel\"" "$(speak "$k")"
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
	told "$b" 1 cancel "$first" "$(hold "$b" running)"
	tap_result $? "$w: a node is lost: the first gets cancel" "$out"
	has "$w: why" "node $lost: lost with its node" "$out"
	ends "$b" 2 "$first" 2 2 cancelled
	has "$w: the attempt ended as lost" '"kind":"node-lost"' "$(job "$b")"
	has "$w: and the job is queued again" queued "$(of_job "$b" "['state']")"
	until_has "\"job\":$b,\"attempt\":1,\"why\":\"its node was lost" speak "$lost" "$(hold "$b" running)"
	tap_result $? "$w: back with its part it is refused" "$out"
	for k in n1 n2 n3; do speak $k >/dev/null; done
	placed "$b"
	told "$b" 2 run "${at[1]}"
	tap_result $? "$w: it is given again" "$out"
	ends "$b" 1 "${at[1]}" 0 0 failed 2
	told "$b" 2 cancel "${at[0]}"
	tap_result $? "$w: a part that cannot be started brings it down" "$out"
	ends "$b" 1 "${at[0]}" 0 0 cancelled 2
	is "$w: and its end is failed" failed "$(of_job "$b" "['end']['kind']")"
	out=$("$reeve" admin verify --ledger "$2" 2>&1)
	tap_result $? "$w: the sums of the ledger are those of its jobs" "$out"
}

live_open configure "$dir/ledger.db" 60
given_long_ago "$dir/ledger.db" 1
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
	given_long_ago "postgresql:///postgres?host=$dir/pg&user=postgres" 1
	suite postgres "postgresql:///postgres?host=$dir/pg&user=postgres"
	live_stop
else
	skip "the same in PostgreSQL" "no server: make deps"
fi
tap_end
