#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# priority.sh - a real slurmctld whose pending jobs get Reeve's fairshare as SiteFactor, by reeve-slurm: shown by sprio, explained by
# reeve prio and reeve why. Needs root, munged, slurmctld and build/bin; uses loopback only and leaves nothing behind. TAP.
set -u
cd "$(dirname "$0")/../../.." || exit 1
. tests/cluster/lib/tap_lib.sh
. tests/cluster/lib/live_lib.sh
. tests/cluster/lib/slurmctld_lib.sh
export TZ=UTC LC_ALL=C PATH=$PATH:/usr/sbin
for tool in slurmctld sbatch munged build/bin/reeve-slurm; do
	command -v $tool >/dev/null || { skip "priorities of Slurm" "needs $tool"; tap_end; }
done
live_dir slurm-priority
live_munge
year=$(date +%Y)
configure() {
	cat >"$dir/controller.conf" <<-CONF
		$(live_controller)
		[Policy]
		Quota = grant
		GrantBeyond = refuse
		Fairshare = classic
		PriorityWeightFairshare = ${weight:-100000}
		[Cluster vc]
		Engine = slurm
		Unit = service-units
		Queues = main
	CONF
}
# chem has used something, physics nothing.
day=$(date -d yesterday +%F)
echo "1|1|vc|main|normal|chem|g|1|daemon|1|${day}T00:00:00|x|${day}T00:00:00|${day}T10:00:00|10:00:00|0:0|COMPLETED|1|10|10|1Gn|t|cpu=10,mem=1G|10:00:00|n1|name" >"$dir/past.sacct"
port=1 configure
check "chem has used something" build/bin/reeve import sacct "$dir/past.sacct" --profile "$dir/controller.conf" --ledger "$dir/ledger.db"
live_open configure
apply() { # accounts from standard input
	local text
	text=$(sed 's/"/\\"/g' | sed ':a;N;$!ba;s/\n/\\n/g')
	ask 0 POST /v1/accounts "{\"schema\":\"reeve/1\",\"revision\":0,\"text\":\"$text\\n\"}"
}
has "accounts are declared" 200 "$(apply <<CONF
[Account physics]
Users = daemon, bin
Shares = 50
[Account chem]
Users = daemon
Shares = 50
[Allocation physics/$year]
Kind = grant
Amount = 100
From = $((year - 1))-01-01
To = $((year + 2))-01-01
CONF
)"
slurmctld_open PriorityType=priority/multifactor PriorityWeightFairshare=0 PriorityWeightAge=0 PriorityWeightPartition=1000 \
	'PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE DefaultTime=60 State=UP'
printf '%s\n' '[Slurm]' 'Cluster = vc' "Controller = $url" 'ControllerUser = root' "MungeSocket = $dir/munge.sock" \
	"SlurmConf = $dir/slurm.conf" "Priority = \${set}" >"$dir/follow.conf.in"
follow() { # yes|no [LINE]...
	local set=$1
	shift
	{ sed "s/\${set}/$set/" "$dir/follow.conf.in"; printf '%s\n' "$@"; } >"$dir/follow.conf"
	chmod 644 "$dir/follow.conf"
	setpriv --reuid slurm --regid slurm --clear-groups build/bin/reeve-slurm --config "$dir/follow.conf" --task priority --once --debug 2>"$dir/follow.log"
	grep -o 'SiteFactor of .*' "$dir/follow.log"
}
batch() { # UID OPTION...
	local uid=$1
	shift
	(cd / && as "$uid" sbatch --parsable -o /dev/null --wrap true "$@")
}
site() { sprio -h -j "$1" -o %S | tr -d ' '; }
printf '[Client]\nMungeSocket = %s\n' "$dir/munge.sock" >"$dir/client.conf"
chmod 644 "$dir/client.conf"
reeve() { # UID VERB...
	local uid=$1
	shift
	as "$uid" build/bin/reeve "$1" --config "$dir/client.conf" --controller "$url" "${@:2}" 2>&1
}

idle=$(batch $daemon -A physics -t 60)
busy=$(batch $daemon -A chem -t 60)
other=$(batch $bin -A physics -t 60)
strange=$(batch $bin -A ghost -t 60)
follow no >/dev/null
is "by default nothing is written" 0 "$(site "$idle")"
said=$(follow yes)
is "without usage the fairshare is 1: the whole weight" 100000 "$(site "$idle")"
is "of both users" 100000 "$(site "$other")"
factor=$(site "$busy")
[ "$factor" -lt 50000 ]
tap_result $? "who has used more than the share has less" "$factor"
is "as reeve share has it" "$((factor / 10))" "$(reeve 0 share -a --csv --noheader --pool cpu --columns account,user,FairShare | awk -F, '$1 == "chem" && $2 == "daemon" { print int($3 * 10000) }')"
is "an account that Reeve does not know has none" 0 "$(site "$strange")"
is "what is equal already is not written" "" "$(follow yes)"
scontrol update job="$idle" SiteFactor=99950
is "nor what differs by less than 1/1000 of the weight" "" "$(follow yes)"
scontrol update job="$idle" SiteFactor=99000
has "but more is" "SiteFactor of 1 of 4" "$(follow yes)"
is "and is what it was" 100000 "$(site "$idle")"
has "sprio shows it beside Slurm's own" "101000" "$(sprio -h -j "$idle" -o %Y)"

# ---- in bounded batches, the largest difference first ----
for j in "$idle" "$other"; do scontrol update job="$j" SiteFactor=0; done
scontrol update job="$busy" SiteFactor=$((factor + 500))
has "at most as many as are allowed in one interval" "SiteFactor of 2 of 4" "$(follow yes 'PriorityUpdates = 2')"
is "those that differ most" "100000 100000 $((factor + 500))" "$(site "$idle") $(site "$other") $(site "$busy")"
has "the rest in the next one" "SiteFactor of 1 of 4" "$(follow yes 'PriorityUpdates = 2')"

# ---- in words ----
out=$(reeve $daemon prio "vc:$idle")
has "reeve prio: factor and weight" "fairshare 1.000000 x 100000" "$out"
has "and where Slurm's part is" "sprio -j $idle" "$out"
is "as a row" "$idle,1.000000,100000,100000.000000" "$(reeve $daemon prio "vc:$idle" --csv --noheader --columns job,value,weight,product)"
has "others' jobs are not there" "no queued job $other" "$(reeve $daemon prio "vc:$other")"
out=$(reeve $daemon why "vc:$idle")
has "reeve why: slurmctld's reason" "slurmctld" "$out"
has "its priority" "priority  101000. Reeve's part of it is its SiteFactor" "$out"
has "and the quota" "nothing of Reeve's quotas and limits holds it back" "$out"
big=$(batch $bin -A physics -n 32 -t 10:00:00)
follow yes >/dev/null
has "what a quota has against it, beside the other jobs that wait" "the job reserves 320 SU, and account 'physics' has 98 of its grant" "$(reeve $bin why "vc:$big")"
is "as json" "$big" "$(reeve $bin why "vc:$big" --json | /usr/bin/python3 -c 'import json,sys; print(json.load(sys.stdin)["slurm"]["job"])')"
has "a user does not see others'" "no job $big" "$(reeve $daemon why "vc:$big")"
has "an operator does" "the job reserves" "$(reeve 0 why "vc:$big")"
scancel "$big"
follow yes >/dev/null
has "a job that has gone waits no more" "job $big" "$(reeve $bin why "vc:$big")"
lacks "and is not explained" "reserves" "$(reeve $bin why "vc:$big")"
has "a user tells of no jobs" 403 "$(ask $daemon POST /v1/slurm/pending '{"schema":"reeve/1","cluster":"vc","first":true,"last":true,"jobs":[]}')"

# ---- faults ----
name=$(printf 'a"b\n\xff')
hostile=$(batch $daemon -A "$name" -J "$name" -t 60)
follow yes >/dev/null
is "hostile names get no factor" 0 "$(site "$hostile")"
has "and stop nothing" "SiteFactor" "$(scontrol update job="$idle" SiteFactor=5; follow yes)"
ask 0 POST /v1/slurm/pending '{"schema":"reeve/1","cluster":"vc","first":true,"jobs":[]}' >/dev/null
has "a list that ends half-way leaves the former one" "fairshare 1.000000" "$(reeve $daemon prio "vc:$idle")"
slurmctld_close
follow yes >/dev/null
has "without slurmctld its log states it" "slurmctld does not answer" "$(cat "$dir/follow.log")"
slurmctld_start
live_stop
follow yes >/dev/null
has "without the controller likewise" "priority: " "$(cat "$dir/follow.log")"
weight=0
configure
live_start || bail "the controller does not start"
scontrol update job="$idle" SiteFactor=7
is "without a weight nothing is written" "" "$(follow yes)"
is "and an operator's own factor stays" 7 "$(site "$idle")"
slurmctld_close
tap_end
