#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# slurm_mix.sh - a day of a Slurm cluster beside Reeve in some minutes: an array of $JOBS (100), jobs that are requeued, suspended and preempted,
# and all daemons of both killed with SIGKILL meanwhile, $KILLS (25) times at random. At the end the ledger, slurmdbd and what the jobs wrote
# of themselves must agree, and nothing may be there twice. TAP; $SEED repeats the order of the kills.
#   tests/node/suite.sh slurm_mix --with slurm --net host
. "$(dirname "$0")/node_lib.sh"
. "$(dirname "$0")/slurm_lib.sh"
jobs=${JOBS:-100} kills=${KILLS:-25}
RANDOM=${SEED:=$RANDOM}
echo "# SEED=$SEED, $jobs jobs, $kills kills"
truth=/home/alice/truth
daemons=(reeve-agent reeve-controller reeve-slurm slurmctld slurmd slurmdbd)

slurm_configure
sed -i '/^PartitionName/d' /etc/slurm/slurm.conf
cat >>/etc/slurm/slurm.conf <<-CONF
	PreemptType=preempt/partition_prio
	PreemptMode=REQUEUE
	JobRequeue=1
	PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP PriorityTier=5 PreemptMode=requeue
	PartitionName=high Nodes=ALL MaxTime=INFINITE State=UP PriorityTier=9 PreemptMode=off
CONF
slurm_with_controller || { ok 1 "the controller starts" "$(journalctl -u reeve-controller -o cat -n 20)"; tap_end; }
sed -i 's/^Queues = main/Queues = main, high/' /etc/reeve/controller.conf
systemctl restart reeve-controller
slurm_start || { ok 1 "the cluster starts"; tap_end; }
printf '%s\n' '[Slurm]' 'Cluster = vc' 'Controller = http://127.0.0.1:8640' 'ControllerUser = reeve' 'LiveInterval = 2s' 'AccountingInterval = 2s' \
	>/etc/reeve/reeve-slurm.conf
systemctl start reeve-slurm; ok $? "reeve-slurm starts" "$(journalctl -u reeve-slurm -o cat -n 20)"
wait_for 60 node_is_up

runuser -u alice -- mkdir -p $truth
cat >/usr/local/bin/told <<'SH'
#!/bin/sh
# told SECONDS: a job that writes when it begins and ends
to=/home/alice/truth/$SLURM_JOB_ID.${SLURM_RESTART_COUNT:-0}
echo "begin $(date +%s%N)" >$to
sleep "$1"
echo "end $(date +%s%N)" >>$to
SH
cat >/usr/local/bin/beats <<'SH'
#!/bin/sh
# beats N: a job that writes the time N times, 0.2 s apart: the longest gap is how long it was frozen
for i in $(seq "$1"); do date +%s%N; sleep 0.2; done >/home/alice/beats
SH
chmod 755 /usr/local/bin/told /usr/local/bin/beats
sub() { as alice sbatch --parsable -o /dev/null --vmem=300M --mem=50 "$@"; } # OPTION... --wrap COMMAND
is_state() { [ "$(squeue -h -j "$1" -o %T 2>/dev/null)" = "$2" ]; }

# ---- one of each, before anything is killed ----
suspended=$(sub --wrap 'told 1; beats 20')
requeued=$(sub --wrap 'told 10')
wait_for 60 is_state "$suspended" RUNNING
wait_for 60 is_state "$requeued" RUNNING
begins() { [ -s "$truth/$1.0" ]; }
wait_for 30 test -s /home/alice/beats && wait_for 30 begins "$requeued"
scontrol suspend "$suspended"
scontrol requeue "$requeued"
sleep 8
scontrol resume "$suspended"
preempted=$(sub -n 1 --exclusive --wrap 'told 10')
begins_or_over() { begins "$1" || slurm_is_over "$1"; }
wait_for 120 begins_or_over "$preempted"
high=$(sub -p high -n 4 --wrap 'told 3')
all_over() { [ -z "$(squeue -h 2>/dev/null)" ] && scontrol ping | grep -q UP; }
wait_for 200 all_over; ok $? "a suspended, a requeued and a preempted job end" "$(squeue)"
for j in "$requeued" "$preempted"; do grep -q ^end "$truth/$j.1" || j=; [ "$j" ] || break; done
[ "$j" ]; ok $? "the requeued and the preempted job run again, to their ends" "$(ls $truth; sacct -D -n -P -o JobID,Start,End,State; journalctl -u reeve-agent -o cat -n 20)"

# ---- ends of which no Epilog tells the agent: while it is away, and while its socket is not there ----
ends() { grep -q ^end "$truth/$1.0" 2>/dev/null; }
away=$(sub --wrap 'told 5')
wait_for 60 begins "$away"
systemctl stop reeve-agent
wait_for 60 ends "$away"
sleep 30
systemctl start reeve-agent
wait_for 60 slurm_is_over "$away"; ok $? "a job ends while the agent is away" "$(squeue)"
untold=$(sub --wrap 'told 5')
wait_for 60 begins "$untold"
mv /run/reeve/slurm.sock /run/reeve/slurm.away
wait_for 60 ends "$untold"
wait_for 60 slurm_is_over "$untold"
mv /run/reeve/slurm.away /run/reeve/slurm.sock
is_closed() { [ "$(sql /var/lib/reeve-controller/ledger.db "SELECT closed FROM attempts WHERE (job & 67108863) = $1")" = 1 ]; }
wait_for 60 is_closed "$untold"; ok $? "the end of a job without an Epilog is found by its cgroup" "$(journalctl -u reeve-agent -o cat -n 10)"

# ---- starts that slurmctld forgets ----
# It is killed after it has started four jobs at once, and finds its state of before. What runs is aborted, and started once more: mostly without a
# Prolog, as slurmd has looked at their credentials just before (agent/slurm/ended.h). slurmdbd has the later run alone. With an odd seed the controller
# is away from then until all of them run again: it hears of both runs later (agent/report/former.h).
spool=/var/spool/slurmctld
forgotten=$(sub --hold --array=1-4 --job-name=forgotten --wrap 'told 20')
saved() { grep -q "$1" $spool/job_state; }
wait_for 60 saved forgotten
cp -a $spool /tmp/before
scontrol release "$forgotten"
all_run() { [ "$(squeue -h -r -t R -j "$forgotten" | wc -l)" = 4 ]; }
wait_for 60 all_run
ids=$(squeue -h -r -j "$forgotten" -O JobID | tr -s ' \n' ' ')
all_begin() { for id in $ids; do begins "$id" || return 1; done; }
wait_for 60 all_begin
((SEED % 2)) && systemctl stop reeve-controller
systemctl kill -s KILL --kill-whom=main slurmctld
rm -rf $spool && mv /tmp/before $spool
systemctl reset-failed slurmctld 2>/dev/null
systemctl restart slurmctld
# slurmd fails what is launched while it still cleans up after the run before: the agent says the end of each first.
all_aborted() {
	local id
	for id in $ids; do journalctl -u reeve-agent -o cat | grep -q "job $id: ended" || return 1; done
	! pgrep -f 'slurmstepd: \[' >/dev/null && scontrol ping | grep -q UP
}
wait_for 120 all_aborted
released() { scontrol release "$forgotten" 2>/dev/null; }
wait_for 30 released; ok $? "slurmctld has them as they were before their start" "$(squeue -a; tail -n 30 /var/log/slurm/slurmctld.log)"
# All the same slurmd may fail one at its launch, as long as it has the end of the run before in its books: Slurm queues that again, and holds it.
relaunched=
relaunch_held() {
	local id
	sinfo -h -t drain,down,fail | grep -q . && scontrol update "NodeName=$(hostname)" State=RESUME 2>/dev/null
	for id in $(squeue -h -r -t PD -o '%A %r' 2>/dev/null | awk '/launch failed/ { print $1 }'); do
		scontrol release "$id" && relaunched="$relaunched $id"
	done
}
once_more() { for id in $ids; do [[ " $relaunched " = *" $id "* ]] || echo "$id"; done; } # of which slurmctld has forgotten the start, and nothing else
if ((SEED % 2)); then
	begin_twice() {
		local id
		relaunch_held
		for id in $(once_more); do [ "$(journalctl -u reeve-agent -o cat | grep -c "job $id: began under Slurm")" = 2 ] || return 1; done
	}
	wait_for 200 begin_twice; ok $? "they run again while the controller is away" \
		"$relaunched; $(squeue; journalctl -u reeve-agent -o cat | tail -n 40; tail -n 20 /var/log/slurm/slurmd.log)"
	kept=$(sql /var/lib/reeve/agent.db 'SELECT COUNT(*) FROM former')
	[ "$kept" -gt 0 ] && [ "$kept" -ge "$(once_more | wc -l)" ]; ok $? "the agent keeps the report of each run before" \
		"$kept; $(journalctl -u reeve-agent -o cat | tail -n 40)"
	systemctl start reeve-controller
	kept_none() { [ "$(sql /var/lib/reeve/agent.db 'SELECT COUNT(*) FROM former')" = 0 ]; }
	wait_for 60 kept_none; ok $? "and the controller gets them" "$(journalctl -u reeve-agent -u reeve-controller -o cat | tail -n 40)"
fi
forgotten_over() { relaunch_held; all_over; }
wait_for 200 forgotten_over; ok $? "jobs that slurmctld has forgotten run once more" "$(squeue; sinfo -R; tail -n 30 /var/log/slurm/slurmctld.log)"
[ -z "$relaunched" ] || { echo "# slurmd failed at their launch: job$relaunched"; grep -E 'error|revoked' /var/log/slurm/slurmd.log | tail -n 5 | sed 's/^/# /'; }
twice=0 lacked=0 next=0
for id in $(once_more); do
	said=$(journalctl -u reeve-agent -o cat | grep "job $id: ")
	[ "$(grep -c 'began under Slurm' <<<"$said")" = 2 ] && twice=$((twice + 1))
	grep -q 'slurmd started attempt 1 without a Prolog' <<<"$said" && lacked=$((lacked + 1))
	grep -q 'slurmd started attempt 2' <<<"$said" && next=$((next + 1))
done
[ "$twice $next" = "$(once_more | wc -l) 0" ]; ok $? "each of them is the same attempt, as slurmctld says ($lacked without a Prolog)" \
	"$twice began twice, $next as the next attempt; $(journalctl -u reeve-agent -o cat | tail -n 40)"

# ---- the array, and the kills ----
exec 3>&1
tell_progress() { # every half minute, also where the output goes nowhere
	[ $SECONDS -ge "${tell_at:-0}" ] || return
	tell_at=$((SECONDS + 30))
	echo "# after $SECONDS s: $*; jobs: $(timeout 10 squeue -h -r -o %T 2>&1 | sort | uniq -c | tr -s ' \n' ' ')" >&3
}
count_run() { ls $truth | cut -d. -f1 | sort -u | wc -l; }
before_array=$(count_run)
sub --array=1-"$jobs" --job-name=the-array --wrap 'told 0.5' >/dev/null
wait_for 60 saved the-array # killed before that, slurmctld would not know it at all
for ((i = 0; i < kills; i++)); do
	victim=${daemons[RANDOM % ${#daemons[@]}]}
	sleep $((RANDOM % 5)).$((RANDOM % 10))
	systemctl kill -s KILL --kill-whom=main "$victim"
	sleep 0.$((RANDOM % 10))
	systemctl reset-failed "$victim" 2>/dev/null
	systemctl restart "$victim"
	tell_progress "$((i + 1)) of $kills kills, the last of $victim"
done
for d in "${daemons[@]}"; do systemctl is-active -q "$d" || systemctl restart "$d"; done
# Slurm holds a job whose launch failed, drains a node whose slurmd died at a bad moment, and believes in a job whose end it knew before
# it was killed, without having saved it, until slurmd registers again (half an hour), and waits for ever for the script of one of which
# slurmd has only begun the extern step before it was killed: an operator's work.
held=0 believed=0 unbegun=0 queued_again= before= before_s=0
all_over_with_help() {
	local id now
	tell_progress "$held released, $believed believed in, $unbegun queued again"
	for id in $(squeue -h -r -t PD -o '%i %r' 2>/dev/null | awk '/[Hh]eld/ { print $1 }'); do scontrol release "$id" && held=$((held + 1)); done
	sinfo -h -t drain,down,fail | grep -q . && scontrol update "NodeName=$(hostname)" State=RESUME 2>/dev/null
	now=$(squeue -h -r -o '%i %t' 2>/dev/null)
	[ "$now" = "$before" ] || { before=$now before_s=$SECONDS; }
	if [ $((SECONDS - before_s)) -gt 60 ] && ! pgrep -f 'slurmstepd: \[' >/dev/null; then
		believed=$((believed + $(squeue -h -r -t R | wc -l))) before_s=$SECONDS
		systemctl restart slurmd
	elif [ $((SECONDS - before_s)) -gt 60 ] && ! pgrep -fa 'slurmstepd: \[' | grep -qv '\.extern\]'; then
		for id in $(squeue -h -r -t R -O JobID); do scontrol requeue "$id" && unbegun=$((unbegun + 1)) queued_again="$queued_again|$id"; done
		before_s=$SECONDS
	fi
	if [ $((SECONDS - before_s)) -gt 120 ] && [ ! -e /tmp/told-stuck ]; then
		: >/tmp/told-stuck
		tell_stuck 2>&1 | sed 's/^/# /' >&3
	fi
	all_over
}
# What holds a job that does not end: its processes and where they wait, what is frozen, the last words of the daemons.
tell_stuck() {
	local p
	squeue | head -n 20
	sinfo -R
	for p in $(pgrep 'slurmstepd|told|slurm_script|sleep|reeve'); do
		echo "$p $(tr '\0' ' ' <"/proc/$p/cmdline" | cut -c1-80): $(cat "/proc/$p/wchan"), $(sed -n 's/^0:://p' "/proc/$p/cgroup")"
	done
	grep -rlx 1 --include=cgroup.freeze /sys/fs/cgroup 2>/dev/null | head
	for p in slurmd slurmctld; do tail -n 15 "/var/log/slurm/$p.log"; done
	journalctl -u reeve-agent -o cat -n 15
	runuser -u alice -- timeout 20 reeve jobs | tail -n 10
}
wait_for 250 all_over_with_help; ok $? "the array of $jobs ends, with $kills kills meanwhile" "$(tell_stuck 2>&1)"
run=$(($(count_run) - before_array))
tell_failed() { # what each daemon says of jobs that Slurm has as failed
	local id
	for id in $(sacct -a -X -D -n -P -S now-1day -s FAILED,NODE_FAIL -o JobIDRaw | sort -un | head -n 6); do
		sacct -D -n -P -S now-1day -j "$id" -o JobID,JobIDRaw,Submit,Start,End,State,ExitCode
		journalctl -u reeve-agent -o short-iso --no-hostname | grep "job $id[: ]"
		grep -hE "JobId=[^ ]*\\b$id\\b|[Jj]ob $id\\b|\\[$id\\." /var/log/slurm/slurmd.log /var/log/slurm/slurmctld.log | tail -n 16
	done
}
[ $run -ge "$jobs" ]; ok $? "each of its jobs has run" "$run have; $(tell_failed 2>&1)"
echo "# $held times a job was released that Slurm held; $believed jobs without a process ended when slurmd registered again; $unbegun jobs whose script Slurm had not begun were queued again"
reconcile() { reeve admin reconcile --cluster vc --from "$(date -u -d yesterday +%F)" --to "$(date -u -d tomorrow +%F)" "$@"; }
tell_rows() { # what the ledger has of the jobs that differ
	local id
	for id in $(sed -n 's/^job \([0-9]*\).*/\1/p' /tmp/reconcile | sort -un | head -n 5); do
		sql /var/lib/reeve-controller/ledger.db "SELECT 'slurm', id, submit_s, attempt, state, start_s, end_s, source FROM slurm_attempts WHERE id = $id
			UNION ALL SELECT 'ledger', job & 67108863, given_ns / 1000000000, attempt, state, started_ns / 1000000000, ended_ns / 1000000000, seq
			FROM attempts WHERE (job & 67108863) = $id"
		sacct -X -D -n -P -S now-1day -j "$id" -o JobIDRaw,Submit,Start,End,State
	done
}
has_all() {
	local open
	open=$(sql /var/lib/reeve-controller/ledger.db 'SELECT COUNT(*) FROM attempts WHERE closed = 0')
	tell_progress "$open attempts are open in the ledger; reconcile: $(tail -n 1 /tmp/reconcile 2>&1)"
	[ "$open" = 0 ] || return
	reconcile >/tmp/reconcile 2>&1 && return
	# Slurm counts a job without a process until it is queued again, the ledger until its last process went.
	[ "$queued_again" ] && grep -q '^cluster' /tmp/reconcile && ! grep '^job' /tmp/reconcile | grep -qvE "^job (${queued_again#|}): end: "
}
wait_for 120 has_all; ok $? "reeve admin reconcile: ledger and slurmdbd have the same jobs and seconds" "$(reconcile 2>&1 | head -30; tell_rows)"
sed "s/^/# /" /tmp/reconcile
reconcile --json | python3 -c 'import json, sys
r = json.load(sys.stdin)
apart, explained = r["ledger_cpu_s"] - r["slurmdbd_cpu_s"], r["forgotten_cpu_s"] - r["noticed_late_cpu_s"] + r["agent_cpu_s"]
sys.exit(0 if apart == explained else f"{apart} CPU seconds apart, {explained} explained")' 2>/tmp/sums
ok $? "where their CPU seconds differ, it says why, to the second" "$(tail -n 3 /tmp/sums)"

# ---- row by row ----
SLURM_TIME_FORMAT=%s sacct -a -X -D -n -P -S now-1day -o JobIDRaw,Start,End,Suspended,ElapsedRaw,AllocCPUS,State | grep -v 'None assigned' >/tmp/sacct
sql /var/lib/reeve-controller/ledger.db "SELECT j.job & 67108863, a.attempt, a.started_ns, a.ended_ns, a.running_ns,
	a.suspended_ns, a.charge_requested_ms, j.ncpus FROM attempts a JOIN jobs j ON j.job = a.job" >/tmp/ledger
cat >/tmp/compare.py <<'PY'
import collections, glob, os, sys
suspended, away, untold = sys.argv[1:]
S = 10**9
slurm, ledger = collections.defaultdict(list), collections.defaultdict(list)
for line in open('/tmp/sacct'):
    f = line.rstrip('\n').split('|')
    slurm[f[0]].append(f)
for line in open('/tmp/ledger'):
    f = line.rstrip('\n').split('|')
    ledger[f[0]].append([int(x) for x in f[1:]])
truth = {}
for path in glob.glob('/home/alice/truth/*'):
    t = dict(line.split() for line in open(path))
    truth[tuple(os.path.basename(path).split('.'))] = {k: int(v) for k, v in t.items()}
bad, forgotten, later, beyond, unwritten = [], [], [], [], []
def check(what, good, *detail):
    if not good: bad.append((what, *detail))
# A slurmctld that was killed when it had told slurmdbd of a start, and slurmd not, does not know of that start afterwards: it has no end in slurmdbd, and
# no node has run it.
unrun = {j for j in set(slurm) - set(ledger) if all(f[2] == 'Unknown' for f in slurm[j]) and not any(key[0] == j for key in truth)}
check('jobs', set(slurm) - unrun == set(ledger), set(slurm) ^ set(ledger))
for job in ledger:
    # A slurmctld that was killed before it saved a start starts the attempt once more, after it has run: slurmdbd has the later run
    # alone, and the job's own word is of that one.
    for a in list(ledger[job]):
        # Where slurmd failed it at once, the ledger has it as slurmdbd: its start is the whole second within which the run before ended.
        if any(b[0] == a[0] and (b[1] > a[2] or b[1] % S == 0 and a[1] < b[1] - S and a[2] < b[1] + S) for b in ledger[job] if b is not a):
            check('charge', abs(a[5] - a[3] * a[6] / 1e6) <= 1, job, a)
            ledger[job].remove(a)
            forgotten.append((job, *a[:3]))
    check('attempts', len(ledger[job]) == len(slurm[job]), job, ledger[job], slurm[job])
    check('an attempt twice', len({a[0] for a in ledger[job]}) == len(ledger[job]), job, ledger[job])
    for attempt, start, end, running, held, charge, ncpus in ledger[job]:
        check('charge', abs(charge - running * ncpus / 1e6) <= 1, job, attempt, charge, running, ncpus)
        t = truth.get((job, str(attempt - 1)))
        if not t: continue
        # slurmd could not start the later run: what the job wrote is of the one before.
        if any(f[:2] == (job, attempt) and f[2] - 1e9 <= t['begin'] <= f[3] + 1e9 for f in forgotten):
            unwritten.append(job)
            continue
        row = min(slurm[job], key=lambda f: int(f[1]))
        first = int(row[1]) * 1e9
        # Requeued by a slurmctld that did not know of its start, it has a later one there, and no time: the job's own word counts.
        if first > t['begin'] or (row[6] == 'REQUEUED' and row[4] == '0'):
            later.append(job)
            first = t['begin'] - 15e9
        check('start', first - 1e9 <= start <= t['begin'] + 1e9, job, attempt, start, t, slurm[job])
        if 'end' in t:
            check('too little', running + held > t['end'] - t['begin'] - 0.2e9, job, attempt, running, held, t)
            # Up to when slurmd has cleaned up, which slurmdbd counts too. While slurmd is away its slurmstepd stays in the job's cgroup, and up to a
            # minute beyond Slurm's end counts (docs/slurm.md).
            slurms = max(int(f[4]) for f in slurm[job]) * 1e9
            usual = max(t['end'] - t['begin'] + 40e9, slurms + 3e9)
            if running + held >= usual:
                beyond.append((job, attempt, running))
            most = max(usual, slurms + 63e9)
            # Of these no Epilog told the agent: it knows when the last process went, and when it found their cgroup gone.
            most = {away: t['end'] - t['begin'] + 15e9, untold: t['end'] - t['begin'] + 40e9}.get(job, most)
            check('too much', running + held < most, job, attempt, running, held, t, slurm[job])
for key, t in truth.items():
    check('lost', any(a[0] == int(key[1]) + 1 for a in ledger[key[0]]), key)
s = ledger[suspended][-1]
beats = [int(x) for x in open('/home/alice/beats')]
gap = max(b - a for a, b in zip(beats, beats[1:]))
# What the job saw begins with its last step before, and ends with its first one after: on a busy node up to two seconds more.
check('suspended', gap > 5e9 and gap - 2e9 < s[4] < gap + 0.5e9, s, gap, slurm[suspended])
print(f'suspended: the job saw {gap / 1e9:.3f} s, the ledger has {s[4] / 1e9:.3f} s, slurmdbd {slurm[suspended][-1][3]};', end=' ')
print('counted beyond the usual (job, attempt, ns):', beyond, end='; ')
print('runs that slurmctld forgot:', len(forgotten), end='; ')
print('of these, later runs that wrote nothing:', len(unwritten), end='; ')
print('attempts that failed in Slurm:', sum(f[6] == 'FAILED' for j in slurm.values() for f in j), end='; ')
print('starts that it forgot before slurmd knew of them:', len(unrun), end='; ')
print('starts that slurmdbd has later than the job itself:', len(set(later)), end='; ')
print(len(truth), 'attempts wrote of themselves,', sum(map(len, ledger.values())), 'are in the ledger,', sum(map(len, slurm.values())), 'in slurmdbd')
for b in bad[:20]: print(*b)
raise SystemExit(bool(bad))
PY
out=$(python3 /tmp/compare.py "$suspended" "$away" "$untold"); ok $? "each attempt is in the ledger once, charged to the millisecond for what it ran; suspended time is free" "$out"
echo "# $out" | head -n 1
out=$(reeve job "vc:$suspended")
has "$out" '^suspended ' "the suspended job shows for how long it was" "$out"
has "$out" 'vmem +300 MiB' "a job that slurmctld announced first has the limits that its agent knows" "$out"
sql /var/lib/reeve-controller/ledger.db "SELECT COUNT(*) FROM attempts WHERE job IN (SELECT job FROM jobs WHERE (job & 67108863) IN ($requeued, $preempted))" | grep -q '^[4-9]'
ok $? "requeued and preempted jobs have an attempt for each time that they ran" "$(cat /tmp/ledger | head -5)"
out=$(reeve admin verify --ledger /var/lib/reeve-controller/ledger.db 2>&1); ok $? "the sums of the ledger are those of its jobs" "$out"
tap_end
