# SPDX-License-Identifier: GPL-2.0-or-later
# nodes_lib.sh - virtual nodes with an agent each, and one controller here, for suites that look at jobs
# from both sides. To be sourced after tap_lib.sh and live_lib.sh, with $dir made. shellcheck shell=bash
#
#	nodes_tree			$dir/tree: what a node gets laid over it, beside what is added
#	power_on NODE SCRIPT [OPTION]..	a virtual node that runs SCRIPT NODE PORT; OPTIONs are vm.sh's
#	power_off NODE			cut
#	reeve UID WORDS...		as one of the users of this machine
#	of JOB EXPRESSION		python's, over j, the job's document
#	kernel_state JOB [NODE]			what a node's kernel says of it, last: "n1 frozen"
#	await, becomes			see there
deadline_s=${REEVE_DEADLINE:-300} # of each thing that is awaited; what comes early costs nothing
nodes_tree() {
	local tree=$dir/tree
	make --no-print-directory -s install DESTDIR="$tree" >/dev/null || bail "make install"
	install -D -m 644 "$dir/munge.key" "$tree/usr/local/lib/reeve-tests/munge.key"
	cat >"$tree/etc/reeve/agent.conf" <<-'CONF'
		[Agent]
		Node = @NODE@
		Controller = http://10.0.2.2:@PORT@
		ControllerUser = root
		MinUid = 1
		MinGid = 1
		ReportInterval = 1s
		SampleInterval = 1s
		KillGrace = 2s
		StrayExemptUnits = reeve-vm.service
	CONF
	printf '[Client]\nController = http://10.0.2.2:@PORT@\nControllerUser = root\n' >"$tree/etc/reeve/reeve.conf"
	mkdir -p "$tree/etc/systemd/network"
	printf '[Match]\nType=ether\n[Network]\nAddress=10.0.2.15/24\nGateway=10.0.2.2\n' \
		>"$tree/etc/systemd/network/host.network"
}
declare -A power # of each node: the process of its machine
power_on() {
	: >"$dir/$1.log"
	REEVE_VM_SILENCE_S=600 tests/vm/vm.sh run "${@:3}" --net host --timeout 2400 \
		--kernel-arg cryptomgr.notests=1 --kernel-arg modprobe.blacklist=aesni_intel,ata_piix,ata_generic \
		--payload "$dir/tree" -- "$2" "$1" "$port" >"$dir/$1.log" 2>"$dir/$1.err" &
	power[$1]=$!
}
power_off() {
	[ -z "${power[$1]:-}" ] || { kill "${power[$1]}" && wait "${power[$1]}"; } 2>/dev/null
	power[$1]=
}
end_all() {
	for node in "${!power[@]}"; do power_off "$node"; done
	live_end
}
declare -A name=([1]=daemon [2]=bin [0]=root)
reeve() {
	(cd / && as "$1" env HOME="$dir/home" USER="${name[$1]}" LC_ALL=C.UTF-8 \
		REEVE_CONTROLLER="$url" "$dir/reeve" "${@:2}" 2>&1)
}
log_progress() { # seconds since the suite began, and words
	echo "# $SECONDS s: $*"
}
of() {
	reeve 0 job "$1" --json | python3 -c "
import json, sys
j = json.load(sys.stdin)['job']
print($2)" 2>&1 | tail -n 1
}
state() { of "$1" 'j["state"]'; }
node_state() { # NODE
	reeve 0 nodes --json | python3 -c "
import json, sys
for n in json.load(sys.stdin)['nodes']:
    if n['node'] == '$1': print('drain' if n.get('drain') else n['state'])"
}
# shellcheck disable=SC2086
kernel_state() { cat "$dir"/${2:-n?}.log | sed -n "s/^\(n[0-9]\) $1 \(running\|frozen\|gone\).*/\1 \2/p" | tail -n 1; }
await() { # PATTERN COMMAND...: until its output matches; prints the last output
	local end=$((SECONDS + deadline_s)) out
	# shellcheck disable=SC2053
	until out=$("${@:2}") && [[ $out == $1 ]] || [ $SECONDS -ge $end ]; do sleep 0.2; done
	echo "$out"
}
becomes() { # NAME PATTERN COMMAND...: a test that it is awaited in vain or not
	local out
	out=$(await "$2" "${@:3}")
	# shellcheck disable=SC2053
	[[ $out == $2 ]]
	tap_result $? "$1" "awaited '$2', the last was '$out'"
}
is_law() { # NAME JOB EXPRESSION
	is "$1" True "$(of "$2" "$3")"
}
registers() { # NODE
	deadline_s=1200 becomes "$1 registers" up node_state "$1"
	[ "$(node_state "$1")" = up ] || { tail -n 20 "$dir/$1.log" "$dir/$1.err"; bail "no node"; }
}
