# SPDX-License-Identifier: GPL-2.0-or-later
# agent_lib.sh - a real agent on this machine, whose jobs are real processes in cgroups of its own; without BPF, so that it needs
# root and a cgroup v2 alone. To be sourced after live_lib.sh. shellcheck shell=bash
#
#	agent_suite NAME	how a suite with an agent begins: $dir and its munged; the suite is skipped where there can be no agent
#	agent_site NAME		the same, and a controller with the account physics of user daemon, the node n9 of an agent without quotas,
#				and the command reeve as that user
#	agent_possible		1: no cgroup v2 here in which jobs can be made
#	agent_no_quota=1	before agent_open: no disk with project quotas is played, the directory is what it is
#	agent_open [LINE]...	the node n9 of $url's controller; LINE: further ones of agent.conf; $agent_dir/agent.conf,
#				$agent_pid, $agent_dir/log
#	agent_start, agent_stop	again, and away
#	REEVE_AGENT_BINARY, REEVE_LAUNCH_BINARY	others than those of build/bin
#	AGENT_PRELOAD		a shared object for it; AGENT_STATE_ON_DISK: not empty: its state is no tmpfs
#	agent_end		all of it away, with its jobs; to be called before live_end
agent_pid='' agent_dir='' agent_group='' agent_no_quota=''
agent_possible() {
	local mount
	mount=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
	agent_group=$mount/reeve-test-$$
	mkdir "$agent_group" 2>/dev/null && [ -e "$agent_group/cgroup.kill" ] && rmdir "$agent_group"
}
agent_suite() {
	[ "$(id -u)" = 0 ] || { echo "1..0 # SKIP needs root to exchange as several users"; exit 0; }
	agent_possible || { echo "1..0 # SKIP no cgroup v2 in which jobs can be made"; exit 0; }
	live_dir "$1"
	trap 'agent_end; live_end' EXIT
	live_munge
}
agent_site_conf() {
	cat >"$dir/controller.conf" <<-CONF
		$(live_controller)
		[Cluster main]
		DefaultResources = walltime=1:00:00
		[Account physics]
		Users = daemon
	CONF
}
agent_site() {
	agent_suite "$1"
	live_open agent_site_conf
	agent_no_quota=1
	agent_open "Jobfs = none"
	# shellcheck disable=SC2154 # out: of until_has
	until_has '"node":"n9"' ask 0 GET /v1/nodes || bail "no node: $out"
	printf '[Client]\nMungeSocket = %s/munge.sock\nController = %s\nControllerUser = root\n' "$dir" "$url" >"$dir/client.conf"
	reeve() { as 1 "$PWD/build/bin/reeve" "$1" --config "$dir/client.conf" "${@:2}"; }
}
agent_start() {
	local preload=$agent_dir/fault.so
	[ -z "$agent_no_quota" ] || preload=
	[ -z "${AGENT_STATE_ON_DISK:-}" ] || agent_words= # its disk is as it is
	STORE_FAULT=${agent_words-$agent_dir/words} LD_PRELOAD=$preload${AGENT_PRELOAD:+:$AGENT_PRELOAD} "${REEVE_AGENT_BINARY:-build/bin/reeve-agent}" --config "$agent_dir/agent.conf" 2>>"$agent_dir/log" &
	agent_pid=$!
}
agent_stop() {
	[ -z "$agent_pid" ] || live_end_pid "$agent_pid"
	agent_pid=
}
agent_build() { # what plays a disk with project quotas: store_fault.c
	local how
	for how in "-shared -fPIC -o $agent_dir/fault.so" "-DCONTROL -o $agent_dir/fault"; do
		# shellcheck disable=SC2086 # words
		${CC:-cc} -std=gnu17 -D_GNU_SOURCE -O1 $how tests/cluster/lib/store_fault.c || bail "store_fault.c does not compile"
	done
	STORE_FAULT=$agent_dir/words "$agent_dir/fault" off
}
agent_open() {
	agent_dir=$(mktemp -d /var/lib/reeve-test-XXXXXX) && chmod 755 "$agent_dir" # jobs have a /tmp of their own
	mkdir "$agent_dir/state" "$agent_dir/run" "$agent_dir/jobfs" "$agent_dir/pins"
	cp "${REEVE_LAUNCH_BINARY:-build/bin/reeve-launch}" "$agent_dir/reeve-launch" # where other users may reach it
	[ -n "$agent_no_quota" ] || agent_build
	mount -t tmpfs -o size=16M,mode=755 none "$agent_dir/run" # as /run is
	[ -n "${AGENT_STATE_ON_DISK:-}" ] || mount -t tmpfs -o size=64M,mode=700 none "$agent_dir/state" # its syncs take no time
	{
		# shellcheck disable=SC2154 # dir, url: of live_lib.sh
		printf '[Agent]\nNode = n9\nController = %s\nControllerUser = root\nMinUid = 1\nMinGid = 1\n' "$url"
		# shellcheck disable=SC2154
		printf 'RequireUserCredential = no\nMungeSocket = %s/munge.sock\nManager = cgroup\n' "$dir"
		printf 'CgroupParent = %s\nRunDirectory = %s/run\nStateDirectory = %s/state\n' "${agent_group##*/}" "$agent_dir" "$agent_dir"
		printf 'JobfsDirectory = %s/jobfs\nPinDirectory = %s/pins\nLaunchProgram = %s/reeve-launch\n' "$agent_dir" "$agent_dir" "$agent_dir"
		printf 'VmemTier = 3\nReservedMemory = 100MB\nSampleInterval = 1s\nReportInterval = 1s\nKillGrace = 1s\n'
		[ $# = 0 ] || printf '%s\n' "$@"
	} >"$agent_dir/agent.conf"
	agent_start
}
agent_end() {
	local c
	agent_stop
	[ -n "$agent_dir" ] || return
	for c in "$agent_group"/jobs/*/ "$agent_group"/supervisors/; do
		[ -e "$c/cgroup.kill" ] && echo 1 >"$c/cgroup.kill"
	done
	for _ in $(seq 50); do
		find "$agent_group" -depth -type d -exec rmdir {} + 2>/dev/null
		[ -d "$agent_group" ] || break
		sleep 0.1
	done
	umount "$agent_dir/run"
	[ -n "${AGENT_STATE_ON_DISK:-}" ] || umount "$agent_dir/state"
	rm -rf "$agent_dir"
}
