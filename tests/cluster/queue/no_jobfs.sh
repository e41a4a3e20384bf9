#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# no_jobfs.sh - a node without project quotas, where the site has chosen Jobfs = none: a real agent runs real jobs, in directories of their
# own that nothing limits, and tells it wherever a user or an operator looks. TAP.
set -u
cd "$(dirname "$0")/../../.." || exit 1
. tests/cluster/lib/tap_lib.sh
. tests/cluster/lib/live_lib.sh
. tests/cluster/lib/play_lib.sh
. tests/cluster/monitoring/agent_lib.sh
agent_suite nojobfs
configure() {
	printf '%s\n[Cluster main]\nDefaultResources = jobfs=100MB,walltime=1:00:00\nQueues = normal\n' "$(live_controller)" >"$dir/controller.conf"
}
live_open configure
text="[Account physics]\nUsers = daemon\n"
has "accounts are declared" 200 "$(ask 0 POST /v1/accounts "{\"schema\":\"reeve/1\",\"revision\":0,\"text\":\"$text\"}")"
printf '[Client]\nMungeSocket = %s/munge.sock\n' "$dir" >"$dir/client.conf"
reeve() { as 1 "$PWD/build/bin/reeve" "$1" --config "$dir/client.conf" --controller "$url" "${@:2}"; }

# ---- the key ----
printf '[Agent]\nNode = n1\nJobfs = some\n' >"$dir/bad.conf"
has "another word is refused, with those that there are" "line 3: Jobfs = some: it must be one of: quota, none" "$(build/bin/reeve-agent --config "$dir/bad.conf" --check 2>&1)"
printf '[Agent]\nNode = n1\nJobfs = none\nJobfsImage = /srv/image\n' >"$dir/bad.conf"
has "an image has no use with it" "remove one of them" "$(build/bin/reeve-agent --config "$dir/bad.conf" --check 2>&1)"

# ---- a job ----
agent_no_quota=1
agent_open "Jobfs = none"
note="no limit: jobs may fill $agent_dir/jobfs, and what they use is not measured (Jobfs = none)"
until_has "$note" reeve nodes --json || bail "the node does not come: $(tail -n 5 "$agent_dir/log")"
has "the node's notes have it" "$note" "$(reeve nodes)"
is "it has a disk of its size" yes "$(reeve nodes --json | grep -q "\"jobfs_bytes\": *[1-9]" && echo yes)"
# shellcheck disable=SC2016 # for the job's shell
id=$(reeve submit -A physics --workdir / -l ncpus=1,vmem=300MB,jobfs=1MB,walltime=600 -o /dev/null -e /dev/null -- /bin/sh -c \
	'head -c 3000000 /dev/zero >"$REEVE_JOBFS/data" && [ "$(stat -c %s "$TMPDIR/data")" = 3000000 ] && mkdir "/tmp/$(id -un)" && exec sleep 600')
[ -n "$id" ] || bail "no job is submitted"
job_dir=$agent_dir/jobfs/$id-1
until_has "sh  running" reeve job "$id" || bail "no job runs: $(reeve job "$id"; tail -n 5 "$agent_dir/log")"
until_has 3000000 stat -c %s "$job_dir/work/data"
is "a job uses more disk than it requested" 0 $?
until_has daemon ls "$job_dir/tmp"
is "its /tmp is its own" 0 $?
is "no other user reads its files" "" "$(setpriv --reuid 2 --regid 2 --clear-groups ls "$job_dir/work" 2>/dev/null)"
soon "its record says that nothing is held" "node n9 neither limits nor measures jobfs: Jobfs = none" reeve job "$id"
sleep 2.5
lacks "and has no figure of what it used" jobfs_peak_bytes "$(reeve job "$id" --json)"

# ---- the agent's end and return ----
kill -9 "$agent_pid"
wait "$agent_pid" 2>/dev/null
mkdir -m 700 "$agent_dir/jobfs/99-1" # what an agent left that died while it made one
agent_start
until_has 'found again' cat "$agent_dir/log"
is "after kill -9 of the agent the job is found again" 0 $?
until_has "$(basename "$job_dir")" ls "$agent_dir/jobfs"
is "with its files" 3000000 "$(stat -c %s "$job_dir/work/data")"
only_it() { [ "$(ls "$agent_dir/jobfs")" = "$id-1" ] && echo yes; }
until_has yes only_it
is "what was half-made is removed" 0 $?
reeve cancel "$id" >/dev/null
until_has cancelled reeve job "$id"
none_left() { [ -z "$(ls "$agent_dir/jobfs")" ] && echo yes; }
until_has yes none_left
is "at its end the directory goes" 0 $?

# ---- back to quotas ----
agent_stop
sed -i '/^Jobfs = none/d' "$agent_dir/agent.conf"
agent_start
until_has "project quota" reeve nodes --json
is "without the key the node asks for quotas" 0 $?
tap_end
