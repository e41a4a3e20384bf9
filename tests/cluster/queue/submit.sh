#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# submit.sh - what is accepted and when it may start: holds, dependencies, arrays, queue limits. A
# real munged and a real controller, the command as several users, and a client that plays the node.
# Needs root (to be several users) and build/bin; uses loopback only. TAP.
set -u
cd "$(dirname "$0")/../../.." || exit 1
. tests/cluster/lib/tap_lib.sh
. tests/cluster/lib/live_lib.sh
. tests/cluster/lib/play_lib.sh
[ "$(id -u)" = 0 ] || { echo "1..0 # SKIP needs root to speak as several users"; exit 0; }
live_dir submit
live_tool signed
live_munge
export REEVE_QUEUE_CHECK=1 # the kept queue is compared with the ledger in each cycle
export TZ=UTC LC_ALL=C.UTF-8
database() { # NAME: a file; or, with REEVE_TEST_POSTGRES, a schema of its own in PostgreSQL
	local schema=q$$_$1
	[ -n "${REEVE_TEST_POSTGRES:-}" ] || { echo "$dir/$1.db"; return; }
	psql -q "$REEVE_TEST_POSTGRES" -c "CREATE SCHEMA IF NOT EXISTS $schema" 2>/dev/null >&2
	echo "$REEVE_TEST_POSTGRES&options=-csearch_path%3D$schema"
}
configure() { # NAME [more lines of [Controller]]
	cat >"$dir/controller.conf" <<-CONF
		$(live_controller "$(database "$1")")
		${2:-}
		[Cluster main]
		BundleCores = 1
		BundleMemory = 4GB
		DefaultResources = ncpus=1,vmem=1GB,jobfs=1MB,walltime=1:00:00
		[Account physics]
		Users = daemon, bin
	CONF
}
live_open configure main
install -m 755 build/bin/reeve "$dir/reeve"
reeve() { # UID WORDS...
	(cd / && as "$1" env HOME="$dir" REEVE_CONTROLLER="$url" "$dir/reeve" "${@:2}" --config "$dir/reeve.conf" 2>&1)
}
printf '[Client]\nMungeSocket = %s\n' "$dir/munge.sock" >"$dir/reeve.conf"
chmod 644 "$dir/reeve.conf"
submit() { # UID OPTIONS...
	(cd / && as "$1" env HOME="$dir" REEVE_CONTROLLER="$url" "$dir/reeve" submit --config "$dir/reeve.conf" "${@:2}" -- true 2>&1)
}
amounts='"ncpus":8,"mem_bytes":64000000000,"jobfs_bytes":100000000000,"ngpus":0,"pids":70000'
now=$(date +%s)
sync() { node_sync jobs="$1" reports="$2"; } # JOBS REPORTS: what the node has and reports; prints the answer
started_in() { grep -o '"job":[0-9]*,"attempt":[0-9]*,"want":"run"' <<<"$1" | grep -o '"job":[0-9]*' | cut -d: -f2 | sort -nu | tr '\n' ' '; }
ended() { job_report "$1" 9 ended running_s=1 exit_status="$2" cpus=0; } # JOB STATUS: its last report
until_started() { # JOB: polls until the node has it
	for _ in $(seq 100); do
		case " $(started_in "$(sync '' '')")" in *" $1 "*) return 0 ;; esac
		sleep 0.05
	done
	return 1
}
run_to_end() { until_started "$1" && sync '' "$(ended "$1" "$2")" >/dev/null; }
until_state() { # JOB STATE
	for _ in $(seq 100); do
		[ "$(field "$1" state)" = "\"$2\"" ] && return 0
		sleep 0.05
	done
	return 1
}
field() { # JOB KEY: of its document
	ask 0 GET "/v1/jobs/$1" | grep -o "\"$2\":[^,}]*" | head -n 1 | cut -d: -f2-
}

# ---- holds ----
is "a job is held from the start" 1 "$(submit $daemon -h)"
has "the job shows its holder and since when" "held by daemon since 20" "$(reeve $daemon job 1)"
has "why says it too" "why       held by daemon since 20" "$(reeve $daemon why 1)"
is "no node gets it" "" "$(sync '' '' >/dev/null; started_in "$(sync '' '')")"
has "another user cannot release it" "no job 1" "$(reeve $bin release 1)"
is "release reports it" "1,released" "$(reeve $daemon release 1 --csv --noheader)"
check "then it is given" until_started 1
has "a job that runs is not held any more" "not queued any more" "$(reeve $daemon hold 1)"
sync '' "$(ended 1 0)" >/dev/null
is "an operator holds another's" "2,held" "$(submit $daemon -h >/dev/null; reeve 0 hold 2 --csv -n)"
has "the job says that it was an operator" "held by operator root since" "$(reeve $daemon job 2)"
has "its owner cannot release it" "held by operator root" "$(reeve $daemon release 2)"
reeve $daemon release 2 >/dev/null
is "... and that is not permitted" 5 $?
is "the operator can" "2,released" "$(reeve 0 release 2 --csv -n)"
check "... which lets it go, though its owner held it too" run_to_end 2 0
has "a job that is none" "no job 99" "$(reeve $daemon hold 99)"
has "a number that is none" "'1x' is not a job number" "$(reeve $daemon hold 1x)"
live_stop
submit_held=3
live_start || bail "the controller does not start again"
is "job 3, held" $submit_held "$(submit $daemon --hold)"
live_stop; live_start
has "a hold outlives the controller" "held by daemon" "$(reeve $daemon job 3)"
reeve $daemon cancel 2 3 >/dev/null

# ---- more processes than a node's table has room for ----
has "pids above what any node holds are refused" "pids=70001, but no node holds more than 70000 processes and threads of its jobs" \
	"$(submit $daemon -l pids=70001)"

# ---- dependencies ----
has "an unknown job is refused by name" "afterok: no job 77" "$(submit $daemon -W depend=afterok:77)"
has "another's job is as unknown" "no job 3" "$(submit $bin --after-ok 3)"
has "one that failed is refused with its end" "job 3 ended well (afterok), and that one was cancelled: cancelled by daemon" "$(submit $daemon --after-ok 3)"
has "another kind is refused with those there are" "kinds are afterok and afterany" "$(submit $daemon -W depend=afternotok:1)"
has "a number is missing" "a job number is missing" "$(submit $daemon -W depend=afterok:)"
has "an element that there is not" "no job 1[5]" "$(submit $daemon --after-ok '1[5]')"
is "who ended well is not waited for" 4 "$(submit $daemon -W depend=afterok:1,afterany:3)"
check "... and the job starts at once" until_started 4
is "chain: 5 waits for 4" 5 "$(submit $daemon --after-ok 4)"
is "6 for 5" 6 "$(submit $daemon --after-ok 5)"
is "7 for any end of 6, and 1" 7 "$(submit $daemon -W depend=afterany:6,afterok:1)"
has "the job says what it waits for" "waits for job 4 to end well (afterok)" "$(reeve $daemon job 5)"
has "... and so does why" "why       waits for job 5 to end well (afterok)" "$(reeve $daemon why 6)"
is "no job behind it starts" "4 " "$(started_in "$(sync '' '')")"
sync '' "$(ended 4 3)" >/dev/null
check "the end of 4 ends 5" until_state 5 ended
check "... and 6" until_state 6 ended
has "with a sentence: which job, and how it ended" \
	"never started: it was to run once job 4 ended well (afterok), and that one ended by itself with exit status 3" "$(reeve $daemon job 5)"
has "its result is a word" dependency-failed "$(reeve $daemon jobs -a --csv -o job,result | grep '^6,')"
check "7 asked for any end, and starts" run_to_end 7 0

# ---- arrays ----
submit $daemon -J 0-2 -N step >"$dir/said" 
is "an array has one number" 8 "$(cat "$dir/said")"
is "its elements have the next ones" 12 "$(submit $daemon -h)"
check "an element is given" until_started 9
out=$(sync '' '')
has "with its index in the environment" 'REEVE_ARRAY_INDEX=0' "$out"
has "as PBS calls it, too" 'PBS_ARRAY_INDEX=2' "$out"
has "with output of its own" '"out_path":"step.o8.1"' "$out"
is "all three start" "9 10 11 " "$(started_in "$out")"
is "the list has it as one line" "8,running,0-2: 0 queued, 3 under way, 0 ended" "$(reeve $daemon jobs --csv -n -o job,state,note | grep ^8, | tr -d '"')"
is "--of shows each" "8[2] 8[1] 8[0]" "$(reeve $daemon jobs --of 8 --csv -n -o job | xargs)"
has "an element is a job by its name" "job 8[1]  step" "$(reeve $daemon job '8[1]')"
has "one that there is not" "no job 8[7]" "$(reeve $daemon job '8[7]')"
has "an index of a job that is no array" "no job 7[0]" "$(reeve $daemon cancel '7[0]')"
is "cancelling one" "8[1],running" "$(reeve $daemon cancel '8[1]' --csv -n | sed 's/starting/running/')"
has "... reaches its node alone" '"job":10,"attempt":1,"want":"cancel"' "$(sync '{"job":9,"attempt":1,"state":"running"},{"job":10,"attempt":1,"state":"running"},{"job":11,"attempt":1,"state":"running"}' '')"
is "14 waits for all of it" 13 "$(submit $daemon --after-ok '8[]')"
sync '' "$(ended 9 0),$(ended 10 0),$(ended 11 0)" >/dev/null
check "when the last has ended, the array has" until_state 8 ended
has "and what waited for it starts" 13 "$(until_started 13; started_in "$(sync '' '')")"
sync '' "$(ended 13 0)" >/dev/null
for job in 9 10 11; do is "element $job is charged as a job is" 1000 "$(field $job charge_requested_ms)"; done
is "the array itself is charged nothing" 0 "$(field 8 charge_requested_ms)"
has "what is not held is not released" "not held" "$(submit $daemon --after-ok 12 >/dev/null; reeve $daemon release 14)"
reeve $daemon cancel 12 14 >/dev/null
is "at most two at once" 15 "$(submit $daemon -J 10-50:10%2)"
check "two are given" until_started 16
is "... and no more" "16 17 " "$(started_in "$(sync '' '')")"
has "the next says that it waits for its turn" "waits for its turn: 2 of the array's tasks at once" "$(reeve $daemon job '15[30]')"
has "why, too" "job 15[30] queued" "$(reeve $daemon why '15[30]')"
is "an element can be held before it has a row" "15[40],held" "$(reeve $daemon hold '15[40]' --csv -n)"
has "... and the job shows it" "held by daemon" "$(reeve $daemon job '15[40]')"
sync '' "$(ended 16 0),$(ended 17 0)" >/dev/null
check "the held one is passed by" until_started 20
is "by the other two" "18 20 " "$(started_in "$(sync '' '')")"
sync '' "$(ended 18 0),$(ended 20 1)" >/dev/null
has "one bad end is counted" "1 of them not well" "$(reeve $daemon jobs -a --csv -n -o job,note | grep '^15,')"
reeve $daemon release '15[40]' >/dev/null
check "released, it starts" run_to_end 19 0
check "the array has ended" until_state 15 ended
is "... not well, as one was not" '"exited"' "$(field 15 kind)"
is "a stepped array skips" 21 "$(submit $daemon -h -J 0-9:3)"
has "no such element" "no job 21[1]" "$(reeve $daemon job '21[1]')"
is "cancelling a held array ends all of it" "21,ended" "$(reeve $daemon cancel 21 --csv -n)"
has "also who never had a row" "was cancelled before it started" "$(reeve $daemon hold '21[3]')"
for bad in "5-1:ends before it begins" "1-5:0:a step of 0" "1-5%0:at once of 0" "x:FIRST-LAST" "0-1000000000:0 to 999999999"; do
	has "array ${bad%:*} is refused" "${bad##*:}" "$(submit $daemon -J "${bad%:*}")"
done
has "an array of a million is refused by the bound's name" \
	"has 1000000 tasks, and MaxArraySize allows 10000" "$(submit $daemon -J 0-999999)"
has "... which says what to do" "raise MaxArraySize" "$(submit $daemon -J 0-999999)"
has "an array is not streamed" "cannot be streamed" "$(ask $daemon POST /v1/jobs '{"schema":"reeve/1","request":{"resources":{},"stream":true,"argv":["x"],"workdir":"/","array":{"first":0,"last":3}}}')"
live_stop

# ---- bounds ----
live_open configure bounds $'MaxArraySize = 1000000\nMaxQueuedPerUser = 5\nMaxQueuedPerAccount = 8'
has "a larger array than one may queue" "with 1000000 more that exceeds MaxQueuedPerUser, 5" "$(submit $daemon -J 0-999999)"
is "elements count as jobs" 1 "$(submit $daemon -J 0-3)"
is "one more is taken" 6 "$(submit $daemon)"
has "the next is not" "user daemon has 5 jobs queued; with 1 more that exceeds MaxQueuedPerUser, 5" "$(submit $daemon)"
is "another user is not affected" 7 "$(submit $bin -J 0-2)"
has "but by the account" "account physics has 8 jobs queued; with 1 more that exceeds MaxQueuedPerAccount, 8" "$(submit $bin)"
reeve $daemon cancel 6 >/dev/null
is "with one cancelled there is room again" 11 "$(submit $daemon)"
live_stop
for key in "MaxArraySize = 0" "MaxQueuedPerUser = -1" "MaxArraySize = 99999999"; do
	configure bounds "$key"
	has "$key is refused" "${key%% *}" "$("$binary" --config "$dir/controller.conf" --check 2>&1)"
done

# ---- a full disk ----
mkdir "$dir/small"
if [ -z "${REEVE_TEST_POSTGRES:-}" ] && mount -t tmpfs -o size=1536k,mode=755 reeve-test "$dir/small" 2>/dev/null; then
	trap 'umount "$dir/small"; live_end' EXIT
	database() { echo "$dir/small/$1.db"; }
	live_open configure full
	long=$(head -c 60000 /dev/zero | tr '\0' x)
	large() { # BODY of a request that needs room
		ask $daemon POST /v1/jobs "{\"schema\":\"reeve/1\",\"request\":{\"resources\":{},\"hold\":true,\"script\":\"#!/bin/sh\\n# $long\",\"workdir\":\"/\"}}"
	}
	taken=0
	for _ in $(seq 60); do
		out=$(large)
		[[ $out == 201* ]] || break
		taken=$((taken + 1))
	done
	has "a full disk is reported as a fault of the controller" 500 "$out"
	[ $taken -gt 3 ]
	tap_result $? "after some were taken" "$taken"
	# Many at once: the batch fails, and then each by itself.
	for i in 1 2 3 4 5 6; do large >"$dir/large.$i" & pids[i]=$!; done
	wait "${pids[@]}"
	taken=$((taken + $(grep -l '^201' "$dir"/large.* | wc -l)))
	is "each of many at once is answered" 6 "$(grep -lE '^(201|500)' "$dir"/large.* | wc -l)"
	mount -o remount,size=16m "$dir/small"
	has "with room again one is taken" 201 "$(large)"
	is "what was said to be taken is there, and nothing else" $((taken + 1)) "$(reeve $daemon jobs --limit 1000 --csv -n -o job | wc -l)"
	is "each one whole: held" $((taken + 1)) "$(reeve $daemon jobs --limit 1000 --csv -n -o note | grep -c 'held by daemon')"
	live_stop
	umount "$dir/small"
	trap live_end EXIT
	database() { echo "$dir/$1.db"; }
else
	skip "a full disk" "no file system of our own here"
fi

# ---- a million, compactly ----
live_open configure million $'MaxArraySize = 1000000\nMaxQueuedPerUser = 0'
is "an array of a million is taken where the bound allows it" 1 "$(submit $daemon -J 0-999999)"
is "the next job has the number behind it" 1000002 "$(submit $daemon -h)"
has "the first elements start" "2 3 4 5 6 7 8 9 " "$(until_started 9; started_in "$(sync '' '')")"
has "the list counts them" "0-999999: 999992 queued, 8 under way" "$(reeve $daemon jobs --csv -n -o note)"
has "the last one is a job by its name" "job 1[999999]" "$(reeve $daemon job '1[999999]')"
is "all of it is cancelled" "1,running" "$(reeve $daemon cancel 1 --csv -n | sed 's/queued/running/')"
tap_end
