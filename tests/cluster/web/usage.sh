#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# usage.sh - the pages of group usage, quotas and shares over half an allocation year of a site: the figures of the API, the same in HTML,
# CSV and JSON, rights, hostile names. TAP.
# shellcheck disable=SC2317 # functions are called by name
set -u
cd "$(dirname "$0")/../../.." || exit 1
. tests/cluster/lib/tap_lib.sh
. tests/cluster/lib/live_lib.sh
. tests/cluster/lib/play_lib.sh
. tests/cluster/lib/group_lib.sh
[ "$(id -u)" = 0 ] || { echo "1..0 # SKIP needs root to exchange as several users"; exit 0; }
live_dir webusage
live_munge
group_open target
enter() { web_enter "$dir/jar.$1" "$(as "$1" "$dir/reeve" web --print --config "$dir/reeve.conf" 2>&1)" >/dev/null; } # UID
get() { curl -s -b "$dir/jar.$1" "$url/web$2"; }                                  # UID PATH
status() { curl -s -o /dev/null -w '%{http_code}' -b "$dir/jar.$1" "$url/web$2"; } # UID PATH
text() { get "$1" "$2" | sed 's/<[^>]*>/ /g' | tr -s ' \n' ' '; }                  # UID PATH: without markup
like() { # NAME REGEX TEXT
	grep -qE -- "$2" <<<"$3"
	tap_result $? "$1" "$3"
}
unlike() { # NAME REGEX TEXT
	! grep -qE -- "$2" <<<"$3"
	tap_result $? "$1" "$3"
}
json() { get "$1" "$2" | python3 -c "import json,sys; d=json.load(sys.stdin); print($3)"; } # UID PATH EXPRESSION
for u in 0 $daemon $bin; do enter "$u"; done
last=$(date -u -d "$group_last-01 +1 month" +%Y-%m-%d)

# ---- three tabs ----
page=$(text $daemon /usage)
like "by allocation project: what of the allocation is used" 'rrg-curie Radium &amp; its salts cpu [0-9]+\.[0-9] %' "$page"
like "and how much of the period is gone" 'From [0-9-]+ up to [0-9-]+, not included ?: [0-9]+\.[0-9] % of it is gone' "$page"
like "why core-years and equivalents differ" 'they are more where memory decided' "$page"
like "by compute resource" 'Cluster Pool .*(narval cpu .*cedar cpu|cedar cpu .*narval cpu)' "$(text $daemon '/usage?by=cluster')"
like "by submitter, who used most first" 'Submitter Pool .* (bin|daemon) cpu .*(bin|daemon) cpu' "$(text $daemon '/usage?by=user')"
like "months, with a link to the submitters of each" "By month Month .*$group_last , cpu cpu .* submitters" "$page"
like "years to choose from, the one before too" "this month \([0-9-]+\) last month \($group_last\) [0-9/]+ [0-9/]+ " "$page"
like "a sentence has the project that used most, and its part" 'Most of cpu: rrg-curie with [0-9.]+ equivalent years, 9[0-9]\.[0-9] % of what all used' "$page"
like "which stands in the first row" 'Show rrg-curie Radium' "$page"

year=$(grep -oE 'From [0-9]{4}-[0-9]{2}-[0-9]{2}' <<<"$page" | head -n 1 | cut -d' ' -f2)
ask 0 POST /v1/outages "{\"schema\":\"reeve/1\",\"from\":\"$year\",\"to\":\"${year}T12:00\",\"reason\":\"cooling\"}" >/dev/null
like "a declared outage is left out of the mark" 'of it is gone, [0-9.]+ % without the outages that were declared' "$(text $daemon /usage)"
ask 0 POST /v1/outages/remove '{"schema":"reeve/1","id":1}' >/dev/null
unlike "one that was removed is not" 'without the outages' "$(text $daemon /usage)"

# ---- cluster, project, submitter, month ----
# The first link of a page whose text is TEXT.
link() { get "$1" "$2" | tr -d '\n\t' | sed 's/&amp;/\&/g' | grep -oE "<a href=\"/web[^\"]*\">$3<" | head -n 1 | cut -d'"' -f2 | cut -c5-; } # UID PATH TEXT
at=$(link $daemon '/usage?by=cluster' narval)
is "a cluster opens to its projects" "/usage?by=account&cluster=narval" "$at"
at=$(link $daemon "$at" rrg-curie)
is "a project of it to the submitters" "/usage?by=user&cluster=narval&account=rrg-curie" "$at"
at=$(link $daemon "$at" daemon)
is "a submitter of that to the months" "/usage?by=month&cluster=narval&account=rrg-curie&user=daemon" "$at"
like "which are those of this submitter there" "daemon in project rrg-curie on narval.*Months .*$group_last , cpu cpu" "$(text $daemon "$at")"
unlike "once" 'By month' "$(text $daemon "$at")"

# ---- one project ----
page=$(text $daemon '/usage?by=user&account=rrg-curie')
like "title and owners" 'Title Radium &amp; its salts Owners daemon' "$page"
like "when it is used up" 'At the rate of the last 30 days .*the period ends on|The allocation is used up' "$page"
like "storage is what was allotted, in the units of the file, and no reading yet" 'Storage: 10.0 TB allotted. No reading of what it occupies was imported' "$page"
printf 'project,filesystem,bytes,files,limit,time\nrrg-curie,/project,4.2TB,1234567,10TiB,2026-11-21T14:03:11Z\ndef-meitner,/project,3GiB,,,2026-11-20T00:00:00Z\n' |
	"$dir/reeve" admin storage import --config "$dir/reeve.conf" - >"$dir/imported" 2>&1 || sed 's/^/# /' "$dir/imported"
page=$(text $daemon '/usage?by=user&account=rrg-curie')
like "storage that was imported stands beside what was allotted, with its time" \
	'Storage: 10.0 TB allotted. /project: 4.20 TB used, read 2026-11-21 [0-9:]+' "$page"
like "and in a table, all of a row in one unit" 'rrg-curie /project 4.20 TB 11.0 TB 10.0 TB 38.2 % 1,234,567 2026-11-21' "$page"
unlike "of that project alone" 'def-meitner /project' "$page"
like "the page of all projects has the storage of each" 'def-meitner /project 3.00 GiB - - - - 2026-11-20 .*rrg-curie /project 4.20 TB' "$(text $daemon /usage)"
like "quotas have it with each allocation" 'Storage: 10.0 TB allotted. /project: 4.20 TB used, read 2026-11-21' "$(text $daemon /quota)"
unlike "a stranger to the projects sees none of it" '4.20 TB' "$(text $stranger /usage; text $stranger /quota)"
page=$(text $daemon "/usage?by=user&account=rrg-curie&start=$group_last-01&end=$last")
like "who used most in a month: bin, 4,000 of 5,000 core-hours" 'Submitter Pool .* bin cpu 0.4566 0.4566 .* daemon cpu' "$page"
like "what one submitter used, by cluster" 'daemon in project rrg-curie .*narval cpu.*cedar cpu|cedar cpu.*narval cpu' "$(text $daemon '/usage?by=cluster&account=rrg-curie&user=daemon')"
unlike "and nothing of others" ' bin ' "$(text $daemon '/usage?by=user&account=rrg-curie&user=daemon')"

# ---- the same for programs ----
is "JSON has what is shown" "$(text $daemon '/usage?by=user&account=rrg-curie' | grep -oE 'bin cpu [0-9.]+' | head -n 1 | cut -d' ' -f3)" \
	"$(json $daemon '/usage.json?by=user&account=rrg-curie' "'%.2f' % ([r for r in d['usage']['rows'] if r['user']=='bin' and r['pool']=='cpu'][0]['counts_ms']/8760/3600e3)")"
is "CSV has the rows of the table" "$(json $daemon '/usage.json?by=user' "len(d['usage']['rows'])")" "$(get $daemon '/usage.csv?by=user' | tail -n +2 | wc -l)"
is "by month everything is there once" "$(json $daemon '/usage.json?by=cluster' "sum(r['counts_ms'] for r in d['usage']['totals'])")" \
	"$(json $daemon '/usage.json?by=cluster' "sum(r['counts_ms'] for r in d['months']['rows'])")"
is "a limit leaves rows out, and the document has how many" "1 True" \
	"$(ask 0 GET '/v1/usage?by=cluster&limit=1&scope=group' | sed -n 2p | python3 -c 'import json,sys; d=json.load(sys.stdin); print(len(d["rows"]), d["left_out"] >= 1)')"
is "an unknown scope is refused" 400 "$(ask 0 GET '/v1/usage?scope=all' | head -n 1 | grep -oE '[0-9]{3}' | head -n 1)"

# ---- rights ----
is "a coordinator sees the submitters of the project" "bin daemon" "$(json $daemon '/usage.json?by=user&account=rrg-curie' "' '.join(sorted({r['user'] for r in d['usage']['rows']}))")"
is "and of a project where they are a member their own usage" "True" "$(json $daemon /usage.json "[r.get('own_only') for r in d['usage']['rows'] if r['account']=='def-meitner'][0]")"
is "which is compared with no allocation" "False" "$(json $daemon /usage.json "any('allocation_ms' in r for r in d['usage']['rows'] if r['account']=='def-meitner')")"
is "a member sees their own usage alone" "bin" "$(json $bin '/usage.json?by=user&account=rrg-curie' "' '.join(sorted({r['user'] for r in d['usage']['rows']}))")"
like "and the page says that it is theirs alone" 'Your own usage .*in project rrg-curie' "$(text $bin '/usage?by=user&account=rrg-curie')"
unlike "to a coordinator it does not" 'Your own usage' "$(text $daemon '/usage?by=user&account=rrg-curie')"
is "in all projects" "bin" "$(json $bin '/usage.json?by=user' "' '.join(sorted({r['user'] for r in d['usage']['rows']}))")"
is "another's is refused" 403 "$(status $bin '/usage?user=daemon&account=rrg-curie')"
is "in all projects too" 403 "$(status $bin '/usage?user=daemon&by=account')"
is "a project of others has no row" "" "$(json $bin /usage.json "' '.join(r['account'] for r in d['usage']['rows'] if r['account']=='rpp-empty')")"
like "an operator sees every project" 'rpp-empty|x&quot;|&lt;b&gt;' "$(text 0 /usage)"

# ---- shares: where the reader stands ----
page=$(text $daemon /share)
like "a sentence says what the place means" 'rrg-curie on narval, cpu: Place [1-5] of 5 users.*where fairshare decides.*of at most 100000 to the priority' "$page"
like "the reader's row is marked" 'daemon \(you, place [1-5] of 5\)' "$page"
like "in HTML too" '<tr class="own">' "$(get $daemon /share)"
like "a coordinator sees the users of the account" 'rrg-curie \(yours\).* bin ' "$page"
unlike "a member does not" ' daemon ' "$(text $bin /share | sed 's/.*Leave//')"
is "JSON has the place that is shown" "$(grep -oE 'you, place [1-5]' <<<"$page" | head -n 1 | grep -oE '[1-5]')" \
	"$(json $daemon /share.json "[s for s in d['share']['stand']][0]['place']")"
is "a page of rows, and how to get the next" "3 True" "$(ask $daemon GET '/v1/share?limit=3' | sed -n 2p | python3 -c 'import json,sys; d=json.load(sys.stdin); print(len(d["rows"]), d["next"] == 3)')"
like "reeve share has the sentence" 'rrg-curie on narval, cpu: Place [1-5] of 5 users' "$(as $daemon "$dir/reeve" share --config "$dir/reeve.conf" 2>&1)"

# ---- quotas, by each rule ----
like "a target of years is compared with years" 'The target of 4\.00 core-equivalent years in the period Part core-equivalent years Of the target Used [0-9]\.[0-9]+ .*All months of the period Month Used, core-equivalent years' "$(text $daemon '/quota?account=rrg-curie')"
like "of GPUs too" 'The target of 0\.2000 GPU-equivalent years in the period Part GPU-equivalent years' "$(text $daemon '/quota?account=rrg-curie')"
unlike "and has no figure in hours" 'equivalent hours' "$(text $daemon '/quota?account=rrg-curie')"
like "a member reads that the other users are not shown" 'Your own part; coordinators see that of all users' "$(text $bin '/quota?account=rrg-curie')"
unlike "a coordinator reads no such note" 'Your own part' "$(text $daemon '/quota?account=rrg-curie')"
like "a target: used, due and projected" 'Used .*Due by now .*Projected, as in the last 30 days' "$(text $daemon '/quota?account=rrg-curie')"
like "reeve usage --group has the projects of a coordinator, and when they are used up" 'rrg-curie.*Radium' "$(as $daemon "$dir/reeve" usage --group --config "$dir/reeve.conf" 2>&1)"
live_stop
group_open grant
enter $daemon
page=$(text $daemon '/quota?account=rrg-curie')
like "a grant is used, reserved and available" 'The grant of 25,000.0 .*Used [0-9,.]+ .*Reserved 0 .*Available -?[0-9,.]+' "$page"
is "which add up" True "$(json $daemon '/quota.json?account=rrg-curie' "all(q['total_ms']==q['used_ms']+q['reserved_ms']+q['available_ms'] for q in d['quota']['quotas'])")"
like "months of the period too" "All months of the period .*$group_last" "$page"
live_stop
group_open window
enter $daemon
page=$(text $daemon '/quota?account=rrg-curie')
like "a window: three months" 'The three months of the window .*Previous 3,500.0 [0-9,.]+ used .*Current 3,500.0 .*Next 3,500.0 [0-9,.]+ borrowed' "$page"
like "all twelve months, those to come too" "All months of the period Month .*$(date -u +%Y-%m) \(now\).* to come" "$page"
is "twelve rows" 12 "$(as $daemon "$dir/reeve" quota -p def-meitner --by month --csv --noheader --config "$dir/reeve.conf" | wc -l)"
is "which sum up to what is used" True "$(json $daemon '/quota.json?account=rrg-curie' "all(sum(m['used_ms'] for m in q['months'])==q['used_ms'] for q in d['quota']['quotas'])")"
live_stop
live_open group_configure target
enter 0

# ---- hostile names ----
page=$(get 0 /usage)
like "markup in a project's name is text" '&lt;b&gt;&amp;"x"&lt;/b&gt;|&lt;b&gt;&amp;&quot;x&quot;&lt;/b&gt;' "$page"
like "in a link it is encoded" 'account=%3Cb%3E%26%22x%22%3C%2Fb%3E' "$page"
unlike "it is no element" '<b>&' "$page"
printf '%s' "$page" | iconv -f UTF-8 -t UTF-8 >/dev/null 2>&1
tap_result $? "a name that is no UTF-8 leaves the page UTF-8"
is "its link leads to the project" 200 "$(status 0 '/usage?by=user&account=%3Cb%3E%26%22x%22%3C%2Fb%3E')"
unlike "a submitter's markup neither" "o'<i>" "$(get 0 '/usage?by=user')"
is "a project that is not there" 404 "$(status 0 '/usage?account=nothing')"

# ---- sums that are not kept are read in turns: a part in each, of six pages at once ----
views() {
	local cluster day
	for cluster in narval cedar; do
		for day in 03 09 17; do echo "/usage.json?by=user&cluster=$cluster&start=${group_from%-*}-$day"; done
	done
}
rows_of() { # FILE: the rows of each page, as they came
	local view k=0
	for view in $(views); do
		k=$((k + 1))
		get 0 "$view" >"$dir/turn.$k" &
		pages_pids[k]=$!
	done
	wait "${pages_pids[@]}"
	for ((k = 1; k <= 6; k++)); do python3 -c "import json,sys; print(json.dumps(json.load(open(sys.argv[1]))['usage']['rows'], sort_keys=True))" "$dir/turn.$k"; done >"$1"
}
again() { # [NAME=VALUE]: a controller that has read nothing of these
	live_stop
	export "$@"
	live_start || bail "the controller does not start again: $(cat "$dir/controller.log")"
	enter 0
}
again REEVE_TURN_NS=1
rows_of "$dir/turns.txt"
again REEVE_TURN_NS=1000000000
rows_of "$dir/whole.txt"
unset REEVE_TURN_NS
is "pages that were read in turns have the rows of those that were not" "$(cat "$dir/whole.txt")" "$(cat "$dir/turns.txt")"
is "each has some" 6 "$(grep -c '"user"' "$dir/turns.txt")"
tap_end
