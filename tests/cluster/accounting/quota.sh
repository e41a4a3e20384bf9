#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# quota.sh - quotas and limits: the worked examples from a ledger of imported jobs, and a live
# controller that keeps to them. Needs root (to be several users), munged and build/bin; uses
# loopback only and leaves nothing behind. TAP.
set -u
cd "$(dirname "$0")/../../.." || exit 1
. tests/cluster/lib/tap_lib.sh
. tests/cluster/lib/live_lib.sh
. tests/cluster/lib/play_lib.sh
. tests/cluster/lib/past_lib.sh
reeve=$PWD/build/bin/reeve
export TZ=UTC LC_ALL=C
live_dir quota

# ---- offline: months of core-hours, one job each, account by account ----
work() { # LINE: ACCOUNT MONTH CORE-HOURS, as so many seconds of 3600 cores
	local id=0 account month hours day
	echo "; UnixStartTime: 0"
	while read -r account month hours; do
		id=$((id + 1))
		day=$(date -d "2012-$month-10 01:00:00" +%s)
		echo "$id $day 0 $hours 3600 -1 -1 3600 -1 -1 1 1 ${account#g} -1 -1 -1 -1 -1"
	done
}
work >"$dir/work.swf" <<'WORK'
g1 02 70000
g2 02 120000
g3 02 800
g4 02 3000
g5 02 6000
g6 02 6001
WORK
for a in "1 50000" "2 50000" "3 1000" "4 1000" "5 1000" "6 1000"; do
	printf '[Account g%s]\nUsers = u1\n' "${a% *}"
	printf '[Allocation g%s/2012]\nKind = monthly\nAmount = %s\n' "${a% *}" "${a#* }"
	printf 'From = 2012-01-01\nTo = 2012-07-01\n'
done >"$dir/accounts.conf"
check "a history is brought in" "$reeve" import swf "$dir/work.swf" --cluster rwth --profile rwth --ledger "$dir/rwth.db"
quota() { "$reeve" quota --ledger "$dir/rwth.db" --profile rwth --accounts "$dir/accounts.conf" "$@"; }
figure() { # ACCOUNT DATE COLUMNS
	quota -p "$1" --at "$2" --csv --noheader --columns "$3"
}
hours() { echo "$(($1 * 3600000))"; }
is "70000 in February leave 80000 in March" "$(hours 80000),60,normal" "$(figure g1 2012-03-05 available_ms,percentage,mode)"
is "120000 leave 30000" "$(hours 30000),-40,normal" "$(figure g2 2012-03-05 available_ms,percentage,mode)"
is "200 left of the month before are 120 %" "$(hours 2200),120,$(hours 200)" "$(figure g3 2012-03-05 available_ms,percentage,remaining_previous_ms)"
is "in the first month there is none before it" "$(hours 100000),100" "$(figure g1 2012-01-31 available_ms,percentage)"
is "all of the window is used: still normal" "0,-100,normal" "$(figure g4 2012-02-29 available_ms,percentage,mode)"
is "more is low priority, up to 6 months of it" "-101,low-priority" "$(figure g5 2012-02-29 percentage,mode)"
is "beyond that submissions are refused" "-101,stopped" "$(figure g6 2012-02-29 percentage,mode)"
is "what decided is said" "used this month > 6 x the month's allowance" "$(figure g6 2012-02-29 why)"
is "and when it is over" "2012-04-01" "$(figure g5 2012-02-29 normal_again)"
view=$(quota -p g3 --at 2012-03-05)
is "the view of the site" "Group:                             g3
Allocation:                        2012 (all clusters, cpu)
Start of accounting period:        2012-01-01
End of accounting period:          2012-06-30
State of project:                  normal (the window is not consumed)
Quota monthly (core-h):            1000
Remaining of prev. month (core-h): 200
Consumed act. month (core-h):      0
Consumable (%):                    120
Consumable (core-h):               2200
As it stood at the end of:         2012-03-05
Jobs run normally; 2200 core-h may still be used this month." "$view"
has "low priority in words" "jobs run only when no job of an account with quota left is pending" "$(quota -p g5 --at 2012-02-29)"
is "a stop of 6 x the month ends with its month" "2012-03-01,2012-04-01" "$(figure g6 2012-02-29 submit_again,normal_again)"
has "and the message states it" "submissions are open again on 1 March 2012, at low priority; normal again on 1 April 2012" "$(quota -p g6 --at 2012-02-29)"
has "nothing left of the window is not 'not consumed'" "normal (the window is consumed to the last, not beyond)" "$(quota -p g4 --at 2012-02-29)"
is "a ledger is looked at as of its last charge" "2012-02-11" "$(quota -p g1 --csv --noheader --columns day)"
is "an instant is of its day" "$(figure g1 2012-02-29 used_ms)" "$(figure g1 2012-02-29T08:00 used_ms)"
has "normal again in words" "normal again on 1 April 2012 if nothing more is used, or sooner" "$(quota -p g5 --at 2012-02-29)"
is "every account, as json" 6 "$(quota --at 2012-03-05 --json | grep -c '"available_ms"')"
has "an account that is not there" "no account 'ghost'" "$(quota -p ghost 2>&1)"
has "a day that is none" "--at: '2012-02-30' is not a time" "$(quota --at 2012-02-30 2>&1)"

printf '[Policy]\nProfile = rwth\nQuota = window-3x\n' >"$dir/newer.conf"
newer() { "$reeve" quota --ledger "$dir/rwth.db" --profile "$dir/newer.conf" --accounts "$dir/accounts.conf" --csv --noheader "$@"; }
is "the newer rule: no three months together hold more than three allowances" \
	"$(hours 30000),normal,low-priority" "$(newer -p g2 --at 2012-03-05 --columns available_ms,mode),$(newer -p g5 --at 2012-03-05 --columns mode)"
is "so it is over a month later" 2012-05-01 "$(newer -p g5 --at 2012-03-05 --columns normal_again)"

# ---- two allocations of one account; figures rounded; GPUs in GPU-years ----
{
	printf '[Account g1]\n[Allocation g1/2012]\nKind = monthly\nAmount = 0.0006\nFrom = 2012-01-01\nTo = 2012-07-01\n'
	printf '[Allocation g1/gpus]\nKind = monthly\nPool = gpu\nAmount = 7\nFrom = 2012-01-01\nTo = 2012-07-01\n'
} >"$dir/two.conf"
two=$("$reeve" quota --ledger "$dir/rwth.db" --profile rwth --accounts "$dir/two.conf" -p g1 --at 2012-01-31)
is "two allocations of one account are listed separately" "2012 (all clusters, cpu) gpus (all clusters, gpu)" \
	"$(echo "$two" | sed -n 's/^Allocation: *//p' | xargs)"
has "figures are rounded, not cut" "Quota monthly (core-h):            0.001" "$two"

# ---- a target ----
cat >"$dir/target.conf" <<'CONF'
[Account g1]
Users = u1
[Allocation g1/2012]
Kind = target
Amount = 100
From = 2012-01-01
To = 2013-01-01
CONF
check "the same history under a target" "$reeve" import swf "$dir/work.swf" --cluster narval --profile alliance-narval --ledger "$dir/narval.db"
target() { "$reeve" quota --ledger "$dir/narval.db" --profile alliance-narval --accounts "$dir/target.conf" -p g1 --at 2012-06-30 "$@"; }
# 70000 of 100 x 366 x 24 = 878400; 182 of 366 days are over
is "used, of the period, and projected" "79690,497268,$(hours 70000)" "$(target --csv --noheader --columns used_ppm,passed_ppm,used_ms)"
has "a target refuses nothing, as it states" "Nothing is refused." "$(target)"
# two GPUs all year, of ten
echo '1|1|narval|p|normal|g1|g|1|u1|2|2022-12-31T00:00:00|x|2023-01-01T00:00:00|2024-01-01T00:00:00|365-00:00:00|0:0|COMPLETED|1|2|2|1Gn|t|cpu=2,mem=1G,gres/gpu=2,gres/gpu:a100=2|1:00:00|n1|name' >"$dir/gpus.sacct"
printf '[Account g1]\nUsers = u1\n[Allocation g1/gpus]\nKind = target\nPool = gpu\nAmount = 10\nFrom = 2023-01-01\nTo = 2024-01-01\n' >"$dir/gpus.conf"
check "a history with GPUs" "$reeve" import sacct "$dir/gpus.sacct" --profile alliance-narval --ledger "$dir/gpus.db"
gpus=$("$reeve" quota --ledger "$dir/gpus.db" --profile alliance-narval --accounts "$dir/gpus.conf" -p g1 --at 2023-12-31)
has "a target of GPUs is in GPU-years" "Target:                            10 GPU-equivalent years a year" "$gpus"
has "and so is what was used of it" "Used, plain GPU-years:             2 (20.0 %)" "$gpus"

# ---- live ----
[ "$(id -u)" = 0 ] || { skip "a live controller" "needs root to speak as several users"; tap_end; }
live_munge
configure() { # POLICY LINES
	cat >"$dir/controller.conf" <<-CONF
		$(live_controller "$dir/$database")
		[Policy]
		$1
		[Cluster main]
		Unit = service-units
		DefaultResources = jobfs=100MB,walltime=1:00:00
		Queues = normal,express,bonus
		[Queue express]
		Factor = 3
		[Queue bonus]
		Factor = 0
	CONF
}
open_site() { # NAME POLICY
	database=$1.db
	live_open configure "$2"
	backdate_dispatch "$dir/$database"
}
apply() { # accounts from standard input
	local text
	text=$(sed 's/"/\\"/g' | sed ':a;N;$!ba;s/\n/\\n/g')
	ask 0 POST /v1/accounts "{\"schema\":\"reeve/1\",\"revision\":${1:-0},\"text\":\"$text\\n\"}"
}
job() { # NCPUS QUEUE WALLTIME_S [ACCOUNT]
	echo "{\"schema\":\"reeve/1\",\"request\":{\"cluster\":\"main\",\"account\":\"${4:-physics}\",\
\"queue\":\"$2\",\"name\":\"t\",\"resources\":{\"ncpus\":$1,\"vmem_bytes\":1000000000,\"walltime_s\":$3},\
\"vmem_policy\":\"kill\",\"stream\":true,\"join\":false,\"argv\":[\"/bin/true\"],\"env\":[],\"workdir\":\"/\"}}"
}
amounts='"ncpus":64,"mem_bytes":64000000000,"jobfs_bytes":100000000000,"ngpus":0'
node() { node_sync jobs="${1:-}" reports="${2:-}"; } # [JOBS [REPORTS]]
seq=0
report() { # JOB STATE RAN_S: the node reports the only job in its list
	local list status=-1
	list=$(job_entry "$1" "$2")
	seq=$((seq + 1))
	if [ "$2" = ended ]; then list='' status=0; fi
	node "$list${others:+${list:+,}$others}" "$(job_report "$1" $seq "$2" running_s="$3" exit_status=$status)"
}
live() { # UID: what `reeve quota` shows that user; more arguments
	local uid=$1
	shift
	as "$uid" "$reeve" quota --config "$dir/client.conf" --controller "$url" "$@" 2>&1
}
printf '[Client]\nMungeSocket = %s\n' "$dir/munge.sock" >"$dir/client.conf"
others=
# From last year on, so that January is a month like any other.
year=$(date +%Y)
period="From = $((year - 1))-01-01
To = $((year + 2))-01-01"

# ---- service units ----
open_site grant "Quota = grant"
out=$(apply <<-CONF
	[Account physics]
	Users = daemon, bin
	Coordinators = bin
	[Allocation physics/$year]
	Kind = grant
	Amount = 100
	$period
	[Allocation physics/disk]
	Kind = storage
	Amount = 10TB
	$period
CONF
)
has "accounts are taken" 200 "$out"
figures() { live $bin --csv --noheader --columns total_ms,used_ms,reserved_ms,available_ms -p physics; }
is "granted, nothing used" "$(hours 100),0,0,$(hours 100)" "$(figures)"
node >/dev/null
out=$(ask $daemon POST /v1/jobs "$(job 16 express 5400)")
has "16 cpus x 90 min in express are taken" '"queue":"express"' "$out"
is "and reserve 72 SU" "$(hours 100),0,$(hours 72),$(hours 28)" "$(figures)"
ask $daemon POST /v1/jobs "$(job 16 normal 5400)" >/dev/null
is "in normal 24" "$(hours 100),0,$(hours 96),$(hours 4)" "$(figures)"
has "the price predicts the queue of the job" "would run in the queue without charge: the job reserves 24 SU" \
	"$(as $daemon "$reeve" cost --config "$dir/client.conf" --controller "$url" -A physics -q normal -l ncpus=16,walltime=1:30:00)"
out=$(ask $daemon POST /v1/jobs "$(job 16 normal 5400)")
has "what the grant does not cover goes to bonus" '"queue":"bonus"' "$out"
has "and the answer says why" "free of charge: the job reserves 24 SU, and account 'physics' has 4 of its grant" "$out"
is "free of charge" "$(hours 100),0,$(hours 96),$(hours 4)" "$(figures)"
has "reeve job shows it too" "moved from queue normal to bonus" "$(as $daemon "$reeve" job --config "$dir/client.conf" --controller "$url" 3)"
has "exactly what is left is covered" '"queue":"normal"' "$(ask $daemon POST /v1/jobs "$(job 4 normal 3600)")"
has "a second more is not" '"queue":"bonus"' "$(ask $daemon POST /v1/jobs "$(job 1 normal 1)")"
others='{"job":2,"attempt":1,"state":"starting"},{"job":3,"attempt":1,"state":"starting"},
{"job":4,"attempt":1,"state":"starting"},{"job":5,"attempt":1,"state":"starting"}'
report 1 running 2700 >/dev/null
is "what ran is used, the rest reserved" "$(hours 100),$(hours 36),$(hours 64),0" "$(figures)"
has "amounts of jobs have their unit" "Running jobs:                      5 (36 used so far, up to 64 more SU)" "$(live $daemon -p physics)"
report 1 suspended 2700 >/dev/null
has "a suspended job is not called a running one" "Running jobs:                      4 and 1 suspended (36 used so far" "$(live $daemon -p physics)"
has "in the sentence neither" "reserved by 4 running, 1 suspended and 0 queued jobs" "$(live $daemon -p physics)"
is "suspended it is neither more nor less" "$(hours 100),$(hours 36),$(hours 64),0" "$(figures)"
report 1 ended 3600 >/dev/null
is "ended early, the rest is available" "$(hours 100),$(hours 48),$(hours 28),$(hours 24)" "$(figures)"
view=$(live $daemon -p physics)
has "the view of a project" "Grant (SU):                        100" "$view"
has "reserved by what waits" "Reserved (SU):                     28" "$view"
has "the queues and what they cost" "normal 1, express 3, bonus 0" "$view"
has "storage beside it" "Storage allotted:                  10.0 TB" "$view"
has "in the same unit as a column" "10.0 TB" "$(live $daemon -p physics --columns storage_bytes --noheader)"
has "the coordinator sees every user" "daemon" "$(live $bin --by user -p physics)"
check "an operator charges more" as 0 "$reeve" admin adjust --config "$dir/client.conf" --controller "$url" -A physics -u daemon --cluster main --charge 40.125 --reason test
has "an overspent grant is called so, with an amount above 0" "16.125 SU overspent of the grant that ends on" "$(live $daemon -p physics)"
lacks "nothing below 0 is available" "-16.125 SU available" "$(live $daemon -p physics)"
check "and less again" as 0 "$reeve" admin adjust --config "$dir/client.conf" --controller "$url" -A physics -u daemon --cluster main --charge -40.125 --reason test
ask $bin POST /v1/jobs "$(job 1 bonus 60)" >/dev/null
out=$(live $daemon --by user -p physics --csv --noheader --columns user,used_ms)
is "another member sees what is theirs" "daemon,$(hours 48)" "$out"
has "a stranger does not see the account" "no account 'physics', or you are not a member of it" "$(live $stranger -p physics)"
has "no -p: all of mine" "physics" "$(live $daemon)"
has "the zone is said" '"time_zone":"UTC"' "$(ask $daemon GET /v1/quota)"
has "limits on queued jobs are refused with numbers" 200 "$(apply 1 <<-CONF
	[Account physics]
	Users = daemon, bin
	MaxQueuedJobs = 0
CONF
)"
out=$(ask $daemon POST /v1/jobs "$(job 1 bonus 60)")
has "no more than so many may wait" "account physics has 0 jobs queued, and the limit is 0" "$out"
has "by its own code" '"code":"too-many-jobs"' "$out"

# ---- the two stops ----
open_site window "Quota = window"
apply >/dev/null <<-CONF
	[Account physics]
	Users = daemon
	[Allocation physics/$year]
	Kind = monthly
	Amount = 1
	$period
CONF
others=
node >/dev/null
ask $daemon POST /v1/jobs "$(job 6 normal 7200)" >/dev/null
report 1 running 3600 >/dev/null
has "exactly 6 x the month: low priority" "Low priority" "$(live $daemon)"
has "and still taken" 201 "$(ask $daemon POST /v1/jobs "$(job 1 normal 60)")"
others='{"job":2,"attempt":1,"state":"starting"}'
report 1 ended 3601 >/dev/null
out=$(ask $daemon POST /v1/jobs "$(job 1 normal 60)")
has "beyond it: refused" '"code":"quota"' "$out"
has "with the numbers" "used 6.0016667 SU in this month, more than 6 = 6 x 1" "$out"
has "and what to do" "ask for a larger quota" "$out"
has "said by reeve quota too" "Submissions blocked" "$(live $daemon)"

# ---- limits on what runs hold a queue, and only what they limit ----
open_site limits "Quota = none"
apply >/dev/null <<-CONF
	[Account physics]
	Users = daemon, bin
	[QueueLimits normal]
	MaxRunningCores = 20
	[Association physics/bin]
	MaxRunningMemory = 2GB
CONF
others=
node >/dev/null
for cores in 10 10 10; do ask $daemon POST /v1/jobs "$(job $cores normal 3600)" >/dev/null; done
why() { ask "$1" GET "/v1/jobs/$2" | grep -o '"why":"[^"]*"'; }
soon "two of 10 cores start, the third waits and says why" \
	'"why":"limit of user daemon in queue normal: 20 cores at once, 20 run, this job needs 10"' why $daemon 3
ask $bin POST /v1/jobs "$(job 5 normal 3600)" >/dev/null
soon "another user passes by" '"state":"starting"' ask $bin GET /v1/jobs/4
ask $daemon POST /v1/jobs "$(job 5 express 3600)" >/dev/null
soon "another queue too" '"state":"starting"' ask $daemon GET /v1/jobs/5
ask $bin POST /v1/jobs "$(job 1 normal 3600)" >/dev/null
ask $bin POST /v1/jobs "$(job 1 normal 3600)" >/dev/null
soon "memory is limited as well" 'user bin in account physics: 2000 MB at once, 2000 run, this job needs 1000' why $bin 7
has "a job that could never start is not taken" "it needs 21 cores, and user daemon in queue normal may run 20 at once" \
	"$(ask $daemon POST /v1/jobs "$(job 21 normal 60)")"
others='{"job":2,"attempt":1,"state":"starting"},{"job":4,"attempt":1,"state":"starting"},
{"job":5,"attempt":1,"state":"starting"},{"job":6,"attempt":1,"state":"starting"}'
report 1 ended 60 >/dev/null
soon "what ends makes room" '"state":"starting"' ask $daemon GET /v1/jobs/3

# ---- a limit that is a multiple of a group's shares: BMRC ----
open_site shares "Quota = none"
group() { # CORES for each share
	cat <<-CONF
		[Template group]
		Accounts = prj.high=100/parent, prj=10/10, prj.low=1/10
		[Account bloggs]
		Template = group
		Shares = 5
		Users = daemon, bin
		[Default User]
		MaxRunningCoresPerShare = $1
	CONF
}
group 4 | apply >/dev/null
others=
node >/dev/null
for prj in prj prj.high prj.low; do ask $daemon POST /v1/jobs "$(job 10 normal 3600 bloggs.$prj)" >/dev/null; done
ask $bin POST /v1/jobs "$(job 10 normal 3600 bloggs.prj.low)" >/dev/null
soon "a user has in all accounts of the group what its shares give" \
	'"why":"limit of user daemon in group bloggs: 20 cores at once (4 for each of 5 shares), 20 run, this job needs 10"' why $daemon 3
soon "another user of it has as much" '"state":"starting"' ask $bin GET /v1/jobs/4
has "a job beyond it is not taken" "it needs 21 cores, and user daemon in group bloggs may run 20 at once (4 for each of 5 shares)" \
	"$(ask $daemon POST /v1/jobs "$(job 21 normal 60 bloggs.prj)")"
group 6 | apply 1 >/dev/null
soon "a larger multiple frees the job" '"state":"starting"' ask $daemon GET /v1/jobs/3

# ---- low priority ----
open_site low "Quota = window"
both() { # AMOUNT of the poor one
	cat <<-CONF
		[Account rich]
		Users = daemon
		[Account poor]
		Users = bin
		[Allocation rich/$year]
		Kind = monthly
		Amount = 1000
		$period
		[Allocation poor/$year]
		Kind = monthly
		Amount = $1
		$period
	CONF
}
both 1 | apply >/dev/null
others=
node >/dev/null
ask $bin POST /v1/jobs "$(job 4 normal 7200 poor)" >/dev/null
report 1 ended 3600 >/dev/null
has "the window of an account is consumed" "Low priority" "$(live $bin)"
sleep 2.1 # how long the queue caches what it knows of an account (GATE_KEEP_NS)
ask $daemon POST /v1/jobs "$(job 64 normal 3600 rich)" >/dev/null
ask $bin POST /v1/jobs "$(job 1 normal 3600 poor)" >/dev/null
soon "while no other job waits it waits for a place only" "needs 1 core;" why $bin 3
ask $daemon POST /v1/jobs "$(job 64 normal 3600 rich)" >/dev/null
has "else for every job of accounts with quota left" \
	"low priority: account poor has no quota left, and 1 job of accounts with quota left waits here" "$(why $bin 3)"
both 1000 | apply 1 >/dev/null
for _ in $(seq 150); do
	out=$(why $bin 3)
	[[ $out == *"needs 1 core;"* ]] && break
	sleep 0.1
done
has "a quota that is raised frees it, though nothing ends" "needs 1 core;" "$out"
both 1 | apply 2 >/dev/null
ask $daemon POST /v1/jobs/4/cancel >/dev/null
report 2 ended 60 >/dev/null
soon "and starts" '"state":"starting"' ask $bin GET /v1/jobs/3

tap_end
