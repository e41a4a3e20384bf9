#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# sealed.sh - what a controller in an attacker's hands can type and show: between a real controller and the node, and between it and the command,
# messages of interactive commands are changed, repeated and forged (tests/cluster/lib/interactive/meddler.py). The node is played as in
# interactive.sh, by the agent's and the waiter's own code. TAP.
set -u
cd "$(dirname "$0")/../../.." || exit 1
. tests/cluster/lib/tap_lib.sh
. tests/cluster/lib/live_lib.sh
. tests/cluster/lib/play_lib.sh
. tests/cluster/lib/command_lib.sh
[ "$(id -u)" = 0 ] || { echo "1..0 # SKIP needs root to exchange as several users"; exit 0; }
command_open sealed
tests/cluster/lib/interactive/meddler.py "$port" "$dir/munge.sock" "$dir" 2>>"$dir/meddler.log" &
meddler_port() { sed 's/^/port /' "$dir/meddler.port" 2>&1; }
until_has "port " meddler_port || bail "no meddler: $(cat "$dir/meddler.log")"
meddler=$(cat "$dir/meddler.port")
until_has reeve_ curl -s "http://127.0.0.1:$meddler/metrics" || bail "no meddler: $(cat "$dir/meddler.log")"
honest=$url url=http://127.0.0.1:$meddler
command_node
url=$honest
job=$(job_number "$(ask $daemon POST /v1/jobs "$(job_request resources='"ncpus":2,"vmem_bytes":1000000' env='"PATH=/usr/bin:/bin"')")")
until_has '"state":"running"' ask $daemon GET "/v1/jobs/$job" || bail "the job does not run: $out $(cat "$dir/node.log")"
ex() { as $daemon env HOME="$dir" timeout 60 "$dir/reeve" exec --config "$dir/client.conf" -j "$job" "$@"; }
meddle() { rm -f "$dir/meddled"; echo "$1" >"$dir/meddle"; }
stop() { rm -f "$dir/meddle"; }
meddled() { cat "$dir/meddled" 2>&1; }
state() { ask $daemon GET "/v1/jobs/$job/steps?after=$(($1 - 1))"; }
typed() { tr '\n' ' ' <"$dir/typed"; } # as the command got it
# open [OPTION]... to `over`: a command whose input is typed by `line`
mkfifo "$dir/keys"
open() {
	: >"$dir/typed"
	ex -i "$@" -- sh -c 'while read -r word; do echo "got $word"; echo "$word" >>"$HOME/typed"; done' <"$dir/keys" >"$dir/out" 2>"$dir/err" &
	command=$!
	exec 5>"$dir/keys"
}
line() { echo "$1" >&5; }
arrives() { until_has "$1" cat "$dir/typed" || bail "$1 was not typed: $(cat "$dir/err")"; }
over() { # $status
	stop
	exec 5>&-
	wait "$command"
	status=$?
}

open
line good
over
is "through a controller that passes all on" "0 got good" "$status $(cat "$dir/out")"

# ---- input ----
change_line() { # ...: with these options
	open "$@"
	line first
	arrives first
	meddle change
	line good
	wait "$command"
	over
}
change_line
is "input that was changed on its way ends the command" 1 $status
has "... with a message" "the node refuses this terminal: what was typed there was changed on its way to the node" "$(cat "$dir/err")"
has "... it was changed" change "$(meddled)"
is "... nothing of it was typed" "first " "$(typed)"
has "... the node's journal has it" "step 2 refuses a terminal: what was typed there was changed" "$(cat "$dir/node.log")"
soon "... and the step has ended, as when a terminal is lost" '"state":"ended"' state 2
change_line --on-hangup keep
has "with --on-hangup keep" "the node refuses this terminal" "$(cat "$dir/err")"
has "... the step goes on" '"state":"running"' "$(state 3)"
out=$( (sleep 1; echo again; arrives again) | as $daemon env HOME="$dir" timeout 20 "$dir/reeve" attach --config "$dir/client.conf" "$job" 2>&1)
has "... and another terminal can be attached to it" "got again" "$out"
is "... which types to it" "first again " "$(typed)"
meddle replay
open
line one
arrives one
line two
until_has replay meddled
stop
line three
over
is "a message that is repeated in the place of another" 0 $status
has "... it was" replay "$(meddled)"
is "... is typed once, and what it hid comes later" "one two three " "$(typed)"
meddle forge
open
until_has forge meddled
line good
over
is "a terminal of the controller's own, with a key of its own" 0 $status
has "... was there" forge "$(meddled)"
has "... its key is not the user's" "is not good: uid 2 made it for step" "$(cat "$dir/node.log")"
is "... it types nothing, and the user's own goes on" "good " "$(typed)"

# ---- output ----
sed -i "s/:$port/:$meddler/" "$dir/client.conf"
meddle output
open
line good
wait "$command"
over
is "output that was changed on its way ends the command" 1 $status
has "... with a message" "what the command printed was changed on its way from the node" "$(cat "$dir/err")"
has "... it was changed" output "$(meddled)"
is "... and shows none of it" "" "$(cat "$dir/out")"
tap_end
