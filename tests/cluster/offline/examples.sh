#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# examples.sh - `reeve admin check-config --examples`: every figure that a site has published holds
# under its profile, stands in the page that is named, and no longer holds where a weight is changed.
# TAP. The pages are looked up in $REEVE_SOURCES, or in ../shared/sources where that is.
set -u
cd "$(dirname "$0")/../../.." || exit 1
. tests/cluster/lib/tap_lib.sh
reeve=$PWD/build/bin/reeve
dir=$(mktemp -d /tmp/reeve-examples-XXXXXX) || exit 1
trap 'rm -rf "$dir"' EXIT
export HOME=$dir
unset REEVE_CONTROLLER REEVE_PROFILES XDG_CONFIG_HOME
sources=${REEVE_SOURCES:-$(for d in ../shared/sources ../../shared/sources; do [ -d "$d" ] && echo "$d" && break; done)}
check() { "$reeve" admin check-config "$@" 2>&1; }

# ---- all of them hold, and say where they are from ----
cat >"$dir/quotes.py" <<'PY'
import re, sys
for path in sys.argv[2:]:
    source = None
    for n, line in enumerate(open(path), 1):
        key, _, value = line.rstrip("\n").partition(" = ")
        if key == "Source":
            source = value.rsplit(":", 1)
        elif key == "Says":
            page = open("%s/%s" % (sys.argv[1], source[0])).read().split("\n")
            if value not in page[int(source[1]) - 1]:
                print("%s:%d: not in %s" % (path, n, ":".join(source)))
PY
figures=0
for p in units/profiles/*.conf; do
	name=$(basename "$p" .conf)
	out=$(check --examples "$name")
	is "$name: every published figure holds" "0 1" "$? $(grep -Ec '^[^ ]*\.conf: ([0-9]+) of \1 published figures hold$' <<<"$out")"
	figures=$((figures + $(check --examples "$name" --csv -n | wc -l)))
done
is "the profiles have more than 200 figures" 1 "$((figures > 200))"
if [ -n "$sources" ]; then
	is "every figure's words stand in the line that it names" "" "$(python3 "$dir/quotes.py" "$sources" units/profiles/*.examples 2>&1)"
else
	skip "every figure's words stand in the line that it names" "the pages are not here"
fi

# ---- an operator changes a weight ----
changed() { # PROFILE SED WORDS...: of a site's file on that profile
	local profile=$1 change=$2 out
	shift 2
	sed "$change" "units/profiles/$profile.conf" >"$dir/site.conf"
	out=$(check "$dir/site.conf" --examples "$profile")
	is "$profile, $change: exit 1" 1 $?
	for words; do has "$profile: $words" "$words" "$out"; done
}
changed alliance-narval 's/= 127000MB/= 120000MB/' \
	'a node of 4 GPUs, 48 cores and 508000 MB is four bundles: rate is published as 4, and is 4.2333' \
	'(000_d36bf0026a076f22.txt:' 'A100/40GB nodes: 1 GPU / 12 cores / 127000 MB'
changed alliance-cedar 's/MemoryUnit = binary/MemoryUnit = as-written/' \
	'a core with its memory is one core equivalent: rate is published as 1, and is 1.073741824 here'
changed bmrc 's/^PriorityWeightAge.*/PriorityWeightAge = 7/' \
	'weight of age: PriorityWeightAge of [Policy] is published as 10000000, and is 7 here'
changed bmrc 's/fair-tree/classic/' 'FairShare of bloggs.prj/xyz789 is published as 0.764658'
changed mlcloud 's/^Quota.*/Quota = grant/' 'over-use stops nothing'
changed nci 's/^Factor = 3/Factor = 4/' 'charge is published as 72, and is 96 here'
changed rwth 's/^Quota.*/Quota = window-3x/' 'published'
printf '[Policy]\nProfile = rwth\n[Cluster rwth]\nUnit = service-units\n[Queue normal]\nFactor = 2\n' >"$dir/site.conf"
out=$(check "$dir/site.conf" --examples rwth)
is "a site's file on a profile" 1 $?
has "... is what is checked" "16 cores for 90 minutes: charge is published as 24, and is 48 here" "$out"
is "programs get a row a figure" "yes no" "$(check "$dir/site.conf" --examples rwth --csv -n -o holds | sort -u -r | xargs)"

# ---- the file is strict ----
cp units/profiles/nci.conf "$dir/x.conf"
fault() { # WORDS TEXT
	printf '%b' "$2" >"$dir/x.examples"
	out=$(check --examples "$dir/x.examples")
	is "a fault: $1" "1 1" "$? $(grep -cF -- "$dir/x.examples$1" <<<"$out")"
}
some='[Cost a]\nSource = x:1\nSays = y\n'
good=$some'Request = ncpus=2\nRate = 2\n'
printf '%b' "$good" >"$dir/x.examples"
is "a file of one's own" "$dir/x.conf: 1 of 1 published figures hold" "$(check --examples "$dir/x.conf")"
fault ", line 1: unknown section [Prices]; known are: " '[Prices x]\n'
fault ", line 4: unknown key 'Rates' in [Cost]; did you mean 'Rate'?" "${some}Rates = 2\n"
fault ", line 5: Rate: 'two' is not an amount" "${some}Request = ncpus=1\nRate = two\n"
fault ", line 2: Source: write FILE:LINE" '[Cost a]\nSource = page\n'
fault ", line 4: Request: unknown resource 'cores'" "${some}Request = cores=1\n"
fault ", line 5: Rate is already set" "${some}Rate = 1\nRate = 1\n"
fault ", line 6: [Cost a]: there is an example of that name" "$good$some"
fault ", line 1: [Cost a]: it lacks Rate or Charge" "${some}Request = ncpus=1\n"
fault ", line 1: [Cost a]: it lacks Says" '[Cost a]\nSource = x:1\nRequest = ncpus=1\nRate = 1\n'
fault ", line 4: Months: '1000': write MONTH=ALLOWANCE/USED" "${some/Cost/Window}Months = 2012-01=1000\n"
fault ", line 1: [Tree a]: 'b' is below no account before it" "${some/Cost/Tree}Shares = b<a=1\nFairShare = b=1\n"
fault ", line 1: [Tree a]: 'a' is there twice" "${some/Cost/Tree}Shares = a=1; a=2\nFairShare = a=1\n"
fault ", line 1: [Tree a]: more than 200000 rows" "${some/Cost/Tree}Shares = a=1: *9999999999\nFairShare = a=1\n"
fault ", line 1: [Tree a]: usage of 'b', which is not there" "${some/Cost/Tree}Shares = a=1\nUsage = b=1\nFairShare = a=1\n"
fault " has no examples" '# none\n'
tap_end
