#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# window.sh - `reeve window` on files: figures, forms, and every fault with its place.
# TAP on standard output. Needs build/bin/reeve only: no controller, no configuration.
set -u
cd "$(dirname "$0")/../../.." || exit 1
. tests/cluster/lib/tap_lib.sh
reeve=$PWD/build/bin/reeve
dir=$(mktemp -d /tmp/reeve-window-XXXXXX)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
export HOME=$dir XDG_CONFIG_HOME=$dir LC_ALL=C.UTF-8
unset REEVE_CONTROLLER

# look MONTH [OPTION...]: available, percentage and mode of the table on standard input
look() {
	local month=$1
	shift
	"$reeve" window --allowance - --month "$month" --json "$@" | python3 -c '
import json, sys
d = json.load(sys.stdin)
print(*(json.dumps(d[k]) for k in ("available", "percentage", "mode")))' 2>&1
}
# fault NAME CODE TEXT MONTH [OPTION...]: exit code and message, for months.csv
fault() {
	local name=$1 code=$2 text=$3 month=$4 got
	shift 4
	got=$("$reeve" window --allowance months.csv --month "$month" "$@" 2>&1)
	is "$name" "$code reeve window: $text" "$? $got"
}
rows() { printf 'month,allowance,used\n'; printf '%s\n' "$@"; }

# ---- the published examples ----
y=(2012-01,50000,0 2012-02,50000,70000 2012-03,50000,0 2012-04,50000,0)
is "70000 used in February: up to 80000 in March" '80000 60 "normal"' "$(rows "${y[@]}" | look 2012-03)"
y[1]=2012-02,50000,120000
is "120000 used in February: up to 30000 in March" '30000 -40 "normal"' "$(rows "${y[@]}" | look 2012-03)"
is "before it was used, February had 150000" '150000 200 "normal"' \
	"$(rows "${y[@]/120000/0}" | look 2012-02)"
rows 2012-01,1000,800 2012-02,1000,0 2012-03,1000,0 >view.csv
is "800 of 1000 used last month: 120 %, 2200" '2200 120 "normal"' "$(look 2012-02 <view.csv)"
is "below -100 % it is -101 and low priority" '-0.5 -101 "low-priority"' \
	"$(rows 2012-01,1000,800 2012-02,1000,2200.5 2012-03,1000,0 | look 2012-02)"
is "... exactly at it, it is not" '0 -100 "normal"' \
	"$(rows 2012-01,1000,800 2012-02,1000,2200 2012-03,1000,0 | look 2012-02)"
is "more than six times the month stops" '-3000.000001 -101 "stopped"' \
	"$(rows 2012-{01..09},1000,0 | sed 's/-05,1000,0/-05,1000,6000.000001/' | look 2012-05)"
is "more than twice the period stops" '-3001 -101 "stopped"' \
	"$(rows 2012-01,1000,5000 2012-02,1000,1001 2012-03,1000,0 | look 2012-02)"
is "no allowance: no percentage" '170 null "normal"' \
	"$(rows 2012-01,100,30 2012-02,0,0 2012-03,100,0 | look 2012-02)"
is "a year's end is an ordinary neighbour" '120 20 "normal"' \
	"$(rows 2023-11,100,0 2023-12,100,180 2024-01,100,0 | look 2023-12)"
is "the other rule, by name" '50 50 "normal"' \
	"$(rows 2024-01,100,250 2024-02,100,0 2024-03,100,0 | look 2024-03 --rule three-consecutive-months)"
is "columns in any order, CRLF" '2200 120 "normal"' \
	"$(printf 'used,month,allowance\r\n800,2012-01,1000\r\n0,2012-02,1000\r\n0,2012-03,1000\r\n' | look 2012-02)"

# ---- the forms ----
is "people see how it adds up" \
'Start of accounting period:        2012-01
End of accounting period:          2012-03
Month:                             2012-02
State of quota:                    normal (the window is not consumed)
Quota monthly (core-h):            1000
Remaining core-h of prev. month:   200
Consumed core-h act. month:        0
Consumable core-h (%):             120
Consumable core-h:                 3000 (2012-01 to 2012-03) - 800 used = 2200
Rule:                              sliding
No submission above, this month:   6000 core-h
No submission above, period:       6000 core-h (800 used of 3000)' \
"$("$reeve" window --allowance view.csv --month 2012-02)"
is "--csv and --columns" 'available,percentage,mode
2200,120,normal' "$("$reeve" window --allowance view.csv --month 2012-02 --csv -o available,percentage,mode)"
is "--noheader" '     2200' "$("$reeve" window --allowance view.csv --month 2012-02 -n -o available)"

# ---- faults ----
rows 2012-01,1000,0 2012-02,1000,0 2012-04,1000,0 >months.csv
fault "a month left out is named" 2 \
	"months.csv:4: month 2012-03 is missing: 2012-04 follows 2012-02" 2012-02
rows 2012-01,1000,0 2012-01,1000,0 >months.csv
fault "a month twice" 2 "months.csv:3: month 2012-01 is there twice" 2012-01
rows 2012-02,1000,0 2012-01,1000,0 >months.csv
fault "out of order" 2 "months.csv:3: month 2012-01 is out of order: it follows 2012-02" 2012-01
rows 2012-01,-1,0 >months.csv
fault "a negative amount" 2 \
	"months.csv:2: allowance: '-1' is not an amount of core-hours: it is negative; write it like 50000 or 0.25" 2012-01
rows 2012-01,1000,many >months.csv
fault "an amount that is none" 2 \
	"months.csv:2: used: 'many' is not an amount of core-hours: it is not a plain decimal number; write it like 50000 or 0.25" 2012-01
rows 2012-13,1000,0 >months.csv
fault "a month that is none" 2 \
	"months.csv:2: month: '2012-13' is not a month; write it like 2024-02" 2012-01
printf 'month,allowance,used\n' >months.csv
fault "no months" 2 "months.csv:2: no month below the header; add a line 2024-02,1000,500" 2012-01
rows 2012-01,1000,0 2012-02,1000,0 >months.csv
fault "a month outside the period, which is named" 4 \
	"2012-03 is outside the accounting period 2012-01 to 2012-02" 2012-03
fault "an unknown rule" 2 \
	"unknown rule 'slide'; the rules are sliding and three-consecutive-months" 2012-01 --rule slide
fault "a month asked for that is none" 2 \
	"'february' is not a month; write it like 2024-02" february
out=$("$reeve" window --month 2012-01 2>&1)
is "without a table" "2 reeve window: --allowance FILE and --month YYYY-MM are needed" "$? $out"
is "json of the columns asked for" "available,mode" "$("$reeve" window --allowance view.csv --month 2012-02 --json -o available,mode | python3 -c "import json,sys; d=json.load(sys.stdin); d.pop(\"schema\"); print(*d, sep=\",\")")"
tap_end
