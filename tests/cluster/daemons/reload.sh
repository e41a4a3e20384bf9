#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# reload.sh - SIGHUP: controller and agent read their configuration again, say what changed, apply what may change while jobs run, and
# disturb neither jobs nor connections; a mistake changes nothing. A real agent with real jobs. TAP.
set -u
cd "$(dirname "$0")/../../.." || exit 1
. tests/cluster/lib/tap_lib.sh
. tests/cluster/lib/live_lib.sh
. tests/cluster/lib/play_lib.sh
. tests/cluster/monitoring/agent_lib.sh
agent_suite reload
export LC_ALL=C.UTF-8 TZ=UTC REEVE_PROFILES=$PWD/units/profiles
conf=$dir/controller.conf
configure() {
	printf '%s\nNodeLost = 600\n[Policy]\nUsageHalfLife = 7d\n[Cluster main]\nDefaultResources = ncpus=1,jobfs=1MB,vmem=100MB,walltime=1:00:00\n[Account physics]\nUsers = daemon\n' \
		"$(live_controller)" >"$conf"
}
live_open configure
printf '[Client]\nMungeSocket = %s/munge.sock\n' "$dir" >"$dir/client.conf"
reeve() { as "${who:-1}" "$PWD/build/bin/reeve" "$1" --config "$dir/client.conf" --controller "$url" "${@:2}"; }
log() { tail -n "+$log_from" "$dir/controller.log"; }
mark() { log_from=$(($(wc -l <"$dir/controller.log") + 1)); }
hup() { # CHANGE: sed's, to the controller's configuration
	mark
	sed -i "$1" "$conf"
	kill -HUP "$controller"
}
agent_log() { tail -n "+$agent_from" "$agent_dir/log"; }
agent_hup() {
	agent_from=$(($(wc -l <"$agent_dir/log") + 1))
	sed -i "$1" "$agent_dir/agent.conf"
	kill -HUP "$agent_pid"
}
agent_no_quota=1
agent_open 'Jobfs = none'
until_has '"up"' reeve nodes --json || bail "the node does not come: $(tail -n 5 "$agent_dir/log")"

# ---- what runs meanwhile ----
job=$(reeve submit -A physics --workdir / -o /dev/null -e /dev/null -- /bin/sleep 600)
[ -n "$job" ] || bail "no job is submitted"
until_has running reeve job "$job" || bail "no job runs: $(reeve job "$job"; tail -n 5 "$agent_dir/log")"
pid_of_job() { cat "$agent_group/jobs/reeve-job-$job-1.service"/{,*/}cgroup.procs 2>/dev/null | sort -n | tail -n 1; }
comm_of_job() { cat "/proc/$(pid_of_job)/comm" 2>/dev/null; }
until_has sleep comm_of_job || bail "no process of the job: $out"
job_pid=$(pid_of_job)
reeve run -A physics --workdir / -- /bin/sh -c 'echo begun; sleep 8; echo ended' >"$dir/run.out" 2>&1 &
run=$!
soon "a command waits for a job that runs" begun cat "$dir/run.out"

# ---- the controller ----
hup ''
soon "a file that has not changed: nothing is changed, and that is said" 'configuration reloaded: nothing changed' log
hup 's/^NodeLost.*/NodeLost = 5:00\nMaxQueuedPerUser = 3/; s/^Listen = .*/Listen = 127.0.0.1:1/; s/7d/8d/; s/Users = daemon/Users = daemon,bin/'
soon "the number of changes is said, and how many need a restart" 'configuration reloaded: 5 keys changed, 2 need a restart' log
has "a line for each key: the old and the new value" '<5>reeve-controller: [Controller] NodeLost: 0:10:00 -> 0:05:00' "$(log)"
has "with one that needs a restart, that" "[Controller] Listen: 127.0.0.1:$port -> 127.0.0.1:1; takes effect at the next restart" "$(log)"
has "of a policy" '[Policy] UsageHalfLife: 168:00:00 -> 192:00:00; takes effect at the next restart' "$(log)"
has "of a named section" '[Account physics] Users: daemon -> daemon,bin' "$(log)"
is "and no other line" 6 "$(log | wc -l)"
check "an account's new user may submit at once" eval 'who=2 reeve submit -A physics --workdir / --hold -- true'
is "that job is queued" 1 "$(who=2 reeve jobs -n | wc -l)"
many() { for _ in 1 2 3 4; do reeve submit -A physics --workdir / --hold -- true 2>&1; done; }
has "a limit holds at once" 'that exceeds MaxQueuedPerUser, 3' "$(many)"
hup 's/^MaxQueuedPerUser = 3/MaxQueuedPerUser = 30/; s/^Listen = .*/Listen = 127.0.0.1:'"$port/; s/8d/7d/"
soon "what was never in force needs no restart once it is taken back" 'configuration reloaded: 1 key changed' log
lacks "and a raised one" exceeds "$(many)"
hup 's/^\[Account physics\]/[Queue slow]\nPriority = 1\n[Account physics]/; s/^DefaultResources/Queues = normal,slow\nDefaultResources/'
soon "a new queue is a section that was added" '[Queue slow] added' log
check "it takes jobs at once" reeve submit -A physics -q slow --workdir / --hold -- true
hup 's/^Queues = .*//; /^\[Queue slow\]/d; /^Priority = 1/d'
soon "and one that is gone again" '[Queue slow] removed' log
has "takes none" 'slow' "$(reeve submit -A physics -q slow --workdir / -- true 2>&1)"
is "its job is shown all the same" 1 "$(reeve jobs --json | grep -c '"queue": *"slow"')"

# ---- mistakes ----
hup '/^NodeLost/s/.*/NodeLost = soon/; s/^UsageHalfLife/UsageHalfLives/; s/^MaxQueuedPerUser.*/MaxQueuedPerUser = 1/'
soon "mistakes are counted, and nothing changes" 'configuration not reloaded: 2 mistakes; all that is in force stays' log
has "each with file, line, key, value and remedy" "<3>reeve-controller: $conf, line $(grep -n '^NodeLost' "$conf" | cut -d: -f1): NodeLost = soon: " "$(log)"
has "of an unknown key the nearest known one" "unknown key 'UsageHalfLives' in [Policy]; did you mean 'UsageHalfLife'?" "$(log)"
lacks "no good key beside them is taken over" exceeds "$(many)"
lacks "nor told as changed" 'MaxQueuedPerUser: ' "$(log)"
hup 's/^NodeLost.*/NodeLost = 5:00/; s/^UsageHalfLives/UsageHalfLife/; s/^MaxQueuedPerUser.*/MaxQueuedPerUser = 30/'
soon "the file as it was is no change" 'configuration reloaded: nothing changed' log
mv "$conf" "$conf.away"
mark
kill -HUP "$controller"
soon "a file that is gone changes nothing" "cannot open $conf: No such file or directory" log
mv "$conf.away" "$conf"
mkdir "$conf.d"
printf '[Controller]\nMaxArraySize = 7\n' >"$conf.d/site.conf"
hup ''
soon "files of the directory controller.conf.d are read too" '[Controller] MaxArraySize: 10000 -> 7' log
printf '[Policy]\nProfile = nci\n' >"$conf.d/site.conf"
hup ''
soon "so is a profile" '[Policy] Profile: not set -> nci' log
has "with each key that it states" '[Queue express] added' "$(log)"
rm -r "$conf.d"
hup ''
soon "and gone again" '[Policy] Profile: nci -> not set' log

printf '#!/bin/sh\necho "$REEVE_EVENT" >>%s/hooked\n' "$dir" >"$dir/hook" && chmod 755 "$dir/hook"
printf '[Hooks]\nProgram = %s/hook\nEvents = job-submitted\n' "$dir" >>"$conf"
hup ''
soon "a program for events is taken over" "[Hooks] Program: not set -> $dir/hook" log
reeve submit -A physics --workdir / --hold -- true >/dev/null
soon "and runs for the next one" job-submitted cat "$dir/hooked"
hup '/^\[Hooks\]/,$d'
soon "without it no more is run" "[Hooks] Program: $dir/hook -> not set" log
ran=$(wc -l <"$dir/hooked")
reeve submit -A physics --workdir / --hold -- true >/dev/null
sleep 0.5 # hooks look for events each 0.2 s
is "... for a later event" "$ran" "$(wc -l <"$dir/hooked")"

# ---- the level of the log ----
hup 's/^NodeLost.*/&\nLogLevel = debug/'
soon "LogLevel = debug: cycles are summarized" 'cluster main: ' log
has "the change to it is logged" '[Controller] LogLevel: info -> debug' "$(log)"
hup 's/^LogLevel.*/LogLevel = err/'
soon "a change to err is still logged" '[Controller] LogLevel: debug -> err' log
mark
reeve submit -A physics --workdir / --hold -- true >/dev/null
is "then nothing less is" "" "$(log)"
hup 's/^LogLevel.*/LogLevel = info/'
soon "and back" '[Controller] LogLevel: err -> info' log

# ---- the agent ----
agent_hup ''
soon "agent: a file that has not changed" 'configuration reloaded: nothing changed' agent_log
agent_hup 's/^KillGrace.*/KillGrace = 2s\nFeatures = ib,nvme/; s/^ReservedMemory.*/ReservedMemory = 200MB/; s/^SampleInterval.*/SampleInterval = 2s/'
soon "agent: the number of changes" 'configuration reloaded: 4 keys changed, 1 needs a restart' agent_log
has "agent: a line for each key" '[Agent] KillGrace: 0:00:01 -> 0:00:02' "$(agent_log)"
has "agent: with one that needs a restart, that" '[Agent] ReservedMemory: 100MB -> 200MB; takes effect at the next restart' "$(agent_log)"
soon "agent: its features are the node's at once" 'ib,nvme' reeve nodes --json
agent_hup 's/^KillGrace.*/KillGrace = soon/; s/^Features.*/Features = none/'
soon "agent: a mistake changes nothing" 'configuration not reloaded: 1 mistake; all that is in force stays' agent_log
has "agent: it has file, line, key, value and remedy" "agent.conf, line $(grep -n '^KillGrace' "$agent_dir/agent.conf" | cut -d: -f1): KillGrace = soon: " "$(agent_log)"
agent_hup 's/^KillGrace.*/KillGrace = 2s/; s/^Features.*/Features = ib,nvme\nRefusedUsers = daemon/'
soon "agent: users are refused from now on" '[Agent] RefusedUsers: not set -> daemon' agent_log
refused=$(reeve submit -A physics --workdir / -o /dev/null -e /dev/null -- true)
soon "agent: such a job does not start" 'RefusedUsers' reeve job "$refused"
agent_hup 's/^RefusedUsers.*/LogLevel = debug/'
soon "agent: LogLevel = debug: exchanges are logged" 'sync: ' agent_log
other=$(reeve submit -A physics --workdir / -o /dev/null -e /dev/null -- true)
soon "agent: ... and each phase of a job" "job $other: phase running" agent_log
agent_hup 's/^LogLevel.*/LogLevel = info/'
soon "agent: and back" '[Agent] LogLevel: debug -> info' agent_log

# ---- what ran meanwhile ----
is "the job that ran is the same process" "$job_pid" "$(pid_of_job)"
has "and runs" running "$(reeve job "$job")"
wait $run
is "the command that waited has its status" 0 $?
is "and all its output" "begun
ended" "$(cat "$dir/run.out")"
is "the agent has never lost its controller" 0 "$(grep -c ' lost: ' "$agent_dir/log")"
is "it was never told wrongly that the controller is back" 1 "$(grep -c ' reached' "$agent_dir/log")"
for _ in {1..40}; do kill -HUP "$controller" "$agent_pid"; done
soon "forty at once end neither" up reeve nodes
reeve cancel "$job" >/dev/null
soon "its job ends as ever" cancelled reeve job "$job"
tap_end
