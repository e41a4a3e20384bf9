#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# storage.sh - `reeve admin storage` and `reeve usage --storage`: what projects occupy on file systems, imported by operators and
# shown to their members. Needs root (to be several users), munged and build/bin; loopback only. TAP.
set -u
cd "$(dirname "$0")/../../.." || exit 1
. tests/cluster/lib/tap_lib.sh
. tests/cluster/lib/live_lib.sh
reeve=$PWD/build/bin/reeve
export TZ=UTC LC_ALL=C
live_dir storage
[ "$(id -u)" = 0 ] || { skip "a live controller" "needs root to speak as several users"; tap_end; }
live_munge
configure() { { live_controller; printf '[Policy]\nTimeZone = Europe/Berlin\n[Cluster main]\n'; } >"$dir/controller.conf"; }
live_open configure
printf '[Client]\nController = %s\nMungeSocket = %s\n' "$url" "$dir/munge.sock" >"$dir/client.conf"
chmod 644 "$dir/client.conf"
storage() { "$reeve" admin storage "$1" --config "$dir/client.conf" "${@:2}" 2>&1; }
usage() { as "$1" "$reeve" usage --storage --config "$dir/client.conf" "${@:2}" 2>&1; } # UID [OPTION]...
rows() { usage "$1" --csv --noheader --columns account,filesystem,bytes "${@:2}"; }
cat >"$dir/accounts.conf" <<-CONF
	[Account physics]
	Users = daemon
	[Account optics]
	Parent = physics
	Users = bin
	[Account art]
	Users = daemon
	[Allocation physics/disk]
	Kind = storage
	Amount = 40TB
	From = 2000-01-01
	To = 2100-01-01
CONF
"$reeve" admin accounts apply --config "$dir/client.conf" "$dir/accounts.conf" >"$dir/applied" 2>&1 || bail "$(cat "$dir/applied")"
is "nothing is shown before anything was imported" "" "$(rows $daemon)"

# ---- a file, its columns in any order ----
cat >"$dir/a.csv" <<-CSV
	time,project,bytes,filesystem,limit,files,file_limit
	2026-11-21T14:03:11Z,physics,36.4TB,/project,40TiB,1234567,2000000
	2026-11-21 15:03:11+01:00,art,5GiB,/project,,0,
	1795269791,optics,1TB,/project,0,,0
	2026-11-21T14:03:11Z,ghosts,1,/project,,,
CSV
out=$(storage import "$dir/a.csv")
has "a row of no account is left out, and named" "left out: no account ghosts" "$out"
has "the outcome says how many" "3 0 1" "$(xargs <<<"$out")"
is "a member sees the accounts that they are in, sizes in bytes" "art,/project,5368709120 physics,/project,36400000000000" "$(rows $daemon | xargs)"
is "another only theirs" "optics,/project,1000000000000" "$(rows $bin)"
is "a stranger none" "" "$(rows $stranger)"
is "an operator all" 3 "$(rows 0 | wc -l)"
is "one account alone" "art,/project,5368709120" "$(rows $daemon -A art)"
has "an account of others is as one that is not there" "no account 'optics', or you are not a member" "$(usage $daemon -A optics)"
table=$(usage 0 | tr -s ' ')
has "all amounts of a row are in the unit of what was allotted, the time in the site's zone" \
	"physics /project 36.4 TB 44.0 TB 40.0 TB 82.8 1234567 2026-11-21 15:03:11 CET" "$table"
has "0 files is a figure, an offset a time" "art /project 5.00 GiB - - - 0 2026-11-21 15:03:11 CET" "$table"
has "a limit of 0 is none, an empty field unknown, seconds a time" "optics /project 931 GiB - - - - 2026-11-21 15:03:11 CET" "$table"
is "programs get exact figures" "physics /project 36400000000000 43980465111040 40000000000000 82.8 1234567 2000000 1795269791000000000" \
	"$(usage 0 -A physics --json | python3 -c 'import json,sys; r = json.load(sys.stdin)["storage"][0]
print(*(r[k] for k in "account filesystem bytes limit_bytes allotted_bytes used_percent files limit_files at_ns".split()))')"

# ---- again, later, elsewhere ----
printf 'project,filesystem,bytes,time\nphysics,/project,1,2026-11-20T00:00:00Z\nphysics,/scratch,2GB,2026-11-20T00:00:00Z\n' >"$dir/b.csv"
has "an older reading changes nothing" "1 1 0" "$(storage import - <"$dir/b.csv" | xargs)"
is "another file system is a row of its own" "physics,/project,36400000000000 physics,/scratch,2000000000" "$(rows $daemon -A physics | xargs)"
printf 'filesystem,bytes,project\n/project,7,physics\n' >"$dir/c.csv"
storage import "$dir/c.csv" >"$dir/out"
is "a newer one replaces it; without a time it is of now" "physics,/project,7" "$(rows $daemon -A physics | head -n 1)"
is "and is no older than a minute" 1 "$(usage 0 -A physics --csv --noheader --columns at_ns | head -n 1 | awk -v now="$(date +%s)" '{ print ($1 / 1e9 > now - 60 && $1 / 1e9 <= now + 1) }')"

# ---- what the tools of file systems print ----
collect() { build/bin/reeve-storage "$@" 2>&1; }
cat >"$dir/lfs" <<-LFS
	Disk quotas for grp physics (gid 1234):
	     Filesystem  kbytes   quota   limit   grace   files   quota   limit   grace
	        /lustre 35546875* 0 39062500       -   12345       0       0       -
	Disk quotas for grp no,project (gid 1235):
	     Filesystem  kbytes   quota   limit   grace   files   quota   limit   grace
	/lustre
	                [4]       0       0       -       1       0       0       -
	Disk quotas for usr daemon (uid 1):
	     Filesystem  kbytes   quota   limit   grace   files   quota   limit   grace
	        /lustre       4       0       0       -       1       0       0       -
LFS
is "what lfs quota prints is the file: users are left out, and figures of which a part is missing" \
	"reeve-storage: left out: no,project on /lustre: a server did not answer project,filesystem,bytes,files,limit,file_limit,time physics,/lustre,36400000000,12345,40000000000,,T" \
	"$(collect <"$dir/lfs" | sed 's/,[0-9]*$/,T/' | xargs)"
has "it is imported as it comes" "1 0 0" "$(collect <"$dir/lfs" 2>/dev/null | grep -v left.out | storage import - | xargs)"
has "and shown" "physics /lustre 36.4 GB 40.0 GB 40.0 TB 91.0 12345" "$(usage 0 -A physics | tr -s ' ')"
storage remove /lustre
{
	echo '*** Report for group quotas on device /dev/sdb1'
	printf 'Block grace time: 7days; Inode grace time: 7days\n Block limits File limits\nGroup used soft hard grace used soft hard grace\n-----\n'
	printf 'root -- 20 0 0 2 0 0\n#%s -- 8 0 16 3 0 0\n' "$(getent group daemon | cut -d: -f3)"
	printf '#4199999999 -- 4 0 0 1 0 0\n\n'
} >"$dir/repquota"
is "a number is a group's name if it has one, and root is left out" \
	"daemon,/home,8192,3,16384, 4199999999,/home,4096,1,," "$(collect --filesystem /home <"$dir/repquota" | tail -n +2 | sed 's/,[0-9]*$//' | xargs)"
has "two kinds are refused" "quotas of groups and of projects; choose one with --kind" "$({ cat "$dir/repquota"; sed 's/for group/for project/' "$dir/repquota"; } | collect)"
is "by --kind" 3 "$({ cat "$dir/repquota"; sed 's/for group/for project/' "$dir/repquota"; } | collect --kind project | wc -l)"
has "a damaged line is named by its number" "standard input:7: '12 4' is no row of repquota" "$(sed '7s/.*/12 4/' "$dir/repquota" | collect)"
has "another text is refused" "no output of lfs quota, mmrepquota -Y or repquota" "$(collect <"$dir/a.csv")"
has "a file system without quotas is refused" "its file system counts no" "$(collect /dev)"
has "as is a folder that is not there" "open /no/such: No such file" "$(collect /no/such)"
has "an unknown kind" "write group or project" "$(collect --kind user </dev/null)"

# ---- mistakes: file, line, column, value; nothing is changed ----
before=$(usage 0 --csv)
refused() { # NAME WORDS LINE...
	local name=$1 words=$2
	shift 2
	printf '%s\n' "$@" >"$dir/bad.csv"
	has "$name" "$words" "$(storage import "$dir/bad.csv")"
}
head=project,filesystem,bytes,files,limit,time
refused "a size that is none" "bad.csv:3: bytes '12 elephants'" $head "physics,/project,1,,," "physics,/project,12 elephants,,,"
refused "a negative size" "bad.csv:2: bytes '-4' is no size" $head "physics,/project,-4,,,"
refused "a number of files that is none" "bad.csv:2: files '1.5' is no whole number" $head "physics,/project,1,1.5,,"
refused "a time that is none" "bad.csv:2: time 'yesterday' is no time; write 2026-11-21T14:03:11Z" $head "physics,/project,1,,,yesterday"
refused "a time without a zone" "bad.csv:2: time '2026-11-21T14:03:11' is no time" $head "physics,/project,1,,,2026-11-21T14:03:11"
refused "a time to come" "bad.csv:2: time '4000000000' is before 1970, or has not come yet" $head "physics,/project,1,,,4000000000"
refused "a project that is empty" "bad.csv:2: project is empty" $head ",/project,1,,,"
refused "a column that is missing" "bytes" "project,filesystem,limit" "physics,/project,1"
refused "a column that is unknown" "quota" "project,filesystem,bytes,quota" "physics,/project,1,1"
refused "a name with control characters" "is no name of printable characters" $head "physics,/pro$(printf '\033')ject,1,,,"
is "a file with a mistake changes nothing" "$before" "$(usage 0 --csv)"
has "a file that is not there" "No such file" "$(storage import "$dir/none.csv")"
has "other users import nothing" "only operators import" "$(as $daemon "$reeve" admin storage import --config "$dir/client.conf" - <"$dir/c.csv" 2>&1)"
has "nor remove" "only operators import and remove" "$(as $daemon "$reeve" admin storage remove --config "$dir/client.conf" /project 2>&1)"
has "--storage goes with no period" "--start does not go with --storage" "$(usage 0 --start 2026-01-01)"

# ---- thousands of accounts: batches one way, several answers the other ----
{ cat "$dir/accounts.conf"; for i in $(seq 3000); do printf '[Account a%s]\nUsers = daemon\n' "$i"; done; } >"$dir/many.conf"
"$reeve" admin accounts apply --config "$dir/client.conf" "$dir/many.conf" >"$dir/applied" 2>&1 || bail "$(tail -n 3 "$dir/applied")"
{ echo project,filesystem,bytes; for i in $(seq 3000); do echo "a$i,/home,$i"; done; } >"$dir/many.csv"
has "3,000 readings are imported" "3000 0 0" "$(storage import "$dir/many.csv" | xargs)"
is "and are all there, each once" "3000 3000 4501500" "$(rows $daemon | grep /home | awk -F, '{ n++; s += $3; names[$1] } END { print n, length(names), s }')"
has "one answer has a part, and names the next" '"next":"a' "$(ask 0 GET '/v1/storage?limit=10')"
has "nor does the controller take such a name" "its filesystem is no name" \
	"$(ask 0 POST /v1/storage '{"schema":"reeve/1","rows":[{"account":"art","filesystem":"a\nb","bytes":1,"at_ns":1}]}')"
has "a request of more than a batch is refused" "at most 200 readings" "$(ask 0 POST /v1/storage "{\"schema\":\"reeve/1\",\"rows\":[$(printf '{},%.0s' $(seq 200)){}]}")"

# ---- a file system that is gone ----
check "its readings are removed" storage remove /home
is "of it alone" "art,/project,5368709120 physics,/project,7 physics,/scratch,2000000000" "$(rows $daemon | xargs)"
has "one that is not there" "no reading of a file system '/home'" "$(storage remove /home)"
live_stop
live_start || bail "the controller does not start again"
is "readings stay over a restart" "art,/project,5368709120 physics,/project,7 physics,/scratch,2000000000" "$(rows $daemon | xargs)"
tap_end
