#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# immediate.sh - now or never: jobs that start in the first scheduling pass or within some seconds, or end with the reason, once, also
# where the controller is killed in between. A real controller and a real command; the node is played (step_node.c). TAP.
set -u
cd "$(dirname "$0")/../../.." || exit 1
. tests/cluster/lib/tap_lib.sh
. tests/cluster/lib/live_lib.sh
. tests/cluster/lib/play_lib.sh
. tests/cluster/lib/command_lib.sh
[ "$(id -u)" = 0 ] || { echo "1..0 # SKIP needs root to exchange as several users"; exit 0; }
command_open immediate jobfs=1MB,vmem=1MB
command_config "Account = physics"
command_node
r() { as $daemon timeout 60 "$dir/reeve" "$1" --config "$dir/client.conf" "${@:2}"; }
state_of() { r job "$1" --json | python3 -c 'import json, sys; j = json.load(sys.stdin)["job"]; print(j["state"])'; }
ended_events() { sqlite3 "$dir/ledger.db" "SELECT COUNT(*) FROM events WHERE job = $1 AND what = 'ended'"; }
last_job() { sqlite3 "$dir/ledger.db" 'SELECT MAX(job) FROM jobs'; }

# ---- there is room ----
first=$(r submit -I -l ncpus=6 -- /bin/true)
is "a job that fits is submitted, and its number is printed" "0 1" "$? $first"
soon "... and runs" running state_of "$first"
r alloc --immediate -l ncpus=1 -- true 2>"$dir/e"
is "alloc --immediate runs its command where there is room" 0 $?

# ---- there is none ----
began=$(date +%s%N)
r submit --immediate -l ncpus=4 -- /bin/true >"$dir/o" 2>"$dir/e"
is "submit --immediate: without room it fails, and prints no number" "1 " "$? $(cat "$dir/o")"
ms=$((($(date +%s%N) - began) / 1000000))
echo "# after $ms ms"
has "... with the reason" "could not be started: it was to start at once (--immediate). This job is next in the queue. It needs" "$(cat "$dir/e")"
refused=$(last_job)
has "... which is the job's end" '"kind":"failed"' "$(ask $daemon GET "/v1/jobs/$refused")"
has "... as reeve why shows it too" "it was to start at once (--immediate)" "$(r why "$refused" 2>&1)"
is "... once" 1 "$(ended_events "$refused")"
r run -I -l ncpus=4 -- /bin/true >"$dir/o" 2>"$dir/e"
is "run --immediate" 125 $?
has "... prints the reason" "reeve run: job $(last_job): could not be started: it was to start at once" "$(cat "$dir/e")"
r run --stdin -I -l ncpus=4 cat </dev/null >"$dir/o" 2>"$dir/e"
is "run --stdin --immediate" 125 $?
has "... prints the reason" "could not be started: it was to start at once" "$(cat "$dir/e")"
r alloc -I -l ncpus=4 -- echo never >"$dir/o" 2>"$dir/e"
is "alloc --immediate does not run its command" "125 " "$? $(cat "$dir/o")"
has "... and prints the reason" "could not be started: it was to start at once" "$(cat "$dir/e")"
waiting=$(r submit -l ncpus=8 -- /bin/true)
has "another job waits as ever" queued "$(state_of "$waiting")"
r submit -I -l ncpus=2,walltime=2:00:00 -- /bin/true >"$dir/o" 2>"$dir/e"
has "behind a job that is next: the words of reeve why" "would delay job $waiting, which is next in the queue" "$(cat "$dir/e")"
r cancel "$waiting" >/dev/null

# ---- within some seconds ----
began=$(date +%s%N)
r submit --immediate=2 -l ncpus=4 -- /bin/true >"$dir/o" 2>"$dir/e"
is "--immediate=2: it fails" "1 " "$? $(cat "$dir/o")"
ms=$((($(date +%s%N) - began) / 1000000))
echo "# after $ms ms"
is "... not before its time" 1 $((ms >= 2000))
has "... with the time that it had" "it was to start within 2 s (--immediate=2). This job is next in the queue." "$(cat "$dir/e")"
(sleep 1; r cancel "$first" >/dev/null) &
late=$(r submit --immediate=30 -l ncpus=4 -- /bin/true)
is "--immediate=30: it starts when there is room" 0 $?
soon "... and runs" running state_of "$late"
wait $!
r submit -l ncpus=7 --immediate=3 -- /bin/true >"$dir/o" 2>"$dir/e" &
sleep 1
held=$(last_job)
r hold "$held" >/dev/null
soon "one that is held meanwhile ends too" failed ask $daemon GET "/v1/jobs/$held"
has "... with that reason" "held by daemon" "$(ask $daemon GET "/v1/jobs/$held")"

# ---- what cannot be at once ----
has "an array is refused" "immediate is not for an array" "$(r submit -I -J 1-3 -- /bin/true 2>&1)"
has "so is a dependency" "immediate is not for a job that waits for others" "$(r submit -I --after-any "$late" -- /bin/true 2>&1)"
has "so is a hold" "immediate is not for a job that is held" "$(r submit -I -h -- /bin/true 2>&1)"
has "so is another number" "immediate 'soon'" "$(r submit --immediate=soon -- /bin/true 2>&1)"
printf '#!/bin/sh\n#REEVE --immediate=1\n#REEVE -l ncpus=7\ntrue\n' >"$dir/job.sh"
has "a script may say it" "within 1 s (--immediate=1)" "$(r submit "$dir/job.sh" 2>&1)"

# ---- the controller is killed between ----
r submit --immediate=4 -l ncpus=7 -- /bin/true >"$dir/o" 2>"$dir/e" &
submitter=$!
sleep 1
kill -9 "$controller"
wait "$controller" 2>/dev/null
live_start || bail "the controller does not start again"
wait $submitter
is "killed while the job waits: it ends in time" 1 $?
has "... with the reason" "it was to start within 4 s" "$(cat "$dir/e")"
is "... once" 1 "$(ended_events "$(last_job)")"
# At any moment from the submission to its end.
from=$(last_job)
request=$(job_request resources='"ncpus":7,"vmem_bytes":1000000' more=',"immediate_s":0')
for i in 1 2 3 4 5 6 7 8; do
	ask $daemon POST /v1/jobs "$request" >/dev/null 2>&1 &
	asking=$!
	sleep "0.0$((RANDOM % 6))"
	kill -9 "$controller"
	wait "$controller" 2>/dev/null
	wait $asking
	live_start || bail "the controller does not start again"
done
ask $daemon POST /v1/jobs "$request" >/dev/null
none_left() { sqlite3 "$dir/ledger.db" "SELECT COUNT(*) FROM jobs WHERE job > $from AND state <> 5"; }
soon "killed at any moment: none is left in the queue" 0 none_left
jobs=$(sqlite3 "$dir/ledger.db" "SELECT COUNT(*) FROM jobs WHERE job > $from")
echo "# $jobs jobs"
is "... and each has ended once" "$jobs" "$(sqlite3 "$dir/ledger.db" "SELECT COUNT(*) FROM events WHERE job > $from AND what = 'ended'")"
tap_end
