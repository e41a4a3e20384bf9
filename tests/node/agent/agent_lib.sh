# SPDX-License-Identifier: GPL-2.0-or-later
# agent_lib.sh - drive an agent without a controller: orders go over D-Bus, as root.
# Sourced in the virtual node by the other scripts of this folder. shellcheck shell=bash
# shellcheck source=tests/node/node_lib.sh
. "${NODE_LIB:-/usr/local/lib/reeve-tests/node_lib.sh}"

LOAD=/usr/local/bin/load
CONF=/etc/reeve/agent.conf
RUN=/run/reeve
HOME_DIR=/home/alice

# agent_configure MANAGER [LINE]...
agent_configure() {
	local manager=$1
	shift
	{
		printf '[Agent]\nManager = %s\nReportInterval = 2s\nSampleInterval = 1s\n' "$manager"
		printf 'KillGrace = 2s\nCgroupParent = reeve-test\nStrayExemptUnits = reeve-vm.service\n'
		printf '%s\n' "$@"
	} >$CONF
}

agent_up() { busctl call org.reeve.Agent1 /org/reeve/Agent1 org.freedesktop.DBus.Peer Ping; }
agent_pid() { systemctl show -P MainPID reeve-agent; }

agent_start() {
	systemd-tmpfiles --create >/dev/null 2>&1
	systemctl daemon-reload
	systemctl reload dbus
	systemctl reset-failed reeve-agent 2>/dev/null
	systemctl start reeve-agent && wait_for 30 agent_up && return
	journalctl -n 30 --no-pager -u reeve-agent
	return 1
}

order() { # DOCUMENT: quiet unless it is refused
	local out

	out=$(busctl call org.reeve.Agent1 /org/reeve/Agent1 org.reeve.Agent1 Order s "$1" 2>&1) ||
		echo "# order refused: $out"
}

text_json() { # TEXT: as a JSON string
	local t=${1//\\/\\\\}
	t=${t//\"/\\\"}
	t=${t//$'\n'/\\n}
	t=${t//$'\t'/\\t}
	printf '"%s"' "$t"
}

# give_job ID RESOURCES EXTRA: RESOURCES and EXTRA are JSON members.
give_job() {
	order "{\"schema\":\"reeve/1\",\"jobs\":[{\"job\":$1,\"attempt\":1,\"want\":\"run\",
		\"request\":{\"uid\":1001,\"gid\":1001,\"user\":\"alice\",\"name\":\"t\",
		\"cluster\":\"c\",\"account\":\"a\",
		\"workdir\":\"$HOME_DIR\",\"resources\":{$2},
		\"env\":[\"HOME=$HOME_DIR\",\"PATH=/usr/local/bin:/usr/bin:/bin\"]${3:+,$3}}}]}"
}
# submit ID RESOURCES EXTRA COMMAND...
submit() {
	local id=$1 res=$2 extra=$3 argv='' a
	shift 3
	for a in "$@"; do argv="$argv${argv:+,}$(text_json "$a")"; done
	give_job "$id" "$res" "${extra:+$extra,}\"argv\":[$argv]"
}
# submit_part ID RESOURCES EXTRA [HOSTS]: the second of two parts, which has no command.
submit_part() {
	give_job "$1" "$2" "${3:+$3,}\"part\":{\"index\":1,\"n\":2,\"hosts\":\"${4:-n1=3,n-2=1}\"}"
}
want() { # ID run|suspend|cancel
	order "{\"schema\":\"reeve/1\",\"jobs\":[{\"job\":$1,\"attempt\":1,\"want\":\"$2\"}]}"
}
settle() { # ID: as if the controller had committed all
	order "{\"schema\":\"reeve/1\",\"acks\":[{\"job\":$1,\"attempt\":1,\"seq\":9000000000000000000}]}"
}

job() { # ID: its JSON, unquoted from busctl's own quoting
	busctl --json=short call org.reeve.Agent1 /org/reeve/Agent1 org.reeve.Agent1 GetJob x "$1" \
		2>/dev/null | sed 's/^{"type":"s","data":\["//; s/"\]}$//; s/\\"/"/g; s/\\\\/\\/g'
}
field() { # ID NAME
	job "$1" | json "$2"
}
holds_nothing() { busctl get-property org.reeve.Agent1 /org/reeve/Agent1 org.reeve.Agent1 Jobs | grep -qx 'ax 0'; }
state_is() { [ "$(field "$1" state)" = "$2" ]; }
wait_state() { wait_for "${3:-60}" state_is "$1" "$2"; }

SMALL='"ncpus":1,"vmem_bytes":268435456,"jobfs_bytes":67108864,"walltime_s":600'
