#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# exec.sh - steps of running jobs, and `reeve exec`: a real controller and a real command; nodes are played. TAP.
# shellcheck disable=SC2317 # functions are called by soon
set -u
# Who is started under nohup would hand that on to the commands.
[ -n "${REEVE_EXEC_SH:-}" ] || REEVE_EXEC_SH=1 exec env --default-signal=HUP "$BASH" "$0" "$@"
cd "$(dirname "$0")/../../.." || exit 1
. tests/cluster/lib/tap_lib.sh
. tests/cluster/lib/live_lib.sh
. tests/cluster/lib/play_lib.sh
. tests/cluster/lib/command_lib.sh
[ "$(id -u)" = 0 ] || { echo "1..0 # SKIP needs root to exchange as several users"; exit 0; }
command_open exec

# ---- nodes ----
amounts='"ncpus":8,"mem_bytes":16000000000,"jobfs_bytes":10000000000,"ngpus":0'
exchange() { # NODE [JOBS [STEPS [OUTPUT [REPORTS [WAIT_S]]]]]: prints the controller's answer
	node_sync node="$1" jobs="${2:-}" more=",\"steps\":[${3:-}]" output="${4:-}" reports="${5:-}" wait="${6:-0}"
}
step_runs() { echo "{\"job\":$1,\"attempt\":1,\"step\":$2,\"state\":\"running\"}"; } # JOB STEP
step_ended() { # JOB STEP STATUS [SIGNAL [TEXT]]
	echo "{\"job\":$1,\"attempt\":1,\"step\":$2,\"state\":\"ended\",\"exit_status\":$3,\"signal\":${4:-0}${5:+,\"text\":\"$5\"}}"
}
step_output() { # JOB STEP STREAM TEXT [OFFSET]
	echo "{\"job\":$1,\"attempt\":1,\"step\":$2,\"stream\":\"$3\",\"offset\":${5:-0},\"data\":\"$(printf "$4" | base64 -w0)\"}"
}
amount='"ncpus":2,"vmem_bytes":1000000'
submit() { # [MORE]: the number of the job, of $amount
	ask $daemon POST /v1/jobs "$(job_request resources="$amount" env='"FROM_JOB=1","BOTH=job"' workdir=/srv more="${1:-}")" >"$dir/submitted"
	job_number "$(cat "$dir/submitted")"
}
running() { # NODE [MORE]: $job runs there
	job=$(submit "${2:-}")
	soon "job $job comes to $1" "\"job\":$job,\"attempt\":1,\"want\":\"run\"" exchange "$1" "$others"
	exchange "$1" "$others$(job_entry "$job" running)" '' '' "$(job_report "$job" 1 running)" >/dev/null
}
others=
post() { # UID JOB MORE: starts a step
	ask "$1" POST "/v1/jobs/$2/steps" "{\"schema\":\"reeve/1\",$3}"
}
steps() { ask $daemon GET "/v1/jobs/$1/steps${2:-}"; } # JOB [QUERY]
true_on() { echo "\"nodes\":[$1],\"argv\":[\"true\"]"; }

# ---- refusals ----
exchange n1 >/dev/null
waits=$(submit ',"hold":true')
has "a job that waits has no steps" '"code":"not-running"' "$(post $daemon "$waits" "$(true_on '"n1"')")"
running n1
list=$(job_entry "$job" running)
has "of others' jobs nothing is known" 404 "$(post $bin "$job" "$(true_on '"n1"')")"
has "an operator does not start anything in them" 403 "$(post 0 "$job" "$(true_on '"n1"')")"
out=$(post $daemon "$job" "$(true_on '"n2"')")
has "another node is refused" '"code":"not-its-node"' "$out"
has "... and the job's own are named" 'its nodes are n1' "$out"
has "all or none" '"steps":[]' "$(post $daemon "$job" "$(true_on '"n1","n2"')" >/dev/null; steps "$job")"
for bad in '"nodes":[],"argv":["a"]' '"nodes":["n1"]' '"nodes":["n1"],"argv":[]' '"nodes":["n1"],"argv":[""]' \
	'"nodes":["n1"],"argv":"a"' '"nodes":["n1"],"argv":["a",1]' '"nodes":["n1"],"argv":["a"],"workdir":"b"' \
	'"nodes":["n1"],"argv":["a"],"env":["=b"]' '"nodes":["n1"],"argv":["a"],"env":["b"]' '"nodes":["../n1"],"argv":["a"]' \
	"\"nodes\":[\"n1\"],\"argv\":[\"a\",\"$(head -c 262142 /dev/zero | tr '\0' x)\"]"; do
	has "bad: ${bad:0:60}" '"code":"bad-request"' "$(post $daemon "$job" "$bad")"
done
has "a step without a body" 400 "$(ask $daemon POST "/v1/jobs/$job/steps")"

# ---- the life of a step ----
out=$(post $daemon "$job" '"nodes":["n1"],"argv":["echo","a b"],"env":["A=1"]')
has "a step is taken" 201 "$out"
has "... with its number and node" "\"steps\":[{\"step\":1,\"node\":\"n1\"}]" "$out"
has "it waits for its node" '"state":"starting"' "$(steps "$job")"
told="\"steps\":[{\"job\":$job,\"attempt\":1,\"step\":1,\"want\":\"run\",\"argv\":[\"echo\",\"a b\"],\"env\":[\"A=1\"],\"workdir\":\"/srv\"}]"
has "its node gets it, with the job's directory" "$told" "$(exchange n1 "$list")"
has "... again until it shows it" "$told" "$(exchange n1 "$list")"
out=$(exchange n1 "$list" "$(step_runs "$job" 1)")
has "then without what to run" "\"steps\":[{\"job\":$job,\"attempt\":1,\"step\":1,\"want\":\"run\"}]" "$out"
has "it runs" '"state":"running"' "$(steps "$job")"
has "another node's word of it is not taken" '"want":"cancel"' "$(exchange n2 '' "$(step_runs "$job" 1)")"
has "... nor of its end" '"state":"running"' "$(exchange n2 '' "$(step_ended "$job" 1 3)" >/dev/null; steps "$job")"
has "... nor its output" '"output_acks":[]' "$(exchange n2 '' '' "$(step_output "$job" 1 out evil)")"
has "output is acknowledged" "\"stream\":\"out\",\"offset\":4,\"step\":1" "$(exchange n1 "$list" "$(step_runs "$job" 1)" "$(step_output "$job" 1 out 'a b\n')")"
exchange n1 "$list" "$(step_runs "$job" 1)" "$(step_output "$job" 1 out 'a b\n'),$(step_output "$job" 1 err 'oh\n')" >/dev/null
read_step() { ask $daemon GET "/v1/jobs/$job/output?step=$1&stream=$2&offset=${3:-0}"; }
has "a repeat adds nothing" "\"data\":\"$(printf 'a b\n' | base64)\",\"offset\":4,\"end\":false" "$(read_step 1 out)"
has "its two streams are two" "\"data\":\"$(printf 'oh\n' | base64)\"" "$(read_step 1 err)"
has "they are not the job's" '"data":"","offset":0' "$(ask $daemon GET "/v1/jobs/$job/output?stream=out")"
has "there is no output of a step that is none" 404 "$(read_step 2 out)"
has "nor for others" 404 "$(ask $bin GET "/v1/jobs/$job/output?step=1")"
has "nor are the steps" 404 "$(ask $bin GET "/v1/jobs/$job/steps")"
has "operators see both" '"state":"running"' "$(ask 0 GET "/v1/jobs/$job/steps")"
ack="\"step_acks\":[{\"job\":$job,\"attempt\":1,\"step\":1}]"
has "its end is acknowledged" "$ack" "$(exchange n1 "$list" "$(step_ended "$job" 1 3)")"
has "... again, and the first word stays" "$ack" "$(exchange n1 "$list" "$(step_ended "$job" 1 4)")"
has "its status is known" '"state":"ended","exit_status":3,"signal":0' "$(steps "$job" '?step=1&wait=20')"
has "its output has an end" '"end":true' "$(read_step 1 out)"
has "a refused step is not sent to the node again" '"steps":[]' "$(exchange n1 "$list")"
has "one that has ended cannot be cancelled" '"code":"too-late"' "$(ask $daemon POST "/v1/jobs/$job/steps/cancel" '{"schema":"reeve/1","step":1}')"
has "nor one that is none" 404 "$(ask $daemon POST "/v1/jobs/$job/steps/cancel" '{"schema":"reeve/1","step":9}')"
has "nor is there one to be seen" 404 "$(steps "$job" '?step=9')"
has "a step that runs and was given up is ended" '"step":1,"want":"cancel"' "$(exchange n1 "$list" "$(step_runs "$job" 1)")"
has "a step that is there twice is refused" 'steps: job' "$(exchange n1 "$list" "$(step_runs "$job" 1),$(step_runs "$job" 1)")"
has "a step of a bad number is named" 'steps[0]' "$(exchange n1 "$list" "$(step_runs "$job" 0)")"

# ---- who waits is woken ----
polls() { curl -s "$url/metrics" | grep '^reeve_long_polls '; }
SECONDS=0
exchange n1 "$list" '' '' '' 60 >"$dir/held" &
held=$!
soon "a sync is held" 'reeve_long_polls 1' polls
post $daemon "$job" "$(true_on '"n1"')" >/dev/null
wait $held
has "a new step wakes it" '"step":2,"want":"run"' "$(cat "$dir/held")"
exchange n1 "$list" "$(step_runs "$job" 2)" >/dev/null
exchange n1 "$list" "$(step_runs "$job" 2)" '' '' 60 >"$dir/held" &
held=$!
soon "a sync is held again" 'reeve_long_polls 1' polls
has "a step is cancelled" '"step":2' "$(ask $daemon POST "/v1/jobs/$job/steps/cancel" '{"schema":"reeve/1","step":2}')"
wait $held
has "which wakes it too" '"step":2,"want":"cancel"' "$(cat "$dir/held")"
steps "$job" '?step=2&wait=60' >"$dir/end" &
watch=$!
read_step() { ask $daemon GET "/v1/jobs/$job/output?step=$1&stream=out&wait=60"; }
read_step 2 >"$dir/output" &
reader=$!
soon "two wait" 'reeve_long_polls 2' polls
exchange n1 "$list" "$(step_runs "$job" 2)" "$(step_output "$job" 2 out 'x')" >/dev/null
wait $reader
has "output wakes its reader" "\"data\":\"eA==\"" "$(cat "$dir/output")"
soon "... alone" 'reeve_long_polls 1' polls
exchange n1 "$list" "$(step_ended "$job" 2 -1 15)" >/dev/null
wait $watch
has "the end wakes who waits for it" '"signal":15' "$(cat "$dir/end")"
[ $SECONDS -lt 55 ]
result=$?
tap_result $result "all of it at once" "it took $SECONDS s"

# ---- reeve exec ----
reeve() { as $daemon "$dir/reeve" exec --config "$dir/client.conf" "$@"; }
begin() { # ARG...: reeve exec in the background, as $run; its step is $step
	step=$(($(steps "$job" | grep -o '"step":[0-9]*' | tail -n 1 | cut -d: -f2) + 1))
	setsid "$dir/go" "$@" >"$dir/out" 2>"$dir/err" &
	run=$!
	soon "its node gets step $step" "\"step\":$step,\"want\":\"run\"" exchange n1 "$list"
}
cat >"$dir/go" <<-GO
	#!/bin/bash
	exec setpriv --reuid $daemon --regid $daemon --clear-groups "$dir/reeve" exec --config "$dir/client.conf" "\$@" </dev/null
GO
chmod 755 "$dir/go"
finish() { # STATUS: of $run
	wait $run
	is "exit status $1" "$1" $?
}
begin -j "$job" -- printf '%s' x
exchange n1 "$list" "$(step_runs "$job" "$step")" "$(step_output "$job" "$step" out 'first\n')" >/dev/null
soon "output comes while it runs" first cat "$dir/out"
exchange n1 "$list" "$(step_runs "$job" "$step")" "$(step_output "$job" "$step" out 'rest' 6),$(step_output "$job" "$step" err 'oh\n')" >/dev/null
exchange n1 "$list" "$(step_ended "$job" "$step" 7)" >/dev/null
finish 7
is "standard output is as it was" $'first\nrest' "$(cat "$dir/out")"
is "standard error too" 'oh' "$(cat "$dir/err")"
begin -j "$job" --label true
exchange n1 "$list" "$(step_ended "$job" "$step" 0)" "$(step_output "$job" "$step" out 'a\n\nb')" >/dev/null
finish 0
is "--label: each line behind its node" $'n1: a\nn1: \nn1: b' "$(cat "$dir/out")"
begin -j "$job" --json true
exchange n1 "$list" "$(step_ended "$job" "$step" -1 9)" "$(step_output "$job" "$step" out 'a\n')" >/dev/null
finish 137
has "--json: a record" '"signal": 9' "$(cat "$dir/out")"
has "... and output on standard error" a "$(cat "$dir/err")"
begin -j "$job" nothing
exchange n1 "$list" "$(step_ended "$job" "$step" -1 0 'nothing: no such file')" >/dev/null
finish 125
has "why it did not start" 'n1: nothing: no such file' "$(cat "$dir/err")"

# ---- interrupts ----
for s in INT:130 TERM:143 HUP:129; do
	begin -j "$job" sleep 1000
	exchange n1 "$list" "$(step_runs "$job" "$step")" >/dev/null
	kill -"${s%:*}" $run
	soon "${s%:*}: its node gets the order to end it" "\"step\":$step,\"want\":\"cancel\"" exchange n1 "$list" "$(step_runs "$job" "$step")"
	exchange n1 "$list" "$(step_ended "$job" "$step" -1 15)" >/dev/null
	finish "${s#*:}"
done
trap '' HUP
begin -j "$job" sleep 1000
trap - HUP
kill -HUP $run
exchange n1 "$list" "$(step_runs "$job" "$step")" "$(step_output "$job" "$step" out 'on\n')" >/dev/null
soon "under nohup it goes on" on cat "$dir/out"
lacks "... and its step too" '"want":"cancel"' "$(exchange n1 "$list" "$(step_ended "$job" "$step" 0)")"
finish 0
begin -j "$job" true # for its number
exchange n1 "$list" "$(step_ended "$job" "$step" 0)" >/dev/null
finish 0
step=$((step + 1))
("$dir/go" -j "$job" yes 2>"$dir/err" | head -n 1 >/dev/null; exit "${PIPESTATUS[0]}") &
run=$!
more() { # more output, of which what was sent before is known already
	local at
	at=$(($(cat "$dir/at") + 2))
	echo $at >"$dir/at"
	exchange n1 "$list" "$(step_runs "$job" "$step")" "$(step_output "$job" "$step" out 'y\n' $((at - 2)))"
}
echo 0 >"$dir/at"
soon "its node gets its step" '"argv":["yes"]' exchange n1 "$list"
soon "who reads its output has gone: its step is ended" '"want":"cancel"' more
finish 1
has "... and it prints that" 'Broken pipe' "$(cat "$dir/err")"
exchange n1 "$list" "$(step_ended "$job" "$step" -1 15)" >/dev/null
begin -j "$job" sleep 1000
kill -INT $run
soon "not started: its node gets the order too" "\"step\":$step,\"want\":\"cancel\"" exchange n1 "$list"
finish 130
exchange n1 "$list" "$(step_ended "$job" "$step" -1 0 cancelled)" >/dev/null

# ---- what is sent ----
sent() { exchange n1 "$list" | sed 's/"credential":"MUNGE:[^"]*:",//' | sed -n "s/.*\"step\":$step,\"want\":\"run\",\(.*\)}\].*/\1/p"; }
ended() { exchange n1 "$list" "$(step_ended "$job" "$step" 0)" >/dev/null; wait $run; }
begin -j "$job" -- sh -c 'echo $0' '*'
is "words as they are; no environment, the job's directory" '"argv":["sh","-c","echo $0","*"],"workdir":"/srv"' "$(sent)"
ended
export BOTH=here ONLY=1
begin -j "$job" --export BOTH,ONLY -d /tmp env
is "--export NAMES: on top of the job's own" '"argv":["env"],"env":["FROM_JOB=1","BOTH=here","ONLY=1"],"workdir":"/tmp"' "$(sent)"
ended
begin -j "$job" --export all env
has "--export all" '"ONLY=1"' "$(sent)"
ended
export REEVE_JOB=$job REEVE_NODE=n1
cd "$dir" || exit 1
begin env
out=$(sent)
has "inside the job: its variables" '"ONLY=1"' "$out"
has "... and its directory" "\"workdir\":\"$dir\"" "$out"
ended
begin --export none env
lacks "... except with --export none" ONLY "$(sent)"
ended
begin --rsh -n -l daemon n1 echo 'a  b;' 'echo $X'
has "--rsh: words joined, given to a shell" '"argv":["/bin/sh","-c","echo a  b; echo $X"]' "$(sent)"
ended
begin --rsh n1 -l daemon uptime
has "--rsh: options behind the node" '"argv":["/bin/sh","-c","uptime"]' "$(sent)"
ended
unset REEVE_JOB REEVE_NODE BOTH ONLY
cd - >/dev/null || exit 1

# ---- wrong usage, refusals ----
exits() { # NAME STATUS WORDS ARG...
	out=$(reeve "${@:4}" 2>&1 >/dev/null </dev/null)
	is "$1" "$2" $?
	has "... and why" "$3" "$out"
}
exits "no job" 2 'name it with --job' true
exits "no command" 2 'no command' -j "$job"
exits "no such job" 125 'no job 999' -j 999 true
exits "not its node" 125 'its nodes are n1' -j "$job" -n n7 true
exits "a job that waits" 125 'queued' -j "$waits" true
exits "--all and --node" 2 'one of them' -j "$job" -a -n n1 true
exits "--rsh as another user" 2 'runs as the owner of the job' -j "$job" --rsh n1 -l root true
exits "--rsh without a command" 2 'no command' -j "$job" --rsh n1
exits "a variable that is not there" 2 'the variable NOSUCH is not set' -j "$job" --export NOSUCH true
export REEVE_CONTROLLER=http://127.0.0.1:1
exits "no controller" 125 '127.0.0.1:1' -j "$job" true
unset REEVE_CONTROLLER

# ---- on several nodes ----
one=$job
amount=
job=$(submit ',"select":"2:ncpus=1:vmem=1MB","scatter":true')
node_of() { # PART
	ask 0 GET "/v1/jobs/$job" | tail -n 1 | python3 -c 'import json,sys; print(json.load(sys.stdin)["job"]["parts"][int(sys.argv[1])]["node"])' "$1"
}
[ -n "$job" ] || bail "not taken: $(cat "$dir/submitted")"
soon "a job on two nodes is placed" '"parts":[{' ask 0 GET "/v1/jobs/$job"
first=$(node_of 0) second=$(node_of 1)
lists() { # NODE: what it holds
	[ "$1" != n1 ] || echo -n "$(job_entry "$one" running),"
	job_entry "$job" running
}
exchange_of() { exchange "$1" "$(lists "$1")" "${@:2}"; } # NODE [STEPS [OUTPUT [REPORTS]]]
for node in "$second" "$first"; do
	soon "$node gets the job" "\"job\":$job,\"attempt\":1,\"want\":\"run\",\"request\"" exchange "$node" "$([ "$node" != n1 ] || job_entry "$one" running)"
	exchange_of "$node" '' '' "$(job_report "$job" 1 running)" >/dev/null
done
"$dir/go" -j "$job" --all --label hostname >"$dir/out" 2>"$dir/err" &
run=$!
for node in "$first" "$second"; do
	soon "--all: $node gets a step" '"want":"run","argv":["hostname"]' exchange_of "$node"
done
exchange_of "$second" "$(step_ended "$job" 2 3)" "$(step_output "$job" 2 out 'b\n')" >/dev/null
soon "output of one comes while another runs" "$second: b" cat "$dir/out"
exchange_of "$first" "$(step_runs "$job" 1)" "$(step_output "$job" 1 out 'a\n')" >/dev/null
exchange_of "$first" "$(step_ended "$job" 1 1)" >/dev/null
finish 3
is "each line has its node" "$second: b
$first: a" "$(cat "$dir/out")"
"$dir/go" -j "$job" -n "$second" --json hostname >"$dir/out" 2>"$dir/err" &
run=$!
soon "--node: that one is" '"step":3,"want":"run"' exchange_of "$second"
lacks "... and the other is not" '"argv"' "$(exchange_of "$first")"
exchange_of "$second" "$(step_ended "$job" 3 0)" >/dev/null
finish 0
has "--json names it" "\"node\": \"$second\"" "$(cat "$dir/out")"
several() { ask "$1" GET "/v1/jobs/$job/steps/output?$2" | tail -n 1; }
has "output of several, in the order in which it came" \
	"[{\"step\":2,\"stream\":\"out\",\"data\":\"Ygo=\"},{\"step\":1,\"stream\":\"out\",\"data\":\"YQo=\"}]" "$(several $daemon 'first=1&last=2')"
has "others get none of it" '"code":"not-found"' "$(several $bin 'first=1&last=2')"
has "nor is there any of steps that are none" '"code":"not-found"' "$(several $daemon 'first=1&last=9')"
for bad in '' 'first=2&last=1' 'first=1&last=1001' 'first=0&last=1' 'first=1&last=1&since=x'; do
	has "output of several: bad: $bad" '"code":"bad-request"' "$(several $daemon "$bad")"
done
has "its nodes are named to who asks for another" "its nodes are $first,$second" "$(post $daemon "$job" "$(true_on '"n9"')")"
ask $daemon POST "/v1/jobs/$job/cancel" >/dev/null
for node in "$first" "$second"; do exchange_of "$node" '' '' "$(job_report "$job" 2 ended)" >/dev/null; done
job=$one

# ---- the controller is killed under it ----
begin -j "$job" cat
exchange n1 "$list" "$(step_runs "$job" "$step")" "$(step_output "$job" "$step" out 'one\n')" >/dev/null
soon "output comes" one cat "$dir/out"
kill -9 "$controller"
wait "$controller" 2>/dev/null
controller=
soon "reeve exec prints that it tries again" 'trying again' cat "$dir/err"
live_start || bail "the controller does not start again"
out=$(exchange n1 "$list")
lacks "a step that runs is not started again" '"argv"' "$out"
has "what was acknowledged is there" '"offset":8' "$(exchange n1 "$list" "$(step_runs "$job" "$step")" "$(step_output "$job" "$step" out 'one\ntwo\n')")"
kill -9 "$controller"
wait "$controller" 2>/dev/null
controller=
live_start || bail "the controller does not start again"
exchange n1 "$list" "$(step_ended "$job" "$step" 5)" "$(step_output "$job" "$step" out 'one\ntwo\n')" >/dev/null
finish 5
is "nothing is lost, nothing comes twice" $'one\ntwo' "$(cat "$dir/out")"
post $daemon "$job" "$(true_on '"n1"')" >/dev/null
kill -9 "$controller"
wait "$controller" 2>/dev/null
controller=
live_start || bail "the controller does not start again"
has "a step that was accepted reaches its node after that" '"argv":["true"]' "$(exchange n1 "$list")"

# ---- bounds, and the end of the job ----
many=$(printf ',"n%d"' $(seq 1000))
has "more than 1,000 at a time are refused" '"code":"too-many-open"' "$(post $daemon "$job" "$(true_on "${many:1}")")"
begin -j "$job" sleep 1000
exchange n1 "$list" "$(step_runs "$job" "$step")" >/dev/null
exchange n1 '' "$(step_runs "$job" "$step")" '' "$(job_report "$job" 9 ended)" >/dev/null
finish 125
has "steps end with their job" 'n1: the job ended' "$(cat "$dir/err")"
lacks "all of them" '"state":"starting"' "$(steps "$job" '?after=1')"
has "a job that has ended has no new ones" '"code":"not-running"' "$(post $daemon "$job" "$(true_on '"n1"')")"
has "what still runs of it is ended" '"want":"cancel"' "$(exchange n1 '' "$(step_runs "$job" "$step")")"
tap_end
