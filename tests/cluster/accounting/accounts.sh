#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# accounts.sh [KILLS [SEED]] - accounts live: a real munged, a real controller, `reeve` as several
# users. What is applied, who sees what, what is refused, and what a kill -9 loses: nothing. TAP.
# Needs root (to be several users) and build/bin; uses loopback only and leaves nothing behind.
set -u
cd "$(dirname "$0")/../../.." || exit 1
. tests/cluster/lib/tap_lib.sh
. tests/cluster/lib/live_lib.sh
kills=${1:-12} seed=${2:-$((RANDOM * 32768 + RANDOM))}
[ "$(id -u)" = 0 ] || { echo "1..0 # SKIP needs root to speak as several users"; exit 0; }
live_dir accounts
cp build/bin/reeve build/bin/reeve-controller "$dir" || exit 1
binary=$dir/reeve-controller

# ---- munged, controller, users ----
live_munge
configure() {
	cat >"$dir/controller.conf" <<-CONF
		[Controller]
		Listen = 127.0.0.1:$port
		Database = $dir/ledger.db
		MungeSocket = $dir/munge.sock
		Operators = root
		[Cluster main]
		[Cluster other]
		[Account physics]
		Users = daemon, bin
	CONF
}
live_open configure
mkdir -m 755 "$dir/.config"
cat >"$dir/.config/reeve.conf" <<-CONF
	[Client]
	Controller = http://127.0.0.1:$port
	MungeSocket = $dir/munge.sock
	Cluster = main
CONF
reeve_as() { # USER VERB...: output and errors together
	local uid=$1
	shift
	if [ "$uid" = root ]; then uid=0; else uid=$(id -u "$uid"); fi
	(cd / && HOME=$dir setpriv --reuid "$uid" --regid "$uid" --clear-groups "$dir/reeve" "$@") 2>&1
}
accounts() { # USER COMMAND...: under `reeve admin accounts`
	local user=$1
	shift
	reeve_as "$user" admin accounts "$@"
}
submit() { # USER [OPTION...]
	local user=$1
	shift
	reeve_as "$user" submit -l ncpus=1,vmem=1GB,jobfs=1MB,walltime=60 -d / "$@" -- /bin/true
}
fails() { # NAME STATUS NEEDLE COMMAND...
	local name=$1 wanted=$2 needle=$3 said code
	shift 3
	said=$("$@")
	code=$?
	[ $code = "$wanted" ] && [[ $said == *"$needle"* ]]
	tap_result $? "$name" "exit $code, wanted $wanted; lacks: $needle
$said"
}
shares() { accounts root show --csv | sed -n 's/^Account,physics,Shares,,//p'; }

# ---- before anything was applied ----
has "controller.conf's accounts count at first" 'revision 0, of the controller.conf' "$(accounts root show)"
has "and jobs are taken under them" 1 "$(submit daemon -A physics)"

cat >"$dir/accounts.conf" <<-CONF
	[Account science]
	Shares = 60
	[Account physics]
	Parent = science
	Shares = 20
	Users = daemon=5, bin
	Coordinators = sys
	[Account optics]
	Parent = physics
	Users = bin
	[Account letters]
	Users = bin, games
	Clusters = other
	[User bin]
	DefaultAccount = physics
CONF
out=$(accounts root apply --dry-run "$dir/accounts.conf")
has "a dry run says what would change" 'nothing was changed (--dry-run)' "$out"
has "with what was and what would be" '~ Account' "$out"
has "and changes nothing" 'revision 0, of the controller.conf' "$(accounts root show)"
fails "others cannot apply" 5 'only operators' accounts daemon apply "$dir/accounts.conf"
fails "nor change one key" 5 'only operators' accounts sys set physics Shares=99
fails "nor read the log" 5 'only operators' accounts sys log
check "an operator can" accounts root apply "$dir/accounts.conf"
has "and it counts" 'revision 1, of the ledger' "$(accounts root show)"
has "once more: no changes" 'no changes' "$(accounts root apply "$dir/accounts.conf")"
accounts root show >"$dir/shown.conf"
has "what is shown can be applied" 'no changes' "$(accounts root apply "$dir/shown.conf")"
printf '[Account a]\nParent = b\nShares = x\n' >"$dir/bad.conf"
fails "a file with faults tells all" 1 'bad.conf, line 2: [Account a]: there is no [Account b]' \
	accounts root apply "$dir/bad.conf"
has "the other one too" 'line 3: Shares = x' "$(accounts root apply "$dir/bad.conf")"
fails "a change of what has changed since is refused" 1 'revision 1 by now, not 0' \
	accounts root apply --revision 0 "$dir/accounts.conf"

# ---- submission ----
out=$(submit bin)
has "the default account is taken" '2' "$out"
has "indeed" physics "$(reeve_as bin job 2)"
fails "a cluster that the account is not for" 1 "is not for cluster 'main'; it is for: other" \
	submit bin -A letters
fails "an account of others" 1 "you are not in account 'optics'; yours are: physics" submit daemon -A optics
fails "a user without an account" 1 'has no account' submit nobody
has "below an account" 3 "$(submit bin -A optics)"

# ---- who sees what ----
has "a coordinator sees a job of the account" '"user": "daemon"' "$(reeve_as sys job 1 --json)"
lacks "but not its environment" '"env"' "$(reeve_as sys job 1 --json)"
has "the owner sees that too" '"env"' "$(reeve_as daemon job 1 --json)"
has "and of an account below" '"account": "optics"' "$(reeve_as sys job 3 --json)"
fails "a member sees no job of others" 4 'no job 1' reeve_as bin job 1
fails "a stranger does not" 4 'no job 1' reeve_as games job 1
has "a coordinator lists them" daemon "$(reeve_as sys jobs --account physics --json)"
check "a coordinator sees the usage" reeve_as sys usage --account physics --user daemon
fails "a stranger does not list them" 5 'only operators' reeve_as games jobs --account physics --user daemon
fails "nor see the usage" 5 'only operators' reeve_as games usage --account physics --user daemon
fails "a coordinator of one is none of another" 5 'only operators' reeve_as sys usage --account letters --user bin
out=$(accounts daemon show)
has "a member sees the account" 'Users = daemon=5' "$out"
lacks "but not who else is in it" 'bin' "$out"
has "and where it stands" '[Account science]' "$out"
lacks "nor other accounts" letters "$out"
has "a coordinator sees who is in it" 'Users = bin, daemon=5' "$(accounts sys show physics)"
fails "what is not there to see is not there" 4 "no account 'letters'" accounts daemon show letters

# ---- single changes, removal ----
has "one key" '~ Account physics Shares' "$(accounts root set physics Shares=30 | tr -s ' ')"
is "counts" 30 "$(shares)"
has "in the share tree too" 'physics,,30,' "$(reeve_as root share --csv -o account,user,RawShares,NormShares -A physics)"
check "a user comes" accounts root add letters/daemon Shares=4
check "and goes" accounts root remove letters/daemon
fails "once" 4 "no 'letters/daemon'" accounts root remove letters/daemon
fails "an account that others stand below stays" 2 'there is no [Account physics]' accounts root remove physics
out=$(accounts root remove optics)
has "the removal of an account with jobs is reported" 'account optics is removed while it has 0 running and 1 queued jobs' "$out"
fails "nothing more is taken under it" 1 "account 'optics' was removed on" submit bin -A optics
has "its job is still there" '"state": "queued"' "$(reeve_as bin job 3 --json)"
out=$(accounts root log --csv)
has "the log says who" ',root,set,Account,physics,Shares,,20,30' "$out"
has "from the first one on" ',root,add,Account,science,,,' "$out"

has "a cluster that is none is warned of" "account letters: controller.conf has no cluster 'moon'" \
	"$(accounts root set letters Clusters=moon --dry-run)"
has "a queue too" "limits: controller.conf has no queue 'fast'" \
	"$(accounts root set queue:fast MaxRunningJobs=1 --dry-run)"

# ---- defaults ----
check "a default of every user, and of every queue" accounts root set default:User MaxRunningCores=2 DefaultAccount=%u-own
check "is set alike" accounts root set default:Queue MaxWalltime=30
has "and stands in the file" '[Default Queue]
MaxWalltime = 30' "$(accounts root show | sed 's/0:00:30/30/')"
fails "a queue's bound refuses a longer job, with the number" 1 'asks for 0:01:00 of walltime' submit daemon -A physics
check "a project has a bound of its own" accounts root set physics MaxCores=1
fails "a project's bound refuses a larger job" 1 'asks for 2 cores, and account physics may request at most 1 a job' submit daemon -A physics -l ncpus=2,walltime=10s
check "which goes again" accounts root set physics MaxCores=
has "users see it beforehand" '[Default Queue]' "$(accounts daemon show)"
check "it goes as it came" accounts root set default:Queue MaxWalltime=
check "an account of one's own" accounts root add daemon-own Users=daemon
has "is where jobs go that name none" 'daemon-own' "$(reeve_as daemon job "$(submit daemon | grep -o '[0-9]*' | head -n 1)" --json)"
check "it goes again" accounts root remove daemon-own
check "the default too" accounts root remove default:User

# ---- templates ----
accounts root show >"$dir/before.conf"
cat "$dir/before.conf" - >"$dir/template.conf" <<-CONF
	[Template group]
	Accounts = prj.high=100/parent, prj=10/10, prj.low=1/10
	[Account bloggs]
	Template = group
	Users = games
CONF
check "an account from a template" accounts root apply "$dir/template.conf"
has "has jobs below it" 'bloggs.prj.high' \
	"$(reeve_as games job "$(submit games -A bloggs.prj.high | grep -o '[0-9]*' | head -n 1)" --json)"
has "with the template's shares" 'bloggs.prj.high,,100,' "$(reeve_as root share --csv -o account,user,RawShares,NormShares)"
has "its user sees what they are in" 'Template = group' "$(accounts games show)"
check "a user is added once" accounts root set bloggs Users+=sys
check "and may charge all three" submit sys -A bloggs.prj.low
check "as it was" accounts root apply "$dir/before.conf"

# ---- from and for Slurm ----
cat >"$dir/slurm.cfg" <<-DUMP
	Cluster - 'main':Fairshare=1:QOS='normal'
	Parent - 'root'
	User - 'root':DefaultAccount='root':AdminLevel='Administrator':Fairshare=1
	Account - 'science':Description='all of it':Organization='uni':Fairshare=61
	Parent - 'science'
	Account - 'physics':Description='physics':Organization='uni':Fairshare=31:GrpTRES=cpu=600
	Parent - 'physics'
	User - 'daemon':Coordinator='physics':DefaultAccount='physics':Fairshare=5:MaxJobs=9
	User - 'bin':DefaultAccount='physics':Fairshare=parent
DUMP
before=$(accounts root show)
out=$(accounts root import sacctmgr "$dir/slurm.cfg" | tr -s ' ')
has "an import says what would change" '~ Account physics Shares - 30 31' "$out"
has "what would go" '- Account letters' "$out"
has "what it does not take over, with counts" 'Account Organization, 2 times, first in line 4' "$out"
has "and what would make it so" 'nothing was changed yet: add --apply' "$out"
is "and changes nothing" "$before" "$(accounts root show)"
has "which QOS its accounts may use" '+ Account science Qos normal' "$out"
has "and which of them controller.conf lacks" "account science: controller.conf has no QOS 'normal'" "$out"
printf '[Cluster main]\n[Qos high]\n' >"$dir/qos.conf"
out=$("$dir/reeve" admin accounts import sacctmgr --profile "$dir/qos.conf" --file "$dir/qos.acc" "$dir/slurm.cfg" 2>&1)
has "without a controller a configuration says it" "warning: QOS 'normal' of 1 account lacks a [Qos normal] section: add it, or jobs that have this QOS are refused" "$out"
has "the file has what was stated" 'Qos = normal' "$(cat "$dir/qos.acc")"
printf "Cluster - 'x'\nParent - 'y'\n" >"$dir/bad.cfg"
fails "a dump with a fault is refused by line" 2 "bad.cfg:2: Parent - 'y'" \
	accounts root import sacctmgr --apply "$dir/bad.cfg"
fails "others cannot import" 5 'only operators' accounts bin import sacctmgr --apply "$dir/slurm.cfg"
has "with --apply it is made" 'changes made; revision' "$(accounts root import sacctmgr --apply "$dir/slurm.cfg")"
has "a coordinator of Slurm's sees who is in the account" 'bin=parent, daemon=5' "$(accounts daemon show physics)"
has "its limits hold" 'MaxRunningJobs = 9' "$(accounts root show physics)"
accounts root export sacctmgr >"$dir/out.cfg"
has "what is exported is a dump" "User - 'daemon':DefaultAccount='physics':Coordinator='physics':Fairshare=5:MaxJobs=9" \
	"$(cat "$dir/out.cfg")"
has "that makes the same accounts" 'no changes' "$(accounts root import sacctmgr "$dir/out.cfg")"
printf 'account,parent,shares,user,user_shares\nphysics,science,32,bin,2\nscience,,61,,\n' >"$dir/groups.csv"
has "a table is imported alike" '~ Account physics Shares - 31 32' \
	"$(accounts root import csv "$dir/groups.csv" | tr -s ' ')"
check "or becomes a file" "$dir/reeve" admin accounts import csv --file "$dir/groups.conf" "$dir/groups.csv"
has "that can be applied" 'Users = bin=2' "$(cat "$dir/groups.conf")"
fails "which no import writes over" 1 'remove it, or name another' \
	accounts root import csv --file "$dir/groups.conf" "$dir/groups.csv"
printf '%s\n' "$before" >"$dir/before.conf"
check "the accounts as they were" accounts root apply "$dir/before.conf"

# ---- two at once ----
both() { # PREFIX: ten changes, each until it is taken
	local i said
	for i in $(seq 10); do
		until said=$(accounts root set letters Users+="$1$i"); do
			[[ $said == *'by now'* || $said == *'stale'* ]] || { echo "$said"; return 1; }
		done
	done
}
both a >"$dir/a" &
a=$!
both b >"$dir/b" &
b=$!
wait $a && wait $b
tap_result $? "two who change at once are each taken or told" "$(cat "$dir/a" "$dir/b")"
is "and no change of either is lost" 20 \
	"$(accounts root show letters --csv | grep -c '^Account,letters,Users,[ab][0-9]')"

# ---- kill -9 ----
RANDOM=$seed
lost= good=$(shares)
for i in $(seq "$kills"); do
	pid=$controller
	(sleep "0.0$((RANDOM % 6))"; kill -9 "$pid") 2>/dev/null &
	killer=$!
	accounts root set physics Shares=$((100 + i)) >"$dir/said"
	code=$?
	wait $killer "$pid" 2>/dev/null
	live_start || bail "it does not start again: $(tail "$dir/controller.log")"
	now=$(shares)
	[ "$now" = $((100 + i)) ] || { [ $code != 0 ] && [ "$now" = "$good" ]; } ||
		lost="$lost; kill $i: exit $code, was $good, is $now"
	good=$now
	[ "$(accounts root log --limit 1 --csv | tail -n 1 | grep -c ",$good\$")" = 1 ] ||
		[ "$good" = 30 ] || lost="$lost; kill $i: the log does not end with $good"
done
[ -z "$lost" ]
tap_result $? "$kills kills: what was acknowledged is kept, and the log agrees (seed $seed)" "$lost"
has "start-up says that controller.conf's accounts no longer count" \
	"of controller.conf no longer count" "$(cat "$dir/controller.log")"

# ---- the same on a copy, with no controller ----
live_stop
controller=
here() { "$dir/reeve" admin accounts "$@" --ledger "$dir/ledger.db" 2>&1; }
has "a ledger file has them" "Shares = $good" "$(here show physics)"
has "and can be changed" '1 change made' "$(here set physics Shares=7)"
has "which has an author" ',root,set,Account,physics,Shares,,'"$good"',7' "$(here log --csv)"
live_start || bail "it does not start again: $(tail "$dir/controller.log")"
is "and counts when the controller is back" 7 "$(shares)"
tap_end
