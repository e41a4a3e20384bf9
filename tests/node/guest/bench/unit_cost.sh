#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# unit_cost.sh - what the unit of a job costs under systemd, by what it has: transient units of `true` (systemd-run --wait), each with more of the
# properties of a real job's unit than the one before, and `reeve run -- true`, in turns; medians of $PAIRS (9) rounds. Judges no time. TAP.
#   tests/node/suite.sh bench/unit_cost
. "$(dirname "$0")/node_lib.sh"
rounds=${PAIRS:-9}
node_start || { ok 1 "the node starts"; tap_end; }

# ---- a job that runs, whose unit has all properties ----
job=$(as alice reeve submit -l ncpus=1,vmem=200mb,jobfs=10mb,walltime=1:00:00 -o /dev/null -j oe -- /bin/sleep 3000)
runs() { systemctl list-units --plain --no-legend --state=running 'reeve-job*.service' | grep -q .; }
wait_for 60 runs
ok $? "a job runs" "$job $(journalctl -n 20 --no-pager -u reeve-agent)"
unit=$(systemctl list-units --plain --no-legend --state=running 'reeve-job*.service' | awk '{ print $1; exit }')
has() { systemctl show -p "$1" --value "$unit"; } # PROPERTY: its value there
set_of() { # PROPERTY...: as options of systemd-run; one that the job's unit has not is left out, and said
	local p value
	for p; do
		value=$(has "$p")
		if [ -n "$value" ]; then printf -- '-p\0%s=%s\0' "$p" "$value"; else echo "# the unit of a job has no $p" >&2; fi
	done
}
names=() # of the variants; the options of the i-th are in /tmp/v.$i
add() { # NAME PROPERTY...: the one before with these
	local i=${#names[@]}
	names+=("$1")
	shift
	{ [ "$i" = 0 ] || cat /tmp/v.$((i - 1)); set_of "$@"; } >/tmp/v."$i"
}
add "a unit of root's"
add "of the user's, in the jobs' slice" User Group Slice Type CollectMode KillMode StandardInput StandardOutput StandardError
add "and limits, accounts, a cgroup to be divided" CPUAccounting MemoryAccounting TasksAccounting IOAccounting MemoryMax TasksMax AllowedCPUs Delegate LimitCORE OOMPolicy
add "and devices closed" DevicePolicy DeviceAllow
add "and no new privileges" NoNewPrivileges
add "and a view of its own: cgroups cannot be written" ProtectControlGroups
add "and message queues of its own" PrivateIPC
add "and a view without other users' processes" ProtectProc
add "and hidden paths" InaccessiblePaths
add "and empty file systems over the agent's directories, /dev/shm of its size" TemporaryFileSystem
add "and /tmp, /var/tmp of its own" BindPaths
add_last() { # NAME OPTION...: the one before with these
	local i=${#names[@]}
	names+=("$1")
	shift
	{ cat /tmp/v.$((i - 1)); printf '%s\0' "$@"; } >/tmp/v."$i"
}
add_last "and a program of root's before it" -p PermissionsStartOnly=yes -p ExecStartPre=/bin/true
add_last "and one after it" -p ExecStopPost=/bin/true

time_of() { # COMMAND...: $us
	local from=${EPOCHREALTIME/./}
	"$@" >/dev/null 2>/tmp/said || { us=failed; return; }
	us=$((${EPOCHREALTIME/./} - from))
}
for ((round = 0; round <= rounds; round++)); do # the first is not counted
	for ((i = 0; i < ${#names[@]}; i++)); do
		mapfile -d '' -t options </tmp/v.$i
		time_of systemd-run --quiet --wait "${options[@]}" /bin/true
		[ $round = 0 ] || echo "$us" >>/tmp/us.$i
		[ "$us" != failed ] || sed "s/^/# ${names[i]}: /" /tmp/said
	done
	time_of as alice reeve run -l ncpus=1,vmem=200mb,jobfs=10mb,walltime=10:00 -- true
	[ $round = 0 ] || echo "$us" >>/tmp/us.run
	[ "$us" != failed ] || sed 's/^/# reeve run: /' /tmp/said
done
! grep -q failed /tmp/us.*; ok $? "$rounds rounds of ${#names[@]} units and of reeve run"
median() { grep -v failed "$1" | sort -n | awk '{ v[NR] = $1 } END { printf "%.1f", v[int((NR + 1) / 2)] / 1000 }'; }
before=0
for ((i = 0; i < ${#names[@]}; i++)); do
	ms=$(median /tmp/us.$i)
	echo "# $ms ms, $(awk "BEGIN { printf \"%+.1f\", $ms - $before }"): ${names[i]}"
	before=$ms
done
ms=$(median /tmp/us.run)
echo "# $ms ms, x$(awk "BEGIN { printf \"%.2f\", $ms / $before }") of that: reeve run -- true"
tap_end
