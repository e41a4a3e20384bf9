#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# slurm.sh - Reeve beside Slurm: the daemons of Debian (slurmctld, slurmdbd with MariaDB, slurmd), the SPANK plugin
# and an agent with Engine=slurm hold Slurm's jobs to --vmem and --jobfs, and say why a job was ended. TAP.
#   tests/node/suite.sh slurm --with slurm --net host
. "$(dirname "$0")/node_lib.sh"
. "$(dirname "$0")/slurm_lib.sh"

slurm_configure
slurm_start || { ok 1 "the cluster starts"; tap_end; }
ok 0 "slurmctld, slurmdbd, slurmd and the agent run"

# ---- at submission ----
refused() { # OPTION PATTERN NAME
	local text
	text=$(as alice sbatch "$1" --wrap true 2>&1)
	has "$text" "$2" "$3"
}
refused --vmem=4000 'has no unit: write 4000M' "an amount without a unit is refused, with the remedy"
refused --vmem=2G "above this site's bound of 1GiB" "an amount above the site's bound is refused"
refused --vmem=lots "'lots' is not a size" "what is no amount is refused"
refused --vmem-action=x 'neither "kill" nor "enomem"' "an unknown action is refused"
has "$(as alice srun --help)" '--vmem=SIZE' "srun --help has the options"

# ---- limits ----
out=$(as alice srun --vmem=100M echo hello 2>&1)
[ "$out" = hello ]; ok $? "a job within its limits runs, and reads nothing of Reeve" "$out"
slurm_batch alice --vmem=100M <<<'echo begins; load map 300; sleep 5; echo not reached'
has "$out" 'begins' "a batch job begins"
has "$out" 'reeve: vmem limit exceeded on .* requested 100 MiB, reached 3[0-9]+ MiB' "its error file says which limit it exceeded, and by what"
! grep -qx 'not reached' <<<"$out"; ok $? "and it is killed" "$out"
has "$(slurm_comment "$job")" 'vmem limit exceeded' "scontrol show job has the reason in AdminComment"
has "$(sacct -n -X -j "$job" -o AdminComment%200)" 'vmem limit exceeded' "sacct -o AdminComment too"
has "$(sacct -n -X -j "$job" -o State)" 'FAILED' "the job has failed for Slurm"
has "$(journalctl -u reeve-agent -o cat)" "job $job: vmem limit exceeded" "the journal of the agent has it"
slurm_batch alice --vmem=100M <<<'srun -n 1 --overlap load forks 1 60 & srun -n 1 --overlap load forks 1 60 & wait; sleep 5; echo not reached'
has "$out" 'vmem limit exceeded' "the limit is of all steps together" "$out"
slurm_batch alice --vmem=100M --vmem-action=enomem <<<'load map 300; echo goes on'
has "$out" 'goes on' "with --vmem-action=enomem the call fails and the job lives" "$out"
slurm_batch alice --jobfs=20M <<<'echo at $TMPDIR; head -c 5000000 /dev/zero >$TMPDIR/a && echo fits; head -c 50000000 /dev/zero >$TMPDIR/b; echo not reached'
has "$out" "at /var/lib/reeve/jobfs/$job-1/work" "TMPDIR is the job's own disk" "$out"
has "$out" 'fits' "what fits can be written"
has "$out" 'jobfs limit exceeded .* requested 20.0 MiB' "a full disk ends the job, in words"
[ ! -e "/var/lib/reeve/jobfs/$job-1" ]; ok $? "the Epilog has removed the disk" "$(ls /var/lib/reeve/jobfs)"
slurm_batch alice <<<'load map 600; echo not reached'
has "$out" 'requested 500 MiB' "a job that states nothing has the site's default" "$out"

# ---- ways around it ----
slurm_batch alice --vmem=100M <<<'export SLURM_SPANK_REEVE_LIMITS="vmem=900000000 jobfs=0 action=kill" _SLURM_SPANK_OPTION_reeve_vmem=900M
SPANK_REEVE_LIMITS=$SLURM_SPANK_REEVE_LIMITS srun --overlap load map 300; echo not reached'
has "$out" 'requested 100 MiB' "forged options in the environment of a step change nothing" "$out"
slurm_batch alice --vmem=100M <<<'srun --overlap --vmem=900M load map 300; sleep 5; echo not reached'
has "$out" 'have no effect on a step' "a step that states more gets a warning: it has the limits of the job"
has "$out" 'requested 100 MiB' "and is held to it" "$out"
slurm_batch alice --vmem=100M --export=NONE <<<'srun --overlap --export=NONE load map 300; sleep 5; echo not reached'
has "$out" 'requested 100 MiB' "--export=NONE changes nothing" "$out"
out=$(as alice timeout 100 salloc --vmem=100M sh -c 'srun load map 300; sleep 20; srun echo later' 2>&1)
has "$out" 'requested 100 MiB' "srun inside salloc is held" "$out"
[[ $out != *later* ]]; ok $? "and nothing runs in that allocation afterwards" "$out"
slurm_batch alice --vmem=100M <<<'(setsid load map 300 >/dev/null 2>&1 &); sleep 30; echo not reached'
has "$out" 'requested 100 MiB' "a process that has left its session and its parent is held" "$out"
mkdir /tmp/own && cp /etc/slurm/slurm.conf /tmp/own && echo 'optional reeve_spank.so' >/tmp/own/plugstack.conf && chmod -R a+rX /tmp/own
echo "PluginDir=$(scontrol show config | sed -n 's/^PluginDir *= //p')" >>/tmp/own/slurm.conf
job=$(SLURM_CONF=/tmp/own/slurm.conf as alice env SLURM_CONF=/tmp/own/slurm.conf sbatch --parsable -o /home/alice/own.out --vmem=900G --wrap 'sleep 1; load map 1200; echo not reached' 2>&1)
wait_for 60 slurm_is_over "$job"
has "$(cat /home/alice/own.out)" 'requested 1.00 GiB' "a user's own plugstack.conf does not raise the node's bound" "$job $(cat /home/alice/own.out)"

# ---- ssh, with pam_slurm_adopt ----
sed -i -e '/^@include common-account/a account required pam_slurm_adopt.so' -e '/pam_systemd/d' /etc/pam.d/sshd
sed -i '/pam_systemd/d' /etc/pam.d/common-session
runuser -u alice -- sh -c 'mkdir -m 700 ~/.ssh; ssh-keygen -q -t ed25519 -N "" -f ~/.ssh/id_ed25519; cp ~/.ssh/id_ed25519.pub ~/.ssh/authorized_keys'
ssh-keygen -A >/dev/null
systemctl restart ssh
visit() { as alice timeout 60 ssh -o StrictHostKeyChecking=no -o LogLevel=ERROR "$(hostname)" "$@" 2>&1; }
out=$(visit echo came in)
[[ $out != *'came in'* ]]; ok $? "without a job ssh is refused" "$out"
job=$(as alice sbatch --parsable -o /home/alice/visited.out --vmem=100M --wrap 'sleep 100')
begins() { journalctl -u reeve-agent -o cat | grep -q "job $job: began"; }
wait_for 30 begins
has "$(visit cat /proc/self/cgroup)" "job_$job/step_extern/" "with one the session is in the job's cgroup"
out=$(visit 'load map 300; echo not reached')
! grep -q 'not reached' <<<"$out"; ok $? "what it maps counts as the job's, and is over the limit" "$out"
wait_for 60 slurm_is_over "$job"
has "$(cat /home/alice/visited.out)$(slurm_comment "$job")" 'requested 100 MiB' "which ends the job, with its reason" "$(journalctl -u reeve-agent -o cat -n 20)"

# ---- the agent dies, or is away ----
job=$(as alice sbatch --parsable -o /home/alice/late.out --vmem=100M --wrap 'sleep 12; load map 300; echo not reached')
begins() { journalctl -u reeve-agent -o cat | grep -q "job $job: began"; }
wait_for 30 begins
systemctl kill -s KILL reeve-agent
wait_for 60 slurm_is_over "$job"
has "$(cat /home/alice/late.out)" 'requested 100 MiB' "an agent that was killed finds the job again, and it is still held" "$(cat /home/alice/late.out)"
has "$(slurm_comment "$job")" 'vmem limit exceeded' "and its reason is with Slurm"
# Each job asks it four times: in its Prolog, for its environment, for its task, in its Epilog.
job=$(as alice sbatch --parsable --array=1-12 -o '/home/alice/meanwhile-%a.out' --vmem=100M --jobfs=10M --wrap 'echo "runs at $TMPDIR"')
for _ in 1 2 3; do
	sleep 1
	systemctl restart reeve-agent
	sleep 1
	systemctl kill -s KILL reeve-agent
done
wait_for 120 slurm_is_over "$job"
out=$(cat /home/alice/meanwhile-*.out; squeue; sinfo -R)
[ "$(grep -c '^runs at /var/lib/reeve/jobfs/.*/work$' <<<"$out")" = 12 ]; ok $? "jobs that begin while the agent is restarted and killed wait for it, and run" \
	"$out $(journalctl -u reeve-agent -o cat -n 40; tail -n 40 /var/log/slurm/slurmd.log)"
job=$(as alice sbatch --parsable -o /home/alice/restart.out --vmem=100M --wrap 'sleep 8; load map 300; echo not reached')
wait_for 30 begins
systemctl restart slurmd
wait_for 60 slurm_is_over "$job"
has "$(cat /home/alice/restart.out)" 'requested 100 MiB' "a job outlives a restart of slurmd and is held" "$(cat /home/alice/restart.out)"
# Its extern step begins before its script does, and slurmctld holds a job that is queued again in between. What the kernel kills first is
# the process that exceeds the limit, then each that begins: until all are killed, the script goes on.
script_runs() { grep -qx runs /home/alice/again.out; }
begun_again() { scontrol update "jobid=$job" StartTime=now 2>/dev/null; slurm_is_over "$job"; }
lacked_prolog() { journalctl -u reeve-agent -o cat | grep -q "job $job: slurmd started attempt 2 without a Prolog"; }
is_queued() { [ "$(squeue -h -j "$job" -o %t)" = PD ]; }
queue_again() { # [COMMAND that runs while it is queued]; sets job, out
	rm -f /home/alice/again.out
	job=$(as alice sbatch --parsable -o /home/alice/again.out --open-mode=append --vmem=100M --jobfs=10M --requeue \
		--wrap '[ "$SLURM_RESTART_COUNT" ] || { echo runs; sleep 300; }; echo "runs again at $TMPDIR"; load map 300; while :; do sleep 1; done')
	wait_for 30 script_runs
	scontrol requeue "$job"
	if [ "${1:-}" ]; then wait_for 60 is_queued && "$@"; fi
	wait_for 60 begun_again
	out=$(cat /home/alice/again.out)
}
# slurmd runs no Prolog for one that starts again at once, when a credential was looked at within two seconds before: agent/slurm/ended.h.
# With and without it the attempt must be held.
rm -f /tmp/enough
(while [ ! -e /tmp/enough ]; do as alice srun -n 1 true; done) >/dev/null 2>&1 &
others=$!
for _ in 1 2 3 4; do
	queue_again
	has "$out" "^runs again at /var/lib/reeve/jobfs/$job-2/work" "a job that was queued again runs, with a disk of its own" "$out"
	has "$out" 'requested 100 MiB' "and is held to its limits again" "$out"
	slurm_is_over "$job"; ok $? "and ended" "$out"
	lacked_prolog && break
done
echo "# slurmd ran $(lacked_prolog && echo no || echo a) Prolog for the last of them"
# An agent that is started again meanwhile knows what has ended here.
for _ in 1 2 3 4; do queue_again systemctl restart reeve-agent; lacked_prolog && break; done
has "$out" "^runs again at /var/lib/reeve/jobfs/$job-2/work" "a job that was queued again runs, also where the agent is started again meanwhile" "$(journalctl -u reeve-agent -o cat -n 20)"
has "$out" 'requested 100 MiB' "and is held"
echo "# slurmd ran $(lacked_prolog && echo no || echo a) Prolog for the last of them"
# The agent asks squeue which attempt it is; without an answer it is the next one.
in_agent() { nsenter -m -t "$(systemctl show -P MainPID reeve-agent)" "$@"; }
in_agent mount --bind /bin/false /usr/bin/squeue
for _ in 1 2 3 4; do queue_again; lacked_prolog && break; done
in_agent umount /usr/bin/squeue
touch /tmp/enough
wait "$others"
has "$out" 'requested 100 MiB' "a job that was queued again is held, also where slurmctld does not say which attempt it is" "$out"
if lacked_prolog; then
	out=$(journalctl -u reeve-agent -o cat | grep "job $job: slurmd started")
	has "$out" 'did not say which attempt it is: it counts as the next' "it counts as the next one, and the log says why" "$out"
else
	echo "# slurmd ran a Prolog for each of these: what an attempt counts as that slurmctld does not name was not seen"
fi
! journalctl -u reeve-agent -o cat | grep -q 'its Epilog did not come'; ok $? "the Epilog of its first attempt ended that one" "$(journalctl -u reeve-agent -o cat | grep "job $job")"
systemctl stop reeve-agent
slurm_batch alice --vmem=100M <<<'echo not reached'
has "$out" 'nothing of this job runs.*systemctl status reeve-agent' "without an agent nothing of a job runs, and its error file says why" "$out"
[[ $out != *'not reached'* ]]; ok $? "not even its first line" "$out"
slurm_plugin max-vmem=1G unguarded=run
slurm_batch alice --vmem=100M <<<'echo runs'
has "$out" 'runs without Reeve.s limits' "with unguarded=run it runs, and its error file has a warning" "$out"
has "$out" '^runs$' "to its end"
systemctl start reeve-agent
systemctl service-watchdogs no # else a new agent answers after a minute
systemctl kill -s STOP reeve-agent
begun=$SECONDS
out=$(as alice srun -n 4 --vmem=100M echo runs 2>&1)
[ $((SECONDS - begun)) -lt 200 ]; ok $? "an agent that hangs is waited for once in the Prolog and once in a step, not for each task" "$((SECONDS - begun)) s"
has "$out" 'reeve-agent runs and does not answer' "and the warning says that it hangs" "$out"
[ "$(grep -cx runs <<<"$out")" = 4 ]; ok $? "all tasks run then" "$out"
systemctl kill -s CONT reeve-agent
systemctl service-watchdogs yes
systemctl stop reeve-agent

# ---- an agent that hangs while a job begins, and is then started again ----
# Without a batch script no task asks while it hangs. The new agent finds the job's cgroup, as that of a job older than Reeve.
begins_unseen() { # sets job
	systemctl start reeve-agent
	systemctl service-watchdogs no
	systemctl kill -s STOP reeve-agent
	job=$(as alice salloc --no-shell --vmem=100M 2>&1 | sed -n 's/.*Granted job allocation //p')
	runs_extern() { find /sys/fs/cgroup -type d -path "*job_$job/step_extern*" | grep -q .; }
	wait_for 90 runs_extern
	systemctl kill -s KILL reeve-agent
	finds_it() { journalctl -u reeve-agent -o cat | grep -q "job $job: began under Slurm before this agent"; }
	wait_for 60 finds_it; ok $? "an agent that is started again finds job $job, which began while the one before it hung"
	systemctl service-watchdogs yes
}
slurm_plugin max-vmem=1G default-vmem=500M unguarded=refuse
begins_unseen
out=$(as alice srun --jobid="$job" --overlap sh -c 'load map 300; echo not reached' 2>&1)
has "$out" "nothing of this job runs.*did not answer when job $job began" "it takes the job for none that is older than Reeve: nothing of it runs" "$out"
! grep -q 'not reached' <<<"$out"; ok $? "not one task" "$out"
as alice scancel "$job"
slurm_plugin max-vmem=1G default-vmem=500M unguarded=run
begins_unseen
out=$(as alice srun --jobid="$job" --overlap echo runs 2>&1)
has "$out" "runs without Reeve's limits.*did not answer when job $job began" "with unguarded=run it runs, and the warning says why" "$out"
has "$out" '^runs$' "to its end"
as alice scancel "$job"
is_unmarked() { [ -z "$(ls /run/reeve/slurm-unbegun)" ]; }
wait_for 60 is_unmarked; ok $? "nothing is left of that after the Epilog" "$(ls /run/reeve/slurm-unbegun)"
slurm_plugin max-vmem=1G default-vmem=500M unguarded=refuse

# ---- jobs that wait in the Prolog, which the agent knows, and an agent that is away when one of them ends ----
# Of both the agent sees no cgroup: slurmd died in the Prolog of the one, which is cancelled, and the Prolog of the other takes long.
printf '#!/bin/sh\nwhile [ -e /tmp/prolog-waits ]; do sleep 1; done\n' >/etc/slurm/prolog
chmod 755 /etc/slurm/prolog
touch /tmp/prolog-waits
echo Prolog=/etc/slurm/prolog >>/etc/slurm/slurm.conf
scontrol reconfigure
has_disk() { [ -e "/var/lib/reeve/jobfs/$1-1" ]; }
waits() { as alice sbatch --parsable -o "/home/alice/waits.out" --vmem=100M --jobfs=10M --wrap 'echo runs; load map 300; echo not reached'; }
ended=$(waits)
wait_for 60 has_disk "$ended"
systemctl kill -s KILL slurmd # its Prolog too
systemctl stop reeve-agent
as alice scancel "$ended"
systemctl restart slurmd
wait_for 120 slurm_is_over "$ended"
has_disk "$ended"; ok $? "no Epilog tells the agent of job $ended, which ends before a task of it began" "$(squeue; tail -n 20 /var/log/slurm/slurmd.log)"
systemctl start reeve-agent
kept=$(waits)
wait_for 60 has_disk "$kept"
is_cleared() { ! has_disk "$ended"; }
wait_for 300 is_cleared; ok $? "an agent that was away ends it, once squeue does not list it" "$(journalctl -u reeve-agent -o cat -n 10)"
has "$(journalctl -u reeve-agent -o cat)" "job $ended: cancelled: by Slurm before a task of it began" "and its end says that no task began"
sleep 40 # squeue is asked of both, two minutes after they were seen first
rm /tmp/prolog-waits
wait_for 60 slurm_is_over "$kept"
out=$(cat /home/alice/waits.out)
has "$out" '^runs$' "job $kept, which squeue lists, goes on" "$(journalctl -u reeve-agent -o cat -n 10; sinfo -R; tail -n 20 /var/log/slurm/slurmd.log)"
has "$out" 'requested 100 MiB' "and is held" "$out"
sed -i '/^Prolog=/d' /etc/slurm/slurm.conf
scontrol reconfigure
systemctl stop reeve-agent

# ---- a job that is older than Reeve on its node ----
: >/etc/slurm/plugstack.conf
job=$(as alice sbatch --parsable -o /home/alice/older.out --wrap 'echo begins; until [ -e /tmp/reeve-is-here ]; do sleep 1; done; srun echo a further step')
begins() { grep -q begins /home/alice/older.out; }
wait_for 30 begins
slurm_plugin max-vmem=1G default-vmem=500M
systemctl start reeve-agent
touch /tmp/reeve-is-here
wait_for 60 slurm_is_over "$job"
has "$(cat /home/alice/older.out)" '^a further step' "a job that began before the agent goes on, with its further steps" "$(cat /home/alice/older.out)"
has "$(journalctl -u reeve-agent -o cat)" "job $job: began under Slurm before this agent" "and the journal says that it is not held"

kept() { sql /var/lib/reeve/agent.db 'SELECT (SELECT count(*) FROM attempts) || " attempts, " || (SELECT count(*) FROM outbox) || " reports"'; }
keeps_nothing() { [ "$(kept)" = '0 attempts, 0 reports' ]; }
wait_for 30 keeps_nothing; ok $? "without a controller the agent keeps nothing of jobs that have ended" "$(kept)"

slurm_is_idle; ok $? "the node was drained at no time" "$(sinfo -R)"
tap_end
