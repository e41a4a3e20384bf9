#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# command.sh [QUEUED [ENDED]] - what the command `reeve` costs: CPU time, duration and memory of one run of its frequent verbs, of a list
# of QUEUED jobs, and of a user with ENDED ended jobs; and a loop of submissions. A real controller on SQLite and munged. Beside, in
# the same run: a program that does nothing (what the kernel takes for any process), `munge -n` (a credential, which each request
# needs), `curl` with the same request over the same socket, unsigned, and Slurm's `squeue --version` and `sbatch --version` (start
# alone: no request). SUBMISSIONS for another number than 200. REEVE_BINARY, REEVE_CONTROLLER_BINARY: others to measure. Needs root.
set -u
cd "$(dirname "$0")/../../.." || exit 1
queued=${1:-10000} ended=${2:-1000000} runs=${RUNS:-60} submissions=${SUBMISSIONS:-200}
. tests/cluster/lib/tap_lib.sh
. tests/cluster/lib/live_lib.sh
. tests/cluster/lib/play_lib.sh
amounts='"ncpus":16,"mem_bytes":64000000000,"jobfs_bytes":100000000000,"ngpus":0' # of the node
live_dir command-bench
${CC:-cc} -O2 -D_GNU_SOURCE -std=gnu17 -o "$dir/cost" tests/bench/terminal/command_cost.c || bail "no command_cost"
echo 'int main(void) { return 0; }' >"$dir/nothing.c"
${CC:-cc} -O2 -o "$dir/nothing" "$dir/nothing.c" || bail "no compiler"
cp "${REEVE_BINARY:-build/bin/reeve}" "$dir/reeve" && chmod 755 "$dir"/{cost,nothing,reeve}
live_munge
printf 'ClusterName=vc\nSlurmctldHost=localhost\n' >"$dir/slurm.conf" && chmod 644 "$dir/slurm.conf"
export SLURM_CONF=$dir/slurm.conf LC_ALL=C.UTF-8
configure() {
	live_controller >"$dir/controller.conf"
	printf '%s\n' 'MaxQueuedPerUser = 0' '[Cluster main]' 'DefaultResources = jobfs=100MB,walltime=1:00:00' '[Account physics]' \
		'Users = daemon, bin' >>"$dir/controller.conf"
	printf '[Client]\nController = %s\nControllerUser = root\nMungeSocket = %s/munge.sock\nAccount = physics\n' "$url" "$dir" >"$dir/reeve.conf"
	chmod 644 "$dir/reeve.conf"
}
fill() { # FROM COUNT USER UID STATE: jobs of that user, and an attempt of each that has ended
	sqlite3 -bail "$dir/ledger.db" <<-SQL || bail "the ledger cannot be filled"
		BEGIN;
		CREATE TEMP TABLE n AS WITH RECURSIVE n(i) AS (SELECT $1 UNION ALL SELECT i + 1 FROM n WHERE i < $1 + $2 - 1) SELECT i FROM n;
		INSERT INTO jobs(job, attempt, state, uid, user, account, cluster, queue, name, node, ncpus, vmem_bytes, mem_bytes,
		 jobfs_bytes, walltime_s, ngpus, submitted_ns, started_ns, ended_ns, pool, decided_by, rate_num, rate_den,
		 bundle_gpus_num, bundle_gpus_den, bundle_cores_num, bundle_cores_den, bundle_memory_num, bundle_memory_den, request)
		SELECT i, $5 = 5, $5, $4, '$3', 'physics', 'main', 'normal', 'step' || i % 100, CASE WHEN $5 = 5 THEN 'n1' END,
		 1, 1000000000, 0, 100000000, 3600, 0, i, CASE WHEN $5 = 5 THEN i ELSE 0 END, CASE WHEN $5 = 5 THEN i ELSE 0 END, 0, 1, 1, 1, 0, 1, 1, 1, 0, 1,
		 '{"schema":"reeve/1","name":"step","argv":["/bin/sh","step.sh","input.dat"],"env":["PATH=/usr/bin:/bin","HOME=/home/x"],'
		 || '"workdir":"/home/x/project","script":"#!/bin/sh\nexec ./model -n 5\n","resources":{"ncpus":1,"vmem_bytes":1000000000,'
		 || '"jobfs_bytes":100000000,"walltime_s":3600}}' FROM n;
		INSERT INTO attempts(job, attempt, node, given_ns, state, shown, closed, seq, at_ns, started_ns, ended_ns,
		 running_ns, end_kind, exit_status) SELECT i, 1, 'n1', i, 5, 1, 1, 2, i, i, i, 0, 1, 0 FROM n WHERE $5 = 5;
		COMMIT;
	SQL
}
cost() { # UID WHAT COMMAND...: prints its line
	local uid=$1 what=$2 n=${cost_runs:-$runs} got
	shift 2
	got=$(as "$uid" "$dir/cost" "$n" "$@") || { echo "no figures: $what"; bad=1; return; }
	# shellcheck disable=SC2086 # three words
	printf '%-58s %8s ms of CPU %9s ms %7s KB\n' "$what" $got
}
reeve() { # UID WHAT ARG...
	local uid=$1 what=$2 verb=$3
	shift 3
	cost "$uid" "$what" "$dir/reeve" "$verb" --config "$dir/reeve.conf" "$@"
}
cpu_ms() { awk -v hz="$(getconf CLK_TCK)" '{ printf "%d", ($14 + $15) * 1000 / hz }' "/proc/$controller/stat"; }
bad=0
live_open configure
node_sync >/dev/null
echo "-- $(date -u +%F), load $(cut -d' ' -f1 /proc/loadavg); medians of $runs runs, largest memory"
cost $bin 'nothing (any process)' "$dir/nothing"
cost $bin 'rival: munge -n, a credential' munge -n --socket "$dir/munge.sock"
cost $bin 'rival: curl, the request unsigned' curl -s -o /dev/null "$url/v1/jobs"
for rival in squeue sbatch; do ! command -v $rival >/dev/null || cost $bin "rival: $rival --version, no request" $rival --version; done
cost $bin 'reeve --version' "$dir/reeve" --version
reeve $bin 'reeve nodes' nodes
reeve $bin 'reeve jobs, none' jobs
reeve $bin 'reeve submit' submit -l ncpus=1,vmem=1GB -- /bin/true
reeve $bin 'reeve job 1' job 1
reeve $bin "reeve jobs, $runs" jobs
reeve $bin "reeve jobs --json, $runs" jobs --json
from=$EPOCHREALTIME
as $bin bash -c 'for ((i = 0; i < $1; i++)); do "$2" submit --config "$3" -l ncpus=1,vmem=1GB -- /bin/true; done' - "$submissions" \
	"$dir/reeve" "$dir/reeve.conf" >"$dir/numbers"
[ "$(wc -l <"$dir/numbers")" = "$submissions" ] || { echo "no figures: only $(wc -l <"$dir/numbers") submissions"; bad=1; }
awk -v n="$submissions" -v s="$(awk "BEGIN { print $EPOCHREALTIME - $from }")" \
	'BEGIN { printf "a loop of %d submissions: %.2f s, %.2f ms each; 2,000 take %.1f s\n", n, s, s * 1000 / n, s * 2000 / n }'
mkdir -m 755 "$dir/scripts" && for ((i = 0; i < submissions; i++)); do printf '#!/bin/sh\ntrue\n' >"$dir/scripts/$i.sh"; done
from=$EPOCHREALTIME
as $bin bash -c 'cd "$1" && "$2" submit --config "$3" --each -l ncpus=1,vmem=1GB *.sh' - "$dir/scripts" "$dir/reeve" "$dir/reeve.conf" >"$dir/numbers"
[ "$(wc -l <"$dir/numbers")" = "$submissions" ] || { echo "no figures: only $(wc -l <"$dir/numbers") submissions"; bad=1; }
awk -v n="$submissions" -v s="$(awk "BEGIN { print $EPOCHREALTIME - $from }")" \
	'BEGIN { printf "one command for %d scripts: %.2f s, %.2f ms each; 2,000 take %.1f s\n", n, s, s * 1000 / n, s * 2000 / n }'
live_stop
fill 100000 "$queued" daemon $daemon 0
live_start || bail "the controller does not start: $(tail -n 3 "$dir/controller.log")"
echo "-- $queued queued jobs of one user"
cost_runs=5
# shellcheck disable=SC2016 # of the inner shell
as $daemon env PATH="$dir:$PATH" XDG_CONFIG_HOME="$dir" bash -c '. "$1/units/bash-completion/reeve"
	COMP_WORDS=(reeve job "") COMP_CWORD=2
	for ((i = 0; i < $2; i++)); do from=${EPOCHREALTIME/./}; _reeve; echo $((${EPOCHREALTIME/./} - from)) ${#COMPREPLY[@]}; done' - "$PWD" "$runs" |
	sort -n | awk '{ us[NR] = $1; n = $2 } END { printf "completion of a job number, %d words: median %.1f ms, fastest %.1f ms by the clock\n", n, us[int((NR + 1) / 2)] / 1000, us[1] / 1000 }'
whole=(--limit 0)
"$dir/reeve" jobs --config "$dir/reeve.conf" --limit 0 >/dev/null 2>&1 || whole=(--limit 1000)
for form in '' --csv --json; do
	before=$(cpu_ms)
	reeve $daemon "reeve jobs ${whole[*]}${form:+ $form}" jobs "${whole[@]}" $form
	echo "   and $((($(cpu_ms) - before) / cost_runs)) ms of the controller's CPU; $(as $daemon "$dir/reeve" jobs "${whole[@]}" $form \
		--config "$dir/reeve.conf" 2>/dev/null | wc -l) lines"
done
if [ "$ended" -gt 0 ]; then
	live_stop
	fill 10000000 "$ended" sys 3 5
	live_start || bail "the controller does not start: $(tail -n 3 "$dir/controller.log")"
	echo "-- $ended ended jobs of another user, who has none now"
	cost_runs=20
	before=$(cpu_ms)
	reeve 3 'reeve jobs, all ended' jobs
	echo "   and $((($(cpu_ms) - before) / cost_runs)) ms of the controller's CPU"
	before=$(cpu_ms)
	reeve 3 'reeve jobs -a, the newest 100' jobs -a
	echo "   and $((($(cpu_ms) - before) / cost_runs)) ms of the controller's CPU"
fi
exit $bad
