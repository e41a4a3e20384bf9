# SPDX-License-Identifier: GPL-2.0-or-later
# node_lib.sh - a Reeve node inside the test machine: start it, speak as users, read results.
# Sourced by scripts that run as root in the node. shellcheck shell=bash
set -u
LOAD=${LOAD:-/usr/local/bin/load}
NODE_USER=${NODE_USER:-alice}

# as USER COMMAND...: with that user's rights and a login-like environment.
as() {
	local user=$1
	shift
	runuser -u "$user" -- env -C "/home/$user" HOME="/home/$user" USER="$user" "$@"
}

# json KEY: a tiny reader of `reeve --json`: the first value of KEY, as it is written there.
json() {
	sed -nE 's/.*"'"$1"'": *("(([^"\\]|\\.)*)"|([^",}]*)).*/\2\4/p' | head -n 1
}

# wait_for SECONDS COMMAND...: a wait that is over early costs nothing, so emulated nodes on a busy
# machine are given four times as long.
wait_for() {
	local end=$((SECONDS + 4 * $1))
	shift
	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.2
	done
}

node_is_up() { reeve nodes --json | grep -q '"state": *"up"'; }

# The daemons as installed: units, sysusers, tmpfiles, D-Bus policy.
node_start() {
	systemd-sysusers >/dev/null 2>&1
	systemd-tmpfiles --create >/dev/null 2>&1
	systemctl daemon-reload
	systemctl reload dbus 2>/dev/null
	systemctl start munge reeve-controller reeve-agent || {
		journalctl -n 40 --no-pager -u reeve-controller -u reeve-agent
		return 1
	}
	wait_for 60 node_is_up || {
		echo "the node did not register within 60 s"
		journalctl -n 40 --no-pager -u reeve-controller -u reeve-agent
		return 1
	}
}

# TAP
tap_n=0 tap_bad=0
ok() { # STATUS TEXT [detail shown when it failed]
	tap_n=$((tap_n + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $tap_n - $2"
	else
		tap_bad=$((tap_bad + 1))
		echo "not ok $tap_n - $2"
		[ $# -lt 3 ] || printf '%s\n' "$3" | sed 's/^/# /'
	fi
}
has() { # TEXT PATTERN NAME: the text matches the extended pattern
	grep -qE -- "$2" <<<"$1"
	ok $? "$3" "no /$2/ in: $1"
}
skip() { tap_n=$((tap_n + 1)); echo "ok $tap_n - $1 # SKIP $2"; }
tap_end() { echo "1..$tap_n"; exit $((tap_bad > 0)); }
