#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# queue.sh - the queue on real nodes: three virtual ones with systemd, munge and an agent each, one
# controller here by the profile `nci`, `reeve` as several users of this machine. Which job is preempted, which
# goes on, what is charged; a controller that is killed and a node that is lost. What the nodes'
# kernels say of the jobs (guest/queue.sh) is held against what the ledger says. TAP; needs root.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/lib/tap_lib.sh
. tests/cluster/lib/live_lib.sh
. tests/node/nodes_lib.sh
[ "$(id -u)" = 0 ] || { echo "1..0 # SKIP needs root to speak as several users"; exit 0; }
live_dir nodes
trap end_all EXIT
live_munge
mkdir -p "$dir/home/.config" && chmod 777 "$dir/home"

# ---- the nodes, the controller ----
configure() {
	cat >"$dir/controller.conf" <<-CONF
		$(live_controller)
		NodeLost = 90
		[Policy]
		Profile = $PWD/units/profiles/nci.conf
	CONF
}
grants() { # without one, all is bonus
	for a in physics=daemon chemistry=bin; do
		printf '[Account %s]\nUsers = %s\n[Allocation %s/now]\nKind = grant\nAmount = 1000000\n' "${a%=*}" "${a#*=}" "${a%=*}"
		printf 'From = %d-01-01\nTo = %d-01-01\n' $(($(date +%Y) - 1)) $(($(date +%Y) + 2))
	done >"$dir/accounts.conf"
	reeve 0 admin accounts apply "$dir/accounts.conf" >/dev/null || bail "no grants"
}
make_counter() { # the jobs' program
	local tree=$dir/tree
	install -D -m 755 -t "$tree/usr/local/bin" build/tests/node/load
	cat >"$tree/usr/local/bin/counter" <<-'JOB'
		#!/bin/bash
		# counter N: counts to N in /tmp/count.JOB, about one a second of running
		exec 7<> <(:)
		for ((i = 1; i <= $1; i++)); do
			echo $i >count.$REEVE_JOB
			read -rt 1 -u 7
		done
		exit 0
	JOB
	chmod 755 "$tree/usr/local/bin/counter"
}

# ---- what is asked, and awaited ----
submit() { # UID QUEUE NCPUS WALLTIME N [OPTION...]: a job that counts to N; sets $id
	id=$(reeve "$1" submit -q "$2" -l "ncpus=$3,vmem=100MB,jobfs=1MB,walltime=$4" -d /tmp \
		-N "$2" "${@:6}" -- /usr/local/bin/counter "$5" | tail -n 1)
	[[ $id =~ ^[0-9]+$ ]] || bail "not submitted: $id"
	log_progress "job $id: ${name[$1]}, $2, cores $3, walltime $4"
}
# shellcheck disable=SC2086
counted() { cat "$dir"/${2:-n?}.log | sed -n "s/^n[0-9] $1 counted //p" | tail -n 1; } # JOB
add_up='abs(j["ended_ns"] - j["started_ns"] - j["running_ns"] - j["suspended_ns"]) < 2e9'
charged() { # FACTOR: of the running time alone, to the millisecond
	echo "abs(j['charge_requested_ms'] * 1000000 - j['running_ns'] * j['request']['resources']['ncpus'] * $1) < 2000000"
}

make -s --no-print-directory all build/tests/node/load || bail "it does not build"
cp build/bin/reeve "$dir/reeve"
printf '[Client]\nMungeSocket = %s\n' "$dir/munge.sock" >"$dir/home/.config/reeve.conf"
live_open configure
grants
nodes_tree
make_counter
for node in n1 n2 n3; do power_on $node tests/node/guest/queue.sh --smp 2 --mem 1G; done
for node in n1 n2 n3; do registers $node; done
log_progress "three nodes are up"

# What the kernel of its node did with a job: all of it, in order; cores where it ran last.
history_of() { cat "$dir"/n?.log | sed -n "s/^n[0-9] $1 \(running\|frozen\|gone\).*/\1/p" | tr '\n' ' '; }
cores_of() { cat "$dir"/n?.log | sed -n "s/^\(n[0-9]\) $1 running \(.*\)/\1 \2/p" | tail -n 1; }
counts_on() { # NAME JOB [NODE]: beyond what it has counted
	local from
	from=$(counted "${@:2}")
	becomes "$1" yes is_beyond "${from:-0}" "${@:2}"
}
is_beyond() { # COUNT JOB [NODE]
	local now
	now=$(counted "${@:2}")
	[ "${now:-0}" -gt "$1" ] && echo yes
}
cancel() { # JOB...: and away
	reeve 0 cancel "$@" >/dev/null
	for id; do await ended state "$id" >/dev/null; done
}
runs() { # NAME JOB [NODE]: on a node, and counts
	becomes "$1" "${3:-n?} running" kernel_state "${@:2}"
	counts_on "and works" "${@:2}"
}
attempt() { of "$1" 'j["attempt"], j["state"], j["node"]' | tr -d "(),'"; } # JOB
given_up() { grep "^# n[0-9]: job $1: refused" "$dir"/n?.log; } # JOB
n_frozen() { for id in "${@:2}"; do kernel_state "$id"; done | grep -c "$1 frozen"; } # NODE JOB...
only() { # NODE: the others take no jobs
	for node in n1 n2 n3; do
		reeve 0 nodes resume $node >/dev/null
		[ "$1" = all ] || [ $node = "$1" ] || reeve 0 nodes drain $node --reason test >/dev/null
	done
}

# ---- an express job on the cores of a normal one ----
only n1
submit 1 normal 2 0:01:00 100000 && normal=$id
runs "a normal job runs" "$normal" n1
submit 2 express 2 0:10:00 100000 && express=$id
runs "an express one gets the same node" "$express" n1
log_progress "job $express runs"
becomes "the normal one is frozen" "n1 frozen" kernel_state "$normal"
is "and was before" "running frozen " "$(history_of "$normal")"
is "its cores are those of the express one" "$(cores_of "$normal")" "$(cores_of "$express")"
becomes "the ledger says suspended" suspended state "$normal"
has "it shows which job got its cores" "job $express" "$(of "$normal" 'j["why"]')"
at=$(counted "$normal")
counts_on "while the express one goes on" "$express"
is "the normal one does not" "$at" "$(counted "$normal")"
cancel "$express"
log_progress "job $express is away"
runs "the normal one goes on" "$normal" n1
becomes "until its walltime" ended state "$normal"
is "which is over" walltime "$(of "$normal" 'j["end"]["reason"]["limit"]')"
is_law "after so much of running, whatever it was suspended" "$normal" \
	'60e9 <= j["running_ns"] and j["suspended_ns"] > 0'
is_law "running and suspended make up the time it took" "$normal" "$add_up"
is_law "the running time alone is charged" "$normal" "$(charged 1)"
is_law "three times of express" "$express" "$(charged 3)"
log_progress "ran $(of "$normal" 'j["running_ns"]/1e9') s, suspended $(of "$normal" 'j["suspended_ns"]/1e9') s," \
	"took $(of "$normal" '(j["ended_ns"]-j["started_ns"])/1e9') s"

# ---- a large job, and small ones of the same queue ----
only all
small=()
for _ in 1 2 3 4 5 6; do submit 1 normal 1 100:00:00 100000 && small+=("$id"); done
for id in "${small[@]}"; do becomes "small job $id runs" "n? running" kernel_state "$id"; done
submit 2 normal 2 0:01:00 100000 && large=$id
runs "a large one starts" "$large"
on=$(cores_of "$large") && on=${on%% *}
becomes "two small ones of its node are frozen for it" 2 n_frozen "$on" "${small[@]}"
is "and no others" "" "$(for id in "${small[@]}"; do kernel_state "$id"; done | grep frozen | grep -v "^$on")"
frozen=()
for id in "${small[@]}"; do [ "$(kernel_state "$id")" != "$on frozen" ] || frozen+=("$id"); done
for id in "${frozen[@]}"; do
	becomes "job $id shows it" "*job $large*" of "$id" 'j["why"]'
done
cancel "$large"
for id in "${frozen[@]}"; do runs "job $id goes on" "$id" "$on"; done

# ---- who has nothing running goes first ----
many=()
for _ in 1 2 3 4; do submit 1 normal 1 100:00:00 100000 && many+=("$id"); done
submit 2 normal 1 100:00:00 100000 && few=$id
submit 2 bonus 1 100:00:00 100000 && bonus=$id
cancel "${small[0]}"
becomes "the project with nothing running is first, though it came last" "n? running" kernel_state "$few"
is "those of the other wait" "queued queued queued queued" "$(for id in "${many[@]}"; do state "$id"; done | paste -sd' ')"
is "and so does bonus" queued "$(state "$bonus")"

# ---- bonus ----
cancel "${small[@]}" "${many[@]}" "$few"
runs "on idle cores bonus runs" "$bonus"
bonuses=("$bonus")
for _ in 1 2 3 4 5; do submit 2 bonus 1 100:00:00 100000 && bonuses+=("$id"); done
for id in "${bonuses[@]}"; do becomes "bonus job $id runs" "n? running" kernel_state "$id"; done
submit 1 normal 2 1:00:00 100000 && normal=$id
runs "a normal one gets cores at once" "$normal"
on=$(cores_of "$normal") && on=${on%% *}
becomes "of two that are frozen" 2 n_frozen "$on" "${bonuses[@]}"
is_law "bonus is free" "$bonus" 'j["charge_requested_ms"] == 0 and j["running_ns"] > 0'
cancel "$normal"
cancel "${bonuses[@]}"

# ---- the controller is killed during a preemption, and while the other job runs ----
restart() {
	kill -9 "$controller" && wait "$controller" 2>/dev/null
	live_start || bail "the controller does not start again: $(tail -n 5 "$dir/controller.log")"
	log_progress "the controller was killed and is back"
}
only n1
submit 1 normal 2 10:00:00 100000 && normal=$id
runs "a normal job" "$normal" n1
submit 2 express 2 0:10:00 20 && express=$id
restart
becomes "the express one runs all the same" "n1 running" kernel_state "$express"
becomes "the normal one is frozen" "n1 frozen" kernel_state "$normal"
restart
becomes "the express one ends" ended state "$express"
is "well" 'exited 0' "$(of "$express" 'j["end"]["kind"], j["end"]["exit_status"]' | tr -d "(),'")"
runs "the normal one goes on" "$normal" n1
is "each was started once" "1 1" "$(of "$normal" 'j["attempt"]') $(of "$express" 'j["attempt"]')"
is "and frozen once" "running frozen running " "$(history_of "$normal")"
cancel "$normal"
is_law "its times add up" "$normal" "$add_up"
is_law "and are charged" "$normal" "$(charged 1)"

# ---- a node is lost, another one is away for as long and comes back ----
machine() { pgrep -P "$(pgrep -P "${power[$1]}" timeout)"; } # NODE: its qemu
only n2
submit 2 normal 1 10:00:00 100000 -r y && away=$id
runs "a job on n2" "$away" n2
only n3
submit 1 normal 1 10:00:00 100000 && lost=$id
submit 2 normal 1 10:00:00 100000 -r y && again=$id
runs "one on n3" "$lost" n3
runs "and one that may be queued again" "$again" n3
kill -STOP "$(machine n2)"
power_off n3
log_progress "n3 has no power, n2 stands still"
only all
becomes "n3 is lost" lost node_state n3
log_progress "n3 is lost"
becomes "its job ends" ended state "$lost"
is "as that" node-lost "$(of "$lost" 'j["end"]["kind"]')"
is_law "charged to the last report" "$lost" "$(charged 1)"
is_law "of what it ran there" "$lost" '0 < j["running_ns"] < j["ended_ns"] - j["started_ns"] + 1e9'
becomes "the other one runs on n1" "n1 running" kernel_state "$again" n1
becomes "as its second attempt" "2 running n1" attempt "$again"
becomes "n2 is lost" lost node_state n2
becomes "its job runs again on n1 too" "2 running n1" attempt "$away"
charge=$(of "$away" 'j["attempts"][0]["charge_requested_ms"]')
kill -CONT "$(machine n2)"
log_progress "n2 goes on"
becomes "n2 is back" up node_state n2
becomes "what it ran was given up, and is refused there" "*refused*" given_up "$away"
becomes "and gone" "n2 gone" kernel_state "$away" n2
is "the second attempt runs on" "2 running n1" "$(attempt "$away")"
counts_on "and works" "$away" n1
is_law "the first was charged" "$away" 'j["attempts"][0]["charge_requested_ms"] > 0'
is "to the last report before, and not for what it ran since" "$charge" "$(of "$away" 'j["attempts"][0]["charge_requested_ms"]')"
cancel "$again" "$away"

# ---- over all ----
is "no core was ever given twice" "" "$(cat "$dir"/n?.log | grep overlap)"
check "the ledger's sums are those of its jobs" "$dir/reeve" admin verify --ledger "$dir/ledger.db"
tap_end
