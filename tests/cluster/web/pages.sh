#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# pages.sh - the pages of a real controller as a browser asks for them: entry by `reeve web`, rights, hostile names, the same figures as CSV
# and JSON, headers. TAP.
# shellcheck disable=SC2317 # functions are called by soon
set -u
cd "$(dirname "$0")/../../.." || exit 1
. tests/cluster/lib/tap_lib.sh
. tests/cluster/lib/live_lib.sh
. tests/cluster/lib/play_lib.sh
[ "$(id -u)" = 0 ] || { echo "1..0 # SKIP needs root to exchange as several users"; exit 0; }
live_dir pages
live_munge
cp build/bin/reeve "$dir/reeve" # where other users may reach it
configure() {
	cat >"$dir/controller.conf" <<-CONF
		$(live_controller)
		${1:-}
		[Policy]
		${2:-PriorityWeightFairshare = 1000}
		[Cluster main]
		DefaultResources = jobfs=100MB,walltime=1:00:00
		[Account physics]
		Users = daemon
		[Account chemistry]
		Users = bin
	CONF
	printf '[Client]\nController = %s\nMungeSocket = %s/munge.sock\n' "$url" "$dir" >"$dir/reeve.conf"
	chmod 644 "$dir/reeve.conf"
}
live_open configure
link() { as "$1" "$dir/reeve" web --print --config "$dir/reeve.conf" 2>&1; }      # UID
enter() { web_enter "$dir/jar.$1" "$(link "$1")"; }                               # UID
get() { curl -s -b "$dir/jar.$1" "$url/web$2"; }                                   # UID PATH
status() { curl -s -o /dev/null -w '%{http_code}' -b "$dir/jar.$1" "$url/web$2"; }  # UID PATH
amounts='"ncpus":16,"mem_bytes":64000000000,"jobfs_bytes":100000000000,"ngpus":0'

like() { # NAME REGEX TEXT
	grep -qE -- "$2" <<<"$3"
	tap_result $? "$1" "$3"
}

# ---- entry ----
like "without a session a page says how to enter" 'reeve web' "$(curl -s "$url/web/jobs")"
is "with status 401" 401 "$(curl -s -o /dev/null -w '%{http_code}' "$url/web/jobs")"
is "/ leads to the pages" "303 $url/web/" "$(curl -s -o /dev/null -w '%{http_code} %{redirect_url}' "$url/")"
one=$(link $daemon)
like "reeve web prints a link to the controller" "^$url/web/enter\?ticket=[0-9a-f]{64}$" "$one"
like "its JSON has url and how long it is valid" '"url": "http.*valid_s|valid_s.*"url": "http' \
	"$(as $daemon "$dir/reeve" web --json --config "$dir/reeve.conf" | tr -d '\n')"
ticket=${one##*=} jar=$dir/jar.$daemon
post() { curl -s -D "$dir/headers" -w '%{http_code}' "${@:2}" -d "ticket=${1:-$ticket}" "$url/web/enter"; } # TICKET [OPTION]...
page=$(curl -s -D "$dir/headers" -c "$jar" "$one")
like "the link shows whose jobs it opens, and asks" '<button type="submit">Enter as daemon</button>' "$page"
is "the link itself opens no session" 401 "$(curl -s -o /dev/null -w '%{http_code}' -b "$jar" "$url/web/")"
like "the cookie of the page of entry is sent with no form of another site" \
	"^Set-Cookie: reeve-ticket=$ticket; Max-Age=120; Path=/web; HttpOnly; SameSite=Strict" "$(cat "$dir/headers")"
like "a form of another site, which comes without that cookie, opens no session" 'sent by another site, or too late.*401$' "$(post '' | tr -d '\n')"
other=$(link $bin)
curl -s -o /dev/null -c "$dir/jar.other" "$other"
like "a form with the ticket of one user, after a page for another, opens no session" 'sent by another site, or too late.*401$' "$(post '' -b "$dir/jar.other" | tr -d '\n')"
is "the form of the page opens a session" 303 "$(post '' -o /dev/null -b "$jar" -c "$jar")"
like "and leads to the pages" '^Location: /web/' "$(cat "$dir/headers")"
like "its cookie is for the pages alone, out of reach of scripts and other sites" \
	'^Set-Cookie: reeve=[0-9a-f]{64}; Max-Age=43200; Path=/web; HttpOnly; SameSite=Strict' "$(cat "$dir/headers")"
like "a link that was used is refused, with the reason" 'used before, or is older' "$(curl -s "$one")"
like "so is an invented one" 'used before, or is older' "$(curl -s "$url/web/enter?ticket=$(printf 'a%.0s' {1..64})")"
# a browser of the user's: it keeps its arguments, and a copy of the page that it is given
printf '#!/bin/sh\necho "$*" >%s/opened/arguments\ncp "$1" %s/opened/page\nstat -c "%%a %%U" "$1" >%s/opened/mode\n' "$dir" "$dir" "$dir" >"$dir/browser"
chmod 755 "$dir/browser" && install -d -m 700 -o $daemon "$dir/opened" "$dir/run"
in_terminal() { # [NAME=VALUE]...
	rm -f "$dir"/opened/*
	as $daemon env BROWSER="$dir/browser" "$@" script -qec "$dir/reeve web --config $dir/reeve.conf" /dev/null </dev/null | tr -d '\r'
}
out=$(in_terminal XDG_RUNTIME_DIR="$dir/run")
opened=$(grep -o '[0-9a-f]\{64\}' <<<"$out" | head -n 1)
[ -n "$opened" ] && ! grep -q "$opened" "$dir/opened/arguments"
tap_result $? "no argument of the browser has the ticket" "$(cat "$dir/opened/arguments"; echo "$out")"
like "it opens a page that leads to the link" "refresh content=\"0; url=$url/web/enter\?ticket=$opened\"" "$(cat "$dir/opened/page")"
is "only its user can read the page" "600 daemon" "$(cat "$dir/opened/mode")"
chmod 755 "$dir/run"
out=$(in_terminal XDG_RUNTIME_DIR="$dir/run")
like "in a directory that others can enter no page is written" 'no browser is opened: XDG_RUNTIME_DIR names no directory of yours alone' "$out"
is "and no browser is started" "" "$(ls "$dir/opened")"
is "an invented cookie opens nothing" 401 "$(curl -s -o /dev/null -w '%{http_code}' -H "Cookie: reeve=$(printf 'a%.0s' {1..64})" "$url/web/")"
is "one of 30,000 bytes is too large" 431 "$(curl -s -o /dev/null -w '%{http_code}' -H "Cookie: x=$(printf 'a%.0s' {1..20000}); reeve=$(printf 'a%.0s' {1..9000})" "$url/web/")"
is "the API knows no cookie" 401 "$(curl -s -o /dev/null -w '%{http_code}' -b "$dir/jar.$daemon" "$url/v1/jobs")"
is "root enters" 303 "$(enter 0)"
is "bin enters" 303 "$(enter $bin)"

# ---- what is shown ----
node_sync >/dev/null
submit() { job_number "$(ask "$1" POST /v1/jobs "$2")"; } # UID REQUEST
job=$(submit $daemon "$(job_request argv='"/bin/echo","<script>alert(1)</script>"')")
is "a job with markup in its command is submitted" 1 "$job"
for p in / /usage /usage?by=cluster /usage?by=user /jobs /jobs?state=ended "/job/$job" /share /quota /queue /nodes; do
	is "page $p" 200 "$(status $daemon "$p")"
	[[ $(get $daemon "$p") != *'<script'* ]] || tap_result 1 "page $p has no script of a job"
done
like "the command is text" '&lt;script&gt;alert\(1\)' "$(get $daemon "/job/$job")"
like "who is signed in" 'daemon' "$(get $daemon /)"
is "a page that is not there" 404 "$(status $daemon /nothing)"
is "a path upwards" 404 "$(curl -s --path-as-is -o /dev/null -w '%{http_code}' -b "$dir/jar.$daemon" "$url/web/../etc/passwd")"
is "a job that is not there" 404 "$(status $daemon /job/99)"
is "what is no number" 404 "$(status $daemon '/job/1%2f..%2f..')"
is "a wrong query is an error on the page" 400 "$(status $daemon '/usage?start=yesterday')"
like "with its words" 'start=yesterday is not a day' "$(get $daemon '/usage?start=yesterday')"
like "markup in the query is text" "value='\"&gt;&lt;b&gt;'" "$(get $daemon '/jobs?account=%22%3E%3Cb%3E')"

# ---- rights are those of the API ----
is "another user's job is not found" 404 "$(status $bin "/job/$job")"
[[ $(get $bin /jobs) != *daemon* && $(get $bin /jobs) == *"No job matches"* ]]; tap_result $? "nor is it in their list"
like "an operator sees it" '<td>daemon</td>' "$(get 0 /jobs)"
like "and is called one" 'operator' "$(get 0 /)"

# ---- for programs ----
like "CSV has the rows of the page" '^job,name,user' "$(get $daemon /jobs.csv)"
like "the same job" '^1,t,daemon,physics,main' "$(get $daemon /jobs.csv)"
is "JSON is the API's document" "$(ask $daemon GET /v1/jobs | sed -n '2p' | python3 -c 'import json,sys; print(json.load(sys.stdin)["jobs"][0]["job"])')" \
	"$(get $daemon /jobs.json | python3 -c 'import json,sys; print(json.load(sys.stdin)["jobs"]["jobs"][0]["job"])')"
like "CSV has the same query" '^$|^job' "$(get $daemon '/jobs.csv?state=ended' | head -n 1)"

# ---- headers ----
curl -s -D "$dir/headers" -o /dev/null -b "$dir/jar.$daemon" "$url/web/"
like "no script, nothing from elsewhere, no frame" "^Content-Security-Policy: default-src 'none'; style-src 'self'.*frame-ancestors 'none'" "$(cat "$dir/headers")"
like "types are not guessed" '^X-Content-Type-Options: nosniff' "$(cat "$dir/headers")"
like "pages are not stored" '^Cache-Control: no-store' "$(cat "$dir/headers")"
like "the style is" '^Cache-Control: max-age' "$(curl -s -D - -o /dev/null "$url/web/style.css")"

# ---- leaving ----
is "leaving by GET does not leave" 404 "$(status $daemon /logout)"
is "leaving leads to the entry" 303 "$(curl -s -o /dev/null -w '%{http_code}' -b "$dir/jar.$daemon" -X POST "$url/web/logout")"
is "and the session is over" 401 "$(status $daemon /)"
is "others' are not" 200 "$(status $bin /)"

# ---- priority, in the words of the scheduler in force ----
page_text() { get 0 "$1" | sed 's/<[^>]*>/ /g' | tr -s ' \n\t' ' '; }
whole='"ncpus":16,"vmem_bytes":1000000'
for _ in 1 2; do submit $daemon "$(job_request resources="$whole")" >/dev/null; done
like "by priority: the queue page names the order" 'Jobs start in order of priority' "$(enter 0 >/dev/null; page_text /queue)"
like "the share page says what Fair Tree's figures mean" 'FairShare is a place among all users, rank / users, and no score' "$(page_text /share)"
like "and that fairshare decides" 'jobs of the user with the largest FairShare start first' "$(page_text /share)"
like "the classic scale is one link away" '0.5 exactly the share, 0.25 twice the share' "$(page_text '/share?algorithm=classic')"
live_stop
live_open configure '' 'Scheduler = suspend'
for _ in 1 2 3; do submit $daemon "$(job_request resources="$whole")" >/dev/null; done
submit $bin "$(job_request account=chemistry resources="$whole")" >/dev/null
enter 0 >/dev/null
out=$(page_text /queue)
like "shuffled: the queue page names the shuffle" 'Queues are shuffled' "$out"
[[ $out != *"rder of submission"* && $out != *"rder of priority"* && $out != *"Place"* ]]; tap_result $? "and neither of submission nor of places" "$out"
out=$(page_text /share)
like "the shares page says that they order nothing" 'Fairshare orders no jobs here: queues are shuffled' "$out"
[[ $out != *"start later"* && $out != *"start first"* && $out != *"come later"* ]]; tap_result $? "and not that jobs start later" "$out"

# ---- a site's own unit ----
live_stop
rm -f "$dir"/ledger.db*
live_open configure '' $'[Cluster main]\nUnit = service-units'
node_sync >/dev/null
job=$(submit $daemon "$(job_request)")
starts_it() { [[ $(node_sync wait=1) == *"\"job\":$job"* ]]; }
for _ in $(seq 20); do starts_it && break; done
node_sync jobs="$(job_entry "$job" ended)" reports="$(job_report "$job" 1 ended started_s=$(($(date +%s) - 2)) running_s=2)" >/dev/null
enter $daemon >/dev/null
text() { get $daemon "$1" | sed 's/<[^>]*>/ /g' | tr -s ' \n\t' ' '; }
like "what a job was charged" '0.001 SU were charged' "$(text "/job/$job")"
like "what is charged in this period" 'Charged, SU physics your own usage cpu' "$(text /)"
like "the figures of a list of jobs" '"Charged": SU;' "$(text /jobs)"
like "the usage of a group" 'Charged, SU' "$(text /usage)"
[[ $(text /)$(text "/job/$job")$(text /jobs)$(text /usage)$(text /quota) != *"equivalent"* ]]; tap_result $? "no page counts in equivalents"
like "nor does the command" 'charged    0.000[0-9]* SU ' "$(as $daemon "$dir/reeve" job --config "$dir/reeve.conf" "$job")"

# ---- a site without pages ----
live_stop
live_open configure 'Web = no'
like "at a site without pages reeve web is refused, with the reason" 'serves no pages' "$(link $daemon)"
is "and has none" 404 "$(curl -s -o /dev/null -w '%{http_code}' "$url/web/")"
tap_end
