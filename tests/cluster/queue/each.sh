#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# each.sh - `reeve submit --each`: many scripts by one command, all or none of them read, each a job of its own. A real controller
# and munged. Needs root. TAP.
set -u
cd "$(dirname "$0")/../../.." || exit 1
. tests/cluster/lib/tap_lib.sh
. tests/cluster/lib/live_lib.sh
export LC_ALL=C.UTF-8 TZ=UTC HOME=/nonexistent
unset REEVE_CONTROLLER
[ "$(id -u)" = 0 ] || { echo "1..0 # SKIP needs root to speak as another user"; exit 0; }
configure() {
	live_controller >"$dir/controller.conf"
	printf '%s\n' 'MaxQueuedPerUser = 30' '[Cluster main]' 'DefaultResources = vmem=1GB,jobfs=100MB,walltime=1:00:00' '[Account physics]' 'Users = daemon' \
		>>"$dir/controller.conf"
	printf '[Client]\nController = %s\nMungeSocket = %s/munge.sock\nAccount = physics\n' "$url" "$dir" >"$dir/reeve.conf"
	chmod 644 "$dir/reeve.conf"
}
live_dir each
live_munge
cp build/bin/reeve "$dir/reeve" && chmod 755 "$dir/reeve"
live_open configure
submit() { # ARG...: of the user daemon; the exit status is in $code, what it said in $said
	said=$(as $daemon "$dir/reeve" submit --config "$dir/reeve.conf" "$@" 2>"$dir/err")
	code=$?
}
jobs() { as $daemon "$dir/reeve" jobs --config "$dir/reeve.conf" -n --csv -o "$1" | sort -n | xargs; }
mkdir "$dir/scripts" && cd "$dir/scripts" || exit 1
for i in 1 2 3 4 5; do printf '#!/bin/sh\n#REEVE -l ncpus=%d\ntrue\n' "$i" >"case-$i.sh"; done
chmod 755 . && chmod 644 ./*

submit --each -l walltime=1:00 case-*.sh
is "five scripts are five jobs, numbered in their order" "0 1 2 3 4 5" "$code $(xargs <<<"$said")"
is "... each with the options of its script and of the command" "1,case-1.sh,1,60 2,case-2.sh,2,60 3,case-3.sh,3,60 4,case-4.sh,4,60 5,case-5.sh,5,60" \
	"$(jobs job,name,ncpus,walltime_s)"
is "... and nothing is said" "" "$(cat "$dir/err")"
submit --each --json case-2.sh case-1.sh
is "for programs: which number is whose" "[[6, 'case-2.sh'], [7, 'case-1.sh']]" \
	"$(python3 -c 'import json, sys; print([[j["job"], j["script"]] for j in json.load(sys.stdin)["jobs"]])' <<<"$said")"

printf '#!/bin/sh\n#REEVE -l ncpus=many\n' >wrong.sh && chmod 644 wrong.sh
submit --each case-1.sh missing.sh wrong.sh case-2.sh
is "one that cannot be read, one with a bad line: a usage error" "2 " "$code $said"
has "... which names the one" "missing.sh" "$(cat "$dir/err")"
has "... and the other" "wrong.sh" "$(cat "$dir/err")"
has "... and that nothing was submitted" "2 of 4 scripts cannot be submitted; nothing was submitted" "$(cat "$dir/err")"
is "... which is true" "1 2 3 4 5 6 7" "$(jobs job)"

printf '#!/bin/sh\n#REEVE -l ncpus=1\n#REEVE -A nobodys\n' >refused.sh && chmod 644 refused.sh
submit --each case-1.sh refused.sh case-2.sh
is "one that the controller refuses: the others are submitted" "8 9" "$(xargs <<<"$said")"
is "... and the status tells" 1 "$([ $code != 0 ] && echo 1)"
has "... and the message which" "refused.sh: " "$(cat "$dir/err")"
is "... in the ledger too" "8,case-1.sh 9,case-2.sh" "$(jobs job,name | tr ' ' '\n' | tail -n 2 | xargs)"

submit --each case-1.sh -l ncpus=1
is "an option behind a script is no script" "2 " "$code $said"
has "... and the message says where options belong" "options come before" "$(cat "$dir/err")"
submit --each -- true
is "a command is no script" "2 " "$code $said"
submit --each case-1.sh - </dev/null
is "standard input is no script here" "2 " "$code $said"
submit --each --immediate case-1.sh
is "nor does it wait for starts" "2 " "$code $said"
is "none of these was submitted" 9 "$(jobs job | wc -w)"

for i in $(seq 25); do cp case-1.sh "many-$i.sh"; done
submit --each many-*.sh
is "a limit in the middle: as many as it allows" 21 "$(wc -l <<<"$said")"
is "... the others are refused each by name" 4 "$(grep -c 'many-.*MaxQueuedPerUser' "$dir/err")"
live_stop
submit --each case-1.sh case-2.sh
is "without a controller it ends at the first" "3 1" "$code $(wc -l <"$dir/err")"
has "... and says how many there are" "case-1.sh (0 of 2 were submitted before it): " "$(cat "$dir/err")"
tap_end
