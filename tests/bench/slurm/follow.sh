#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# follow.sh [JOBS]... - what reeve-slurm costs slurmctld with JOBS (10000, then 100000) pending jobs, each a record of its own:
# slurmctld's CPU time for one question of each kind, then its CPU time alone, with reeve-slurm at its default intervals, beside
# `squeue` each 30 s, and alone again, while a job starts and one ends each second, so that every question is answered with data.
# Real slurmctld, slurmdbd and slurmd; CPU time, so that a busy machine changes little. Some 5 minutes for each number; WITH_S and
# ALONE_S make it shorter.
set -u
cd "$(dirname "$0")/../../.." || exit 1
with_s=${WITH_S:-110} alone_s=${ALONE_S:-40}
. tests/cluster/lib/tap_lib.sh
. tests/cluster/lib/live_lib.sh
. tests/cluster/lib/slurm_lib.sh
why=$(slurm_why_not)
[ -z "$why" ] || { echo "skipped: $why"; exit 0; }
look=build/tests/bench/slurm/look
mkdir -p build/tests/bench/slurm
${CC:-cc} -std=gnu17 -D_GNU_SOURCE -O2 -o $look tests/bench/slurm/look.c -lslurm || { echo "no figures: $look does not build"; exit 1; }
configure() {
	printf '%s\n' '[Controller]' "Listen = 127.0.0.1:$port" "Database = $dir/ledger.db" "MungeSocket = $dir/munge.sock" '[Cluster vc]' \
		'Engine = slurm' 'SlurmUser = root' >"$dir/controller.conf"
	printf '%s\n' '[Slurm]' 'Cluster = vc' "SlurmConf = $dir/slurm/slurm.conf" "Controller = $url" 'ControllerUser = root' \
		"MungeSocket = $dir/munge.sock" >"$dir/reeve-slurm.conf"
}
cpu_of() { awk -v hz="$(getconf CLK_TCK)" '{ print ($14 + $15) / hz }' "/proc/$1/stat"; }
cpu() { cpu_of "$(slurm_pid slurmctld)"; }
# One job starts and one ends each second; some ten run.
churn() { while :; do sbatch -Q -A physics -o /dev/null -t 1 --wrap 'sleep 10' >/dev/null; sleep 1; done; }
# Tasks of a held array; a task gets a record of its own when it is changed.
fill() { # JOBS
	local id
	id=$(sbatch --parsable -H -A physics -o /dev/null --array=1-"$1" --wrap true) || bail "the jobs are refused"
	scontrol update "jobid=${id}_[1-$(($1 - 1))]" comment=single || bail "the array does not get records"
}
cost() { # NAME QUESTION COUNT: $ms
	local from n
	from=$(cpu)
	n=$($look "$2" "$3") || return
	ms=$(awk "BEGIN { print ($(cpu) - $from) * 1000 / $3 }")
	printf "one question for %s (%d records): %.2f ms of slurmctld's CPU\n" "$1" "$n" "$ms"
}
costs() { # JOBS
	local from
	cost "all jobs" jobs $((200000 / $1))
	all_ms=$ms
	cost "the steps of running jobs" steps $((1000000 / $1))
	cost "one job" $(($1 / 2)) 500
	from=$(cpu_of "$(slurm_pid mariadb)")
	sacct -X -n -a -s R,S -S now-1hour -E now -o jobid >/dev/null
	awk "BEGIN { printf \"running jobs from slurmdbd (no index: it reads all %d rows): %.0f ms of MariaDB's CPU\n\", $(rows), ($(cpu_of "$(slurm_pid mariadb)") - $from) * 1000 }"
}
rows() { mariadb --no-defaults -N -u root --socket="$dir/mariadb.sock" slurm_acct_db -e 'SELECT COUNT(*) FROM vc_job_table'; }
measure() { # NAME SECONDS: $share, CPU seconds of slurmctld in a second
	local from
	from=$(cpu)
	sleep "$2"
	share=$(awk "BEGIN { print ($(cpu) - $from) / $2 }")
	awk "BEGIN { printf \"%s: slurmctld used %.2f s of CPU in %d s\n\", \"$1\", $share * $2, $2 }"
}
looks() { grep -c 'of rest' "$dir/reeve-slurm.log"; }
follow() {
	: >"$dir/reeve-slurm.log"
	build/bin/reeve-slurm --debug --config "$dir/reeve-slurm.conf" 2>>"$dir/reeve-slurm.log" &
	follower=$!
	slurm_wait 300 grep -q 'of rest' "$dir/reeve-slurm.log" || bail "reeve-slurm does not come up: $(cat "$dir/reeve-slurm.log")"
	sleep 5
}
bench() { # JOBS
	local before with rival after from own n
	live_dir slurmbench
	live_munge
	live_open configure >/dev/null
	slurm_open "n1 n2 n3 n4" MaxArraySize=200001 MaxJobCount=300000 >/dev/null
	# As sites have it: the tests' own are to be quick.
	sed -i '/^SchedulerParameters/d' "$SLURM_CONF" && scontrol reconfigure
	fill "$1"
	echo "-- records of jobs in slurmctld: $(scontrol -o show job | wc -l)"
	sleep 10
	costs "$1"
	churn &
	churner=$!
	sleep 15
	measure "alone" "$alone_s"
	before=$share
	follow
	from=$(looks)
	own=$(cpu_of $follower)
	measure "with reeve-slurm" "$with_s"
	with=$share n=$(($(looks) - from)) own=$(awk "BEGIN { print $(cpu_of $follower) - $own }")
	echo "reeve-slurm had all jobs $n times, $(sed -n 's/.*time; //p' "$dir/reeve-slurm.log" | tail -n 1) after each, and used $own s itself"
	awk "BEGIN { printf \"these requests: %.2f %% of a core\n\", $n * $all_ms / 10 / $with_s }"
	kill $follower && wait $follower 2>/dev/null
	(while :; do squeue -h >/dev/null; sleep 30; done) &
	rival_pid=$!
	measure "with squeue each 30 s" 60
	rival=$share
	kill $rival_pid
	measure "alone again" "$alone_s"
	after=$share
	kill $churner
	awk "BEGIN { base = ($before + $after) / 2
		printf \"%d jobs: slurmctld's CPU with reeve-slurm x%.3f, %+.2f %% of a core; with squeue x%.3f, %+.2f %%; alone twice: x%.3f\n\", $1,
		$with / base, ($with - base) * 100, $rival / base, ($rival - base) * 100, $after / $before }"
}
[ $# -gt 0 ] || set -- 10000 100000
for jobs; do
	(bench "$jobs") || exit 1 # its daemons end with it
done
