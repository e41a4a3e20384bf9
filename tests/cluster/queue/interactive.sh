#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# interactive.sh - commands with standard input and with a terminal: a real controller, a real command, the agent's relay and the
# waiter's console as they are (tests/cluster/lib/interactive/console_node.c); the node and the job around them are played (step_node.c). TAP.
set -u
cd "$(dirname "$0")/../../.." || exit 1
. tests/cluster/lib/tap_lib.sh
. tests/cluster/lib/live_lib.sh
. tests/cluster/lib/play_lib.sh
. tests/cluster/lib/command_lib.sh
[ "$(id -u)" = 0 ] || { echo "1..0 # SKIP needs root to exchange as several users"; exit 0; }
command_open interactive
command_node
live_tool tests/node/terminal.c
job=$(job_number "$(ask $daemon POST /v1/jobs "$(job_request resources='"ncpus":2,"vmem_bytes":1000000' env='"PATH=/usr/bin:/bin"')")")
until_has '"state":"running"' ask $daemon GET "/v1/jobs/$job" || bail "the job does not run: $out $(cat "$dir/node.log")"
ex() { as $daemon env HOME="$dir" TERM=xterm "$dir/reeve" exec --config "$dir/client.conf" -j "$job" "$@"; }
at() { timeout 100 setpriv --reuid $daemon --regid $daemon --clear-groups env HOME="$dir" TERM=xterm "$dir/terminal" "$@"; }
session() { at 30 100 "$dir/reeve" exec --config "$dir/client.conf" -j "$job" --pty "$@"; }

# ---- standard input ----
has "an unknown step has no console" 404 "$(ask $daemon POST "/v1/jobs/$job/console" '{"schema":"reeve/1","step":9,"token":"0123456789abcdef"}')"
is "a pipe is the input of the command" "a b" "$(echo 'a b' | timeout 20 setpriv --reuid $daemon --clear-groups "$dir/reeve" exec --config "$dir/client.conf" -j "$job" -i -- cat 2>&1)"
head -c 4000000 /dev/urandom >"$dir/big"
ex -i -- sh -c 'date +%s%N >"$HOME/began"; cat; date +%s%N >"$HOME/over"' <"$dir/big" >"$dir/back"
is "its exit status" 0 $?
ms=$((($(cat "$dir/over") - $(cat "$dir/began")) / 1000000))
echo "# 4 MB there and back in $ms ms, $((4000 / (ms + 1))) MB/s each way"
is "4 MB come back as they were" "$(sha256sum <"$dir/big")" "$(sha256sum <"$dir/back")"
ex -i -- sh -c 'cat >/dev/null; echo out; echo err >&2; exit 7' </dev/null >"$dir/o" 2>"$dir/e"
is "exit status, output, errors" "7 out err" "$? $(cat "$dir/o") $(cat "$dir/e")"
is "a command that closes its input ends" $'y\ny' "$(yes | ex -i -- head -n 2)"

# ---- a terminal ----
out=$(session bash --norc <<'END'
expect $
send stty size; stat -c "of %u %a" $(tty)\r
expect 30 100
expect of 1 6
size 41 77
send stty size\r
expect 41 77
send echo one$((1)); sleep 1000\r
expect one1
sleep 300
send \x03
expect $
send echo $((600 + 66))\r
expect 666
send echo two$((2)); sleep 1000\r
expect two2
sleep 300
send \x1a
expect Stopped
expect $
send fg\r
expect sleep 1000
sleep 300
send \x03
expect $
send exit 5\r
exit
END
)
has "its terminal is the user's" 'exit 5 cooked' "$out"
has "a shell in a terminal: size, Ctrl-C, Ctrl-Z and fg, exit status" 'exit 5 cooked' "$out"
out=$(session bash --norc <<'END'
expect $
keys 200
send \x03
expect $
send exit\r
exit
END
)
has "keys are echoed" 'keys 200 median' "$out"
echo "# $(grep keys <<<"$out")"
base64 -w 76 "$dir/big" | head -c 1000000 >"$dir/text"
out=$(session sh -c 'stty raw -echo; echo ready; head -c 1000000 | sha256sum >$HOME/got; stty -raw echo; cat $HOME/got' <<END
expect ready
paste $dir/text
expect $(sha256sum <"$dir/text" | cut -c1-64)
exit
END
)
has "a paste of 1 MB arrives whole" 'exit 0 cooked' "$out"
out=$(session sh -c 'echo ready; exec sleep 1001' <<'END'
expect ready
send \r~.
exit
END
)
has "~. hangs up: its own exit status, and the terminal is as before" 'exit 125 cooked' "$out"
gone() { ! pgrep -f '^sleep 1001' >/dev/null; }
soon "... the command has ended" '' gone

# ---- leaving, and coming back ----
out=$(session bash --norc <<'END'
expect $
send echo $((700 + 77))\r
expect 777
send ~d
exit
END
)
has "~d leaves the command" 'exit 0 cooked' "$out"
out=$(at 24 80 "$dir/reeve" attach --config "$dir/client.conf" "$job" <<'END'
expect 777
send echo $((800 + 88))\r
expect 888
send exit 4\r
exit
END
)
has "attach shows what it printed, types into it, and has its exit status" 'exit 4 cooked' "$out"

# ---- a job for one command ----
r="-l ncpus=1,vmem=1MB,jobfs=1MB,walltime=60"
out=$(at 30 100 "$dir/reeve" run --config "$dir/client.conf" -A physics $r --pty bash --norc <<'END'
expect $
send stty size\r
expect 30 100
send exit 6\r
exit
END
)
has "run --pty: the job ends with its command, as that did" 'exit 6 cooked' "$out"
run() { as $daemon env HOME="$dir" "$dir/reeve" "$1" --config "$dir/client.conf" -A physics $r "${@:2}"; }
is "run --stdin" $'x\n3' "$(echo x | run run --stdin -- sh -c 'cat; exit 3' 2>"$dir/err"; echo $?)"
out=$(run alloc -- sh -c 'echo "in $REEVE_JOB_ID"; exit 9' 2>&1)
is "alloc runs a command here, with the status of it" "9" "$?"
has "... which knows its job" "in $((job + 3))" "$out"
soon "... and the job ends with it" '"exit_status":9' ask $daemon GET "/v1/jobs/$((job + 3))"

# ---- alloc: what ends it ----
# allocate COMMAND...: in a terminal, on $cores cores for $walltime seconds; does what standard input says
allocate() {
	at 24 80 "$dir/reeve" alloc --config "$dir/client.conf" -A physics -l "ncpus=$cores,vmem=1MB,jobfs=1MB,walltime=${walltime:-60}" \
		$keeping -- "$@"
}
last_job() { ask $daemon GET '/v1/jobs?limit=1' | grep -o '"job":[0-9]*' | head -n 1 | cut -d: -f2; }
mkdir "$dir/own" && chown $daemon "$dir/own"
keeping=
out=$(cores=8 allocate true <<'END'
expect next in the queue
send \x03
exit
END
)
has "alloc: Ctrl-C while it waits" 'exit 130 cooked' "$out"
has "... cancels the job" '"kind":"cancelled"' "$(ask $daemon GET "/v1/jobs/$(last_job)")"
lacks "... which never started" '"attempt":1' "$(ask $daemon GET "/v1/jobs/$(last_job)")"
out=$(cores=1 allocate bash --norc <<'END'
expect $
send echo three$((3)); sleep 1002\r
expect three3
sleep 500
send \x03
expect $
send echo $((900 + 99))\r
expect 999
send exit 7\r
exit
END
)
has "alloc: Ctrl-C in the shell is for its foreground command alone" 'exit 7 cooked' "$out"
out=$(cores=1 walltime=2 allocate bash --norc <<'END'
expect $
send sh -c 'trap "echo hung up >$HOME/own/hup; exit" HUP; while sleep 0.1; do :; done'\r
expect walltime limit exceeded
expect has ended
exit
END
)
has "alloc: the walltime is over: a message, the shell ends, the exit status is the job's" 'exit 143 cooked' "$out"
soon "... and what runs in it, by SIGHUP" "hung up" cat "$dir/own/hup"
out=$(keeping='--on-hangup keep' cores=1 allocate bash --norc <<'END'
expect $
signal 1
exit
END
)
kept=$(last_job)
has "alloc --on-hangup keep: a lost terminal" 'exit 129' "$out"
sleep 1
has "... leaves the job as it is" '"state":"running"' "$(ask $daemon GET "/v1/jobs/$kept")"
is "... for reeve exec" "in" "$(job=$kept ex -i -- echo in </dev/null)"
ask $daemon POST "/v1/jobs/$kept/cancel" >/dev/null
out=$(keeping='--on-hangup cancel' cores=1 allocate bash --norc <<'END'
expect $
signal 1
exit
END
)
soon "alloc --on-hangup cancel: a lost terminal ends the job" '"state":"ended"' ask $daemon GET "/v1/jobs/$(last_job)"
has "... another word is refused" "it is cancel or keep" "$(run alloc --on-hangup end -- true 2>&1)"
as $daemon env HOME="$dir" "$dir/reeve" alloc --config "$dir/client.conf" -A physics -l ncpus=8,vmem=1MB,jobfs=1MB,walltime=60 -- \
	sh -c 'echo "in $REEVE_JOB_ID"; exit 9' >"$dir/o" 2>"$dir/e" &
waiting=$!
sleep 1
live_stop
sleep 1
live_start || bail "the controller does not start again"
ask $daemon POST "/v1/jobs/$job/cancel" >/dev/null
wait $waiting
status=$?
is "alloc: a controller that was away while it waited" "9 in $(last_job)" "$status $(cat "$dir/o")"
has "... and a message of it" "stays; trying again" "$(cat "$dir/e")"
job=$(job_number "$(ask $daemon POST /v1/jobs "$(job_request resources='"ncpus":2,"vmem_bytes":1000000' env='"PATH=/usr/bin:/bin"')")")
until_has '"state":"running"' ask $daemon GET "/v1/jobs/$job" || bail "the job does not run: $out"

# ---- what is lost on the way ----
(sleep 1; for pid in $(pgrep -f "^$dir/console_node"); do kill -USR1 "$pid"; done) &
ex -i -- cat <"$dir/big" >"$dir/back"
is "an agent that dies loses nothing" "$(sha256sum <"$dir/big")" "$(sha256sum <"$dir/back")"

# ---- others ----
has "another user is refused" 404 "$(ask $bin POST "/v1/jobs/$job/console" '{"schema":"reeve/1","step":1,"token":"0123456789abcdef"}')"
has "so is an operator" 403 "$(ask 0 POST "/v1/jobs/$job/console" '{"schema":"reeve/1","step":1,"token":"0123456789abcdef"}')"
has "nodes alone send output of steps" 403 "$(ask $daemon POST /v1/node/console '{"schema":"reeve/1","node":"n1","steps":[]}')"
(sleep 3; echo end) | ex -i -- cat >"$dir/o" &
waiting=$!
sleep 1
now=$(ask $daemon GET "/v1/jobs/$job/steps" | grep -o '"step":[0-9]*' | tail -n 1 | cut -d: -f2)
message=$(python3 -c 'import base64, struct; print(base64.b64encode(b"RCI2" + struct.pack("<IQIIQQ64x", 0, 0, 0, 80, 1, 1)).decode())')
has "a second terminal is refused" attached-elsewhere "$(ask $daemon POST "/v1/jobs/$job/console" "{\"schema\":\"reeve/1\",\"step\":$now,\"token\":\"0123456789abcdef\",\"message\":\"$message\"}")"
lacks "a node has no part in the steps of others" '"size"' "$(ask 0 POST /v1/node/console "{\"schema\":\"reeve/1\",\"node\":\"n2\",\"steps\":[{\"job\":$job,\"attempt\":1,\"step\":$now}]}")"
wait $waiting

# ---- nodes, controllers and commands of other versions ----
has "a command that is older than the controller is refused" \
	'this command (reeve) is older than this controller: they cannot exchange input and output of commands","remedy":"upgrade reeve on this machine"' \
	"$(ask $daemon POST "/v1/jobs/$job/console" "{\"schema\":\"reeve/1\",\"format\":1,\"step\":$now,\"token\":\"0123456789abcdef\",\"message\":\"$message\"}")"
has "... and one that is newer: the controller is older" "this controller is older than this command (reeve)" \
	"$(ask $daemon POST "/v1/jobs/$job/console" "{\"schema\":\"reeve/1\",\"format\":99,\"step\":$now,\"token\":\"0123456789abcdef\",\"message\":\"$message\"}")"
other_version() { # [MEMBER]: a node's exchange of consoles in another form, for the step that runs
	now=$(ask $daemon GET "/v1/jobs/$job/steps" | grep -o '"step":[0-9]*' | tail -n 1 | cut -d: -f2)
	ask 0 POST /v1/node/console "{\"schema\":\"reeve/1\",\"node\":\"n1\"${1:-},\"steps\":[{\"job\":$job,\"attempt\":1,\"step\":$now}]}"
}
for member in '' ',"format":99'; do
	(sleep 20) | ex -i -- sh -c 'echo ready; exec sleep 1000' >"$dir/o" 2>"$dir/e" &
	waiting=$!
	until_has ready cat "$dir/o"
	older="the agent of node n1 is older than this controller"
	[ -z "$member" ] || older="this controller is older than the agent of node n1"
	has "a node that names ${member:-no format} is refused" other-version "$(other_version "$member")"
	wait $waiting
	is "... its command fails" 1 $?
	has "... with which side is older" "$older: they cannot exchange input and output of commands" "$(cat "$dir/e")"
	has "... what to do" "upgrade" "$(cat "$dir/e")"
	step_ended() { ask $daemon GET "/v1/jobs/$job/steps?step=$now"; }
	check "... and the step is cancelled" until_has '"state":"ended"' step_ended
done
tap_end
