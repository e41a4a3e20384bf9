#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# versions.sh - agents, controllers and commands of the former version with those of this one: a job through each pair; and the former controller
# refuses the ledger of this one. The former version is the last tag, or where there is none the newest commit that is two days older; it is built in a
# worktree below /tmp, which takes minutes. REEVE_FORMER: a folder with its programs, built already. TAP.
set -u
cd "$(dirname "$0")/../../.." || exit 1
. tests/cluster/lib/tap_lib.sh
. tests/cluster/lib/live_lib.sh
. tests/cluster/lib/play_lib.sh
. tests/cluster/monitoring/agent_lib.sh
[ "$(id -u)" = 0 ] || { echo "1..0 # SKIP needs root"; exit 0; }
agent_possible || { echo "1..0 # SKIP no cgroup v2 that jobs may be made in"; exit 0; }
now=$PWD/build/bin
former=${REEVE_FORMER:-} tree=''
if [ -z "$former" ]; then
	[ "$(git rev-parse --is-shallow-repository 2>/dev/null)" = false ] || { echo "1..0 # SKIP no repository with its history: no former version"; exit 0; }
	commit=$(git describe --tags --abbrev=0 HEAD^ 2>/dev/null) ||
		commit=$(git log -1 --format=%H --before="$(($(git log -1 --format=%ct) - 2 * 86400))")
	[ -n "$commit" ] || { echo "1..0 # SKIP no commit that is two days older"; exit 0; }
fi
live_dir versions
all_end() {
	agent_end
	[ -z "$tree" ] || git worktree remove --force "$tree"
	live_end
}
trap all_end EXIT
if [ -z "$former" ]; then
	tree=$dir/former
	git worktree add --quiet --detach "$tree" "$commit" || bail "no worktree of $commit"
	make -C "$tree" -j"$(nproc)" build/bin/reeve-agent build/bin/reeve-controller build/bin/reeve build/bin/reeve-launch >"$dir/make.log" 2>&1 ||
		bail "$commit does not build: $(tail -n 5 "$dir/make.log")"
	former=$tree/build/bin
	echo "# the former version: $(git log -1 --format='%h of %ad' "$commit")"
fi
live_munge
configure() {
	cat >"$dir/controller.conf" <<-CONF
		$(live_controller)
		[Cluster main]
		DefaultResources = jobfs=100MB,walltime=1:00:00
		[Account physics]
		Users = daemon
	CONF
}
job() { ask 0 GET "/v1/jobs/$1"; }
submit() { # SECONDS: $job
	job=$(job_number "$(ask $daemon POST /v1/jobs "$(job_request resources='"ncpus":1,"vmem_bytes":300000000,"jobfs_bytes":1000000' \
		argv="\"/bin/sleep\",\"$1\"" more=',"out_path":"/dev/null","err_path":"/dev/null"')")")
}
ran() { # NAME JOB: it ended by itself, and was charged for about a second and more
	until_has '"kind":"exited"' job "$2"
	tap_result $? "$1: a job runs to its end" "$out $(tail -n 3 "$agent_dir/log")"
	[ "$(grep -o '"charge_requested_ms":[0-9]*' <<<"$out" | head -n 1 | cut -d: -f2)" -ge 900 ]
	tap_result $? "$1: and is charged" "$out"
}
programs() { # CONTROLLER AGENT: folders
	binary=$1/reeve-controller
	REEVE_AGENT_BINARY=$2/reeve-agent
	REEVE_LAUNCH_BINARY=$2/reeve-launch
}
listed() { # NAME FOLDER JOB: the command of that folder shows the job
	has "$1" "$3" "$("$2/reeve" jobs --config "$dir/client.conf" --all --output csv 2>&1)"
}

# ---- an agent of before, a controller of now ----
programs "$now" "$former"
live_open configure
printf '[Client]\nController = %s\nMungeSocket = %s/munge.sock\n' "$url" "$dir" >"$dir/client.conf"
agent_open
submit 1
ran "former agent, this controller" "$job"
listed "the former command lists it" "$former" "$job"
# ---- the agent is upgraded under a job that runs ----
submit 6
until_has '"state":"running"' job "$job"
agent_stop
programs "$now" "$now"
cp "$REEVE_LAUNCH_BINARY" "$agent_dir/reeve-launch.new" && mv "$agent_dir/reeve-launch.new" "$agent_dir/reeve-launch"
agent_start
ran "the agent is upgraded while it runs" "$job"
submit 6
until_has '"state":"running"' job "$job"
agent_stop
programs "$now" "$former"
agent_start
ran "the agent is downgraded while it runs" "$job"
live_stop
agent_end
# ---- an agent of now, a controller of before ----
rm -f "$dir"/ledger.db*
programs "$former" "$now"
live_start || bail "the former controller does not start: $(tail -n 3 "$dir/controller.log")"
agent_possible
agent_open
submit 1
ran "this agent, former controller" "$job"
words=$("$now/reeve" job "$job" --config "$dir/client.conf" 2>&1)
has "this command shows it" "ended by itself with exit status 0" "$words"
# ---- the controller is upgraded under a job that runs ----
submit 6
until_has '"state":"running"' job "$job"
live_stop
before=$(sqlite3 "$dir/ledger.db" 'PRAGMA user_version')
programs "$now" "$now"
live_start || bail "this controller does not start on the former ledger: $(tail -n 3 "$dir/controller.log")"
ran "the controller is upgraded while it runs" "$job"
live_stop
# ---- one version back ----
schema=$(sqlite3 "$dir/ledger.db" 'PRAGMA user_version')
if [ "$schema" = "$before" ]; then
	skip "the former controller on this ledger" "both have schema $schema"
else
	words=$("$former/reeve-controller" --config "$dir/controller.conf" 2>&1)
	is "the former controller does not open the upgraded ledger" 1 $?
	has "and names both versions and the remedy" "has schema version $schema; this program knows up to $before: use the newer program, or" "$words"
	words=$("$now/reeve" admin downgrade --ledger "$dir/ledger.db" 2>&1)
	is "the ledger goes back" 0 $?
	has "and its version is said" "schema version $schema is now $before" "$words"
	programs "$former" "$now"
	live_start || bail "the former controller does not start: $(tail -n 3 "$dir/controller.log")"
	listed "the former controller has the job that ran before" "$former" "$job"
	submit 1
	ran "this agent, the former controller on the ledger that went back" "$job"
	live_stop
fi
tap_end
