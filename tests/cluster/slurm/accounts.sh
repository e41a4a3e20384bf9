#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# accounts.sh - the accounts of Reeve and of a real slurmdbd are brought in step, both ways: differences first, one side the master. Needs
# root, munged, MariaDB, slurmdbd, sacctmgr and build/bin; uses loopback only and leaves nothing behind. TAP. USERS: of the large site.
set -u
cd "$(dirname "$0")/../../.." || exit 1
. tests/cluster/lib/tap_lib.sh
. tests/cluster/lib/live_lib.sh
. tests/cluster/lib/slurm_lib.sh
export TZ=UTC LC_ALL=C
why=$(slurm_why_not)
[ -z "$why" ] || { skip "accounts in step with Slurm" "$why"; tap_end; }
live_dir slurm-accounts
live_munge
slurm_dbd_only() {
	slurm_nodes=
	slurm_port=$((12000 + RANDOM % 7000))
	export PATH=$PATH:/usr/sbin
	slurm_configure
	mariadb-install-db --no-defaults --user=root --datadir="$dir/slurm/mysql" --auth-root-authentication-method=normal \
		--skip-test-db >"$dir/slurm/install.log" 2>&1 || bail "no database: $(tail -n 3 "$dir/slurm/install.log")"
	slurm_start mariadb || bail "mariadbd does not start: $(slurm_say)"
	mariadb --no-defaults -u root --socket="$dir/mariadb.sock" \
		-e "CREATE USER slurm@'%' IDENTIFIED BY 'slurm'; CREATE USER slurm@localhost IDENTIFIED BY 'slurm';
		GRANT ALL ON slurm_acct_db.* TO slurm@'%'; GRANT ALL ON slurm_acct_db.* TO slurm@localhost" || bail "no user in the database"
	slurm_start slurmdbd || bail "slurmdbd does not start: $(slurm_say)"
}
slurm_dbd_only
sacctmgr -i add cluster vc >/dev/null

declared=slurm more=
configure() {
	cat >"$dir/controller.conf" <<-CONF
		$(live_controller)
		[Cluster vc]
		Engine = slurm
		Accounts = $declared
		$more
	CONF
}
live_open configure
printf '[Client]\nMungeSocket = %s\n' "$dir/munge.sock" >"$dir/client.conf"
chmod 644 "$dir/client.conf"
accounts() { build/bin/reeve admin accounts "$1" --config "$dir/client.conf" --controller "$url" "${@:2}" 2>&1; }
assoc() { sacctmgr -nP show assoc where cluster=vc "$@"; }

# ---- Slurm is the master ----
sacctmgr -i add account physics description="all of 'it': \"x\"" fairshare=5 >/dev/null
sacctmgr -i add user daemon,bin account=physics >/dev/null
sacctmgr -i modify user where name=daemon account=physics set maxjobs=5 grptres=cpu=10,mem=10G >/dev/null
out=$(accounts sync vc | tr -s ' ')
has "what Slurm has is shown as a difference" '+ Account physics Users daemon' "$out"
has "with its limits" '+ Association physics/daemon MaxRunningCores - - 10' "$out"
has "and nothing is changed" 'nothing was changed yet: add --apply' "$out"
lacks "so Reeve has none" physics "$(accounts show)"
has "with --apply it is" 'changes made; revision' "$(accounts sync vc --apply)"
has "Reeve has the users" 'bin' "$(accounts show physics)"
has "a second time there is nothing to do" 'no changes' "$(accounts sync vc)"
has "the master is not written to" "the accounts of cluster 'vc' are declared in slurmdbd (Accounts = slurm in controller.conf)" \
	"$(accounts sync vc --to slurm --apply)"
sacctmgr -i delete user where name=bin account=physics >/dev/null
sacctmgr -i modify user where name=daemon account=physics set maxjobs=-1 >/dev/null
has "what went in Slurm goes here" '- Account physics Users bin' "$(accounts sync vc --apply | tr -s ' ')"
has "and is in step" 'no changes' "$(accounts sync vc)"
has "of a cluster that is none" "no cluster 'moon' of Slurm" "$(accounts sync moon)"


# ---- several clusters ----
restart() {
	live_stop
	configure
	live_start || bail "the controller does not start"
}
sacctmgr -i add cluster moon >/dev/null
more=$(printf '[Cluster moon]\nEngine = slurm\nAccounts = slurm')
restart
has "a cluster of Slurm that lacks an account" "Slurm's clusters 'vc' and 'moon' differ in" "$(accounts sync vc --apply)"
has "which is named" "[Account physics]" "$(accounts sync vc)"
sacctmgr -i add account physics cluster=moon description="all of 'it': \"x\"" fairshare=5 >/dev/null
sacctmgr -i add user daemon account=physics cluster=moon >/dev/null
out=$(accounts sync vc)
has "and limits that only one has" "differ in 3 statements, the first one is [Association physics/daemon]" "$out"
sacctmgr -i modify user where name=daemon account=physics cluster=moon set grptres=cpu=10,mem=10G >/dev/null
has "those that are alike are in step" 'no changes' "$(accounts sync vc)"
has "whichever is named" 'no changes' "$(accounts sync moon)"
sacctmgr -i modify account where name=physics set fairshare=6 >/dev/null
has "what changes in both" '~ Account physics Shares - 5 6' "$(accounts sync vc --apply | tr -s ' ')"
has "is brought once" 'no changes' "$(accounts sync moon)"
more=$(printf '[Cluster own]')
restart
has "a cluster that is not Slurm's" "the accounts of cluster 'own' are not declared in slurmdbd" "$(accounts sync vc --apply)"
sacctmgr -i delete cluster moon >/dev/null
more=

# ---- Reeve is the master ----
declared=reeve
restart
has "slurmdbd is in step as it is" 'no differences' "$(accounts sync vc)"
year=$(date +%Y)
cat >"$dir/accounts.conf" <<CONF
[Account science]
Shares = 60
[Account physics]
Parent = science
Shares = 31
Users = daemon=7, games=parent, sys
Coordinators = games
MaxRunningCores = 600
MaxRunningMemory = 2TB
[Account chem]
Shares = parent
Users = daemon, bin
MaxQueuedJobs = 90
[Association physics/daemon]
MaxRunningJobs = 9
[User daemon]
DefaultAccount = chem
[Allocation physics/$year]
Kind = grant
Amount = 100
From = $year-01-01
To = $((year + 1))-01-01
CONF
check "accounts are declared" accounts apply "$dir/accounts.conf"
before=$(assoc)
out=$(accounts sync vc | tr -s ' ')
has "an account to add" '+ Account chem' "$out"
has "a parent that changes" 'Account physics Parent' "$out"
has "a limit to be cleared" '- Association physics/daemon MaxRunningMemory - 10GiB' "$out"
has "nothing is changed in slurmdbd" 'nothing was changed in slurmdbd yet: add --apply' "$out"
is "nor is it" "$before" "$(assoc)"
has "the master is not written to" "are declared in Reeve" "$(accounts sync vc --to reeve --apply)"
out=$(accounts sync vc --apply)
has "with --apply it is all made" 'made in slurmdbd; no difference is left' "$out"
has "a second time there is none" 'no differences' "$(accounts sync vc --apply)"
is "the tree is Reeve's" "chem|root|parent
physics|science|31
science|root|60" "$(assoc format=account,parentname,fairshare | grep -v '||' | grep -v '^root' | sort)"
is "its users" "chem|bin|1
chem|daemon|1
physics|daemon|7
physics|games|parent
physics|sys|1" "$(assoc format=account,user,fairshare | grep -v '||' | grep -v '^root' | sort)"
is "limits of the account" "cpu=600,mem=2000000M" "$(assoc account=physics format=user,grptres | sed -n 's/^|//p' | sed 's/mem=1907348.*/mem=2000000M/;s/2T/2000000M/')"
is "of a user: those stated, and no others" "|9" "$(assoc account=physics user=daemon format=grptres,maxjobs)"
has "coordinators" games "$(sacctmgr -nP show account physics withcoord format=account,coordinators)"
is "the default account" chem "$(sacctmgr -nP show user daemon format=defaultaccount)"

# ---- drift ----
sacctmgr -i modify account where name=chem cluster=vc set fairshare=3 grpjobs=7 grptresmins=cpu=1000 >/dev/null
sacctmgr -i add account rogue parent=science cluster=vc >/dev/null
sacctmgr -i add account deeper parent=rogue cluster=vc >/dev/null
sacctmgr -i add user games account=deeper cluster=vc >/dev/null
sacctmgr -i add user bin account=physics cluster=vc >/dev/null
out=$(accounts sync vc | tr -s ' ')
has "what was changed by hand is found" '~ Account chem Shares - 3 parent' "$out"
has "an account that Reeve does not have" '- Account rogue' "$out"
has "and is undone" 'no difference is left' "$(accounts sync vc --apply)"
is "a limit that a site set for Slurm alone stays" "cpu=1000" "$(assoc account=chem format=user,grptresmins | sed -n 's/^|//p')"
lacks "it is gone with what is below it" rogue "$(assoc format=account)"
has "and stays so" 'no differences' "$(accounts sync vc)"
has "as json" '"changes": []' "$(accounts sync vc --json)"

# ---- faults ----
sacctmgr -i add account "we'ird; touch $dir/pwned" cluster=vc >/dev/null 2>&1
sacctmgr -i add account '$(reboot)' cluster=vc >/dev/null 2>&1
out=$(accounts sync vc --apply)
has "a name that Reeve cannot have is named" "sacctmgr dump:" "$out"
[ ! -e "$dir/pwned" ]
tap_result $? "and is run by no shell"
for a in "we'ird; touch $dir/pwned" '$(reboot)'; do sacctmgr -i delete account where name="$a" cluster=vc >/dev/null 2>&1; done
is "others see no difference" "reeve: only operators may compare accounts; ask one (Operators= in controller.conf)" \
	"$(as $daemon build/bin/reeve admin accounts sync --config "$dir/client.conf" --controller "$url" vc 2>&1 | sed 's/^reeve[a-z: ]*: only/reeve: only/')"
has "a host without sacctmgr" "run this on a host with Slurm's commands" "$(PATH=/bin/none /usr/bin/env -i PATH=/nowhere build/bin/reeve admin accounts sync --config "$dir/client.conf" --controller "$url" vc 2>&1)"
{ cat "$dir/accounts.conf"; printf '[Association physics/sys]\nMaxRunningGpus = 4\n'; } >"$dir/gpus.conf"
accounts apply "$dir/gpus.conf" >/dev/null
has "GPUs, where slurmdbd counts none (AccountingStorageTRES)" "no TRES known by type gres/gpu" "$(accounts sync vc --apply)"
accounts apply "$dir/accounts.conf" >/dev/null
slurm_stop slurmdbd
has "slurmdbd is down: sacctmgr's own words" "sacctmgr dump failed" "$(accounts sync vc --apply)"
slurm_start slurmdbd || bail "slurmdbd does not start again"
sed 's/Account chem/Account Chem/' "$dir/accounts.conf" >"$dir/upper.conf"
sed -i 's/DefaultAccount = chem/DefaultAccount = Chem/' "$dir/upper.conf"
accounts apply "$dir/upper.conf" >/dev/null
has "upper-case letters, which Slurm converts to lower case" "account 'Chem' has upper-case letters" "$(accounts sync vc)"

# ---- a large site ----
users=${USERS:-2000}
/usr/bin/python3 - "$users" >"$dir/large.conf" <<'PY'
import sys
n = int(sys.argv[1])
for a in range(n // 20):
    print("[Account a%d]\nShares = %d\nUsers = %s" % (a, a + 1, ", ".join("u%d" % (20 * a + u) for u in range(20))))
PY
check "$users users are declared" accounts apply "$dir/large.conf"
began=$SECONDS
out=$(accounts sync vc --csv | wc -l)
echo "# $users associations: compared in $((SECONDS - began)) s"
[ "$out" -gt "$users" ]
tap_result $? "all are differences" "$out"
began=$SECONDS
out=$(accounts sync vc --apply | tail -n 1)
echo "# $users associations: made in $((SECONDS - began)) s"
has "all are made" 'no difference is left' "$out"
began=$SECONDS
has "and in step" 'no differences' "$(accounts sync vc)"
echo "# $users associations: compared again in $((SECONDS - began)) s"
tap_end
