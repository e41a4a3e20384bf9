#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# burst.sh - many jobs are submitted to a real slurmctld at once, before Reeve's ledger can have any: a grant holds all the same, and what Slurm
# refuses for its own reasons frees what it reserved. Needs root, munged, MariaDB, slurmdbd, slurmctld, slurmd, reeve-slurm and build/bin;
# uses loopback only and leaves nothing behind. TAP.
set -u
cd "$(dirname "$0")/../../.." || exit 1
. tests/cluster/lib/tap_lib.sh
. tests/cluster/lib/live_lib.sh
. tests/cluster/lib/slurm_lib.sh
export TZ=UTC LC_ALL=C
why=$(slurm_why_not)
[ -e build/lib/reeve_lua.so ] || why="needs liblua5.1-0-dev when Reeve is built"
[ -z "$why" ] || { skip "a burst of submissions" "$why"; tap_end; }
live_dir slurm-burst
live_munge
year=$(date +%Y)
configure() {
	cat >"$dir/controller.conf" <<-CONF
		[Controller]
		Listen = 127.0.0.1:$port
		Database = $dir/ledger.db
		MungeSocket = $dir/munge.sock
		Operators = root
		AcceptNodes = any
		[Policy]
		Quota = grant
		GrantBeyond = refuse
		[Cluster vc]
		Engine = slurm
		Unit = service-units
		Queues = batch
	CONF
}
live_open configure
text="[Account physics]\nUsers = daemon, bin\n[Allocation physics/$year]\nKind = grant\nAmount = 10\nFrom = $((year - 1))-01-01\nTo = $((year + 2))-01-01\n"
text+='[Account chem]\nUsers = daemon\n[Association chem/daemon]\nMaxQueuedJobs = 6\n'
text+="[Allocation chem/$year]\nKind = grant\nAmount = 1000\nFrom = $((year - 1))-01-01\nTo = $((year + 2))-01-01\n"
has "accounts are declared" 200 "$(ask 0 POST /v1/accounts "{\"schema\":\"reeve/1\",\"revision\":0,\"text\":\"$text\"}")"

sock=$dir/submit.sock
printf '%s\n' '[Slurm]' 'Cluster = vc' "Controller = $url" 'ControllerUser = root' "MungeSocket = $dir/munge.sock" \
	"SubmitSocket = $sock" 'SubmitLimit = 8000' 'LiveInterval = 1' 'PriorityInterval = 2' 'AccountingInterval = 2' >"$dir/reeve-slurm.conf"
build/bin/reeve-slurm-submit --config "$dir/reeve-slurm.conf" 2>"$dir/submit.log" &
submitter=$!
mkdir -p "$dir/slurm"
cp slurm/lua/job_submit.lua "$dir/reeve.lua"
cp build/lib/reeve_lua.so "$dir/"
# A busy machine must not make a job pass unchecked here: submit.sh tests that.
printf 'package.cpath = "%s/?.so"\ndofile("%s/reeve.lua")\nreeve.socket = "%s"\nreeve.limit_ms = 9000\nreeve.slow_ms = 9000\n' \
	"$dir" "$dir" "$sock" >"$dir/slurm/job_submit.lua"
slurm_open "n1 n2" JobSubmitPlugins=lua EnforcePartLimits=ALL
echo "SlurmConf = $SLURM_CONF" >>"$dir/reeve-slurm.conf"
follower=
follow() {
	build/bin/reeve-slurm --config "$dir/reeve-slurm.conf" 2>>"$dir/follow.log" &
	follower=$!
}
follow_stop() { live_end_pid "$follower"; }
once() { # TASK
	build/bin/reeve-slurm --config "$dir/reeve-slurm.conf" --task "$1" --once 2>>"$dir/follow.log"
}
batch() { # UID OPTION...
	local uid=$1
	shift
	(cd / && as "$uid" sbatch -o /dev/null --wrap 'sleep 100' "$@" 2>&1)
}
burst() { # COUNT UID OPTION...: how many were submitted
	local times=$1 i pids=()
	shift
	for i in $(seq "$times"); do batch "$@" >"$dir/burst.$i" & pids[i]=$!; done
	wait "${pids[@]}"
	grep -l Submitted "$dir"/burst.* | wc -l
	rm -f "$dir"/burst.*
}
active() { squeue -h -r -A "$1" | wc -l; }
end_all() { # all jobs end, and both lists are without them
	scancel -A physics
	scancel -A chem
	for _ in $(seq 100); do [ "$(squeue -h | wc -l)" = 0 ] && break; sleep 0.1; done
	once slurmctld
	once priority
}
left() { # of the grant, in whole units
	batch $daemon -A physics -n 8 -t 100:00:00 | sed -n 's/.* has \([-0-9.]*\) of its grant.*/\1/p'
}
# N of the grant are left, but for what jobs ran meanwhile
has_left() { awk -v is="$(left)" -v n="$1" 'BEGIN { exit !(is != "" && is <= n && is > n - 0.9) }'; }
once priority

# ---- at once, while nothing looks ----
is "50 jobs of 1 SU at once, and a grant of 10" 10 "$(burst 50 $daemon -A physics -n 1 -t 60)"
is "Slurm has ten" 10 "$(active physics)"
is "of another user there is nothing left either" 0 "$(burst 3 $bin -A physics -n 1 -t 60)"
is "nothing is left" 0 "$(left)"
once slurmctld
is "those that have started count once" 0 "$(left)"
once priority
is "and those that wait" 0 "$(left)"
once slurmctld
once priority
is "a second look changes nothing" 0 "$(left)"
is "nothing more gets in" 0 "$(burst 10 $daemon -A physics -n 1 -t 60)"
is "MaxQueuedJobs holds at once as well" 6 "$(burst 20 $daemon -A chem -n 8 -t 1)"

# ---- what ends, frees ----
end_all
has_left 10
tap_result $? "jobs that were cancelled free the grant but for what they ran" "$(left)"
is "arrays count by their tasks" 1 "$(burst 4 $daemon -A physics -n 1 -t 60 --array=0-5 --begin=now+1hour)"
has_left 4
tap_result $? "one with six tasks leaves no room for another of six" "$(left)"
once priority
has_left 4
tap_result $? "nor where it is listed" "$(left)"

# ---- changes ----
end_all
job=$(batch $daemon -A physics -n 1 -t 60 --begin=now+1hour | grep -o '[0-9]*$')
check "a change within the grant" as $daemon scontrol update job="$job" TimeLimit=5:00:00
has "two changes at once do not exceed it" "violates" "$(as $daemon scontrol update job="$job" TimeLimit=11:00:00 2>&1)"
has_left 5
tap_result $? "what is changed counts as it is now" "$(left)"
sleep 1.2
once priority
has_left 5
tap_result $? "and is so where it is listed" "$(left)"

# ---- what Slurm refuses ----
end_all
before=$(left | cut -d. -f1)
has "Slurm refuses more nodes than there are" "rror" "$(batch $daemon -A physics -N 5 -n 5 -t 60)"
[ "$(left | cut -d. -f1)" = "$((before - 5))" ]
tap_result $? "it counts at first" "$(left)"
follow
freed() { [ "$(left | cut -d. -f1)" = "$before" ]; }
began=$SECONDS
slurm_wait 30 freed
tap_result $? "within the settling time and two looks it does not" "$(left) after $((SECONDS - began)) s"
[ $((SECONDS - began)) -ge 5 ]
tap_result $? "and not before" "$((SECONDS - began)) s"
follow_stop

# ---- a restart of the controller ----
end_all
burst 9 $daemon -A physics -n 1 -t 60 --begin=now+1hour >/dev/null
live_stop
live_start || bail "the controller does not start again"
has "after a start of the controller what waits is not known until the next list" Submitted "$(batch $daemon -A physics -n 1 -t 60 --begin=now+1hour)"
once priority
[ "$(left | cut -d. -f1)" -le 0 ]
tap_result $? "then it counts" "$(left)"
is "and nothing more gets in" 0 "$(burst 5 $daemon -A physics -n 1 -t 60)"
end_all
live_end_pid "$submitter"
tap_end
