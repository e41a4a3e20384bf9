#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# beside.sh - Reeve and Debian's Slurm on the same cores, the same jobs, in turns: what a site waits for, what a person types, what the
# daemons take. Slurm: slurmctld, slurmd, slurmdbd, MariaDB. Reeve: reeve-controller on SQLite, reeve-agent. Each side is in a cpuacct cgroup
# of its own, from which its CPU time comes: daemons, commands and jobs. Medians of $ROUNDS (3) rounds; a table by ratio, losses first.
# Where the machine is not as a node of a site, the head says how: both sides run without what is missing.
#   ARRAY (500) tasks of an array, LOOP (100) submissions, LIST (1000) jobs in a list
set -u
cd "$(dirname "$0")/../../.." || exit 1
array=${ARRAY:-500} loop=${LOOP:-100} list=${LIST:-1000} rounds=${ROUNDS:-3}
. tests/cluster/lib/tap_lib.sh
. tests/cluster/lib/live_lib.sh
. tests/cluster/lib/slurm_lib.sh
. tests/cluster/monitoring/agent_lib.sh
why=$(slurm_why_not)
[ -n "$why" ] || agent_possible || why="no cgroup v2 that jobs may be made in"
[ -n "$why" ] || [ -e /sys/fs/cgroup/cpuacct/cpuacct.usage ] || why="no cpuacct cgroups (version 1), from which the CPU time of a side comes"
[ -z "$why" ] || { echo "skipped: $why"; exit 0; }
live_dir beside
acct=/sys/fs/cgroup/cpuacct/reeve-beside-$$
sides_end() {
	side ..
	agent_end
	live_end
	for _ in $(seq 50); do rmdir $acct/slurm $acct/reeve $acct 2>/dev/null; [ -d $acct ] || break; sleep 0.1; done
}
trap sides_end EXIT
side() { if [ "$1" = .. ]; then echo $BASHPID >${acct%/*}/cgroup.procs; else echo $BASHPID >$acct/"$1"/cgroup.procs; fi; }
mkdir -p $acct/slurm $acct/reeve
${CC:-cc} -O2 -D_GNU_SOURCE -std=gnu17 -o "$dir/cost" tests/bench/terminal/command_cost.c || bail "no command_cost"
cp build/bin/reeve "$dir/reeve" && chmod 755 "$dir/cost" "$dir/reeve"
cores=$(nproc)
live_munge

# ---- the two sites ----
side slurm
SLURM_NODE_CPUS=$cores slurm_open n1 MaxArraySize=200001 MaxJobCount=300000 >/dev/null
side reeve
configure() {
	printf '%s\nMaxQueuedPerUser = 0\n' "$(live_controller)" >"$dir/controller.conf"
	printf '%s\n' '[Cluster main]' 'DefaultResources = jobfs=10MB,walltime=1:00:00' 'Queues = normal' '[Account physics]' 'Users = daemon, bin' >>"$dir/controller.conf"
	printf '[Client]\nController = %s\nMungeSocket = %s/munge.sock\nAccount = physics\n' "$url" "$dir" >"$dir/reeve.conf"
	chmod 644 "$dir/reeve.conf"
}
live_open configure
agent_no_quota=1
agent_open "Jobfs = none"
home=$agent_dir/home # jobs have a /tmp of their own
mkdir -m 755 "$home" && chown daemon:daemon "$home"
slurm_wait 30 grep -q 'reached' "$agent_dir/log" || bail "the agent does not come up: $(tail -n 3 "$agent_dir/log")"
user() { (cd "$home" && as $daemon "$@"); }
reeve() { local verb=$1; shift; user "$dir/reeve" "$verb" --config "$dir/reeve.conf" "$@"; }

# ---- what is measured: each function does one side's part, and leaves its figures in the table's rows ----
cpu_s() { awk '{ printf "%.3f", $1 / 1e9 }' $acct/"$1"/cpuacct.usage; }
note() { echo "$2 $3" >>"$dir/figures.$1"; } # ROW SIDE FIGURE
measure() { # ROW SIDE [CPU-ROW] COMMAND...: seconds of the command, and CPU seconds of the side until it ends
	local row=$1 s=$2 cpu_row=$3 from cpu
	shift 3
	side "$s"
	cpu=$(cpu_s "$s") from=$EPOCHREALTIME
	"$@" || bail "$row, $s: $*"
	note "$row" "$s" "$(awk "BEGIN { print $EPOCHREALTIME - $from }")"
	[ -z "$cpu_row" ] || note "$cpu_row" "$s" "$(awk "BEGIN { print $(cpu_s "$s") - $cpu }")"
	side ..
}
slurm_empty() { [ -z "$(squeue -h -o %i)" ]; }
cancel_all() { reeve jobs -o job -n --limit 1000 | xargs -r -n 500 "$dir/reeve" cancel --config "$dir/reeve.conf" >/dev/null; }
reeve_empty() { reeve jobs --json | grep -q '"jobs": *\[\]'; }
await() { # COMMAND...: for five minutes at most, and a second for each task
	local end=$((SECONDS + 300 + array))
	until "$@"; do [ $SECONDS -lt $end ] || bail "$* is not so"; sleep 0.05; done
}

slurm_array() { user sbatch -Q -A physics -o /dev/null --array=1-"$array" --wrap true >/dev/null && await slurm_empty; }
reeve_array() { reeve submit -l ncpus=1,vmem=300MB -o /dev/null -e /dev/null -J 1-"$array" -- /bin/true >/dev/null && await reeve_empty; }
slurm_loop() { user bash -c 'for ((i = 0; i < $1; i++)); do sbatch -Q -H -A physics -o /dev/null --wrap true || exit 1; done' - "$loop" >/dev/null; }
reeve_loop() {
	user bash -c 'for ((i = 0; i < $1; i++)); do "$2" submit --config "$3" -h -l ncpus=1,vmem=300MB -o /dev/null -- /bin/true || exit 1; done' - \
		"$loop" "$dir/reeve" "$dir/reeve.conf" >/dev/null
}
slurm_run() { user srun -Q -A physics -n 1 true; }
reeve_run() { reeve run -l ncpus=1,vmem=300MB -- /bin/true; }
first_line() { # ROW SIDE COMMAND...: a script that writes the time it begins at
	local row=$1 s=$2 from
	shift 2
	rm -f "$home/began"
	side "$s"
	from=$(date +%s%N)
	"$@" >/dev/null || bail "$row, $s"
	await test -s "$home/began"
	side ..
	note "$row" "$s" "$(awk "BEGIN { print ($(cat "$home/began") - $from) / 1e9 }")"
	await slurm_empty
	await reeve_empty
}
command() { # ROW SIDE COMMAND...: its CPU time, as one process
	local row=$1 s=$2 figures
	shift 2
	# shellcheck disable=SC2207 # three words
	figures=($(user "$dir/cost" 20 "$@")) || bail "$row, $s: $*"
	note "$row (CPU)" "$s" "$(awk "BEGIN { print ${figures[0]} / 1000 }")"
	note "$row" "$s" "$(awk "BEGIN { print ${figures[1]} / 1000 }")"
}
r=("$dir/reeve")
with=(--config "$dir/reeve.conf")
printf '#!/bin/sh\ndate +%%s%%N >%s/began\n' "$home" >"$dir/script" && chmod 755 "$dir/script"
echo "Slurm $(sbatch --version | cut -d' ' -f2) and Reeve, $(date -u +%F), $cores cores, load $(cut -d' ' -f1 /proc/loadavg), $(uname -r), $rounds rounds in turns;"
echo "without: cpusets and cgroup limits of jobs on both sides; on Reeve's vmem by BPF (tier 3), project quotas (Jobfs = none), systemd"
for ((round = 0; round < rounds; round++)); do
	for s in slurm reeve; do
		measure "array of $array tasks of true, until the last has ended" $s "array of $array tasks: CPU of daemons and jobs" ${s}_array
		measure "loop of $loop submissions (held jobs)" $s "loop of $loop submissions: CPU of all" ${s}_loop
		if [ $s = slurm ]; then user scancel -u daemon; await slurm_empty; else cancel_all; await reeve_empty; fi
		for _ in 1 2 3; do measure "one command in a job: srun true, reeve run true" $s '' ${s}_run; done
	done
	for _ in 1 2 3; do
		first_line "from submit to the script's first line" slurm user sbatch -Q -A physics -o /dev/null "$dir/script"
		first_line "from submit to the script's first line" reeve reeve submit -l ncpus=1,vmem=300MB -o /dev/null -e /dev/null "$dir/script"
	done
done
job=$(reeve jobs -a --limit 1 --json | grep -o '"job": *[0-9]*' | head -n 1 | tr -dc 0-9)
slurm_job=$(sacct -a -X -n -o jobid%20 | tail -n 1 | tr -d ' ')
command "one job's accounting: sacct -j, reeve job" slurm sacct -j "$slurm_job" -o jobid,state,elapsed,ncpus,maxrss
command "one job's accounting: sacct -j, reeve job" reeve "${r[@]}" job "$job" "${with[@]}"
command "sinfo, reeve nodes" slurm sinfo -N
command "sinfo, reeve nodes" reeve "${r[@]}" nodes "${with[@]}"
command "sbatch, reeve submit (held)" slurm sbatch -H -A physics -o /dev/null --wrap true
command "sbatch, reeve submit (held)" reeve "${r[@]}" submit "${with[@]}" -h -l ncpus=1,vmem=300MB -o /dev/null -- /bin/true
user scancel -u daemon
cancel_all
await slurm_empty
await reeve_empty
loop=$list
slurm_loop
reeve_loop
[ "$(squeue -h | wc -l)" = "$list" ] && [ "$(reeve jobs --limit 0 --csv | tail -n +2 | wc -l)" = "$list" ] || bail "the lists do not have $list jobs"
command "list of $list waiting jobs: squeue, reeve jobs" slurm squeue
command "list of $list waiting jobs: squeue, reeve jobs" reeve "${r[@]}" jobs --limit 0 "${with[@]}"

# ---- memory ----
rss_mb() { # PID...
	local pid sum=0
	for pid; do sum=$((sum + $(awk '/^VmRSS/ { print $2 }' "/proc/$pid/status"))); done
	awk "BEGIN { print $sum / 1024 }"
}
note "memory of the head's daemons, MB" slurm "$(rss_mb "$(slurm_pid slurmctld)" "$(slurm_pid slurmdbd)" "$(slurm_pid mariadb)")"
note "memory of the head's daemons, MB" reeve "$(rss_mb "$controller")"
note "memory of the node's daemon, MB" slurm "$(rss_mb "$(slurm_pid n1)")"
note "memory of the node's daemon, MB" reeve "$(rss_mb "$agent_pid")"

python3 - "$dir" <<'PY'
import glob, os, statistics, sys
rows = []
for path in glob.glob(sys.argv[1] + '/figures.*'):
    of = {'slurm': [], 'reeve': []}
    for line in open(path):
        side, figure = line.split()
        of[side].append(float(figure))
    slurm, reeve = (statistics.median(of[s]) for s in ('slurm', 'reeve'))
    rows.append((reeve / slurm if slurm else 0, os.path.basename(path)[8:], slurm, reeve))
def show(what, x):
    return f'{x:.1f} MB' if what.endswith('MB') else f'{x:.2f} s' if x >= 1 else f'{x * 1000:.1f} ms'
print('| what | Slurm | Reeve | ratio |\n|---|---|---|---|')
for ratio, what, slurm, reeve in sorted(rows, reverse=True):
    print(f'| {what.removesuffix(", MB")} | {show(what, slurm)} | {show(what, reeve)} | ×{ratio:.2f} |')
PY
