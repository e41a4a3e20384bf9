#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# share.sh - `reeve share` and `reeve prio`: on a ledger file, and of a real controller with a real
# munged and a client that plays the node. TAP on standard output. The live part needs root (to be
# several users); uses loopback only and leaves nothing behind.
set -u
cd "$(dirname "$0")/../../.." || exit 1
. tests/cluster/lib/tap_lib.sh
. tests/cluster/lib/live_lib.sh
. tests/cluster/lib/play_lib.sh
. tests/cluster/lib/past_lib.sh
reeve=$PWD/build/bin/reeve
quietly() { "$reeve" "$@" 2>&1 | sed '/^reeve: .* were priced by /d'; return "${PIPESTATUS[0]}"; } # that is tested in import.sh
live_dir share
export HOME=$dir XDG_CONFIG_HOME=$dir LC_ALL=C.UTF-8
unset REEVE_CONTROLLER

# ---- a ledger file ----
cat >"$dir/small.swf" <<'SWF'
; UnixStartTime: 1000000000
1 0 0 3600 4 100 -1 4 7200 -1 1 7 3 -1 -1 -1 -1 -1
2 3600 0 7200 2 100 -1 4 7200 -1 1 8 3 -1 -1 -1 -1 -1
3 7200 0 1000 8 100 -1 4 7200 -1 1 7 4 -1 -1 -1 -1 -1
4 9000 0 100 1 100 -1 4 7200 -1 1 9 5 -1 -1 -1 -1 -1
SWF
cat >"$dir/flat.conf" <<'CONF'
[Policy]
UsageHalfLife = 0
[Cluster c]
CONF
cat >"$dir/hour.conf" <<'CONF'
[Policy]
UsageHalfLife = 1:00:00
PriorityWeightAge = 1000
PriorityMaxAge = 1:00:00
PriorityWeightFairshare = 100000
PriorityWeightPartition = 10
[Cluster c]
Queues = normal,express
[Queue normal]
Priority = 1
[Queue express]
Priority = 4
CONF
cat >"$dir/accounts.conf" <<'CONF'
[Account g3]
Shares = 30
Users = u7=2, u8
[Account g4]
Parent = g3
Shares = 10
Users = u7
[Account idle]
Shares = parent
Users = u1=5
CONF
db=$dir/small.db
"$reeve" import swf "$dir/small.swf" --cluster c --ledger "$db" >/dev/null || bail "the import failed"
share() { quietly share --ledger "$db" --profile "$dir/${1}.conf" "${@:2}"; }
is "without declarations the tree is flat, one share each" \
'account,user,RawShares,NormShares,RawUsage,EffectvUsage,LevelFS,FairShare
root,,1,0.000000,36900.000000,1.000000,,
g3,,1,0.333333,28800.000000,0.780488,0.427083,
g3,u7,1,0.500000,14400.000000,0.500000,1.000000,0.500000
g3,u8,1,0.500000,14400.000000,0.500000,1.000000,0.500000
g4,,1,0.333333,8000.000000,0.216802,1.537500,
g4,u7,1,1.000000,8000.000000,1.000000,1.000000,0.750000
g5,,1,0.333333,100.000000,0.002710,123.000000,
g5,u9,1,1.000000,100.000000,1.000000,1.000000,1.000000' \
	"$(share flat --csv -o account,user,RawShares,NormShares,RawUsage,EffectvUsage,LevelFS,FairShare)"
out=$(share flat --accounts "$dir/accounts.conf" --csv -n -o account,user,RawShares,RawUsage,FairShare)
is "as declared: parent, accounts below accounts, who is gone at the root" \
'root,,1,36900.000000,
g3,,30,36800.000000,
g3,u7,2,14400.000000,0.500000
g3,u8,1,14400.000000,0.250000
g4,,10,8000.000000,
g4,u7,1,8000.000000,0.750000
idle,,parent,0.000000,
idle,u1,5,0.000000,1.000000' "$out"
has "and the answer reports it" '1 association is no longer in the accounts; their usage of 100 counts' \
	"$(share flat --accounts "$dir/accounts.conf")"
is "accounts by name, with what is below them" $'g4,\ng4,u7' "$(share flat --csv -n -A g4 -o account,user)"
is "users by name" $'root,\ng3,\ng3,u8\ng4,\ng5,' "$(share flat --csv -n -u u8 -o account,user)"
is "people see a tree" $'root|\n g3|\n  g3|u7' "$(share flat -n -A root -u u7 -o account,user | head -n 3 | sed 's/ *$/|/; s/\(g3\) *u7|/\1|u7/')"
is "by cluster and pool; one without usage has its shares" 'elsewhere,gpu,g4,u7,1,0.000000' \
	"$(share flat --accounts "$dir/accounts.conf" -C elsewhere --pool gpu --csv -n -o cluster,pool,account,user,RawShares,RawUsage | grep g4,u7)"
is "another pool of this cluster is another tree" 0 "$(share flat --pool gpu --csv -n | wc -l)"
is "a moment in the past: what had run by then" 'root,14400.000000
g3,14400.000000' "$(share flat --csv -n --at 2001-09-09T02:46:40 -A root -o account,RawUsage | head -n 2)"
want=$(python3 - <<'PY'
import math
h = 3600
end = 10800
def seen(amount, a, b):
    return amount / (b - a) * h / math.log(2) * (2 ** (-(end - b) / h) - 2 ** (-(end - a) / h))
print("%.6f" % seen(14400, 0, 3600), "%.6f" % seen(14400, 3600, 10800), "%.6f" % seen(8000, 7200, 8200))
PY
)
is "usage fades as the formula has it" "$want" \
	"$(share hour --csv -n -o user,RawUsage | sed -n 's/^u[78],//p' | xargs)"

# ML Cloud: one fairshare over jobs with GPUs and without.
slurm() { # ID USER CPUS TRES ACCOUNT
	echo "$1|$1|mlcloud|p|normal|$5|g|1|$2|2|2025-07-01T09:00:00|x|2025-07-01T10:00:00|2025-07-01T11:00:00|01:00:00|0:0|COMPLETED|1|$3|$3|1Gn|t|$4|1:00:00|n1|name"
}
{ slurm 1 ann 1 cpu=1,mem=1G,gres/gpu=2 g1; slurm 2 bob 1 cpu=1,mem=1G g2; } >"$dir/pools.sacct"
printf '[Policy]\nPools = one\nUsageHalfLife = 0\nFairshare = fair-tree\nTresWeights = cpu=1,gpu=3\n[Cluster mlcloud]\nUnit = core-equivalents\n' >"$dir/one.conf"
sed 's/^Pools = one$/Pools = separate/' "$dir/one.conf" >"$dir/two.conf"
for p in one two; do "$reeve" import sacct "$dir/pools.sacct" --profile "$dir/$p.conf" --ledger "$dir/$p.db" >/dev/null; done
tree() { "$reeve" share --ledger "$dir/$1.db" --profile "$dir/$1.conf" --csv -n -o pool,account,user,RawUsage | grep -E ',(ann|bob),' | xargs; }
is "Pools = one: jobs with GPUs and without stand in one tree" "cpu,g1,ann,21600.000000 cpu,g2,bob,3600.000000" "$(tree one)"
is "otherwise each pool has its own" "cpu,g2,bob,3600.000000 gpu,g1,ann,21600.000000" "$(tree two | tr ' ' '\n' | sort | xargs)"
sed 's/^Fairshare = .*/Fairshare = classic\nPriorityWeightFairshare = 1000/' "$dir/two.conf" >"$dir/ranked.conf"
printf '[Account g1]\nUsers = ann\n[Account g2]\nUsers = bob\n' >"$dir/two.accounts"
fairshare() { "$reeve" prio --ledger "$dir/two.db" --profile "$dir/ranked.conf" --accounts "$dir/two.accounts" -A g1 -u ann --csv -n -o factor,value -l "$1" | sed -n 's/^fairshare,//p'; }
is "a request with GPUs is ranked in their tree without a controller too, in chunks as well" "0.250000 0.250000 1.000000" \
	"$(fairshare ncpus=2,ngpus=2) $(fairshare select=2:ncpus=1:ngpus=1) $(fairshare ncpus=2)"

# The same figures through `reeve fairshare`.
share hour --accounts "$dir/accounts.conf" --json >"$dir/share.json"
python3 - "$dir/share.json" >"$dir/tree.csv" 2>/dev/null <<'PY'
import json, sys
rows = json.load(open(sys.argv[1]))["rows"]
print("id,parent_id,account,user,raw_shares,order,leaf_usage")
up = []
for i, r in enumerate(rows):
    up = up[:r["depth"]]
    parent = up[-1] if up else ""
    up.append(i)
    leaf = r["RawUsage"] if r["user"] else 0
    print(i, parent, r["account"], r["user"], r["RawShares"], i, "%.6f" % leaf, sep=",")
PY
# What is gone counts at the root's own row: give it to it, as the difference.
python3 - "$dir/share.json" "$dir/tree.csv" <<'PY'
import json, sys
rows = json.load(open(sys.argv[1]))["rows"]
gone = rows[0]["RawUsage"] - sum(r["RawUsage"] for r in rows if r["user"])
lines = open(sys.argv[2]).read().split("\n")
f = lines[1].split(",")
f[6] = "%.6f" % max(gone, 0)
lines[1] = ",".join(f)
open(sys.argv[2], "w").write("\n".join(lines))
PY
is "reeve fairshare agrees with reeve share" \
	"$(quietly fairshare --csv -n -o account,user,NormShares,NormUsage,EffectvUsage,LevelFS,FairShare "$dir/tree.csv")" \
	"$(share hour --accounts "$dir/accounts.conf" --csv -n -o account,user,NormShares,NormUsage,EffectvUsage,LevelFS,FairShare 2>/dev/null)"

# ---- the published table of BMRC: 5 of 2948 shares, 8511 users, through ledger and profile; a share and a user are Slurm's root ----
{
	printf '[Account bloggs]\nShares = 5\n[Account high]\nParent = bloggs\nShares = 100\nUsers = u1=parent,u2=parent,u3=parent\n'
	printf '[Account g1]\nParent = bloggs\nShares = 10\nUsers = u1=10,u2=10,u3=10\n'
	printf '[Account low]\nParent = bloggs\nShares = 1\nUsers = u1=10,u2=10,u3=10\n'
	printf '[Account g2]\nShares = 999\nUsers = %s\n' "$(seq -s, 1994 | sed 's/[0-9]*/u&/g')"
	printf '[Account g3]\nShares = 1943\nUsers = %s\n' "$(seq -s, 6507 | sed 's/[0-9]*/u&/g')"
} >"$dir/bmrc.accounts"
cat >"$dir/bmrc.swf" <<'SWF'
; UnixStartTime: 1000000000
1 0 0 1000000 1000 100 -1 1 7200 -1 1 1 3 -1 -1 -1 -1 -1
2 999900 0 77 1 100 -1 1 7200 -1 1 3 1 -1 -1 -1 -1 -1
3 999990 0 1 1 100 -1 1 7200 -1 1 1 2 -1 -1 -1 -1 -1
SWF
"$reeve" import swf "$dir/bmrc.swf" --cluster bmrc --ledger "$dir/bmrc.db" >/dev/null || bail "the import failed"
is "BMRC's table" 'high,u1,0.900901,0.765597
high,u2,0.900901,0.765597
high,u3,0.900901,0.765597
g1,u1,0.333333,0.764892
g1,u2,0.333333,0.764892
g1,u3,0.333333,0.764658
low,u1,0.333333,0.765597
low,u2,0.333333,0.765597
low,u3,0.333333,0.765597' "$("$reeve" share --ledger "$dir/bmrc.db" --profile "$PWD/units/profiles/bmrc.conf" \
	--accounts "$dir/bmrc.accounts" --csv -n -o account,user,NormShares,FairShare 2>&1 |
	grep -E '^(high|g1|low),u' | sort -t, -k1,1r -k2 | awk -F, '{ k = $1 == "high" ? 1 : $1 == "g1" ? 2 : 3; print k $0 }' | sort -s -k1.1,1.1 | cut -c2-)"
is "and its priority: a user of prj" 86489249 "$(quietly prio --ledger "$dir/bmrc.db" --profile "$PWD/units/profiles/bmrc.conf" \
	--accounts "$dir/bmrc.accounts" -A g1 -u u1 -l ncpus=1 --waited 7-0:00:00 --csv -n -o priority | sort -u)"

# ---- the shipped profiles of the Alliance order jobs by usage ----
for p in units/profiles/alliance-*.conf; do
	name=$(basename "$p" .conf) cluster=${p##*alliance-}
	"$reeve" import swf "$dir/small.swf" --cluster "${cluster%.conf}" --ledger "$dir/$name.db" >/dev/null
	sum_of() { quietly prio --ledger "$dir/$name.db" --profile "$name" --accounts "$dir/alliance.accounts" -A "$1" -u "$2" -l ncpus=1,mem=1GB --csv -n -o priority | sort -u; }
	printf '[Account g3]\nUsers = u7\n[Account g5]\nUsers = u9\n[Account idle]\nUsers = u1\n' >"$dir/alliance.accounts"
	is "$name: a project without usage goes before one that used little, and that before one that used most" "yes" \
		"$([ "$(sum_of idle u1)" -gt "$(sum_of g5 u9)" ] && [ "$(sum_of g5 u9)" -gt "$(sum_of g3 u7)" ] && echo yes)"
	is "$name: nothing to warn of" "" "$("$reeve" admin check-config "$name" | grep '^warning')"
done
has "check-config warns of a policy by shares without weights" "warning: no weight is set: fairshare orders nothing" \
	"$("$reeve" admin check-config "$dir/flat.conf")"
is "no warning with a weight" "" "$("$reeve" admin check-config "$dir/hour.conf" | grep '^warning')"
is "none where queues are shuffled" "" "$("$reeve" admin check-config nci | grep '^warning')"

# ---- what the figures mean ----
has "Fair Tree shows level fairshare with its own meaning" "LevelFS compares a row with the others of its level: above 1 it used less than its share" "$(share flat)"
has "and that its FairShare is no score" "FairShare is a place among all users, rank / users, and no score" "$(share flat)"
is "--algorithm classic shows the published scale: 0.5 is exactly the share, 0.25 twice" $'a,0.250000\nb,0.629961' "$(
	printf '[Account a]\nUsers = u7\n[Account b]\nShares = 3\nUsers = u8\n' >"$dir/scale.accounts"
	printf '; UnixStartTime: 1000000000\n1 0 0 100 1 1 -1 1 7200 -1 1 7 1 -1 -1 -1 -1 -1\n2 0 0 100 1 1 -1 1 7200 -1 1 8 2 -1 -1 -1 -1 -1\n' >"$dir/scale.swf"
	sed 's/Account a/Account g1/; s/Account b/Account g2/' "$dir/scale.accounts" >"$dir/scale.groups"
	"$reeve" import swf "$dir/scale.swf" --cluster c --ledger "$dir/scale.db" >/dev/null
	quietly share --ledger "$dir/scale.db" --profile "$dir/flat.conf" --accounts "$dir/scale.groups" --algorithm classic --csv -n -o account,user,FairShare | sed -n 's/^g1,,/a,/p; s/^g2,,/b,/p')"
has "with its meaning below the table" "0.5 exactly the share, 0.25 twice the share" "$(share flat --algorithm classic)"
fault_2() { is "$1" "2 $2" "$(quietly share --ledger "$db" --profile "$dir/flat.conf" --algorithm none >"$dir/out"; echo "$? $(cat "$dir/out")")"; }
fault_2 "another word is refused" "reeve share: --algorithm none: write fair-tree or classic"
{ cat "$dir/flat.conf"; } | sed 's/^UsageHalfLife.*/&\nRootShares = 1/' >"$dir/root.conf"
printf '[Account g3]\nShares = 30\nUsers = u7,u8\n[Account g4]\nShares = 70\nUsers = %s\n' "$(seq -s, 9 | sed 's/[0-9]*/v&/g')" >"$dir/root.accounts"
is "with RootShares users and shares count as in sshare: 30 of 101, 12 users" $'root,root,0.009901,1.000000\ng3,,0.297030,\ng3,u7,0.500000,0.166667' \
	"$(share root --accounts "$dir/root.accounts" --csv -n -o account,user,NormShares,FairShare 2>/dev/null | grep -E '^root,root|^g3,,|^g3,u7')"

fault() { # NAME TEXT COMMAND...
	local name=$1 text=$2 got
	shift 2
	got=$(quietly "$@")
	is "$name" "2 reeve $1: $text" "$? $got"
}
fault "a ledger needs a policy" "--ledger needs --profile NAME|FILE, the policy that weights usage" share --ledger "$db"
fault "a moment that is none" "--at: '2001-02-30' is not a time; write a day, 2026-11-21 (its end is meant), or an instant, 2026-11-21T08:00, of UTC" \
	share --ledger "$db" --profile "$dir/flat.conf" --at 2001-02-30
fault "a pool that is none" "--pool tpu: write cpu or gpu" share --ledger "$db" --profile "$dir/flat.conf" --pool tpu
fault "what belongs to a ledger" "--at needs --ledger FILE" share --controller http://127.0.0.1:9 --at 2001-01-01
fault_4() { # NAME TEXT COMMAND...
	local name=$1 text=$2 got
	shift 2
	got=$(quietly "$@")
	is "$name" "4 reeve $1: $text" "$? $got"
}
fault_4 "an unknown user" "no user 'zork', or none that you may see" share --ledger "$db" --profile "$dir/flat.conf" -u zork
fault_4 "an unknown account, with the nearest name" "no account 'gg3'; did you mean 'g3'?" \
	share --ledger "$db" --profile "$dir/flat.conf" -A gg3
fault "a job without user or account is refused" "no user or account; name them with -A ACCOUNT -u USER" \
	prio --ledger "$db" --profile "$dir/hour.conf" -l ncpus=1

# ---- what a job's priority would be ----
prio() { quietly prio --ledger "$db" --profile "$dir/hour.conf" --accounts "$dir/accounts.conf" "$@"; }
is "factors, weights and products" 'factor,value,weight,product
age,0.500000,1000,500.000000
fairshare,1.000000,100000,100000.000000
size,0.000000,0,0.000000
partition,0.250000,10,2.500000
qos,0.000000,0,0.000000
association,0.000000,0,0.000000
site,0.000000,1,0.000000
nice,0.000000,-1,0.000000' "$(prio -A idle -u u1 -l ncpus=2 -q normal --waited 0:30:00 --csv -o factor,value,weight,product)"
is "they add up, cut at the end" 100502 "$(prio -A idle -u u1 -l ncpus=2 -q normal --waited 0:30:00 --csv -n -o priority | sort -u)"
has "in words" 'fairshare weighs most: 1.000000 x 100000 = 100000.000000 of 101002; it rises as' \
	"$(prio -A idle -u u1 -l ncpus=2 -q normal --waited 9:00:00)"
is "who has no shares there has no fairshare" 10 "$(prio -A idle -u u8 -l ncpus=2 -q express --csv -n -o priority | sort -u)"
is "without -q it is the default queue" "$(prio -A idle -u u1 -l ncpus=2 -q normal --csv -n -o priority | sort -u)" \
	"$(prio -A idle -u u1 -l ncpus=2 --csv -n -o priority | sort -u)"
has "an unknown user is refused" "no user 'ghost' is declared, and nothing was ever charged to it" "$(prio -A idle -u ghost -l ncpus=2)"
has "an unknown account too" "no account 'idel'; did you mean 'idle'?" "$(prio -A idel -u u1 -l ncpus=2)"
has "an unknown queue too" "zzz" "$(prio -A idle -u u1 -l ncpus=2 -q zzz)"
has "a site without weights" 'Jobs start in order of submission: no PriorityWeight' \
	"$(quietly prio --ledger "$db" --profile "$dir/flat.conf" -A g3 -u u7 -l ncpus=1)"

# ---- live ----
if [ "$(id -u)" != 0 ]; then
	skip "a live controller" "needs root to speak as several users"
	tap_end
fi
live_munge
configure() { # NAME [POLICY]
	cat >"$dir/$1.conf" <<-CONF
		$(live_controller "$dir/$1.db")
		[Policy]
		${2:-}
		[Cluster main]
		DefaultResources = vmem=1GB,jobfs=100MB,walltime=1:00:00
		[Account physics]
		Users = daemon
		[Account chemistry]
		Users = bin
	CONF
}
weights='UsageHalfLife = 1:00:00
PriorityWeightAge = 1000
PriorityWeightFairshare = 100000'
start() { live_start "$dir/$1.conf"; } # NAME
open_main() { configure main "$weights" && cp "$dir/main.conf" "$dir/controller.conf"; }
live_open open_main
backdate_dispatch "$dir/main.db"
printf '[Client]\nController = http://127.0.0.1:%s\nMungeSocket = %s\n' "$port" "$dir/munge.sock" >"$dir/reeve.conf"
chmod 644 "$dir/reeve.conf"
verb() { # UID VERB...
	as "$1" "$reeve" "${@:2}" --config "$dir/reeve.conf" 2>&1
}
amounts='"ncpus":4,"mem_bytes":16000000000,"jobfs_bytes":10000000000,"ngpus":0'
sync() { node_sync jobs="${1:-}" reports="${2:-}"; } # [JOBS [REPORTS]]
submit() { # UID ACCOUNT NCPUS
	ask "$1" POST /v1/jobs "$(job_request account="$2" resources="\"ncpus\":$3,\"vmem_bytes\":1000000000")" >/dev/null
}
began=$(($(date +%s) - 5))
report() { # JOB SEQ STATE RUNNING_S
	local ended=0 kind=none now
	now=$(date +%s)
	[ "$3" = ended ] && ended=${now}000000000 kind=exited
	echo "{\"job\":$1,\"attempt\":1,\"seq\":$2,\"state\":\"$3\",\"at_ns\":${now}000000000,\
\"started_ns\":${began}000000000,\"ended_ns\":$ended,\"running_ns\":${4}000000000,\"suspended_ns\":0,\"usage\":{},\
\"end\":{\"kind\":\"$kind\",\"exit_status\":0,\"signal\":0,\"reason\":{\"limit\":\"none\",\"requested\":-1,\
\"reached\":-1,\"at_ns\":0,\"host\":\"\",\"n_procs\":0,\"procs\":[],\"text\":\"\"}},\"cpus\":\"0-3\",\"note\":\"\"}"
}
column() { verb 0 share -a --csv -n -o "account,user,$1" | sed -n "s/^$2,$3,//p"; }

sync >/dev/null
is "without usage all users tie" $'physics,daemon,1.000000\nchemistry,bin,1.000000' \
	"$(verb 0 share -a --csv -n -o account,user,FairShare | grep -E ',(daemon|bin),' | sort -r)"
submit $daemon physics 4
sync '{"job":1,"attempt":1,"state":"running"}' "$(report 1 1 running 600)" >/dev/null
submit $daemon physics 4
submit $bin chemistry 4
is "a report is in the tree at once" '0.500000 1.000000' "$(column FairShare physics daemon) $(column FairShare chemistry bin)"
soon "who used less goes first: the later job" 'This job is next in the queue. It needs 4 cores' verb 0 job 3
soon "the other job shows it, with both priorities" 'This job is number 2 of 2 in the queue. It needs 4 cores; n1 has 0 of 4 free. Next is job 3 (priority 100000).' verb 0 job 2
verb 0 nice --site 500000 2 >"$dir/said"
soon "an operator's site part moves a job before it" 'This job is next in the queue' verb 0 job 2
has "and prio says that it weighs most" 'site weighs most' "$(verb 0 prio 2)"
verb 0 nice --site 0 2 >"$dir/said"
has "nice says what it set" '3,3,' "$(verb $bin nice 3 3 --csv -n)"
for _ in $(seq 50); do case $(verb 0 job 3) in *'This job is next in the queue'*) break ;; esac; sleep 0.1; done
is "nice takes its points away" 99997 "$(verb 0 prio --csv -n -o job,priority | sed -n 's/^3,//p')"
has "another's job is not yours to move" 'no job 3' "$(verb $daemon nice 3 3)"
verb $bin nice 0 3 >"$dir/said"
for _ in $(seq 50); do case $(verb 0 prio --csv -n -o job,priority) in *3,100000*) break ;; esac; sleep 0.1; done
is "reeve prio: the products, the job that starts first before the other" $'3,100000.000000\n2,50000.000000' "$(verb 0 prio --csv -n -o job,fairshare)"
verb 0 prio --json >"$dir/prio.json"
check "each sum is the sum of its products, the priority that sum cut" python3 - "$dir/prio.json" <<'PY'
import json, sys
from decimal import Decimal as D
rows = json.load(open(sys.argv[1]))["rows"]
assert len(rows) == 2
for r in rows:
    s = sum(D(str(r[k])) for k in ("age", "fairshare", "size", "partition", "qos", "association", "site", "nice"))
    assert s == D(str(r["sum"])), (s, r)
    assert max(1, int(s)) == r["priority"], r
PY
has "one job, in words" 'job 3: fairshare weighs most: 1.000000 x 100000' "$(verb $bin prio 3)"
has "another's job is not told" 'no queued job 3' "$(verb $daemon prio 3)"
lacks "nor listed" 'bin' "$(verb $daemon prio --csv)"
lacks "users do not see each other, not with -a either" ',bin,' "$(verb $daemon share -a --csv)"
has "but themselves" ',daemon,' "$(verb $daemon share --csv)"
has "and every account" 'chemistry,,' "$(verb $daemon share --csv -o account,user,RawShares)"
sync '' "$(report 1 2 ended 610)" >/dev/null
soon "the first by priority starts, not the first in" '"state":"starting"' ask $bin GET /v1/jobs/3
has "and the other waits on" '"state":"queued"' "$(ask $daemon GET /v1/jobs/2)"
sync '{"job":3,"attempt":1,"state":"running"}' "$(report 3 1 running 41)" >/dev/null

# Held jobs are shown as such; the table adds up.
check "a job is held" verb $daemon hold 2
submit $daemon physics 4
is "a held job is behind one that was submitted later" $'4,\n2,user' "$(verb $daemon prio --csv -n -o job,held)"
verb $daemon cancel 4 >/dev/null
is "a held job is listed, at 0" "0,user" "$(verb $daemon prio --csv -n -o priority,held)"
has "and said to be held" "held" "$(verb $daemon prio 2)"
check "and released" verb $daemon release 2
check "a nice value" verb $daemon nice 7 2
is "the default table adds up to its PRIORITY" yes "$(verb $daemon prio --csv -n \
	-o priority,age,fairshare,size,partition,qos,site,nice | python3 -c '
import math, sys
v = [float(x) for x in sys.stdin.read().strip().split(",")]
print("yes" if v[0] == max(1, math.floor(round(sum(v[1:]), 6))) and v[7] == -7 else v)')"
is "whose columns people see" "AGE FAIRSHARE SIZE QUEUE QOS SITE NICE" \
	"$(verb $daemon prio | head -n 1 | grep -o 'AGE .* NICE' | xargs)"
has "an unknown account is an error live" "no account 'phisics'" "$(verb 0 prio -A phisics)"

ratio() { ask 0 GET '/v1/share?users=all' | tail -n 1 | python3 -c '
import json, sys
u = {r["user"]: r["RawUsage"] for r in json.load(sys.stdin)["rows"]}
print(u["daemon"] / u["bin"])'; }
was=$(ratio)
check "a refund of 1098 of 2440 seconds" verb 0 admin adjust --job 1 --charge -0.305 --reason 'node n1 was broken'
is "takes 45 % of the job's usage, at once" 0.550000 "$(python3 -c "print('%.6f' % ($(ratio) / $was))")"
printf '[Account physics]\nShares = 3\nUsers = daemon\n[Account chemistry]\nUsers = bin, games\n' >"$dir/new.conf"
check "other accounts are applied" verb 0 admin accounts apply "$dir/new.conf"
is "the tree has them at once, with the usage there was" 'physics,,3,0.750000 chemistry,games,1,0.500000' \
	"$(verb 0 share -a --csv -n -o account,user,RawShares,NormShares | grep -E '^physics,,|games' | sort -r | xargs)"
is "and no usage went by it" 0.550000 "$(python3 -c "print('%.6f' % ($(ratio) / $was))")"

json() { python3 -c "import json, sys; d = json.load(sys.stdin); print($1)"; }
unpack() { python3 -c '
import json, struct, sys
text, _, b = sys.stdin.buffer.read().partition(b"\0")
d, at, values = json.loads(text), 0, []
def number():
    global at
    n = shift = 0
    while True:
        c = b[at]; at += 1
        n |= (c & 127) << shift; shift += 7
        if c < 128: return n
n_values = 3 * len(d["columns"])
while len(values) < n_values:
    kind = b[at]; at += 1
    if kind == 3:
        n = number(); values.append(n >> 1 ^ -(n & 1))
    elif kind == 4:
        values.append(struct.unpack("<d", b[at:at + 8])[0]); at += 8
    elif kind == 5:
        n = number(); values.append(b[at:at + n].decode()); at += n + 1
    else: values.append(None)
print(d["next"], [values[i:i + 5] for i in range(0, len(values), len(d["columns"]))])'; }
{ printf '[Account physics]\nShares = 3\nUsers = daemon\n[Account chemistry]\nUsers = bin, games\n[Account many]\n'
	for part in 0 1 2; do printf '[Account many%s]\nParent = many\nUsers = ' $part; seq -s, $((part * 9000 + 1)) $((part * 9000 + 9000)) | sed 's/[0-9]*/u&/g'; done; } >"$dir/many.conf"
check "27,000 users more" verb 0 admin accounts apply "$dir/many.conf"
is "reeve share has each of them once, page by page" "$(seq 27000 | sed 's/^/u/' | sort)" \
	"$(verb 0 share -a -A many --csv -n -o user | grep . | sort)"
names=cluster,account,user,RawShares,NormShares,FairShare # no usage, which decays
whole=$(verb 0 share -a -A many,physics,chemistry,root -P -o $names)
is "a list in parts is the whole list, with one header" "$whole" "$(verb 0 share -a -P -o $names)"
is "as JSON too" "$(($(wc -l <<<"$whole") - 1))" "$(verb 0 share -a --json | python3 -c 'import json, sys; print(len(json.load(sys.stdin)["rows"]))')"
is "and as a table, in which people see one header, with two lines on what it means" "1 $(($(wc -l <<<"$whole") + 2))" \
	"$(verb 0 share -a | awk '/RawShares/ { h++ } END { print h, NR }')"
is "packed rows are those of JSON" "$(ask 0 GET '/v1/share?users=all&limit=3' | tail -n 1 | json 'd["next"], [list(r.values())[:5] for r in d["rows"]]')" \
	"$(ask 0 GET '/v1/share?users=all&limit=3&packed=1' | tail -n +2 | unpack)"
check "and they are gone again" verb 0 admin accounts apply "$dir/new.conf"

# What is kept as it goes along is what is made from the ledger at a start.
figures() { verb 0 share -a --json | python3 -c '
import json, sys
for r in json.load(sys.stdin)["rows"]:
    print(r["account"], r["user"], r["NormUsage"], r["EffectvUsage"], r.get("FairShare", "-"))'; }
before=$(figures)
kill -9 "$controller" && wait "$controller" 2>/dev/null
start main || bail "the controller does not start again"
is "kill -9 loses nothing" "$before" "$(figures)"
has "usage is there" 'root  1.0' "$before"
exact() { ask 0 GET '/v1/share?users=all' | tail -n 1 | python3 -c '
import json, sys
rows = json.load(sys.stdin)["rows"]
print(*("%.8g" % r["NormUsage"] for r in rows))'; }
live=$(exact)
kill -9 "$controller" && wait "$controller" 2>/dev/null
start main || bail "the controller does not start again"
is "to eight digits" "$live" "$(exact)"

# First in, first out where nothing is weighed.
live_stop
controller=
offline() { quietly prio --ledger "$dir/main.db" --profile "$dir/$1.conf" -A physics -u daemon -l "$2" --csv -n -o factor,value; }
sed 's/^PriorityWeightAge.*/PriorityWeightJobSize = 1000/' "$dir/main.conf" >"$dir/sized.conf"
has "an impossible size is refused, with both numbers" "this job could never start: it needs 5 cores, and cluster main has 4" "$(offline main ncpus=5)"
is "the size of a request in chunks is that of all of them" "$(offline sized ncpus=4 | grep '^size')" "$(offline sized select=4:ncpus=1 | grep '^size')"
configure plain
start plain || bail "the controller does not start: $(cat "$dir/controller.log")"
backdate_dispatch "$dir/plain.db"
sync >/dev/null
submit $daemon physics 4
sync '{"job":1,"attempt":1,"state":"running"}' "$(report 1 1 running 600)" >/dev/null
submit $daemon physics 4
submit $bin chemistry 4
soon "nothing weighed: first in, first out" 'number 2 of 2 in the queue. It needs 4 cores' verb 0 job 3
has "and prio reports it" 'in order of submission' "$(verb 0 prio)"
has "the controller ranks by the classic formula for one answer" '"algorithm":"classic"' "$(ask 0 GET '/v1/share?algorithm=classic' | tr -d ' ')"
has "reeve share asks for it" '0.5 exactly the share, 0.25 twice the share' "$(verb 0 share -a --algorithm classic)"
has "and by its own for the next" '"algorithm":"fair-tree"' "$(ask 0 GET '/v1/share' | tr -d ' ')"
has "another word is refused" 'it is fair-tree or classic' "$(ask 0 GET '/v1/share?algorithm=none')"
tap_end
