#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# usage.sh - usage against allocations: how much of it and of the year is gone, and where it
# will end by both rules, from a ledger file. TAP.
set -u
cd "$(dirname "$0")/../../.." || exit 1
. tests/cluster/lib/tap_lib.sh
reeve=$PWD/build/bin/reeve
dir=$(mktemp -d /tmp/reeve-usage-XXXXXX)
trap 'rm -rf "$dir"' EXIT

# 2022-04-01 00:00 UTC is 1648771200. One core of g1 from then on for 100 days, ten of g2 for the
# last ten of these, two of g3 for two days of the year before.
cat >"$dir/log.swf" <<'SWF'
; UnixStartTime: 1648771200
1 0 0 8640000 1 -1 -1 1 -1 -1 1 1 1 -1 -1 -1 -1 -1
2 7776000 0 864000 10 -1 -1 10 -1 -1 1 2 2 -1 -1 -1 -1 -1
SWF
sed 's/1648771200/1646092800/' "$dir/log.swf" | sed '/^1 /d; s/^2 7776000 0 864000 10/3 0 0 172800 2/; s/ 1 2 2 -1/ 1 3 3 -1/' >"$dir/early.swf"
for f in early log; do "$reeve" import swf "$dir/$f.swf" --cluster narval --profile alliance-narval --ledger "$dir/l.db" >/dev/null || bail "no ledger"; done
cat >"$dir/accounts.conf" <<'CONF'
[Account g1]
[Account g2]
Parent = g1
[Account g3]
[Allocation g1/2022]
Kind = target
Cluster = narval
Amount = 2
From = 2022-04-01
To = 2023-04-01
[Allocation g2/2022]
Kind = monthly
Amount = 1000
From = 2022-06-01
To = 2022-09-01
[Allocation g3/2022]
Kind = grant
Amount = 5000
From = 2022-05-01
To = 2022-08-01
CONF
profile=alliance-narval
usage() { "$reeve" usage --ledger "$dir/l.db" "$@" 2>&1 | sed '/^reeve: .* were priced by /d'; }
view() { usage --profile $profile --accounts "$dir/accounts.conf" "$@"; }
row() { # FILE KEY COLUMN: of a json document
	python3 -c 'import json,sys
d = json.load(open(sys.argv[1]))
for r in d["rows"]:
    if r["account"] == sys.argv[2]: print(r.get(sys.argv[3], "-"))' "$@"
}
day=86400000 # ms

is "without a profile all there is" "g1 g2 g3" "$(usage --csv -n -o account | xargs)"
lacks "and no projection" projected "$(usage --json | grep -v '"projected[a-z_]*": null')"
# At the end of the hundredth day.
view --at 2022-07-09 --json >"$dir/j"
is "the allocation year of that moment" '"2022-04-01" "2023-04-01"' \
	"$(python3 -c 'import json;d=json.load(open("'"$dir"'/j"));print(json.dumps(d["start"]),json.dumps(d["end"]))')"
is "100 of 365 days are gone" 273972 "$(python3 -c 'import json;print(json.load(open("'"$dir"'/j"))["gone_ppm"])')"
is "the year before is not in it" 0 "$(row "$dir/j" g3 core_ms)"
is "one core for 100 days" $((100 * day)) "$(row "$dir/j" g1 counts_ms)"
is "in core-years, of 365 days" 0.273973 "$(row "$dir/j" g1 core_years)"
is "a target of 2 for the year" $((730 * day)) "$(row "$dir/j" g1 allocation_ms)"
is "what is below counts too" $((200 * day)) "$(row "$dir/j" g1 with_below_ms)"
is "200 of 730 core-days are used" 273972 "$(row "$dir/j" g1 used_ppm)"
is "the year to date goes on: twice the target's half" $((730 * day)) "$(row "$dir/j" g1 projected_by_year_ms)"
is "the last 30 days go on: 130 in 30 days, 265 more days" $((200 * day + 130 * day * 265 / 30)) "$(row "$dir/j" g1 projected_by_recent_ms)"
is "three months of 1000 core-hours" $((3000 * 3600000)) "$(row "$dir/j" g2 allocation_ms)"
has "people see it" '27.4' "$(view --at 2022-07-09)"
has "and how much of the year is gone" '2022-04-01 up to 2023-04-01, 27.4 % of it gone' "$(view --at 2022-07-09)"
has "in years where asked" ' 2.000000 ' "$(view --at 2022-07-09 --years)"

# What is after that moment has not happened.
view --at 2022-06-30 --json >"$dir/j"
is "ten days earlier: 91 days of g1" $((91 * day)) "$(row "$dir/j" g1 counts_ms)"
is "and one of g2" $((10 * day)) "$(row "$dir/j" g2 counts_ms)"
is "the year that ended on its last day is over" '2021-04-01 up to 2022-04-01' \
	"$(view --at 2022-03-31 | head -n 1 | cut -d, -f1)"
view --start 2022-03-01 --end 2022-06-01 --at 2022-04-30 --json >"$dir/j"
is "an allotted month and a half of a target" $((2 * 61 * day)) "$(row "$dir/j" g1 allocation_ms)"
is "a grant that begins in the period, whole" $((5000 * 3600000)) "$(row "$dir/j" g3 allocation_ms)"
view --start 2022-06-01 --end 2022-07-01 --at 2022-07-31 --json >"$dir/j"
is "a period that is over has no projection" - "$(row "$dir/j" g1 projected_by_year_ms)"
is "but what was used of what was allotted in it: 40 of 60" 666666 "$(row "$dir/j" g1 used_ppm)"
is "by user: no allocation" 0 "$(view --by user --at 2022-07-09 --json | grep -c '"allocation_ms"')"
has "but a projection" '"projected_by_year_ms": 31536000000' "$(view --by user --at 2022-07-09 --json)"

# ---- an outage: not due, and nothing is allotted for it ----
outage() { "$reeve" admin outage "$@" --ledger "$dir/l.db" 2>&1; }
value() { python3 -c 'import json,sys; print(json.load(open(sys.argv[1])).get(sys.argv[2], "-"))' "$1" "$2"; } # FILE KEY
quota() { "$reeve" quota --ledger "$dir/l.db" --profile $profile --accounts "$dir/accounts.conf" -p g1 "$@" 2>/dev/null; }
view --at 2022-07-09 --json >"$dir/before"
is "without outages what is due is what is gone" "273972 -" "$(value "$dir/before" due_ppm) $(value "$dir/before" outage_ns)"
has "a week is declared" 'new cooling' "$(outage add --cluster narval --from 2022-05-02 --to 2022-05-09 --reason 'new cooling')"
view --at 2022-07-09 --json >"$dir/j"
is "93 of 365 days are due, while 100 are gone" "254794 273972 $((7 * day * 1000000))" \
	"$(value "$dir/j" due_ppm) $(value "$dir/j" gone_ppm) $(value "$dir/j" outage_ns)"
is "the allocation does not change" $((730 * day)) "$(row "$dir/j" g1 allocation_ms)"
is "nor what is used of it" 273972 "$(row "$dir/j" g1 used_ppm)"
is "the year to date goes on in the 358 days without outages" $(((200 * day * 358 + 46) / 93)) "$(row "$dir/j" g1 projected_by_year_ms)"
is "the last 30 days had none" "$(row "$dir/before" g1 projected_by_recent_ms)" "$(row "$dir/j" g1 projected_by_recent_ms)"
has "people see it" '27.4 % of it gone; without outages of 7.0 days 25.5 %' "$(view --at 2022-07-09)"
quota --at 2022-07-09 --json >"$dir/q"
is "the quota: 2 cores for 93 days are due" "$((186 * day)) $((730 * day))" \
	"$(python3 -c 'import json,sys; q = json.load(open(sys.argv[1]))["quotas"][0]; print(q["due_ms"], q["total_ms"])' "$dir/q")"
has "which is now less than what was used" '27.4 % of the allocation used, with 25.5 % due by now (27.4 % of the period gone, less outages of 7.0 days): more than its share so far' \
	"$(quota --at 2022-07-09)"
has "what is left out is listed" 'Outages left out:                  7.0 days' "$(quota --at 2022-07-09)"
outage add --from 2022-12-01 --to 2022-12-31 --reason 'to come' >/dev/null
view --at 2022-07-09 --json >"$dir/j"
is "one to come is not due yet, and shortens what is left: 235 days" "254794 $((200 * day + 130 * day * 235 / 30))" \
	"$(value "$dir/j" due_ppm) $(row "$dir/j" g1 projected_by_recent_ms)"
outage add --cluster elsewhere --from 2022-06-15 --to 2022-06-20 --reason 'of another cluster' >/dev/null
view --at 2022-07-09 --json >"$dir/j"
is "that of another cluster does not count" 254794 "$(value "$dir/j" due_ppm)"
is "they are listed by their beginning" "1 3 2" "$(outage list --csv -n -o id | xargs)"
is "of a cluster, and of all" "1 2" "$(outage list --cluster narval --csv -n -o id | xargs)"
has "one that ends before it begins" 'the outage ends before it begins' "$(outage add --from 2022-05-09 --to 2022-05-02 --reason x)"
has "without a reason" 'an outage needs --from, --to and --reason' "$(outage add --from 2022-05-02 --to 2022-05-09)"
has "a number that is none" "no outage 9; 'reeve admin outage list' lists them" "$(outage remove 9)"
for id in 1 2 3; do outage remove $id; done
view --at 2022-07-09 --json >"$dir/j"
check "when they are removed all is as before" cmp "$dir/before" "$dir/j"

# ---- the tree, with roll-up; two dimensions; what was never measured ----
cat >"$dir/tree.conf" <<'CONF'
[Account faculty]
Description = Faculty of science
[Account g1]
Parent = faculty
Description = Group one
[Account g2]
Parent = g1
[Account idle]
Parent = faculty
[Allocation idle/2022]
Kind = target
Amount = 1
From = 2022-04-01
To = 2023-04-01
CONF
tree() { usage --profile $profile --accounts "$dir/tree.conf" --at 2022-07-09 "$@"; }
is "parents of who used stand before them, by depth" "faculty:0 g1:1 g2:2 idle:1" \
	"$(tree --csv -n -o account,depth | tr , : | xargs)"
is "a parent without jobs has what is below it" "0,$((200 * day))" "$(tree --csv -n -o counts_ms,with_below_ms | sed -n 1p)"
is "an account with usage and more below it" "$((100 * day)),$((200 * day))" "$(tree --csv -n -o counts_ms,with_below_ms | sed -n 2p)"
is "an allocation without a job has its row" "0,$((365 * day))" "$(tree --csv -n -o counts_ms,allocation_ms | sed -n 4p)"
has "people see the tree, with titles" "    g2" "$(tree)"
has "titles are descriptions" "Faculty of science" "$(tree)"
is "a total row is last" "total" "$(tree | tail -n 1 | cut -d' ' -f1)"
tree --json >"$dir/j"
is "in json the total is beside the rows, and their sum" "$((200 * day)) $((200 * day))" \
	"$(python3 -c 'import json;d=json.load(open("'"$dir"'/j"));print(d["totals"][0]["counts_ms"],sum(r["counts_ms"] for r in d["rows"]))')"
is "an account that is asked for comes with those below it" "g1 g2" "$(tree --account g1 --csv -n -o account | xargs)"
is "what was never measured is null" "None None" \
	"$(python3 -c 'import json;r=json.load(open("'"$dir"'/j"))["rows"][1];print(r["cpu_ms"],r["charge_used_ms"])')"
has "and - for people" " - " "$(tree --columns account,cpu_ms,pool)"
is "by two dimensions" "u1,narval u2,narval u3,narval" "$(usage --by user,cluster --csv -n -o user,cluster | xargs)"
is "on one cluster" "$(usage --by user --csv)" "$(usage --by user --cluster narval --csv)"
is "months of the allocation year" "2022-04 2022-05 2022-06 2022-07" "$(tree --by cluster --monthly --csv -n -o month | xargs)"
is "months up to --at" "2022-04 2022-05" \
	"$(usage --profile $profile --accounts "$dir/tree.conf" --at 2022-05-15 --by cluster --monthly --csv -n -o month | xargs)"
is "without a profile too" "2022-03 2022-04" "$(usage --at 2022-04-15 --by cluster --monthly --csv -n -o month | xargs)"
is "--at is the end of that day" "$((15 * day))" "$(usage --at 2022-04-15 --account g1 --start 2022-04-01 --csv -n -o counts_ms)"
for f in account user cluster; do
	out=$(usage --$f narvla)
	has "an unknown $f is an error" "no $f 'narvla'" "$out"
done
has "with the nearest name" "did you mean 'narval'?" "$(usage --cluster narvla)"
has "of accounts too" "did you mean 'g1'?" "$(usage --profile $profile --accounts "$dir/tree.conf" --account gg1)"
printf '[Policy]\nAllocationYearStart = 01-01\nAllocationPeriod = quarter\n[Cluster narval]\nUnit = core-hours\n' >"$dir/q.conf"
has "the period may be a quarter" '2022-04-01 up to 2022-07-01' "$(usage --profile "$dir/q.conf" --at 2022-06-30)"
has "nci has quarters, rwth the calendar year" '2022-07-01 up to 2022-10-01 2022-01-01 up to 2023-01-01' \
	"$(for p in nci rwth; do usage --profile $p --at 2022-07-09 | sed -n '1s/,.*//p'; done | xargs)"

# ---- refused ----
out=$("$reeve" usage --profile $profile 2>&1)
is "a profile without a ledger: status" 2 $?
has "is refused with the reason" '--profile needs --ledger FILE' "$out"
has "a period that ends before it begins is refused" "--end 2026-01-01 is not after --start 2026-02-01" "$(usage --start 2026-02-01 --end 2026-01-01)"
has "a moment that is none" "--at: 'soon' is not a time" "$(usage --profile $profile --at soon)"
has "a profile that is none" "no-such" "$(usage --profile no-such)"
has "accounts that are not there" "nowhere.conf" "$(usage --profile $profile --accounts "$dir/nowhere.conf")"
tap_end
