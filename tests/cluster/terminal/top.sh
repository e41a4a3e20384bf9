#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# top.sh - `reeve top` against a real controller: in a terminal of 80x24 and 200x50 driven by keys, once for pipes and programs, and
# what becomes of the terminal and of the data when a signal comes or the controller is lost. TAP.
# shellcheck disable=SC2317 # functions are called by soon
set -u
cd "$(dirname "$0")/../../.." || exit 1
. tests/cluster/lib/tap_lib.sh
. tests/cluster/lib/live_lib.sh
. tests/cluster/lib/play_lib.sh
. tests/cluster/lib/past_lib.sh
. tests/cluster/terminal/top_lib.sh
[ "$(id -u)" = 0 ] || { echo "1..0 # SKIP needs root to be nodes and users"; exit 0; }
live_dir top
trap 'screen_close; live_end' EXIT
top_site
top() { # UID [ARG]...
	local uid=$1
	shift
	as "$uid" "$dir/reeve" top --config "$dir/reeve.conf" "$@" </dev/null
}
exits() { # NAME CODE COMMAND...: what it said is in $said
	local name=$1 code=$2
	shift 2
	said=$("$@" 2>&1)
	is "$name" "exit $code" "exit $?"
}
json() { python3 -c "import json,sys; d=json.load(sys.stdin); print($1)"; } # EXPRESSION of d

# ---- what the documents say ----
doc() { ask "$1" GET "$2" | sed -n 2p; } # UID PATH
is "the sums of all nodes come with no node" "0 1 1 32 14 3" \
	"$(doc 1 '/v1/nodes?totals=1&limit=0' | json "len(d['nodes']), d['totals']['up'], d['totals']['drain'], d['totals']['capacity']['ncpus'], d['totals']['held']['ncpus'], d['totals']['jobs_by_state']['running']" | tr -d '(),')"
is "a list that was cut says how many nodes it lacks" 1 "$(doc 1 '/v1/nodes?limit=1' | json "d['left_out']")"
is "one node alone" n2 "$(doc 1 '/v1/nodes?node=n2&limit=1' | json "d['nodes'][0]['node']")"
has "a node that is not there is an error" "no node 'n3'" "$(ask 1 GET '/v1/nodes?node=n3')"
has "without brief a job has its environment" '"env"' "$(doc 1 /v1/jobs/1)"
lacks "with brief it has not: a screen needs no script every five seconds" '"env"' "$(doc 1 '/v1/jobs/1?brief=1')"

# ---- once ----
text=$(top 0 --once)
has "a page says what is in use" 'Cores ' "$text"
has "of how much" '14 of 32' "$text"
has "and which jobs run" 'molecules' "$text"
has "what is nearly exceeded is said in words" '98% of its vmem' "$text"
has "so is what is idle" '7.9 of 8 cores idle' "$text"
is "a page for a pipe has no escape" '' "$(grep -P '[\x00-\x09\x0b-\x1f\x7f]' <<<"$text")"
is "with COLUMNS no line is longer" '' "$(COLUMNS=60 top 0 --once | grep -E '.{61}')"
has "colour comes when it is asked for" $'\e[' "$(top 0 --once --color always)"
lacks "what a node writes does not move the cursor" $'\e' "$(top 0 --once --node n1)"
has "but is shown" '\033[31m' "$(top 0 --once --node n1)"
has "the map of cores has each job" 'ccccbbaa aaaaaa..' "$(top 0 --once --node n1)"
has "the queue says why" 'needs 16 cores' "$(top 0 --once --list queued)"
has "nodes say why they are drained" 'drained by root: new disks' "$(top 0 --once --list nodes)"
is "the account with most idle cores comes first" chemistry "$(top 0 --list accounts --csv | sed -n 2p | cut -d, -f1)"
is "sorted the other way it comes last" physics "$(top 0 --list accounts --sort -IDLE --csv | sed -n 2p | cut -d, -f1)"
is "a filter keeps what shows it" brim "$(top 0 --filter BRIM --csv -o name -n)"
is "JSON is of what is shown" '3 lazy running 14' \
	"$(top 0 --json | json "len(d['rows']), d['rows'][0]['name'], d['list'], d['meters'][0]['used']" | tr -d "(),'")"
is "of a job too" '4 3900' "$(top 0 --job 1 --json | json "int(d['meters'][0]['of']), round(d['meters'][0]['used']*1000)" | tr -d '(),')"
has "a user sees their own jobs" lazy "$(top 2 --once)"
lacks "not those of others" molecules "$(top 2 --once)"
exits "a job of others is not found" 4 top 2 --once --job 1
exits "nor is a node that is not there" 4 top 0 --once --node n3

# ---- wrong usage ----
exits "without a terminal the live screen is refused" 2 top 0
has "with the way out" '--once' "$said"
exits "an unknown column is" 2 top 0 --once --sort wings
has "with those that there are" 'cpu_percent' "$said"
exits "a delay of nothing is" 2 top 0 --delay 0
exits "a list that is none is" 2 top 0 --list acounts
has "with the nearest" 'accounts?' "$said"
exits "what is no job is" 2 top 0 --once --job twelve
exits "a job and a node at once are" 2 top 0 --job 1 --node n1
exits "no controller: its own status" 3 top 0 --once --controller http://127.0.0.1:1
command -v tmux >/dev/null || { skip "the screen" "no tmux"; tap_end; }
screen_env="TERM=dumb" screen_open 0 80 24
shows "a terminal that cannot move its cursor is refused" 'TERM is dumb'
shows "naming --once" '--once'
screen_env="-u TERM" screen_open 0 80 24
shows "so is one without a name" 'TERM is not set'
screen_env="TERM=no-such" screen_open 0 80 24
shows "and one that is not known" 'no-such'

# ---- a terminal of 80x24 ----
fits() { # NAME WIDTH: no line is longer
	is "$1" '' "$(screen | grep -E ".{$(($2 + 1))}")"
}
rows() { screen | grep -oE '(molecules|brim|lazy)' | tr '\n' ' '; }
is_soon() { # NAME EXPECTED COMMAND...
	local end=$((SECONDS + 20))
	until [ "$("${@:3}")" = "$2" ] || [ $SECONDS -ge $end ]; do sleep 0.05; done
	is "$1" "$2" "$("${@:3}")"
}
screen_open 0 80 24 --delay 1
shows "the screen has the jobs" molecules
shows "the keys" 'h help'
fits "within 80 columns" 80
is "the largest job is first" 'lazy molecules brim ' "$(rows)"
press r
is_soon "r reverses" 'brim molecules lazy ' rows
press r '<'
shows "< sorts by the column before" 'NODE^'
press '>' '>'
shows "> by the next that is shown: NOW has no room here" 'IDLEv'
press '<' '<'
press /
shows "/ asks for a text" 'Filter'
press -l mol
is_soon "and filters while it is typed" 'molecules ' rows
press Enter
shows "the filter is shown" 'filter: mol'
press Escape
is_soon "Escape clears it" 3 eval 'rows | wc -w'
press 2
shows "2 is the queue" patient
shows "why the selected job waits is said in full, below" '4: This job is next in the queue. It needs 16 cores'
press Tab
shows "Tab is the next list, the nodes" '[3 nodes]'
press Down Enter
shows "Enter opens the node" 'node n2, drain'
press Escape
shows "Escape leads back" '[3 nodes]'
press 4
shows "4 is accounts" chemistry
press Enter
shows "Enter shows the account's jobs" 'account chemistry'
is_soon "alone" 'lazy brim ' rows
press Escape 1
shows "and back" '[1 running]'
press Home Enter
shows "Enter opens a job" 'busy on average'
top_report 20
shows "after another report there is what the job does now" '; now 0.10'
fits "a job fits 80 columns" 80
press Escape h
shows "h lists the keys" 'open the node of the selected job'
press q
shows "and any key closes it" '[1 running]'
press u
shows "u asks for a user" 'User (empty'
press -l daemon
press Enter
shows "whose jobs are shown" 'user daemon'
press u C-u Enter d C-u
press -l 0
press Enter
shows "a delay of nothing is refused" '1 to 3600'
press z
shows "another key says where the keys are" "'z' is no key"

# ---- another size ----
press Home
tmux_do resize-window -x 200 -y 50
shows "a larger screen has more columns" RUNNING
fits "within 200 columns" 200
is_soon "and 50 lines: the keys are on the last" 1 eval 'screen | tail -n 1 | grep -c "h help"'
tmux_do resize-window -x 40 -y 10
shows "a small one still has the jobs" '3 bin'
fits "within 40 columns" 40
tmux_do resize-window -x 80 -y 24

# ---- a lost controller ----
live_stop
shows "without an answer the screen says since when" 'No answer since'
shows "and keeps the data" molecules
press 3
shows "what cannot be opened is not: the list stays" '[1 running]'
live_start || bail "the controller does not start again"
is_soon "when it is back, so is the screen" 0 eval 'screen | grep -c "No answer"'

# ---- the terminal afterwards ----
restored() { # NAME STATUS
	shows "$1: exit status $2" "left with $2"
	until_has ';' cat "$dir/stty"
	has "$1: the terminal echoes again" ' echo ' "$out"
	has "$1: and reads lines" ' icanon ' "$out"
	rm -f "$dir/stty"
}
top_pid() { pgrep -f "^$dir/reeve top"; }
press q
restored "q" 0
for s in INT:130 TERM:143 HUP:129 QUIT:131; do
	screen_open 0 80 24
	shows "a screen again" molecules
	kill -"${s%:*}" "$(top_pid)"
	restored "SIG${s%:*}" "${s#*:}"
done
screen_open 0 80 24
shows "a screen for Ctrl-C" molecules
press C-c
restored "Ctrl-C" 130
screen_env="NO_COLOR=1" screen_open 0 80 24
shows "a screen without colour" molecules
is "NO_COLOR: none is used" 0 "$(screen -e | grep -cE $'\e''\[[0-9;]*3[0-7]m')"
screen_open 0 80 24
shows "a screen with colour" molecules
[ "$(screen -e | grep -cE $'\e''\[[0-9;]*3[0-7]m')" -gt 0 ]
tap_result $? "else it is" "$(screen -e)"

# ---- other commands on a terminal of 80 columns ----
verb_open 1 80 24 jobs
shows "reeve jobs ends" 'left with 0'
is "each job of reeve jobs is one line of 80 columns" 4 "$(screen | grep -c .)"
has "which says why a job waits" 'This job is next in the queue.' "$(screen)"
verb_open 1 80 24 share
shows "reeve share ends" 'left with 0'
is "each row of reeve share is one line of 80 columns" 5 "$(screen | sed '/^$/,$d' | grep -c .)"
has "which has the level" LevelFS "$(screen)"
verb_open 1 200 24 jobs
shows "a wide terminal has all columns" CHARGED
verb_open 1 80 24 jobs -a
shows "of jobs that ended it is said how" RESULT
verb_open 1 80 24 jobs -o job,vmem_bytes,charge_requested_ms
shows "columns that were chosen are shown" CHARGED
tap_end
