#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# shutdown.sh - a node is shut down and booted again in an orderly way while jobs run: each of them is lost with its node, says that, and is queued
# again where its user asked for that. None seems to have ended by the signal that systemd sends then. The shutdown is one transaction of
# systemd that stops agent and jobs; of the boot there are another boot id and an empty /run. TAP.
. "$(dirname "$0")/node_lib.sh"
node_start || { ok 1 "the node starts"; tap_end; }
field() { as alice reeve job "$1" --json | json "$2"; }
state_is() { [ "$(field "$1" state)" = "$2" ]; }
submit() { as alice reeve submit -A physics -o /dev/null -j oe -l ncpus=1,vmem=50MB,jobfs=1MB,walltime=1:00:00 "$@" | grep -oE '[0-9]+' | tail -n 1; }
rounds=5
begun=0
wrong='' again='' late=''
shut_down() {
	local units='' since said id
	for id in "$@"; do units="$units reeve-job-$id-$(field "$id" attempt).service"; done
	printf '[Unit]\nConflicts=reeve-agent.service%s\n' "$units" >/run/systemd/system/the-end.target
	systemctl daemon-reload
	since=@$(date +%s.%6N)
	systemctl start the-end.target
	wait_for 60 stopped $units
	# One that is stopped beside them may see the ends first, and take them for the jobs' own.
	journalctl --sync
	said=$(journalctl _PID=1 --since "$since" -o cat --no-pager)
	for id in "$@"; do sed '/Stopped reeve-agent.service/q' <<<"$said" | grep -q "Stopping reeve-job-$id-" && late="$late $id"; done
}
stopped() {
	local unit
	for unit in reeve-agent "$@"; do ! systemctl is-active -q "$unit" || return; done
}
boot() {
	begun=$((begun + 1))
	systemctl stop 'reeve-views-*'
	rm -rf /run/reeve
	umount /proc/sys/kernel/random/boot_id 2>/dev/null
	cat /proc/sys/kernel/random/uuid >/tmp/boot_id.$begun
	mount --bind /tmp/boot_id.$begun /proc/sys/kernel/random/boot_id
	systemctl stop the-end.target
	systemctl start reeve-agent
	wait_for 60 node_is_up
}
for _ in $(seq $rounds); do
	ids=$(for job in 'sleep 3000' 'trap "exit 3" TERM; sleep 3000 & wait' 'exec sleep 3000'; do submit -- sh -c "$job"; done)
	ids="$ids $(submit -r y -- sleep 3000)"
	last=${ids##* }
	for id in $ids; do wait_for 60 state_is "$id" running; done
	# shellcheck disable=SC2086 # words
	shut_down $ids
	boot
	for id in $ids; do
		[ "$id" != "$last" ] || continue
		wait_for 60 state_is "$id" ended
		line=$(field "$id" line)
		[[ $line = *'rebooted'* ]] || wrong="$wrong$id: $(field "$id" state) $line; "
	done
	is_again() { [ "$(field "$last" state) $(field "$last" attempt)" = "running 2" ]; }
	wait_for 60 is_again || again="$again$last: $(field "$last" state) $(field "$last" attempt) $(field "$last" line); "
	as alice reeve cancel "$last" >/dev/null
	wait_for 60 state_is "$last" ended
done
[ -z "$late" ]; ok $? "the agent is stopped before its jobs are" "$late: $(journalctl _PID=1 -o cat --no-pager | grep -E 'Stopp(ing|ed) reeve' | tail -n 12)"
[ -z "$wrong" ]; ok $? "$((3 * rounds)) jobs on a node that is shut down are lost with it, and say that" "$wrong $(journalctl -u reeve-agent -o cat -n 40)"
[ -z "$again" ]; ok $? "$rounds that are to be queued again run again" "$again $(journalctl -u reeve-agent -u reeve-controller -o cat -n 40)"
has "$(reeve admin verify --ledger /var/lib/reeve-controller/ledger.db 2>&1)" ' 0 differences' "the sums of the ledger are those of its jobs"
tap_end
