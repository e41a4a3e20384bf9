#!/bin/bash
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
enter() { curl -s -o /dev/null -c "$dir/jar.$1" "$(as "$1" "$dir/reeve" web --print --config "$dir/reeve.conf" 2>&1)"; } # UID
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
like "months, with a link to the submitters of each" "By month Month .*$group_last cpu .* submitters" "$page"
like "years to choose from, the one before too" "this month last month [0-9/]+ [0-9/]+ " "$page"

# ---- one project ----
page=$(text $daemon '/usage?by=user&account=rrg-curie')
like "title and owners" 'Title Radium &amp; its salts Owners daemon' "$page"
like "when it is used up" 'At the rate of the last 30 days .*the period ends on|The allocation is used up' "$page"
like "storage is what was allotted: none is measured" 'Storage: 9.09 TiB allotted. Reeve does not measure project storage' "$page"
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
is "in all projects" "bin" "$(json $bin '/usage.json?by=user' "' '.join(sorted({r['user'] for r in d['usage']['rows']}))")"
is "another's is refused" 403 "$(status $bin '/usage?user=daemon&account=rrg-curie')"
is "in all projects too" 403 "$(status $bin '/usage?user=daemon&by=account')"
is "a project of others has no row" "" "$(json $bin /usage.json "' '.join(r['account'] for r in d['usage']['rows'] if r['account']=='rpp-empty')")"
like "an operator sees every project" 'rpp-empty|x&quot;|&lt;b&gt;' "$(text 0 /usage)"

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
tap_end
