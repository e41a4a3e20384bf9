# SPDX-License-Identifier: GPL-2.0-or-later
# gpus_lib.sh - a node with four simulated GPUs, and jobs on it that run commands on demand. Sourced by
# gpus*.sh. shellcheck shell=bash
. "$(dirname "${BASH_SOURCE[0]}")/node_lib.sh"
H=/home/alice
L=/usr/local/lib/reeve-tests
ALL="opens /dev/nvidia0 /dev/nvidia1 /dev/nvidia2 /dev/nvidia3 /dev/null"
A100=ncpus=1,vmem=100MB,jobfs=10MB,walltime=1:00:00,ngpus=a100-40:1

# Three numbers that systemd's closed policy lets every job open, so that only the gate can hold
# them, and one that it does not.
latency=$(awk '$2 == "cpu_dma_latency" { print $1 }' /proc/misc)
mknod -m 666 /dev/nvidia0 c 1 5
mknod -m 666 /dev/nvidia1 c 1 7
mknod -m 666 /dev/nvidia2 c 1 8
mknod -m 666 /dev/nvidia3 c 10 "${latency:?no such device}"
mknod -m 666 /dev/nvidiactl c 1 3
mkdir -p /run/loads
ln -s /dev/nvidia0 $H/link0
mknod -m 666 /home/second0 c 1 5
cat >/usr/local/bin/asked <<'SH'
#!/bin/sh
# asked NAME: for each line in ~/NAME.q, runs it; what it says goes to ~/NAME.a
env | grep -E '^(CUDA|NVIDIA|ROCR)_VISIBLE|^ZE_' | sort >"$HOME/$1.env"
while sleep 0.1; do
	[ -e "$HOME/$1.q" ] || continue
	sh "$HOME/$1.q" >"$HOME/$1.tmp" 2>&1
	rm "$HOME/$1.q"
	mv "$HOME/$1.tmp" "$HOME/$1.a"
done
SH
cat >/usr/local/bin/opens <<'SH'
#!/bin/sh
# opens FILE...: "yes" or "no" for each
for f; do
	if err=$( { : <"$f"; } 2>&1); then echo -n "yes "; else
		case $err in *"not permitted"*) echo -n "no " ;; *) echo -n "?$err " ;; esac
	fi
done
SH
chmod 755 /usr/local/bin/asked /usr/local/bin/opens
ask() { # NAME COMMAND: run in that job
	rm -f "$H/$1.a"
	echo "$2" >"$H/$1.q.tmp" && chown alice "$H/$1.q.tmp" && mv "$H/$1.q.tmp" "$H/$1.q"
	wait_for 30 test -e "$H/$1.a"
	cat "$H/$1.a" 2>/dev/null
}
start() { # NAME OPTION...: its id in $id
	local name=$1
	shift
	id=$(as alice reeve submit -N "$name" -o /dev/null -j oe "$@" -- asked "$name" | grep -oE '[0-9]+' | tail -n 1)
}
in_state() { as alice reeve job "$1" --json | grep -q "\"state\": *\"$2\""; }
is_asked() { test -s "$H/$1.env"; }
is() { # TEXT WANTED NAME
	[ "$1" = "$2" ]
	ok $? "$3: $1" "wanted: $2"
}
note_of() { as alice reeve job "$1" --json | json note; }
notes() { busctl --json=short get-property org.reeve.Agent1 /org/reeve/Agent1 org.reeve.Agent1 Notes; }
agent_up() { busctl call org.reeve.Agent1 /org/reeve/Agent1 org.freedesktop.DBus.Peer Ping; }
has_note() { notes | grep -qE "$1"; }
has_no_note() { ! has_note "$1"; }
drop() { as alice reeve cancel "$1" >/dev/null 2>&1; wait_for 30 in_state "$1" ended; }

with() { # LINE...: the agent with these in its configuration, in place of those before
	sed -i '/^# for a test$/,$d' /etc/reeve/agent.conf
	printf '# for a test\n' >>/etc/reeve/agent.conf
	printf '%s\n' "$@" >>/etc/reeve/agent.conf
	systemctl restart reeve-agent
	wait_for 30 agent_up && wait_for 30 node_is_up
}
figure() { as alice reeve job "$1" --json | grep -oE "\"$2\": *[0-9]+" | grep -oE '[0-9]+$' | head -n 1; }

gpus_end() {
	[ $tap_bad = 0 ] || journalctl --no-pager -u reeve-agent | tail -n 60 | sed 's/^/# /'
	tap_end
}
