#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# agent_store.sh [all] - a job is killed, ended and reported whatever its node's store does, whatever bytes it
# is called by, and however many there are: a real agent with real jobs on this machine; the controller
# is played. "all": every change of the store fails once and for ever, which takes minutes. TAP.
set -u
cd "$(dirname "$0")/../../.." || exit 1
. tests/cluster/lib/tap_lib.sh
. tests/cluster/lib/live_lib.sh
[ "$(id -u)" = 0 ] || { echo "1..0 # SKIP needs root"; exit 0; }
agent_binary=${REEVE_AGENT_BINARY:-$PWD/build/bin/reeve-agent}
launcher=${REEVE_LAUNCH_BINARY:-$PWD/build/bin/reeve-launch}
mount=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
group=$mount/reeve-store-$$
mkdir "$group" 2>/dev/null && [ -e "$group/cgroup.kill" ] && rmdir "$group" ||
	{ echo "1..0 # SKIP no cgroup v2 that jobs may be made in"; exit 0; }
live_dir store
live_munge
export LC_ALL=C.UTF-8
${CC:-cc} -std=gnu17 -D_GNU_SOURCE -O1 -I. -o "$dir/fake" tests/cluster/lib/cli_fake.c build/common/auth/auth.o \
	build/common/err.o -lmicrohttpd -lmunge -lnettle -lz || bail "cli_fake.c does not compile"
for how in "-shared -fPIC -o $dir/fault.so" "-DCONTROL -o $dir/fault"; do
	# shellcheck disable=SC2086 # words
	${CC:-cc} -std=gnu17 -D_GNU_SOURCE -O1 $how tests/cluster/lib/store_fault.c || bail "store_fault.c does not compile"
done
export STORE_FAULT=$dir/fault.words
fault() { "$dir/fault" "$@"; }

# ---- the controller ----
mkdir "$dir/answers"
: >"$dir/answers/sign"
log=$dir/answers/log
"$dir/fake" "$dir/answers" "$dir/munge.sock" >"$dir/port" &
echo $! >"$dir/fake.pid"
for _ in $(seq 100); do [ -s "$dir/port" ] && break; sleep 0.05; done
answer() { # MEMBERS: of each answer from now on; the agent asks at once
	printf '200\n{"schema":"reeve/1"%s}' "${1:+,$1}" >"$dir/answer"
	mv "$dir/answer" "$dir/answers/POST_v1_node_sync"
	[ -z "${agent:-}" ] || kill -HUP "$agent"
}
said() { # PATTERN [SECONDS]: the agent says it in a document; 1: not within that
	local end=$((SECONDS + ${2:-10}))
	until tail -n 3 "$log" 2>/dev/null | grep -qE -- "$1"; do
		[ $SECONDS -lt "$end" ] || return 1
		sleep 0.02
	done
}
report() { tail -n 3 "$log" | grep -oE "\"reports\":.*" | grep -oE '"line":"[^"]*"' | tail -n 1; }

# ---- the agent, over a disk that fails on demand ----
node=$(mktemp -d /var/lib/reeve-store-XXXXXX) && chmod 755 "$node" # jobs have a /tmp of their own
mkdir "$node/state" "$node/run" "$node/jobfs" "$node/pins"
cp "$launcher" "$node/reeve-launch" # where other users may reach it
mount -t tmpfs -o size=64M,mode=700 none "$node/state" # its syncs take no time
cat >"$dir/agent.conf" <<CONF
[Agent]
Node = n1
Controller = http://127.0.0.1:$(cat "$dir/port")
ControllerUser = root
MinUid = 1
MinGid = 1
RequireUserCredential = no
MungeSocket = $dir/munge.sock
Manager = cgroup
CgroupParent = ${group##*/}
RunDirectory = $node/run
StateDirectory = $node/state
JobfsDirectory = $node/jobfs
PinDirectory = $node/pins
LaunchProgram = $node/reeve-launch
VmemTier = 3
ReservedMemory = 100MB
SampleInterval = 1s
ReportInterval = 1s
KillGrace = 1s
CONF
agent_start() {
	LD_PRELOAD=$dir/fault.so "$agent_binary" --config "$dir/agent.conf" 2>>"$dir/agent.log" &
	agent=$!
	echo $agent >"$dir/agent.pid"
	said '"node":"n1"' || bail "the agent does not start: $(cat "$dir/agent.log")"
}
agent_end() {
	live_end_pid "$agent"
	rm -f "$dir/agent.pid"
}
store_end() {
	fault off
	agent_end
	for c in "$group"/jobs/*/ "$group"/supervisors/*/; do
		[ -e "$c/cgroup.kill" ] && echo 1 >"$c/cgroup.kill"
	done
	for _ in $(seq 50); do
		find "$group" -depth -type d -exec rmdir {} + 2>/dev/null
		[ -d "$group" ] || break
		sleep 0.1
	done
	umount "$node/state"
	rm -rf "$node"
	live_end
}
trap store_end EXIT
fault off
answer ''
agent_start

# ---- jobs ----
job=0
order() { # WALLTIME_S WORKDIR COMMAND...: the next job, to be run
	local walltime=$1 workdir=$2 argv='' a
	shift 2
	for a in "$@"; do argv="$argv${argv:+,}\"$a\""; done
	job=$((job + 1))
	: >"$log"
	answer "\"jobs\":[{\"job\":$job,\"attempt\":1,\"want\":\"run\",\"request\":{\"uid\":1,\"gid\":1,\"user\":\"daemon\",
\"name\":\"t\",\"cluster\":\"c\",\"account\":\"a\",\"workdir\":\"$workdir\",\"out_path\":\"/dev/null\",\"join\":true,\"argv\":[$argv],
\"env\":[\"PATH=/usr/bin:/bin\"],\"resources\":{\"ncpus\":1,\"vmem_bytes\":200000000,\"jobfs_bytes\":1000000,\"walltime_s\":$walltime}}}]"
}
cancel() { answer "\"jobs\":[{\"job\":$job,\"attempt\":1,\"want\":\"cancel\",\"reason\":\"enough\"}]"; }
settle() { # also what an agent reports once more because it could not note that it was settled
	local acks='' i
	for i in $(seq $((job > 9 ? job - 9 : 1)) "$job"); do
		acks="$acks${acks:+,}{\"job\":$i,\"attempt\":1,\"seq\":9000000000000000000}"
	done
	: >"$log"
	answer "\"acks\":[$acks]"
}
is_reported() { said "\"reports\":\[.*\"job\":$job,[^{]*\"state\":\"ended\".*\"kind\":\"${1:-[a-z]*}\"" "${2:-10}"; }
runs() { said "\"reports\":\[.*\"job\":$job,[^{]*\"state\":\"running\"" 20; }
is_gone() { said '"jobs":\[\]' && answer ''; } # an answer that never ends is asked for at once, again
is_killed() { ! pgrep -f "sleep 98$job" >/dev/null; }
all_of() { # NAME FAILED: none of them
	tap_result "$([ -z "$2" ] && echo 0 || echo 1)" "$1" "failed at:$2
$(tail -n 5 "$dir/agent.log")"
}

# ---- any bytes ----
letters=$(printf 'Ж%.0s' $(seq 120))
for shift in '' x; do
	order 60 "/$shift$letters" true
	is_reported failed; is "a job whose directory is missing ends, named by 120 letters of two bytes${shift:+ and one more}" 0 $?
	has "... and the words are cut between letters" "ЖЖЖ" "$(report)"
	settle
	is_gone; is "... and is gone" 0 $?
done
order 60 / sh -c "printf '\\\\377\\\\376' >/proc/self/comm; sleep 0.3"
is_reported exited && settle && is_gone; is "so does one that calls itself by bytes that are no text" 0 $?

# ---- a store that fails at the n-th change, from when the job runs until it is forgotten ----
life() { # N once|forever: 1: the job was not killed, not reported or not gone
	order 60 / sleep "98$((job + 1))"
	runs || return 1
	fault "$1" "$2"
	cancel
	is_reported cancelled && is_killed || return 1
	settle
	is_gone
}
life 0 once; is "a job that is cancelled is killed, reported and gone" 0 $?
last=$(fault count)
[ "$last" -gt 20 ]; is "... and the store changed some times in that ($last)" 0 $?
if [ "${1:-}" = all ]; then step=1; else step=13; fi
for how in forever once; do
	bad=
	for at in $(seq 1 $step "$last"); do
		life "$at" $how || bad="$bad $at"
		fault off
		answer ''
		is_gone || bad="$bad $at(left)"
	done
	all_of "the same with a store that fails $how from any change on" "$bad"
done

# ---- the same from before it is to run: it starts later, or not at all ----
begin() { # N once|forever: 1: the job did not start, nor did the node say why; or as above
	fault "$1" "$2"
	order 60 / sleep "98$((job + 1))"
	said "(\"job\":$job,[^{]*\"state\":\"running\"|\"state\":\"drain\")" 20 || return 1
	cancel
	is_reported cancelled && is_killed || return 1
	settle
	is_gone
}
fault 0 once
order 60 / sleep "98$((job + 1))"
runs; is "a job runs" 0 $?
last=$(fault count)
[ "$last" -gt 10 ]; is "... and the store changed some times until then ($last)" 0 $?
cancel; is_reported cancelled; settle; is_gone
for how in forever once; do
	bad=
	for at in $(seq 1 $step "$last"); do
		begin "$at" $how || bad="$bad $at"
		fault off
		answer ''
		is_gone && said '"state":"up"' || bad="$bad $at(left)"
	done
	all_of "a job that is cancelled while it starts is gone, with a store that fails $how from any change on" "$bad"
done

# ---- kill -9 instead of the n-th change: a job runs once, whichever step the agent was at ----
mkdir -m 777 "$node/ran"
until_agent() { # COMMAND...: succeeds, with an agent that is started again where it was killed; 1: not within 30 s
	local end=$((SECONDS + 30))
	until kill -0 "$agent" 2>/dev/null && "$@"; do
		[ $SECONDS -lt $end ] || return 1
		kill -0 "$agent" 2>/dev/null && continue
		wait "$agent" 2>/dev/null
		killed=$((killed + 1))
		agent_start
	done
}
ended_once() { # N: 1: the job ran never or twice, its end is not known, or it is not gone
	fault "$1" kill
	order 60 / sh -c "echo ran >>$node/ran/$((job + 1)); exit 3"
	until_agent is_reported exited 1 || return 1
	[ "$(wc -l <"$node/ran/$job")" = 1 ] && report | grep -q 'exit status 3' || return 1
	settle 2>/dev/null
	until_agent is_gone
}
killed=0
ended_once 0; is "a job that exits is reported and gone" 0 $?
last=$(fault count)
bad=
for at in $(seq 1 $step "$last"); do
	ended_once "$at" || bad="$bad $at"
	fault off
	answer '' 2>/dev/null
	until_agent is_gone || bad="$bad $at(left)"
done
all_of "it runs once, and its end is known, with the agent killed instead of any of $last changes of the store" "$bad"
[ $killed -ge $((last / step / 2)) ]; is "... which happened ($killed times)" 0 $?

# ---- while no change is possible ----
order 2 / sleep "98$((job + 1))"
runs
fault 1 forever
is_reported limit; is "walltime ends a job whose state cannot be saved" 0 $?
has "... in its words" "walltime limit exceeded" "$(report)"
is_killed; is "... and it is killed" 0 $?
settle; is_gone; is "... and gone" 0 $?
fault off
order 60 / sh -c 'sleep 1; exit 3'
runs
fault 1 forever
is_reported exited; is "the end of a job that exits meanwhile is reported" 0 $?
has "... as it was" "exit status 3" "$(report)"
kill -9 "$agent"; wait "$agent" 2>/dev/null
fault off
: >"$log"
agent_start
is_reported exited; is "... and once more by the agent that comes back" 0 $?
has "... as it was" "exit status 3" "$(report)"
settle; is_gone; is "... until it is acknowledged" 0 $?
fault 1 forever
order 60 / sleep "98$((job + 1))"
said '"state":"drain"'; is "a node that cannot save takes no new jobs" 0 $?
said '"store: the state of jobs cannot be saved'; is "... and says why" 0 $?
is_killed; is "what cannot be saved is not started" 0 $?
cancel
is_reported cancelled; is "... but cancelled, and that is reported" 0 $?
settle; is_gone; is "... and gone" 0 $?
order 60 / sleep "98$((job + 1))"
sleep 1
fault off
runs; is "what waited for the store starts when that works again" 0 $?
said '"state":"up"'; is "... and the node takes jobs" 0 $?
cancel; is_reported cancelled; settle; is_gone

# ---- a disk that is really full ----
order 60 / sleep "98$((job + 1))"
runs
dd if=/dev/zero of="$node/state/full" bs=4k 2>/dev/null
cancel
is_reported cancelled; is "a job is ended and reported on a full disk" 0 $?
settle; is_gone; is "... and gone" 0 $?
rm "$node/state/full"
agent_end
: >"$log"
agent_start
settle; is_gone; is "... also for the agent that comes back when there is room" 0 $?

# ---- jobs that are due at once are saved together ----
orders() { # N: jobs that end as they come; 1: not all of them are reported
	local first=$((job + 1)) list='' i
	job=$((job + $1))
	for i in $(seq $first $job); do list="$list,{\"job\":$i,\"attempt\":1,\"want\":\"run\",\"request\":{}}"; done
	: >"$log"
	fault 0 once
	answer "\"jobs\":[${list#,}]"
	for i in $(seq $first $job); do said "\"reports\":\[.*\"job\":$i,[^{]*\"state\":\"ended\"" || return 1; done
	changes=$(fault count)
	settle
	is_gone
}
orders 1; is "one job that cannot run is reported" 0 $?
one=$changes
orders 10; is "ten of them are" 0 $?
[ "$changes" -lt $((one * 6)) ]; is "... with fewer than six times as many changes of the store ($one, $changes)" 0 $?

# ---- more jobs than any list was long ----
many=4100 list=''
for i in $(seq 100001 $((100000 + many))); do list="$list,{\"job\":$i,\"attempt\":1,\"want\":\"run\",\"request\":{}}"; done
: >"$log"
answer "\"jobs\":[${list#,}]"
listed() { tail -n 2 "$log" | head -n 1 | sed 's/.*"jobs":\[//; s/\].*//' | grep -o '"job"' | wc -l; }
for _ in $(seq 100); do [ "$(listed)" = $many ] && break; sleep 0.1; done
is "a node lists every job that it has" $many "$(listed)"
is "the version is that of all programs" "reeve-agent $(build/bin/reeve --version | cut -d' ' -f2)" "$("$agent_binary" --version)"
tap_end
