#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# pbs.sh - the hook of PBS (pbs/reeve.py) and an agent with Engine=pbs, with a fake of pbs_python and pbs_mom (tests/node/pbs): real agent, real
# kernel, real systemd, real controller, and no PBS. TAP.
#   tests/node/suite.sh pbs --with pbs
. "$(dirname "$0")/node_lib.sh"
. "$(dirname "$0")/pbs_lib.sh"
number=100

# batch OPTION... <<< SCRIPT: a job of alice to its end; its id in $job, what the fake printed and its files in $out.
batch() {
	number=$((number + 1))
	job=$number
	cat >/tmp/script.$job
	chmod 755 /tmp/script.$job
	out=$(mom job "$job.head" "$@" /tmp/script.$job 2>&1)
}

# Three simulated GPUs (tests/gpu/nvml_double.c), one split into a MIG instance; their device files are those of other devices.
L=/usr/local/lib/reeve-tests
for i in 0 1 2; do mknod -m 666 /dev/nvidia$i c 1 $((7 + i % 2)); done
mkdir /dev/nvidia-caps
for i in 66 67; do mknod -m 666 /dev/nvidia-caps/nvidia-cap$i c 1 9; done
mount -t tmpfs none /proc/driver # where NVIDIA's driver says which capability is whose
cap() { # INSTANCE MINOR
	mkdir -p "/proc/driver/nvidia/capabilities/gpu2/mig/$1"
	printf 'DeviceFileMinor: %s\nDeviceFileMode: 292\n' "$2" >"/proc/driver/nvidia/capabilities/gpu2/mig/$1/access"
}
cap gi7 66; cap gi7/ci0 67
mkdir -m 1777 /run/loads
cat >/etc/reeve/world <<'WORLD'
driver 535.154.05
clock real
loads /run/loads
gpu 0 uuid=GPU-00000000-aaaa name=A100-SXM4-40GB mem=40960 bus=0000:3b:00.0 minor=0
gpu 1 uuid=GPU-11111111-aaaa name=A100-SXM4-40GB mem=40960 bus=0000:5e:00.0 minor=1
gpu 2 uuid=GPU-22222222-aaaa name=A100-SXM4-40GB mem=40960 bus=0000:86:00.0 minor=2 mig=yes
instance 2 uuid=MIG-77777777-aaaa profile=1g.5gb mem=4864 gi=7 ci=0
WORLD
mkdir -p /etc/systemd/system/reeve-agent.service.d
printf '[Service]\nEnvironment=REEVE_NVML_DOUBLE=/etc/reeve/world\n' >/etc/systemd/system/reeve-agent.service.d/double.conf

site '{"max_vmem": "1gb", "default_vmem": "500mb", "max_jobfs": "1gb"}'
pbs_configure n1 127.0.0.1
echo "NvmlLibrary = $L/libnvidia-ml.so.1" >>/etc/reeve/agent.conf
node_start || { ok 1 "the node starts"; tap_end; }
ok 0 "an agent with Engine=pbs and its controller run"
echo "# hooks are run by fake_pbs_python and fake_pbs_mom: a fake of PBS"

# ---- limits ----
batch -l vmem=100mb <<<'echo hello; cat /proc/self/cgroup'
has "$out" '^# exit status 0' "a job within its limits runs, though the pbs_mom that forked it is four times as large" "$out $(journalctl -u reeve-agent -o cat -n 20)"
has "$out" "reeve-pbs.slice/reeve-job-$job-1.scope/work" "in a scope of its own, which systemd made"
! grep -q 'reeve:' <<<"$out"; ok $? "and reads nothing of Reeve" "$out"
batch -l vmem=100mb <<<'echo begins; load map 300; sleep 5; echo not reached'
has "$out" 'begins' "a job begins"
has "$out" 'reeve: vmem limit exceeded on .* requested 100 MiB, reached 3[0-9]+ MiB' "its error file says which limit it exceeded, and by what" "$(journalctl -u reeve-agent -o cat -n 20)"
! grep -qx 'not reached' <<<"$out"; ok $? "and it is killed" "$out"
wait_for 30 is_ended "$job"; ok $? "it is in the ledger, and has ended" "$(reeve job "nci:$job"; journalctl -u reeve-agent -u reeve-controller -o cat -n 30)"
has "$(as alice reeve job "nci:$job")" 'vmem limit exceeded .* requested 100 MiB' "with its end message"
has "$(as alice reeve job "nci:$job" --json | tr -d '\n')" '"account": *"physics"' "in the account that PBS has"
batch -l vmem=100mb <<<'load forks 2 60; echo not reached'
has "$out" 'vmem limit exceeded' "the limit is of all processes together" "$out"
batch -l vmem=700mb <<<'load map 900; sleep 5; echo not reached'
has "$out" 'requested 700 MiB' "the limit for each process that pbs_mom sets does not come first" "$out"
batch <<<'load map 600; sleep 5; echo not reached'
has "$out" 'requested 500 MiB' "a job that states nothing has the site's default" "$out"
batch -o -l vmem=100mb <<<'load map 300'
has "$out" 'reeve: vmem limit exceeded' "with -j oe the end message is in the output file" "$out"
batch -l vmem=200mb -x "(n0:vmem=100mb:ncpus=1)+($(hostname):vmem=100mb:ncpus=1)" <<<'load map 150; sleep 5; echo not reached'
has "$out" 'requested 100 MiB' "a job on two nodes has here what its chunks here have" "$out"
batch -l vmem=100mb <<<'(setsid load map 300 >/dev/null 2>&1 &); sleep 5; echo not reached'
has "$out" 'requested 100 MiB' "a process that has left its session and its parent is held" "$out"

# ---- disks ----
batch -l jobfs=20mb <<<'echo at $TMPDIR = $PBS_JOBFS; head -c 5000000 /dev/zero >$TMPDIR/a && echo fits; head -c 50000000 /dev/zero >$TMPDIR/b; sleep 5; echo not reached'
has "$out" "at /var/lib/reeve/jobfs/$job-1/work = /var/lib/reeve/jobfs/$job-1/work" "TMPDIR and PBS_JOBFS are the job's own disk" "$out"
has "$out" '^fits' "what fits can be written"
has "$out" 'jobfs limit exceeded .* requested 20.0 MiB' "a full disk ends the job, in words"
[ ! -e "/var/lib/reeve/jobfs/$job-1" ]; ok $? "the epilogue has removed the disk" "$(ls /var/lib/reeve/jobfs)"

# ---- what is refused ----
batch -l vmem=2gb <<<'echo not reached'
has "$out" "^# rejected: reeve: this job may not run: vmem of 2gb on a node is above this site's bound of 1gb" "an amount above the site's bound is refused" "$out"
has "$out" '^reeve: this job may not run: vmem of 2gb' "and its error file has that sentence"
batch -l vmem=lots <<<'echo not reached'
has "$out" 'vmem=lots is no amount: write it like 4gb' "what is no amount is refused, with the remedy" "$out"
batch -u root <<<'echo not reached'
has "$out" 'rejected: reeve: this job may not run: ' "a job of root is refused" "$out"
! grep -qx 'not reached' <<<"$out"; ok $? "and runs nothing" "$out"
has "$(mom submit -l vmem=2gb)" "reject reeve: vmem of 2gb on a node is above this site's bound of 1gb" "qsub is refused the same by the queuejob hook"
has "$(mom submit -l vmem=500mb)" '^accept' "and accepted within the bound"
out=$(mom job 7[9].head /tmp/script.101 2>&1)
has "$out" '^hello' "a task of a job array runs" "$out"
wait_for 30 is_ended "7[9]"; ok $? "and is in the ledger by its index" "$(as alice reeve job "nci:7[9]" 2>&1; reeve jobs -a)"
out=$(mom job 7[20000].head /tmp/script.101 2>&1)
has "$out" 'has no number in Reeve: indices end at 16383' "an index that has no number is refused in words" "$out"

# ---- ways around it ----
batch -l vmem=100mb -e REEVE_LIMITS=vmem=9gb -e REEVE_VMEM=9gb -e PBS_HOOK_CONFIG_FILE=/tmp/own -e PBS_JOBFS=/tmp <<<'echo disk $PBS_JOBFS; load map 300; sleep 5; echo not reached'
has "$out" 'requested 100 MiB' "a forged environment changes nothing" "$out"
batch -l vmem=100mb <<'EOF2'
s=/var/spool/fake_pbs/spool/$PBS_JOBID.ER
rm -f $s; ln -s /home/alice/victim $s; touch /home/alice/victim
load map 300
EOF2
[ ! -s /home/alice/victim ]; ok $? "the end message does not follow a link that the job has put in its error file's place" "$(cat /home/alice/victim)"
batch -l vmem=100mb <<'EOF2'
python3 - <<'PY'
import socket
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
try:
    s.connect("/run/reeve/pbs.sock")
    print("connected")
except OSError as x:
    print("refused:", x.strerror)
PY
EOF2
has "$out" 'refused: Permission denied' "no job can ask the agent itself" "$out"

# ---- forged events: pbs_mom accepts by default if pbs_python breaks ----
batch -l vmem=100mb -A $'x\npbs.event().job.foo=1' <<<'echo not reached'
! grep -qx 'not reached' <<<"$out"; ok $? "a job whose account name ends the event early runs nothing, though pbs_mom accepts by default" "$out"
batch -l vmem=100mb -a $'x\npbs.event().job.id=1.head' <<<'echo not reached'
! grep -qx 'not reached' <<<"$out"; ok $? "a task whose argument looks like the id of a job runs nothing" "$out"
batch -A $'x\npbs.event().job.Resource_List[vmem]=900mb' <<<'load map 600; sleep 5; echo not reached'
has "$out" 'requested 500 MiB' "an account name that looks like a resource changes no limit" "$out"
batch -M <<<'echo not reached'
has "$out" 'rejected: .* pbs_server has not checked this job' "a job that the submission hook has not seen is refused" "$out"
has "$(mom submit -A $'x\npbs.event().foo=1')" 'reject .*Account_Name has a line break' "an account name with a line break is refused at qsub"
has "$(mom alter -A $'x\npbs.event().foo=1')" 'reject .*Account_Name has a line break' "an account name with a line break is refused at qalter"
has "$(mom submit -v $'A=x"""\npbs.event().foo=1')" 'reject .*a variable of the environment' "a variable that ends the event early is refused at qsub"
has "$(mom submit)" "'reeve_checked': '1'" "the submission hook marks the job"

# ---- how PBS ends a job ----
batch -l vmem=100mb <<<'load map 300; exit 0'
has "$out" 'exit status (-19|265)' "a job that a limit has ended does not have exit status 0" "$out"
batch -X -29 <<<'sleep 1'
wait_for 30 is_ended "$job"
has "$(as alice reeve job "nci:$job")" 'by PBS: it exceeded walltime' "the ledger has why PBS ended a job"

# ---- further tasks ----
echo 'echo task; load map 300; sleep 5; echo not reached' >/tmp/task
printf '%s\n' 'sleep 60' 'echo not reached' >/tmp/long
chmod 755 /tmp/task /tmp/long
mom job 300.head -l vmem=100mb /tmp/long >/tmp/long.out 2>&1 &
wait_for 20 begins 300
mom task 300.head -l vmem=100mb /tmp/task >/dev/null 2>&1
wait $!
out=$(cat /tmp/long.out)
has "$out" 'vmem limit exceeded' "a further task (tm_spawn) counts as the job's" "$out"
! grep -qx 'not reached' <<<"$out"; ok $? "and ends it" "$out"
echo 'sleep 6; echo goes on' >/tmp/long
mom job 301.head -l vmem=100mb /tmp/long >/tmp/long.out 2>&1 &
wait_for 20 begins 301
as alice sleep 60 &
sleep 0.5
pid=$(pgrep -u alice -f '^sleep 60')
has "$(mom attach 301.head -l vmem=100mb "$pid")" '^accept' "a process of the user can be attached"
has "$(cat "/proc/$pid/cgroup")" 'reeve-job-301-1.scope/work' "it is in the job's cgroup then"
has "$(mom attach 301.head -l vmem=100mb $$)" "reject .*process $$ is of user 0" "one of another user is refused"
wait %?long.out 2>/dev/null
wait_for 30 is_ended 301; ok $? "the end of the job ends the process that was attached" "$(cat "/proc/$pid/cgroup" 2>&1)"
! kill -0 "$pid" 2>/dev/null; ok $? "it is gone"

# ---- the agent dies, or is away ----
echo 'sleep 8; load map 300; sleep 5; echo not reached' >/tmp/long
mom job 302.head -l vmem=100mb /tmp/long >/tmp/long.out 2>&1 &
wait_for 20 begins 302
systemctl kill -s KILL reeve-agent
wait $!
has "$(cat /tmp/long.out)" 'requested 100 MiB' "an agent that was killed with -9 finds the job again, and it is still held" "$(cat /tmp/long.out; journalctl -u reeve-agent -o cat -n 20)"
wait_for 30 is_ended 302
has "$(as alice reeve job nci:302)" 'vmem limit exceeded' "and the ledger has its end message"
(for _ in 1 2 3; do sleep 1; systemctl restart reeve-agent; sleep 1; systemctl kill -s KILL reeve-agent; done) &
all=
for _ in 1 2 3 4 5 6 7 8; do batch -l vmem=100mb <<<'echo runs' && all="$all$out"$'\n'; done
wait $!
[ "$(grep -cx runs <<<"$all")" = 8 ]; ok $? "jobs that begin while the agent is restarted and killed wait for it, and run" "$all $(journalctl -u reeve-agent -o cat -n 40)"
echo 'sleep 2' >/tmp/long
mom job 303.head -E -l vmem=100mb /tmp/long >/dev/null 2>&1
mom periodic 999.head
! is_ended 303; ok $? "a job whose epilogue did not come is not ended by the first list that lacks it"
systemctl stop reeve-agent
batch -l vmem=100mb <<<'echo not reached'
has "$out" '^# rejected: reeve: nothing of this job runs.*systemctl status reeve-agent' "without an agent nothing of a job runs" "$out"
has "$out" '^reeve: nothing of this job runs' "and its error file says why"
! grep -qx 'not reached' <<<"$out"; ok $? "not even its first line" "$out"
site '{"unguarded": "run", "max_vmem": "1gb"}'
batch -l vmem=100mb <<<'echo runs'
has "$out" '^reeve: this job runs without Reeve.s limits' "with unguarded=run it runs, and its error file has a warning" "$out"
has "$out" '^runs$' "to its end"
batch -l vmem=2gb <<<'echo not reached'
has "$out" "rejected: .*above this site's bound of 1gb" "the site's bound holds without an agent too" "$out"
systemctl start reeve-agent
mom periodic 999.head
listed=$SECONDS
systemctl service-watchdogs no # else a new agent answers after a minute
systemctl kill -s STOP reeve-agent
batch -l vmem=100mb <<<'echo runs'
has "$out" 'runs without Reeve.s limits: reeve-agent runs and does not answer' "an agent that hangs is waited for, and then named" "$out"
systemctl kill -s CONT reeve-agent
systemctl service-watchdogs yes
site '{"unguarded": "perhaps"}'
batch <<<'echo not reached'
has "$out" "rejected: .*unguarded is 'perhaps', and must be refuse or run" "a wrong configuration of the hook lets nothing run, and says what is wrong" "$out"
site '{"max_vmem": "1gb"}'
batch -l vmem=100mb -c other <<<'echo not reached'
has "$out" 'rejected: .* is in /sys/fs/cgroup/other, a cgroup that another program has made for it' "a task that something else has put into a cgroup of its own is refused, not taken out of it" "$out"
batch -l vmem=100mb <<<'echo runs'
has "$out" '^runs' "the next job runs"

# ---- the ledger ----
text=$(as alice reeve submit -A physics -l ncpus=1,vmem=100MB,walltime=60 -- true 2>&1)
has "$text" 'qsub' "reeve submit to that cluster is refused, with the command to use" "$text"
echo 'sleep 600' >/tmp/long
mom job 304.head -l vmem=100mb /tmp/long >/tmp/long.out 2>&1 &
is_running() { reeve job "nci:$1" --json | grep -q '"state": *"running"'; }
wait_for 30 is_running 304; ok $? "a job that runs is shown as running" "$(reeve job nci:304)"
as alice reeve cancel nci:304 >/dev/null
wait $!; ok $? "reeve cancel ends a job of PBS" "$(cat /tmp/long.out)"
has "$(as alice reeve usage --account physics)" 'physics +cpu' "they are in the usage of the account" "$(reeve usage --account physics)"
while [ $((SECONDS - listed)) -lt 125 ]; do sleep 1; done
mom periodic 999.head
wait_for 30 is_ended 303; ok $? "a job that PBS does not list for two minutes has ended, though its epilogue did not come" "$(reeve job nci:303)"
has "$(as alice reeve job nci:303)" 'how the job ended was not recorded' "with a note that its end was not seen"

# ---- a node that is not the job's first ----
echo 'echo one' >/tmp/one
has "$(mom task 320.head -s -l vmem=100mb /tmp/one)" '^one' "a task on another node than the job's first runs"
[ ! -e /sys/fs/cgroup/reeve.slice/reeve-pbs.slice/reeve-job-320-1.scope ]; ok $? "and its scope goes with it"
out=$(mom task 320.head -s -l vmem=100mb /tmp/task)
has "$out" '^task' "the next task gets another one"
! grep -qx 'not reached' <<<"$out"; ok $? "where it is held" "$out"
mom end 320.head
wait_for 30 is_ended 320
has "$(as alice reeve job nci:320)" 'vmem limit exceeded .* requested 100 MiB' "and the ledger has its end" "$(reeve job nci:320)"

# ---- GPUs ----
# A process of the job on a GPU, as the driver would show it.
work='echo "$GPU" >/run/loads/$$; sleep 6; rm /run/loads/$$'
batch -l vmem=500mb -l ngpus=1 -g nvidia1 -e 'GPU=1 2048 60' -e CUDA_VISIBLE_DEVICES=GPU-00000000-aaaa <<<"$work"
law "a job of PBS has its GPUs in the ledger, with their model" "q['ngpus'] == 1 and q['gpu_model'] == 'a100-40'"
law "those that pbs_cgroups has assigned, whatever its environment says" "[g['uuid'] for g in j['gpus']] == ['GPU-11111111-aaaa']"
law "what it did there is measured" "j['gpus'][0]['busy_ns'] > 1e9 and j['gpus'][0]['mem_peak_bytes'] == 2 << 30"
batch -l vmem=500mb -l ngpus=1 -g nvidia-cap66 -e 'GPU=2 1000 0 0' <<<"$work"
law "a MIG instance is a model of its own" "q['gpu_model'] == 'a100_1g.5gb' and j['gpus'][0]['uuid'].startswith('MIG-7777') and j['gpus'][0]['mem_peak_bytes'] == 1000 << 20"
batch -l vmem=500mb -l ngpus=2 -g nvidia0 <<<'sleep 2'
law "GPUs that pbs_cgroups does not name are in the ledger too" "q['ngpus'] == 2 and len(j['gpus']) == 1"
law "and a note says that they are not measured" "'1 of its 2 GPUs are not measured: PBS does not say which they are' in j['note']"
batch -l vmem=500mb <<<'sleep 1'
law "a job without GPUs has none" "not q.get('ngpus') and not j.get('gpus')"
site '{"max_vmem": "1gb", "gpu_resource": "cards"}'
batch -l vmem=500mb -l cards=1 -l ngpus=2 -g nvidia0 <<<'sleep 1'
law "the resource may have another name" "q['ngpus'] == 1 and q['gpu_model'] == 'a100-40'"
site '{"max_vmem": "1gb"}'

# ---- charges ----
charge() { reeve job "nci:$1" --json | json charge_requested_ms; }
echo 'sleep 5' >/tmp/long
mom job 310.head -q normal /tmp/long >/dev/null & mom job 311.head -q express /tmp/long >/dev/null & wait
wait_for 30 is_ended 310 && wait_for 30 is_ended 311
awk -v n="$(charge 310)" -v e="$(charge 311)" 'BEGIN { exit !(n > 0 && e > 2.5 * n && e < 3.5 * n) }'; ok $? "charged by the profile of NCI: express costs three times what normal costs" "$(charge 310) $(charge 311)"
echo 'sleep 30; echo end' >/tmp/long
mom job 312.head /tmp/long >/tmp/long.out 2>&1 &
wait_for 20 begins 312
mom suspend 312.head
sleep 8
mom resume 312.head
wait $!
wait_for 30 is_ended 312
awk -v r="$(reeve job nci:312 --json | json suspended_ns)" 'BEGIN { exit !(r > 7e9) }'; ok $? "time in which PBS has suspended the job is free" "$(reeve job nci:312 --json)"
suspended_s() { reeve job "nci:$1" --json | json suspended_ns | sed 's/.........$//'; } # at least 1 s
agent_answers() { busctl call org.reeve.Agent1 /org/reeve/Agent1 org.freedesktop.DBus.Peer Ping; }
echo 'sleep 30; echo end' >/tmp/long
mom job 313.head /tmp/long >/tmp/long.out 2>&1 &
wait_for 20 begins 313
mom suspend 313.head
sleep 3
systemctl kill -s KILL reeve-agent
wait_for 30 agent_answers
sleep 8
has "$(reeve job nci:313 --json)" '"state": *"suspended"' "a job that PBS has suspended is still so when its agent was killed with -9" "$(journalctl -u reeve-agent -o cat -n 20)"
mom resume 313.head
wait $!
wait_for 30 is_ended 313
s=$(suspended_s 313); [ "${s:-0}" -ge 10 ]; ok $? "and all that time is free: $s s" "$(reeve job nci:313 --json)"
echo 'sleep 30; echo end' >/tmp/long
mom job 314.head /tmp/long >/tmp/long.out 2>&1 &
wait_for 20 begins 314
mom suspend 314.head
sleep 3
systemctl stop reeve-agent
mom resume 314.head
systemctl start reeve-agent
wait_for 30 agent_answers
wait $!
wait_for 30 is_ended 314
s=$(suspended_s 314); [ "${s:-0}" -lt 10 ]; ok $? "one that was continued while no agent ran is charged again: $s s are free" "$(reeve job nci:314 --json)"
has "$(journalctl -u reeve-agent -o cat)" 'it was suspended, and runs' "the agent has seen that"
echo 'sleep 30; echo end' >/tmp/long
mom job 315.head /tmp/long >/tmp/long.out 2>&1 &
wait_for 20 begins 315
mom suspend 315.head
sleep 3
pkill -CONT -u alice
is_charged_again() { reeve job nci:315 --json | grep -q '"state": *"running"'; }
wait_for 10 is_charged_again; ok $? "one that its user continues runs, and is charged" "$(reeve job nci:315)"
wait $!
wait_for 30 is_ended 315
charged=$(as alice reeve job nci:302 --json | json running_ns)
[ "${charged:-0}" -gt 5000000000 ]; ok $? "with the time that they ran" "$charged"
tap_end
