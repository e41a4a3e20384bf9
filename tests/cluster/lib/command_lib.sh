# SPDX-License-Identifier: GPL-2.0-or-later
# command_lib.sh - a controller with a copy of the command that other users may run, and a played node that runs interactive commands. To be
# sourced after live_lib.sh and play_lib.sh. shellcheck shell=bash
#
#	command_open NAME [AMOUNTS]	live_dir, munge, controller: account physics of daemon and bin; AMOUNTS: what a job gets by
#					default (jobfs=100MB); $dir/reeve and the environment of its users
#	command_config [LINE]...	writes $dir/client.conf: the controller, its munge, and further lines
#	command_node [FLAG]...		n1 (step_node.c) joins; it runs interactive commands by the agent's and the waiter's own
#					code (console_node.c, compiled with the FLAGs); $node: another name, with files of its own
command_configure() { # AMOUNTS
	cat >"$dir/controller.conf" <<-CONF
		$(live_controller)
		NodeLost = 600
		[Cluster main]
		DefaultResources = $1,walltime=1:00:00
		[Account physics]
		Users = daemon, bin
	CONF
}
command_config() {
	printf '[Client]\nController = %s\nMungeSocket = %s/munge.sock\n' "$url" "$dir" >"$dir/client.conf"
	[ $# = 0 ] || printf '%s\n' "$@" >>"$dir/client.conf"
}
command_open() {
	live_dir "$1"
	live_munge
	cp build/bin/reeve "$dir/reeve" # where other users may reach it
	live_open command_configure "${2:-jobfs=100MB}"
	command_config
	export LC_ALL=C.UTF-8 HOME=$dir
	unset REEVE_CONTROLLER REEVE_JOB REEVE_NODE
}
command_node() {
	local into=$dir${node:+/$node} name=${node:-n1}
	mkdir -p "$into"
	(
		dir=$into
		live_tool tests/cluster/lib/interactive/console_node.c "$@" build/agent/{node_http,step/console,step/step}.o build/agent/launch/step/{console,session}.o \
			build/common/log.o build/common/packets/packets.o build/common/seal/seal.o build/common/signature/*.o build/common/{model,wire}/console/*.o
		live_tool tests/cluster/lib/interactive/step_node.c
	) || exit 1
	"$into/step_node" "$url" "$dir/munge.sock" "$(id -un)" "$name" "$into" 2>>"$into/node.log" &
	until_has "\"node\":\"$name\"" ask 0 GET /v1/nodes || bail "no node: $out $(cat "$into/node.log")"
}
