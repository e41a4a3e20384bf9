#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# credentials.sh - what users sign of their jobs and steps, from the command through a controller to a node; a real
# munged, controller and command, and a played node that judges as an agent does. TAP.
# shellcheck disable=SC2317 # functions are called by soon
set -u
cd "$(dirname "$0")/../../.." || exit 1
. tests/cluster/lib/tap_lib.sh
. tests/cluster/lib/live_lib.sh
. tests/cluster/lib/play_lib.sh
. tests/cluster/lib/command_lib.sh
[ "$(id -u)" = 0 ] || { echo "1..0 # SKIP needs root to exchange as several users"; exit 0; }
command_open credentials
live_tool signed
${CC:-cc} -std=gnu17 -D_GNU_SOURCE -O1 -I. -o "$dir/believe" tests/cluster/lib/believe.c build/common/signature/*.o \
	build/common/auth/auth.o build/common/err.o build/common/utf8.o build/common/wire/*.o build/common/wire/json/*.o build/common/model/*.o \
	-ljansson -lmunge -lnettle || bail "believe.c does not compile"
client() { command_config ${1:+"ControllerUser = $1"}; } # USER: of a command that trusts a controller of this user's
cd "$dir" || exit 1
reeve() { as "$1" "$dir/reeve" "$2" --config "$dir/client.conf" "${@:3}" 2>&1; }

amounts='"ncpus":64,"mem_bytes":16000000000,"jobfs_bytes":10000000000,"ngpus":0'
exchange() { node_sync jobs="${1:-}" reports="${3:-}" more=",\"steps\":[${2:-}]"; } # [JOBS [STEPS [REPORTS]]]: of node n1
believe() { "$dir/believe" "$dir/munge.sock" "${1:-n1}"; }
check_orders() { exchange "${list:-}" | believe; } # what a node would say of the orders it gets
report() { job_report "$1" "$(date +%s%N)" "$2"; } # JOB STATE; each with a sequence number of its own
kept() { sqlite3 "$dir/ledger.db" "SELECT COUNT(*) FROM credentials"; }
size='ncpus=1,vmem=100MB'
exchange >/dev/null

# ---- jobs ----
client root
job=$(reeve $daemon submit -l $size -d /tmp -- sh -c 'echo hello')
soon "what a user signed comes to the node and is allowed, with the site's defaults" "job $job of $job, by uid 1: allowed" check_orders
answer=$(exchange)
for change in 's/echo hello/echo evil/|its command is not what' 's/"env":\[/"env":["LD_PRELOAD=x",/|its environment is not what' \
	's/"uid":1,/"uid":2,/|uid 1 signed it' 's/"gid":1,/"gid":2,/|uid 1 signed it' 's/"workdir":"\/tmp"/"workdir":"\/"/|its working directory is not' \
	's/"walltime_s":3600/"walltime_s":3600,"pids":5/|allowed' 's/"ncpus":1,/"ncpus":2,/|its ncpus, 2, is more than the 1' \
	's/"account":"physics"/"account":"other"/|allowed' 's/"attempt":1/"attempt":2/|attempt 2 of it' \
	's/"request":{/"request":{"script":"evil",/|its script' 's/\("credential":"MUNGE:.\{60\}\)../\1_x/|credential' 's/"credential"/"none"/|nothing is signed'; do
	has "changed by ${change%%|*}: ${change#*|}" "${change#*|}" "$(sed "${change%%|*}" <<<"$answer" | believe)"
done
credential=$(grep -o 'MUNGE:[^"]*' <<<"$answer")
as $daemon unmunge -S "$dir/munge.sock" <<<"$credential" >/dev/null 2>&1
is "its own user cannot read it, nor could a controller that is not root" 18 $?
lacks "people are not shown it" MUNGE "$(ask $daemon GET "/v1/jobs/$job")"
exchange "$(job_entry "$job" running)" '' "$(report "$job" running)" >/dev/null
lacks "a node that has the job is not check_orders it again" MUNGE "$(exchange "$(job_entry "$job" running)")"
is "it is kept while the job runs" 1 "$(kept)"
list=$(job_entry "$job" running)
array=$(reeve $daemon submit -l $size -d /tmp -J 3-9:3 -o 'out-^array_index^' -- true)
soon "an element of an array is allowed by the array's" "job $((array + 2)) of $array, by uid 1: allowed" check_orders
is "... each of them" 3 "$(check_orders | grep -c "of $array, by uid 1: allowed")"
has "but not another task" "this task of the array is not what" "$(exchange "$list" | sed 's/ARRAY_INDEX=6/ARRAY_INDEX=4/' | believe)"
has "nor another file" "an output file is not what" "$(exchange "$list" | sed 's/out-6/.bashrc/' | believe)"
several=$(reeve $daemon submit -l select=2:ncpus=1:vmem=100MB,walltime=60 -d /tmp --hold -- true)
is "an array's is kept once, for all" 3 "$(kept)"
reeve $daemon cancel "$several" "$array" >/dev/null
is "what never started is not kept when it has ended" 2 "$(kept)"

# ---- steps ----
(reeve $daemon exec -j "$job" -d /tmp -- echo one two >"$dir/exec.out") &
exec=$!
soon "a step that was signed is allowed" "step of job $job, by uid 1: allowed" check_orders
has "with another command it is not" "its command is not what" "$(exchange "$list" | sed 's/"two"/"three"/' | believe)"
has "nor in another place" "step $job: its working directory is not what" "$(exchange "$list" | sed 's/"workdir":"\/tmp"/"workdir":"\/"/g' | believe)"
has "nor in another job" "the job that it is started in is not" "$(exchange "$list" | sed "s/{\"job\":$job,\"attempt\":1,\"step\"/{\"job\":99,\"attempt\":1,\"step\"/" | believe)"
has "nor with a terminal that was not asked for" "step $job: its terminal (--pty, --stdin) is not what" \
	"$(exchange "$list" | sed 's/"two"\]/"two"],"console":"pty"/' | believe)"
has "nor as what its job ends with" "step $job: whether its job ends with it is not what" \
	"$(exchange "$list" | sed 's/"two"\]/"two"],"main":true/' | believe)"
has "nor on another node" "the node that it is started on is not" "$(exchange "$list" | believe n2)"
exchange "$list" "{\"job\":$job,\"attempt\":1,\"step\":1,\"state\":\"ended\",\"exit_status\":0,\"signal\":0}" >/dev/null
wait $exec

timeout 60 setpriv --reuid $daemon --regid $daemon --clear-groups "$dir/reeve" exec --config "$dir/client.conf" -j "$job" --stdin --on-hangup keep -- cat \
	</dev/null >"$dir/exec.out" 2>&1 &
exec=$!
soon "a step with a terminal that was signed is allowed" "step of job $job, by uid 1: allowed" check_orders
for change in 's/"console":"pipes"/"console":"pty"/|its terminal (--pty, --stdin)' 's/"console":"pipes",//|its terminal (--pty, --stdin)' \
	's/"on_hangup":"keep"/"on_hangup":"end"/|what becomes of it when its terminal is lost' 's/"console"/"main":true,"console"/|whether its job ends with it' \
	's/"rows":0/"rows":9/|the size of its terminal'; do
	has "with another terminal it is not: ${change%%|*}" "step $job: ${change#*|} is not what its user signed" "$(exchange "$list" | sed "${change%%|*}" | believe)"
done
exchange "$list" "{\"job\":$job,\"attempt\":1,\"step\":2,\"state\":\"ended\",\"exit_status\":0,\"signal\":0}" >/dev/null
wait $exec

# ---- what other programs send ----
post() { # MORE: a job that is submitted by hand
	ask $daemon POST /v1/jobs "{\"schema\":\"reeve/1\",\"request\":{\"cluster\":\"main\",\"account\":\"physics\",\
\"resources\":{\"ncpus\":1,\"vmem_bytes\":1000000},\"argv\":[\"true\"],\"env\":[],\"workdir\":\"/tmp\"}$1}"
}
has "what is no credential is refused" "credential: not one of munge's" "$(post ',"credential":"x"')"
has "so is one of another type" "credential: not one of munge's" "$(post ',"credential":{}')"
has "and one with other letters" "credential: not one of munge's" "$(post ',"credential":"MUNGE:\u0041\n:"')"
job2=$(post '' | grep -o '"job":[0-9]*' | cut -d: -f2)
soon "a job may be submitted without one: the node decides" "job $job2: nothing is signed" check_orders
exchange "$list,$(job_entry "$job2" running)" >/dev/null
list="$list,$(job_entry "$job2" running)"

# ---- a credential for the controller is useless elsewhere ----
client bin
has "a command whose controller is another user's is not understood by this one" "nauthorized" "$(reeve $daemon nodes)"
client no-such-user
has "a user who is none is an error" "ControllerUser=no-such-user" "$(reeve $daemon nodes)"
client ''
has "without a user of that name anyone may read it" n1 "$(reeve $daemon nodes)"

exchange "$(job_entry "$job" ended)" '' "$(report "$job" ended)" >/dev/null
soon "with the job's end it goes" 0 sqlite3 "$dir/ledger.db" "SELECT COUNT(*) FROM credentials WHERE job = $job"
cd / || exit 1
tap_end
