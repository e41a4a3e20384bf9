# SPDX-License-Identifier: GPL-2.0-or-later
# store_lib.sh - a real agent with real jobs on this machine, in cgroups of its own and over a disk that fails on demand (store_fault.c); the controller is
# played by cli_fake.c. To be sourced after live_lib.sh, as root. shellcheck shell=bash
#
#	store_possible		1: no cgroup v2 here in which jobs can be made
#	store_open NAME		live_dir NAME, munge, the played controller, and the agent's configuration; to be followed by agent_start
#	store_preload		before agent_start: ":FILE.so", a further shared object for the agent
#	agent_start, agent_end	$agent is its process, $dir/agent.log what it says; agent_spawn does not wait for its first word
#	fault ...		see store_fault.c
#	answer, said, report	what the controller answers from now on; what the agent says
#	order, cancel, settle	the next job ($job), to be run, cancelled, acknowledged; runs, is_reported, is_killed and is_gone wait for that
#	all_of NAME FAILED	a test that passes where FAILED is empty
agent_binary=${REEVE_AGENT_BINARY:-$PWD/build/bin/reeve-agent}
launcher=${REEVE_LAUNCH_BINARY:-$PWD/build/bin/reeve-launch}
store_preload='' agent='' job=0
store_possible() {
	group=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)/reeve-store-$$
	mkdir "$group" 2>/dev/null && [ -e "$group/cgroup.kill" ] && rmdir "$group"
}
fault() { "$dir/fault" "$@"; }
store_build() {
	${CC:-cc} -std=gnu17 -D_GNU_SOURCE -O1 -I. -o "$dir/fake" tests/cluster/lib/cli_fake.c build/common/auth/auth.o \
		build/common/err.o -lmicrohttpd -lmunge -lnettle -lz || bail "cli_fake.c does not compile"
	for how in "-shared -fPIC -o $dir/fault.so" "-DCONTROL -o $dir/fault"; do
		# shellcheck disable=SC2086 # words
		${CC:-cc} -std=gnu17 -D_GNU_SOURCE -O1 $how tests/cluster/lib/store_fault.c || bail "store_fault.c does not compile"
	done
}

# ---- the controller ----
store_play() {
	mkdir "$dir/answers"
	: >"$dir/answers/sign"
	log=$dir/answers/log
	"$dir/fake" "$dir/answers" "$dir/munge.sock" >"$dir/port" &
	echo $! >"$dir/fake.pid"
	for _ in $(seq 100); do [ -s "$dir/port" ] && break; sleep 0.05; done
}
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
store_configure() {
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
}
agent_spawn() {
	LD_PRELOAD=$dir/fault.so$store_preload "$agent_binary" --config "$dir/agent.conf" 2>>"$dir/agent.log" &
	agent=$!
	echo $agent >"$dir/agent.pid"
}
agent_start() {
	agent_spawn
	said '"node":"n1"' 40 || bail "the agent does not start: $(cat "$dir/agent.log")"
}
agent_end() {
	live_end_pid "$agent"
	rm -f "$dir/agent.pid"
}
store_end() {
	fault off
	agent_end
	for c in "$group"/jobs/*/ "$group"/supervisors/; do
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
store_open() { # NAME
	live_dir "$1"
	live_munge
	export LC_ALL=C.UTF-8 STORE_FAULT=$dir/fault.words
	store_build
	store_play
	store_configure
	trap store_end EXIT
	fault off
	answer ''
}

# ---- jobs ----
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
	for i in $(seq $((job > 199 ? job - 199 : 1)) "$job"); do
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
