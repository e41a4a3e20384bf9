#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# fairshare.sh - `reeve fairshare` on files: figures, forms, and every fault with its place.
# TAP on standard output. Needs build/bin/reeve only: no controller, no configuration.
set -u
cd "$(dirname "$0")/../../.." || exit 1
. tests/cluster/lib/tap_lib.sh
reeve=$PWD/build/bin/reeve
dir=$(mktemp -d /tmp/reeve-fairshare-XXXXXX)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
export HOME=$dir XDG_CONFIG_HOME=$dir LC_ALL=C.UTF-8
unset REEVE_CONTROLLER

tree() { printf 'id,parent_id,account,user,raw_shares,order,leaf_usage\n'; printf '%s\n' "$@"; }
# of COLUMNS [OPTION...]: these columns of the tree on standard input, without header
of() {
	local columns=$1
	shift
	"$reeve" fairshare --csv -n -o "$columns" "$@" - 2>&1
}
# fault NAME TEXT ROW...: exit code and message for a tree of these rows
fault() {
	local name=$1 text=$2 got
	shift 2
	tree "$@" >tree.csv
	got=$("$reeve" fairshare tree.csv 2>&1)
	is "$name" "2 reeve fairshare: $text" "$? $got"
}

# ---- forms ----
tree 1,,root,,1,0,0 2,1,physics,,3,0,5 3,2,physics,alice,parent,0,2.5e1 4,2,physics,bob,1,1,0 \
	'5,1,"arts, fine",,1,1,10' >tree.csv
is "csv: columns, order of the rows, six decimals" \
'id,account,user,RawShares,NormShares,RawUsage,NormUsage,EffectvUsage,LevelFS,FairShare
1,root,,1,0.000000,40,1.000000,1.000000,,
2,physics,,3,0.750000,30,0.750000,0.750000,1.000000,
3,physics,alice,parent,0.750000,25,0.625000,0.833333,,1.000000
4,physics,bob,1,1.000000,0,0.000000,0.000000,inf,1.000000
5,"arts, fine",,1,0.250000,10,0.250000,0.250000,1.000000,' "$("$reeve" fairshare --csv tree.csv)"
is "json: numbers, inf as text, no FairShare of accounts, no LevelFS of a parent row" \
'reeve/1 [{"id": "2", "account": "physics", "user": "", "RawShares": 3, "NormShares": 0.75, "RawUsage": 30, "NormUsage": 0.75, "EffectvUsage": 0.75, "LevelFS": 1.0}, {"id": "3", "account": "physics", "user": "alice", "RawShares": "parent", "NormShares": 0.75, "RawUsage": 25, "NormUsage": 0.625, "EffectvUsage": 0.833333, "FairShare": 1.0}, {"id": "4", "account": "physics", "user": "bob", "RawShares": 1, "NormShares": 1.0, "RawUsage": 0, "NormUsage": 0.0, "EffectvUsage": 0.0, "LevelFS": "inf", "FairShare": 1.0}]' \
"$("$reeve" fairshare --json tree.csv | python3 -c '
import json, sys
d = json.load(sys.stdin)
print(d["schema"], json.dumps(d["rows"][1:4]))')"
is "json of some columns" '{"account": "physics", "RawShares": "parent", "FairShare": 1.0}' \
	"$("$reeve" fairshare --json -o account,RawShares,LevelFS,FairShare tree.csv | python3 -c '
import json, sys
print(json.dumps(json.load(sys.stdin)["rows"][2]))')"
is "-p, as sshare has it: fields ended by a bar" 'account|user|FairShare|
root|||
physics|||
physics|alice|1.000000|
physics|bob|1.000000|
arts, fine|||' "$("$reeve" fairshare -p -o account,user,FairShare tree.csv)"
is "table, the default" 'ID ACCOUNT USER  RAW SHARES NORM SHARES RAW USAGE NORM USAGE EFFECTV USAGE LEVEL FS FAIRSHARE' \
	"$("$reeve" fairshare tree.csv | head -n 1 | sed 's/ACCOUNT  *USER/ACCOUNT USER/')"
is "classic" $'physics,,0.750000,0.750000,,0.500000\nphysics,alice,0.750000,0.750000,,0.500000' \
	"$(of account,user,NormShares,EffectvUsage,LevelFS,FairShare --algorithm classic <tree.csv | sed -n 2,3p)"
is "dampening" 0.707107 "$(of FairShare --algorithm classic --dampening 2 <tree.csv | sed -n 2p)"
if locale -a 2>/dev/null | grep -qi '^de_DE'; then
	is "another locale prints points" 1.000000 "$(LC_ALL=de_DE.UTF-8 of NormUsage <tree.csv | head -n 1)"
fi

# ---- the published table: 5 of 2948 shares, 8511 users ----
bmrc() {
	printf '%s\n' g,r,bloggs,,5,0,0 h,g,high,,100,0,0 p,g,prj,,10,1,0 l,g,low,,1,2,0 \
		h1,h,high,a,parent,0,0 h2,h,high,b,parent,0,0 h3,h,high,c,parent,0,0 \
		p1,p,prj,a,10,0,0 p2,p,prj,b,10,0,0 p3,p,prj,c,10,0,77 \
		l1,l,low,a,10,0,0 l2,l,low,b,10,0,0 l3,l,low,c,10,0,0 \
		b,r,before,,1000,1,1 n,r,behind,,1943,2,1000000
	seq 1995 | sed 's/.*/b&,b,before,u&,1,0,0/'
	seq 6507 | sed 's/.*/n&,n,behind,u&,1,0,9/'
}
{ tree r,,root,,1,0,0 && bmrc; } >bmrc.csv
want='g 0.001696 
h 0.900901 
p 0.090090 
l 0.009009 
h1 0.900901 0.765597
h2 0.900901 0.765597
h3 0.900901 0.765597
p1 0.333333 0.764892
p2 0.333333 0.764892
p3 0.333333 0.764658
l1 0.333333 0.765597
l2 0.333333 0.765597
l3 0.333333 0.765597'
for ties in merge slurm; do
	is "BMRC's table, --ties=$ties" "$want" \
		"$(of id,NormShares,FairShare --ties=$ties <bmrc.csv | sed -n '2,14{s/,/ /g;p}')"
done
is "the order of the rows changes nothing" "$(of id,FairShare <bmrc.csv | sort)" \
	"$({ head -n 1 bmrc.csv && tail -n +2 bmrc.csv | tac; } | of id,FairShare | sort)"

# ---- ties ----
tree r,,root,,1,0,0 a,r,a,,1,1,0 b,r,b,,1,2,0 a1,a,a,u,1,0,1 a2,a,a,v,1,0,4 b1,b,b,u,1,0,2 b2,b,b,v,1,0,3 >ties.csv
is "tied accounts are one" "a1 1.000000 a2 0.250000 b1 0.750000 b2 0.500000" \
	"$(of id,FairShare <ties.csv | tail -n 4 | tr ',\n' '  ' | sed 's/ $//')"
is "and as Slurm ships it" "a1 1.000000 a2 0.750000 b1 0.750000 b2 0.250000" \
	"$(of id,FairShare --ties=slurm <ties.csv | tail -n 4 | tr ',\n' '  ' | sed 's/ $//')"

# ---- usage is exact ----
usage() { tree r,,root,,,,0 "a,r,a,u,1,,$1" "b,r,a,v,1,,$2" | of RawUsage,FairShare | tail -n 2 | xargs; }
is "0.1 and 0.2 and 1e-1" "0,1.000000 0,0.500000" "$(usage 0.1 0.2)"
is "one number in three spellings ties" "15000000000,1.000000 15000000000,1.000000" "$(usage 1.5e10 15000000000.000)"
is "the 20th decimal decides" "1,1.000000 1,0.500000" "$(usage 1.00000000000000000001 1.00000000000000000002)"
is "beyond 32 digits: the 9th decimal, half up" "10000000000000000000000,0.500000 0,1.000000" \
	"$(usage 1e22 0.00000000000000001)"
is "RawUsage is cut, as sshare does" "2,1.000000 3,0.500000" "$(usage 2.999 3)"

# ---- faults ----
root=r,,root,,1,0,0
fault "no root" "tree.csv:2: row 'a': no row has its parent_id 'r' as id; did you mean 'a'?" a,r,a,,1,0,0
fault "nothing at all" "tree.csv: no root: one row must have no parent"
fault "two roots" "tree.csv:3: row 's': a second root: every row but one must have a parent" $root s,,s,,1,0,0
fault "a cycle" "tree.csv:4: row 'b': the row is its own ancestor: following the parents from it comes back to it" \
	$root a,b,a,,1,0,0 b,a,b,,1,0,0
fault "an unknown parent, the nearest named" \
	"tree.csv:4: row 'x': no row has its parent_id 'phsics' as id; did you mean 'physics'?" \
	$root physics,r,physics,,1,0,0 x,phsics,physics,u,1,0,0
fault "an id twice" "tree.csv:4: row 'a': the id is that of line 3 too: give each row its own" $root a,r,a,,1,0,0 a,r,b,,1,0,0
fault "a user twice" "tree.csv:4: row 'v': user 'u' of account 'a' has a row already, in line 3" $root u,r,a,u,1,0,0 v,r,a,u,1,0,0
fault "an account twice" "tree.csv:4: row 'b': account 'a' has a row already, in line 3" $root a,r,a,,1,0,0 b,r,a,,1,0,0
fault "a user as a parent" "tree.csv:4: row 'v': the parent is a user: only an account can have rows below it" \
	$root u,r,a,u,1,0,0 v,u,a,v,1,0,0
fault "a user as the root" "tree.csv:2: row 'r': a user cannot be the root: name the account that the user is below" r,,a,u,1,0,0
fault "negative shares" "tree.csv:3: raw_shares -1 is not from 0 to 2147483646: only the ratio within a level counts" $root u,r,a,u,-1,0,0
fault "huge shares" "tree.csv:3: raw_shares 2147483647 is not from 0 to 2147483646: only the ratio within a level counts" \
	$root u,r,a,u,2147483647,0,0
fault "shares of another kind" "tree.csv:3: raw_shares '1.5' is neither a whole number from 0 to 2147483646 nor 'parent'" $root u,r,a,u,1.5,0,0
for usage in -1 nan 1e 0x10 '' 1.2.3 ' 1'; do
	fault "usage '$usage'" "tree.csv:3: leaf_usage '$usage' is not a number of 0 or more, such as 12, 0.5 or 1.5e10" $root "u,r,a,u,1,0,$usage"
done
fault "usage beyond 23 digits" "tree.csv:3: leaf_usage 1e23 has more than 23 digits before the point: give the tree's usage in a larger unit" \
	$root u,r,a,u,1,0,1e23
fault "an order that is no number" "tree.csv:3: order 'x' is not a whole number" $root u,r,a,u,1,x,0
fault "a field too many" "tree.csv:3: 8 fields, but the header names 7" $root u,r,a,u,1,0,0,0
got=$("$reeve" fairshare --algorithm faritree tree.csv 2>&1)
is "an unknown algorithm" "2 reeve fairshare: --algorithm faritree: write fair-tree or classic" "$? $got"
got=$("$reeve" fairshare no.csv 2>&1)
is "no such file" "reeve fairshare: cannot open no.csv: No such file or directory" "$got"

tap_end
