#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# dispatch.sh - decisions that survive: exchanges that come late, twice or out of order; nodes that are lost
# and come back; unknown jobs; nodes that operators drain. A real controller; nodes are played. TAP.
set -u
cd "$(dirname "$0")/../../.." || exit 1
. tests/cluster/lib/tap_lib.sh
. tests/cluster/lib/live_lib.sh
. tests/cluster/lib/play_lib.sh
. tests/cluster/lib/past_lib.sh
[ "$(id -u)" = 0 ] || { echo "1..0 # SKIP needs root to exchange as several users"; exit 0; }
live_dir dispatch
live_munge
reeve=$PWD/build/bin/reeve
configure() {
	cat >"$dir/controller.conf" <<-CONF
		$(live_controller)
		NodeLost = 5
		MaxRequeues = 1
		[Cluster main]
		DefaultResources = jobfs=100MB,walltime=1:00:00
		[Account physics]
		Users = daemon
	CONF
}
live_open configure
backdate_dispatch "$dir/ledger.db" 1
printf '[Client]\nController = %s\nMungeSocket = %s/munge.sock\n' "$url" "$dir" >"$dir/client.conf"

amounts='"ncpus":8,"mem_bytes":16000000000,"jobfs_bytes":10000000000,"ngpus":0'
sync() { # NODE BOOT NUMBER|next [JOBS [REPORTS [STATE]]]
	local n=$3
	[ "$n" != next ] || n=$(date +%s%N)
	echo "$n" >"$dir/number"
	node_sync node="$1" boot="$2" number="$n" jobs="${4:-}" reports="${5:-}" state="${6:-up}"
}
exchange() { # NODE [JOBS [REPORTS]]: the next exchange of boot b1
	sync "$1" b1 next "${2:-}" "${3:-}"
}
start_s=$(date +%s)
report() { # JOB ATTEMPT SEQ STATE RUNNING_S [KIND]
	job_report "$1" "$3" "$4" attempt="$2" started_s="$start_s" at_s=$((start_s + $5)) running_s="$5" kind="${6:-none}"
}
submit() { # [MORE]: the number of the job, of 2 cores: 2 core-seconds a second
	job_number "$(ask $daemon POST /v1/jobs "$(job_request resources='"ncpus":2,"vmem_bytes":1000000' more="${1:-}")")"
}
job() { ask 0 GET "/v1/jobs/$1"; }
charged() { # the account, in equivalent milliseconds
	ask 0 GET '/v1/usage?by=account' | grep -o '"charge_requested_ms":[0-9]*' | head -n 1 | cut -d: -f2
}

# ---- late, twice, out of order ----
exchange n1 >/dev/null
a=$(submit)
until_has '"argv"' exchange n1
has "a node gets a job" '"want":"run"' "$out"
exchange n1 "$(job_entry "$a" running 1)" "$(report "$a" 1 5 running 10)" >/dev/null
has "it runs" '"state":"running"' "$(job "$a")"
late=$(date +%s%N)
has "the desired state changes: suspend" '"state"' "$(ask $daemon POST "/v1/jobs/$a/suspend")"
has "the node gets it" '"want":"suspend"' "$(exchange n1 "$(job_entry "$a" running 1)")"
ask $daemon POST "/v1/jobs/$a/resume" >/dev/null
has "changed before it was carried out: the node gets the last desired state" '"want":"run"' \
	"$(exchange n1 "$(job_entry "$a" running 1)")"
ask $daemon POST "/v1/jobs/$a/suspend" >/dev/null
ask $daemon POST "/v1/jobs/$a/resume" >/dev/null
ask $daemon POST "/v1/jobs/$a/suspend" >/dev/null
for i in 1 2 3; do
	has "said again until it is so ($i)" '"want":"suspend"' "$(exchange n1 "$(job_entry "$a" running 1)")"
done
exchange n1 "$(job_entry "$a" suspended 1)" "$(report "$a" 1 6 suspended 10)" >/dev/null
has "then it is suspended" '"state":"suspended"' "$(job "$a")"
last=$(cat "$dir/number")
has "an exchange from before comes in late: refused" overtaken "$(sync n1 b1 "$late" "$(job_entry "$a" running 1)")"
has "and what it listed is not believed" '"state":"suspended"' "$(job "$a")"
has "the same one twice: refused" overtaken "$(sync n1 b1 "$last" "$(job_entry "$a" running 1)")"
has "a report twice is acknowledged and charged once" '"seq":6' \
	"$(exchange n1 "$(job_entry "$a" suspended 1)" "$(report "$a" 1 6 suspended 10)")"
is "charged: 10 s of 2 cores" 20000 "$(charged)"
has "an older report changes nothing" '"seq":6' "$(exchange n1 "$(job_entry "$a" suspended 1)" "$(report "$a" 1 4 running 99)")"
is "charged as before" 20000 "$(charged)"
ask $daemon POST "/v1/jobs/$a/resume" >/dev/null
exchange n1 "$(job_entry "$a" running 1)" "$(report "$a" 1 7 running 12)" >/dev/null

# ---- a reboot, and the words of the boot before it ----
sync n1 b2 next '' >/dev/null
has "a reboot under the job ends it" node-lost "$(job "$a")"
b=$(submit)
until_has '"argv"' sync n1 b2 next ''
sync n1 b2 next "$(job_entry "$b" running 1)" "$(report "$b" 1 1 running 1)" >/dev/null
has "a late exchange of an earlier boot is refused" overtaken "$(sync n1 b1 next '')"
has "and ends no job" '"state":"running"' "$(job "$b")"
has "the reboot is in the journal once" 1 \
	"$(sqlite3 "$dir/ledger.db" "SELECT COUNT(*) FROM events WHERE what = 'reboot'")"
sync n1 b2 next "$(job_entry "$b" ended 1)" "$(report "$b" 1 2 ended 2 exited)" >/dev/null
is "charged: 12 s and 2 s of 2 cores" 28000 "$(charged)"

# ---- unknown jobs ----
out=$(sync n1 b2 next "$(job_entry 77 running 1)")
has "a job that the ledger does not know is refused: its node kills it" '"job":77,"attempt":1,"why":"this job was never given' "$out"
out=$(sync n1 b2 next "$(job_entry "$b" running 2)")
has "nor is another attempt of one that it knows" '"attempt":2,"why":"this job was never given' "$out"
# The agent has lost its records, and found what runs there.
report_found() { node_sync boot=b2 more=",\"found\":[{\"job\":$1,\"attempt\":$2}]"; } # JOB ATTEMPT
g=$(submit)
until_has '"argv"' sync n1 b2 next ''
sync n1 b2 next "$(job_entry "$g" running 1)" >/dev/null
sync n1 b2 next '' >/dev/null
out=$(report_found "$g" 1)
has "a job found without a record, open in the ledger: the node gets its request" "\"job\":$g,\"attempt\":1,\"want\":\"run\",\"request\"" "$out"
is "and not counted as missing" 0 "$(sqlite3 "$dir/ledger.db" "SELECT missing_ns FROM attempts WHERE job = $g")"
has "found, and not known: refused" '"job":78,"attempt":1,"why":"this job was never given' "$(report_found 78 1)"
has "found, and ended here: refused" "\"job\":$b,\"attempt\":1,\"why\":\"this attempt of the job has ended" "$(report_found "$b" 1)"
sync n1 b2 next "$(job_entry "$g" ended 1)" "$(report "$g" 1 1 ended 0 exited)" >/dev/null
is "nothing is charged for any of them" 28000 "$(charged)"

# ---- a node that is lost ----
c=$(submit)
d=$(submit ',"requeue":true')
until_has "\"job\":$d" sync n1 b2 next ''
sync n1 b2 next "$(job_entry "$c" running 1),$(job_entry "$d" running 1)" \
	"$(report "$c" 1 1 running 3),$(report "$d" 1 1 running 3)" >/dev/null
until_has '"state":"lost"' ask 0 GET /v1/nodes
tap_result $? "a node that is silent is lost" "$out"
until_has '"state":"ended"' job "$c"
has "its job ends as node-lost" '"kind":"node-lost"' "$out"
has "in words, with since when" 'node n1 was not heard of since' "$out"
has "charged to the last report" '"charge_requested_ms":6000' "$out"
is "exactly: 3 s of 2 cores, twice" 40000 "$(charged)"
has "the one that asked for it is in the queue again" '"state":"queued"' "$(job "$d")"
speak2() { sync n2 b1 next "${1:-}" "${2:-}"; }
until_has '"argv"' speak2
has "another node gets it as its second attempt" "\"job\":$d,\"attempt\":2" "$out"
speak2 "$(job_entry "$d" running 2)" "$(report "$d" 2 1 running 4)" >/dev/null
is "which is charged beside the first" 48000 "$(charged)"

# ---- and comes back ----
out=$(sync n1 b2 next "$(job_entry "$c" running 1),$(job_entry "$d" running 1)" \
	"$(report "$c" 1 2 running 50),$(report "$d" 1 2 running 50)")
has "what ran on there is refused, in words" "\"job\":$c,\"attempt\":1,\"why\":\"its node was lost" "$out"
has "the former attempt of the other too" "\"job\":$d,\"attempt\":1,\"why\":\"its node was lost" "$out"
is "what they ran meanwhile is not charged" 48000 "$(charged)"
out=$(sync n1 b2 next '' "$(report "$c" 1 3 ended 52 cancelled),$(report "$d" 1 3 ended 52 cancelled)")
has "their last reports are taken from the node" "\"job\":$c,\"attempt\":1,\"seq\":3" "$out"
is "and charge nothing" 48000 "$(charged)"
has "the job keeps its end" node-lost "$(job "$c")"
has "the second attempt runs" '"state":"running"' "$(job "$d")"
has "the first is kept with how it ended" '; the job is queued again' "$(job "$d")"
has "the page of the job shows it, and what it was charged" 'attempt 1  on n1: lost with its node: node n1 was not heard of' \
	"$("$reeve" job "$d" --config "$dir/client.conf" 2>&1)"

# ---- a controller that could not hear ----
speak2 "$(job_entry "$d" running 2)" "$(report "$d" 2 2 running 4)" >/dev/null
kill -STOP "$controller"
sleep 9 # longer than NodeLost
kill -CONT "$controller"
speak2 "$(job_entry "$d" running 2)" >/dev/null
has "the controller itself was stopped for longer than NodeLost: no node is lost for that" '"state":"running"' "$(job "$d")"

# ---- as often as the bound says ----
until_has 'it lost 2 nodes: MaxRequeues is 1' job "$d"
tap_result $? "lost again, beyond MaxRequeues = 1, it ends" "$out"
is "charged: every attempt to its last report" 48000 "$(charged)"

# ---- ended by itself while the node was not connected ----
e=$(submit)
until_has '"argv"' sync n1 b2 next ''
sync n1 b2 next "$(job_entry "$e" running 1)" "$(report "$e" 1 1 running 3)" >/dev/null
until_has '"kind":"node-lost"' job "$e"
tap_result $? "lost" "$out"
sync n1 b2 next "$(job_entry "$e" ended 1)" "$(report "$e" 1 2 ended 6 exited)" >/dev/null
has "it had ended well: the node's final word counts" '"kind":"exited"' "$(job "$e")"
is "and is charged: 6 s of 2 cores" 60000 "$(charged)"

# ---- drained by operators ----
operate() { "$reeve" nodes "$@" --config "$dir/client.conf" 2>&1; }
has "a user drains no node" 'only operators' "$(ask $daemon POST /v1/nodes/drain '{"schema":"reeve/1","nodes":["n1"],"reason":"x"}')"
has "a reason is asked for" 'no reason; give --reason' "$(operate drain n1)"
has "a node that there is not" "no node 'n9'" "$(operate drain n9 --reason disk)"
has "an operator drains one" drain "$(operate drain n1 --reason 'a disk')"
sync n1 b2 next '' >/dev/null
out=$(operate)
has "it is shown, with operator, time and reason" 'n1: drained by root since' "$out"
has "and with the reason" ': a disk' "$out"
f=$(submit)
out=$(sync n1 b2 next '')
lacks "it gets no job" '"argv"' "$out"
live_stop
live_start || bail "the controller does not start: $(cat "$dir/controller.log")"
sync n1 b2 next '' >/dev/null
has "over a restart of the controller" '"reason":"a disk"' "$(ask $daemon GET /v1/nodes)"
has "it is drained still" '"state":"drain"' "$(ask $daemon GET /v1/nodes)"
sync n1 b3 next '' >/dev/null
out=$(sync n1 b3 next '')
lacks "and over its own reboot" '"argv"' "$out"
has "resumed" resume "$(operate resume n1)"
operate drain n1 --reason $'a disk\nn2: drained by root\e[2J' >/dev/null
sync n1 b3 next '' >/dev/null
has "a drain's reason is stored as one line without control characters" '"reason":"a disk n2: drained by root?[2J"' "$(ask $daemon GET /v1/nodes)"
live_stop
sqlite3 "$dir/ledger.db" "UPDATE drains SET reason = 'a disk' || char(10) || 'n2: drained by root' || char(27) || '[2J'" >/dev/null
live_start || bail "the controller does not start: $(cat "$dir/controller.log")"
sync n1 b3 next '' >/dev/null
has "the terminal shows one line for a reason that an older controller stored" ': a disk\012n2: drained by root\033[2J' "$(operate)"
operate resume n1 >/dev/null
has "a node is resumed once" 'is not drained by an operator' "$(operate resume n1)"
operate drain n1 --reason 'a disk' >/dev/null
has "of several those that were drained are resumed" resume "$(operate resume n2 n1)"
lacks "... and none is left out" 'drained by' "$(operate)"
has "none of several was drained" 'nor any of the others' "$(operate resume n2 n1)"
has "check-config warns of a NodeLost that the network's restart reaches" 'NodeLost=5 is below 90 s' \
	"$("$PWD/build/bin/reeve" admin check-config "$dir/controller.conf" 2>&1)"
until_has '"argv"' sync n1 b3 next ''
has "it takes jobs again" "\"job\":$f" "$out"
out=$("$reeve" admin verify --ledger "$dir/ledger.db" 2>&1)
tap_result $? "and the sums of the ledger are those of its jobs" "$out"
live_stop
tap_end
