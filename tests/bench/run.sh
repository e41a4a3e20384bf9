#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# run.sh [NAME...] - every bench, or those named, one after the other; `make bench`. Figures are
# ratios against a named rival in the same run: a busy machine slows both. All that a bench says
# goes to build/bench/NAME.log too. Exit status 1 when something could not run.
# shellcheck disable=SC2317,SC2086 # called by name; words without blanks
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
O=build
MAKE="make --no-print-directory -s"

bench_sample() {
	$MAKE $O/tests/bench/agent/sample_bench && echo "-- $(uname -r)" && $O/tests/bench/agent/sample_bench 1000 10 &&
		echo "-- virtual node's kernel, every controller on" &&
		tests/bpf/vmtest.sh --mem 6G --timeout 400 -- $O/tests/bench/agent/sample_bench 1000 10
}
bench_slurm() {
	$MAKE all && tests/bench/slurm/follow.sh ${SLURM_BENCH:-10000 100000}
}
bench_beside() {
	$MAKE all && tests/bench/slurm/beside.sh
}
# On a virtual node; PAIRS for fewer than 60.
bench_srun() {
	$MAKE all && tests/node/suite.sh bench/slurm_srun --with slurm --net host
}
# On a virtual node; PAIRS for fewer than 15 rounds.
bench_unit() {
	$MAKE all && PAIRS=${PAIRS:-15} tests/node/suite.sh bench/unit_cost
}
bench_vmem() {
	$MAKE $O/tests/bench/agent/vmem_bench && tests/bench/agent/vmem_bench.sh ${VMEM_BENCH:-}
}
bench_switch() {
	$MAKE $O/tests/bpf/prof_test all && tests/bench/agent/prof_bench.sh
}
bench_agent() {
	$MAKE -f Makefile -f tests/bench/agent/agent_memory.mk all $O/tests/bench/agent/agent_memory &&
		tests/bench/agent/agent_memory.sh 1000 10
}
bench_agent_start() {
	$MAKE all && tests/bench/agent/start.sh "${AGENT_START_BENCH:-100}"
}
bench_devices() {
	local pins rc

	pins=$(mktemp -d) && mount -t bpf none "$pins" || { echo "no figures: needs root and bpffs" && return 1; }
	$MAKE $O/tests/bench/agent/devices_bench && $O/tests/bench/agent/devices_bench "$pins/devices"
	rc=$?
	umount "$pins" && rmdir "$pins"
	return $rc
}
# The limit is the file system's own: what a user could write, of what was asked for.
bench_jobfs() {
	local fs out rc=0

	for fs in ext4 xfs; do
		out=$(tests/node/jobfs/suite.sh $fs 2>&1) || rc=1
		sed -nE "s/.*# ([0-9]+) byte writes: ([0-9]+) of ([0-9]+) bytes written.*/\1 \2 \3/p" <<<"$out" |
			awk -v fs=$fs '{ n++; over = $2 > $3 ? $2 - $3 : 0
				printf "%s, %d byte writes: x%.3f of the limit, %d bytes beyond it\n", fs, $1, $2 / $3, over }
				END { exit !n }' || rc=1
		[ $rc = 0 ] || printf 'no figures: %s\n%s\n' $fs "$(tail -n 3 <<<"$out")"
	done
	return $rc
}

bench_fairshare() {
	$MAKE all && tests/bench/fairshare.sh
}
bench_share() {
	$MAKE all && tests/bench/share.sh
}
bench_schedule() {
	mkdir -p $O/tests/bench && $MAKE all &&
		${CC:-cc} -std=gnu17 -D_GNU_SOURCE -O2 -I. -o $O/tests/bench/schedule_bench \
			tests/bench/schedule_bench.c $(. tests/bench/bench_lib.sh && bench_objects controller/scheduler) -lm && $O/tests/bench/schedule_bench
}
# 5,000 nodes with 20,000 running jobs, and users who try to stop the event loop; on SQLite and PostgreSQL.
bench_stops() {
	$MAKE all && LOAD_NODES=${STOPS_NODES:-5000} LOAD_JOBS=${STOPS_JOBS:-20000} LOAD_HOSTILE=${STOPS_QUEUED:-100000} tests/bench/load/load.sh "${STOPS_SECONDS:-240}"
}
bench_simulate() {
	$MAKE all && tests/bench/simulate.sh
}
bench_start() {
	$MAKE all && tests/bench/start.sh
}
bench_cycle() {
	$MAKE all && tests/bench/cycle.sh
}
bench_console() {
	$MAKE all && tests/bench/terminal/console.sh ${CONSOLE_BENCH:-}
}
bench_shares() {
	$MAKE all && tests/bench/terminal/shares.sh ${SHARES_BENCH:-}
}
bench_command() {
	$MAKE all && tests/bench/terminal/command.sh ${COMMAND_BENCH:-}
}
bench_top() {
	$MAKE all && tests/bench/terminal/top.sh ${TOP_BENCH:-}
}
bench_series() {
	mkdir -p $O/tests/bench && $MAKE all && ${CC:-cc} -std=gnu17 -D_GNU_SOURCE -O2 -I. -o $O/tests/bench/series_bench tests/bench/agent/series_bench.c \
		$O/common/model/series/series.o && $O/tests/bench/series_bench
}
bench_past() {
	$MAKE all && tests/bench/past.sh
}
bench_submit() {
	$MAKE all && tests/bench/submit.sh
}
bench_tls() {
	$MAKE all && tests/bench/web/tls.sh "${TLS_BENCH:-5}"
}
# Ten minutes; ATTACK_SECONDS for less.
bench_attack() {
	$MAKE all && tests/cluster/protocol/attack.sh "${ATTACK_SECONDS:-600}"
}
# Needs the traces: REEVE_TRACES.
bench_import() {
	$MAKE all && tests/bench/import.sh
}
# A number of jobs, or a trace, by USAGE_BENCH.
bench_usage() {
	$MAKE all && tests/bench/usage.sh "${USAGE_BENCH:-300000}"
}
# Jobs by LEDGER_BENCH and PARTITION_BENCH.
bench_ledger() {
	$MAKE all && tests/bench/ledger.sh "${LEDGER_BENCH:-300000}"
}
bench_partition() {
	$MAKE all && tests/bench/ledger/partition.sh "${PARTITION_BENCH:-2000000}"
}

# Pages over the CEA history (REEVE_TRACES), in both databases; of a ledger of jobs: SIZE_PAGES=1 tests/bench/run.sh size JOBS.
bench_pages() {
	$MAKE all && tests/bench/web/pages.sh && DATABASE=postgres tests/bench/web/pages.sh
}
# A backup of a running controller's ledger; megabytes by BACKUP_BENCH.
bench_backup() {
	$MAKE all && tests/bench/ledger/backup.sh "${BACKUP_BENCH:-500}"
}
# What slurmdbd says of a past, into the ledger; jobs by ENDED_BENCH.
bench_ended() {
	$MAKE all && tests/bench/ledger/ended.sh "${ENDED_BENCH:-100000}"
}
# Ten minutes for each database; seconds by LOAD_SECONDS or the second word: run.sh load SECONDS; see the file for LOAD_NODES and the others.
bench_load() {
	$MAKE all && tests/bench/load/load.sh "${LOAD_SECONDS:-600}"
}
# Jobs by SIZE_BENCH, or the second word: run.sh size JOBS; see the file for SIZE_DIR and the other variables.
bench_size() {
	$MAKE all && tests/bench/ledger/size.sh "${SIZE_BENCH:-1000000}"
}

# On the simulated driver.
bench_gpu() {
	$MAKE $O/tests/gpu/r535/libnvidia-ml.so.1 $O/tests/bench/agent/gpu_bench $O/tests/gpu/allocs_test $O/tests/bpf/gpuwork_test &&
		$O/tests/bench/agent/gpu_bench $O/tests/gpu/r535/libnvidia-ml.so.1 101 &&
		$O/tests/gpu/allocs_test 2>&1 | sed -n 's/^# a pair/probes: a pair/p' | grep . &&
		$O/tests/bpf/gpuwork_test 2>&1 | sed -n 's/^# a launch/probe: a launch/p' | grep . ||
		{ echo "no figures: gpu" && return 1; }
}

all="gpu devices sample switch vmem agent agent-start jobfs fairshare import usage ledger backup ended partition share schedule cycle submit tls start series past command shares top console simulate pages slurm beside srun unit attack"
by_name_only="size load stops" # minutes to hours, and tens of gigabytes
mkdir -p $O/bench
bad=0
if [ $# = 2 ] && [ "$1" = size ] && [[ $2 =~ ^[0-9]+$ ]]; then SIZE_BENCH=$2 && set -- size; fi
if [ $# = 2 ] && [ "$1" = load ] && [[ $2 =~ ^[0-9]+$ ]]; then LOAD_SECONDS=$2 && set -- load; fi
[ $# -gt 0 ] || set -- $all
for name; do
	case " $all $by_name_only " in
	*" $name "*) ;;
	*) echo "run.sh: no bench $name; there are: $all $by_name_only" >&2 && exit 64 ;;
	esac
	start=$SECONDS
	echo "== $name"
	"bench_${name//-/_}" 2>&1 | tee "$O/bench/$name.log"
	rc=${PIPESTATUS[0]}
	grep -q '^no figures' "$O/bench/$name.log" && rc=1
	[ "$rc" = 0 ] || { bad=1 && echo "== $name could not run in full (status $rc)"; }
	echo "== $name: $((SECONDS - start)) s, $O/bench/$name.log"
done
exit $bad
