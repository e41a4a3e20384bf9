#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# mpi.sh - one job on two nodes: Debian's Open MPI over two virtual nodes with systemd, munge, an agent
# each and a cable between them, one controller here. There is no ssh: the ranks of the other node are
# started by `reeve exec`, and the job's limits hold them there. What the nodes' kernels say of the job
# (guest/mpi.sh) is held against what the ledger says. TAP; needs root.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cluster/lib/tap_lib.sh
. tests/cluster/lib/live_lib.sh
. tests/node/nodes_lib.sh
[ "$(id -u)" = 0 ] || { skip "a job on two nodes" "needs root to speak as several users"; tap_end; }
live_dir mpi
trap end_all EXIT
live_munge
mkdir -p "$dir/home/.config" && chmod 777 "$dir/home"

# ---- the nodes, the controller ----
configure() {
	cat >"$dir/controller.conf" <<-CONF
		$(live_controller)
		NodeLost = 60
		[Policy]
		Profile = $PWD/units/profiles/nci.conf
	CONF
}
grants() { # without one, all is bonus
	printf '[Account chemistry]\nUsers = bin\n[Allocation chemistry/now]\nKind = grant\nAmount = 1000000\nFrom = %d-01-01\nTo = %d-01-01\n' \
		$(($(date +%Y) - 1)) $(($(date +%Y) + 2)) >"$dir/accounts.conf"
	reeve 0 admin accounts apply "$dir/accounts.conf" >/dev/null || bail "no grants"
}
node_on() { # NODE OTHER
	power_on "$1" tests/node/guest/mpi.sh --with mpi --smp 2 --mem 2G --link "$dir/$1.cable,$dir/$2.cable"
}

# ---- what is asked, and awaited ----
two='select=2:ncpus=1:vmem=900MB:jobfs=50MB,place=scatter'
submit() { # WALLTIME COMMAND...; sets $id
	id=$(reeve 2 submit -q normal -l "$two,walltime=$1" -d /tmp -o "$out" -j oe -- "${@:2}" | tail -n 1)
	[[ $id =~ ^[0-9]+$ ]] || bail "not submitted: $id"
	log_progress "job $id: ${*:2}"
}
newest() {
	reeve 2 jobs -a --json | python3 -c 'import json, sys; print(([j["job"] for j in json.load(sys.stdin)["jobs"]] + [0])[0])'
}
run() { # COMMAND...: sets $text and $status, and $id to the job that it was
	text=$(reeve 2 run -q normal -l "$two,walltime=0:05:00" -d /tmp -- "$@")
	status=$?
	id=$(newest)
	log_progress "job $id: $*: $status"
}
on() { # JOB WORDS...: `reeve exec` from here, not from within; sets $text and $status
	text=$(reeve 2 exec -j "$@")
	status=$?
}
counted() { sed -n "s/^n[0-9] $1 rank $2 counted //p" "$dir"/n?.log | tail -n 1; } # JOB RANK
is_beyond() { # COUNT JOB RANK
	local now
	now=$(counted "$2" "$3")
	[ "${now:-0}" -gt "$1" ] && echo yes
}
counts_on() { # NAME JOB: both ranks, beyond what they have counted
	local rank from
	for rank in 0 1; do
		from=$(counted "$2" $rank)
		becomes "$1: rank $rank" yes is_beyond "${from:-0}" "$2" $rank
	done
}
both() { # NAME STATE JOB: on each node by its kernel
	becomes "$1 on n1" "n1 $2" kernel_state "$3" n1
	becomes "$1 on n2" "n2 $2" kernel_state "$3" n2
}
all_ended() { of "$1" '{j["state"], *(p["state"] for p in j.get("parts", []))}'; } # JOB
gone() { # NAME JOB: when nothing is held for it any more the next one's first node is n1 again
	becomes "$1: ended" "{'ended'}" all_ended "$2"
	both "$1: nothing is left" gone "$2"
}
process_on() { sed -n "s/^$1 $2 process $3 //p" "$dir/$1.log" | tail -n 1; } # NODE JOB COMM
cores_of() { sed -n "s/^$1 $2 running //p" "$dir/$1.log" | tail -n 1; } # NODE JOB
history_of() { sed -n "s/^$1 $2 \(running\|frozen\|gone\).*/\1/p" "$dir/$1.log" | tr '\n' ' '; } # NODE JOB
killed() { grep -c "^$1 agent killed" "$dir/$1.log"; } # NODE
# The cores of both nodes times the time of the first, to the millisecond; what was used is the sum of both.
charged='abs(j["charge_requested_ms"] * 1000000 - j["running_ns"] * 2) < 2000000'
summed='all(sum(p["usage"].get(k, 0) for p in j["parts"]) == j["usage"][k] for k in ("cpu_ns", "vmem_peak_bytes", "rss_peak_bytes"))'
add_up='abs(j["ended_ns"] - j["started_ns"] - j["running_ns"] - j["suspended_ns"]) < 2e9'
is_charged() { # JOB
	is_law "charged: the cores of both nodes, for the time of the first" "$1" "$charged"
	is_law "used: the sum of both" "$1" "len(j['parts']) == 2 and $summed"
}

make -s --no-print-directory all build/tests/node/load || bail "it does not build"
cp build/bin/reeve "$dir/reeve"
printf '[Client]\nMungeSocket = %s\n' "$dir/munge.sock" >"$dir/home/.config/reeve.conf"
live_open configure
grants
nodes_tree
install -D -m 755 -t "$dir/tree/usr/local/bin" build/tests/node/load
tests/node/mpi_ring.sh mpi "$dir/tree/usr/local/bin/mpi_ring" || bail "mpi_ring.c does not compile"
out=/var/tmp/out # of submitted jobs
node_on n1 n2
node_on n2 n1
registers n1
registers n2
log_progress "two nodes are up"
for node in n1 n2; do
	becomes "$node has an mpirun and nothing else that starts programs elsewhere" "$node has /usr/bin/mpirun" \
		grep "^$node has" "$dir/$node.log"
done

# ---- a ring, from its beginning to its end ----
run mpirun mpi_ring 20
is "mpirun ends well" 0 "$status"
has "rank 0 ran on n1" "rank 0 of 2 on n1" "$text"
has "rank 1 on n2" "rank 1 of 2 on n2" "$text"
has "both to their end: rank 0" "rank 0: 20 rounds" "$text"
has "rank 1" "rank 1: 20 rounds" "$text"
[ "$status" = 0 ] || sed 's/^/# /' <<<"$text"
gone "the ring" "$id"
is "it was in the job's cgroup on n2, as its user, on its cores" "2 $(cores_of n2 "$id")" "$(process_on n2 "$id" mpi_ring)"
is "and so on n1" "2 $(cores_of n1 "$id")" "$(process_on n1 "$id" mpi_ring)"
is_law "each node used a second of processor at least" "$id" 'all(p["usage"]["cpu_ns"] > 1e9 for p in j["parts"])'
is_charged "$id"
shown=$(reeve 2 job "$id")
has "reeve job has a line for n1" $'\nn1 ' "$shown"
has "and for n2" $'\nn2 ' "$shown"
sed 's/^/# /' <<<"$shown"

text=$(reeve 2 run -q normal -l ncpus=2,vmem=900MB,jobfs=50MB,walltime=0:05:00 -d /tmp -- mpirun mpi_ring 5)
is "on one node it needs no ssh either" "0 2" "$? $(grep -c ': 5 rounds' <<<"$text")"

# ---- reeve exec, from within and from here ----
run reeve exec --all --label hostname
is "within a job: on all its nodes" $'n1: n1\nn2: n2' "$(sort <<<"$text")"
gone "that" "$id"
submit 0:10:00 mpirun mpi_ring 100000 && long=$id
counts_on "a long ring" "$long"
on "$long" --all -l -- hostname
is "from here: on all its nodes" $'n1: n1\nn2: n2' "$(sort <<<"$text")"
is "well" 0 $status
on "$long" -n n2 -- sh -c 'echo $REEVE_NODE $REEVE_PART of $REEVE_NODES; exit 7'
is "on one of them, with its exit status" "n2 1 of 2 7" "$text $status"
# shellcheck disable=SC2016
on "$long" --all -- sh -c '[ $REEVE_NODE = n1 ] || exit 9'
is "of several the largest" 9 $status
# shellcheck disable=SC2016
on "$long" -n n2 -- sh -c 'kill -TERM $$'
is "a signal is 128 and its number" 143 $status
on "$long" -n n2 -- /no/such/program
is "what cannot be started: 125 to 127" yes "$([ $status -ge 125 ] && [ $status -le 127 ] && echo yes)"
on "$long" -n n3 -- hostname
has "a node that is not the job's is refused, with those that are" "n1" "$text"
on "$long" --all -l -- load greedy 2 4
is "four threads that try other cores stay on the job's" $'n1: cpus allowed 1, foreign cpus entered 0\nn2: cpus allowed 1, foreign cpus entered 0' \
	"$(grep allowed <<<"$text" | sort)"

# ---- suspended and resumed ----
reeve 2 suspend "$long" >/dev/null
both "suspended: frozen" frozen "$long"
becomes "the ledger has that state" suspended state "$long"
at="$(counted "$long" 0) $(counted "$long" 1)"
becomes "a while of it" True of "$long" 'j["suspended_ns"] > 3e9'
is "no rank counts on" "$at" "$(counted "$long" 0) $(counted "$long" 1)"
reeve 2 resume "$long" >/dev/null
both "resumed: running" running "$long"
counts_on "resumed" "$long"
becomes "the ledger has that state" running state "$long"

# ---- cancelled ----
reeve 2 cancel "$long" >/dev/null
gone "cancelled" "$long"
is "as that" cancelled "$(of "$long" 'j["end"]["kind"]')"
is_law "running and suspended make up the time it took" "$long" "$add_up"
is_charged "$long"

# ---- its walltime ----
submit 0:00:40 mpirun mpi_ring 100000
counts_on "a ring with a short walltime" "$id"
reeve 2 suspend "$id" >/dev/null
both "suspended: frozen" frozen "$id"
becomes "a while of it" True of "$id" 'j["suspended_ns"] > 3e9'
reeve 2 resume "$id" >/dev/null
gone "its walltime is over" "$id"
is "and said to be" walltime "$(of "$id" 'j["end"]["reason"]["limit"]')"
is_law "after so much of running, and not sooner" "$id" '40e9 <= j["running_ns"] < 50e9'
is_charged "$id"

# ---- what its node was asked for is exceeded on one of them ----
run sh -c 'reeve exec -n n2 load map 2000; sleep 600'
is "beyond vmem on n2: all is killed" 137 $status
has "it is said which node" "vmem limit exceeded on n2" "$text"
has "of how much" "900 MB" "$text"
lacks "it did not survive" survived "$text"
gone "the job that exceeded" "$id"
is "the ledger has the limit" "vmem n2" "$(of "$id" 'j["end"]["reason"]["limit"], j["end"]["reason"]["host"]' | tr -d "(),'")"
has "reeve job says it" "vmem limit exceeded on n2" "$(reeve 2 job "$id")"
has "reeve why says it" "vmem limit exceeded on n2" "$(reeve 2 why "$id")"
is_charged "$id"
# Of a rank: mpirun ends by itself as soon as it has lost its daemon there, which may come first. It may
# also exceed on its own node then, by what Open MPI maps in its dismay.
run mpirun mpi_ring 100000 1 2000
is "a rank on n2 does so: the job is killed for it" 137 $status
has "it is said why" "vmem limit exceeded on n" "$text"
lacks "no rank survived" survived "$text"
gone "the ranks" "$id"
has "reeve job says why, beside n2" "vmem limit exceeded on n2" "$(reeve 2 job "$id" | grep '^n2 ')"
is_charged "$id"

# ---- the agents are killed while it runs ----
before=$(newest)
reeve 2 run -q normal -l "$two,walltime=0:10:00" -d /tmp -- mpirun mpi_ring 400 >"$dir/run.out" &
run=$!
is_newer() { [ "$(newest)" != "$before" ] && newest; }
id=$(await '[1-9]*' is_newer)
counts_on "a ring" "$id"
for node in n2 n1; do
	on "$id" -n $node -- sh -c 'touch "$TMPDIR/kill-agent"'
	becomes "the agent of $node is killed" 1 killed $node
	counts_on "the ring goes on" "$id"
done
gone "to its end" "$id"
wait $run
is "for who waits for it too" 0 $?
is "with all that it said" $'rank 0: 400 rounds\nrank 1: 400 rounds' "$(grep rounds "$dir/run.out" | sort)"
is "which is a good one" "exited 0" "$(of "$id" 'j["end"]["kind"], j["end"]["exit_status"]' | tr -d "(),'")"
is_law "in its first attempt" "$id" 'j["attempt"] == 1'
is "never frozen or started again: n1" "running gone " "$(history_of n1 "$id")"
is "n2" "running gone " "$(history_of n2 "$id")"
is_law "what both used is there" "$id" 'all(p["usage"]["cpu_ns"] > 10e9 for p in j["parts"])'
is_charged "$id"

# ---- one node has no power any more ----
submit 0:10:00 mpirun mpi_ring 100000
counts_on "a ring" "$id"
power_off n2
log_progress "n2 has no power"
becomes "the job ends" ended state "$id"
is "as a lost node" node-lost "$(of "$id" 'j["end"]["kind"]')"
has "which one" "n2" "$(reeve 2 job "$id")"
becomes "nothing is left on n1" "n1 gone" kernel_state "$id" n1
becomes "n1 is up" up node_state n1
is_charged "$id"

# ---- over all ----
is "no process of the user was ever outside of a job" "" "$(cat "$dir"/n?.log | grep '^n[0-9] stray')"
check "the ledger's sums are those of its jobs" "$dir/reeve" admin verify --ledger "$dir/ledger.db"
tap_end
