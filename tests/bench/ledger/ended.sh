#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# ended.sh [JOBS [DATABASE...]] - how fast a ledger takes the past of a Slurm cluster: JOBS (100000) jobs that slurmdbd says have ended, in
# documents of 1,000, in SQLite and PostgreSQL (sqlite, postgres: one of them).
#
#	design	5,000 jobs at once, beside a statement for each thing that follows from a row, in turns
#	limit	the rows of the same jobs, copied by the database's own program into a ledger with its indices
#	growth	10,000 jobs into a ledger that has a tenth of JOBS, and JOBS, beside the same into an empty one, in turns
#
# ENDED_DIR: an empty directory for everything it makes, removed at the end (else below TMPDIR). ENDED_ROUNDS: of growth (5).
set -eu
cd "$(dirname "$0")/../../.."
jobs=${1:-100000}
shift || true
databases=${*:-sqlite postgres}
rounds=${ENDED_ROUNDS:-5}
. tests/bench/bench_lib.sh
. tests/cluster/lib/tap_lib.sh
. tests/cluster/lib/server_lib.sh
dir=${ENDED_DIR:-$(mktemp -d "${TMPDIR:-/tmp}/reeve-ended-bench-XXXXXX")}
mkdir -p "$dir"
[ -z "$(ls -A "$dir")" ] || { echo "no figures: $dir is not empty"; exit 1; }
export server_shared=${ENDED_SHARED:-1GB}
end() {
	[ -d "$dir/pg/data" ] && server_do stop
	rm -rf "$dir"
}
live_end() { :; } # what server_lib.sh calls: there is no controller here
trap end EXIT
trap 'exit 1' INT TERM HUP PIPE
chmod 755 "$dir"
bin=$dir/ended_bench
# shellcheck disable=SC2046 # words without blanks
${CC:-cc} -std=gnu17 -D_GNU_SOURCE -O2 -I. $(pkg-config --cflags libpq) -o "$bin" tests/bench/ledger/ended_bench.c \
	$(bench_objects controller/{pricing,sharetree,quota,accounts,config,ledger,policy,history,postgres} common/{db,wire,model,conf,csv} common/{err,nearest,token,utf8}.c) \
	-lsqlite3 -lpq -ljansson -lnettle -lm
tables="jobs attempts stretches slices slurm_attempts events rollups associations months waits"
n=0
place() { # DATABASE: a new ledger, by the number n
	[ "$1" = sqlite ] && echo "$dir/l$n.db" || server_schema "l$n"
}
remove() { # PLACE
	case $1 in
	postgresql:*) psql -q "$1" -c "DROP SCHEMA ${1##*%3D} CASCADE" 2>/dev/null ;;
	*) rm -f "$1" "$1"-* ;;
	esac
}
cpu_of_server() { # ms, of sessions that have ended
	[ -f "$dir/pg/data/postmaster.pid" ] || { echo 0; return; }
	awk -v hz="$(getconf CLK_TCK)" '{ print ($16 + $17) * 1000 / hz }' "/proc/$(head -n 1 "$dir/pg/data/postmaster.pid")/stat"
}
rate='' cpu=''
take() { # PLACE FIRST JOBS: sets rate, jobs a second, and cpu, microseconds of the program and of the server a job
	local was
	was=$(cpu_of_server)
	"$bin" "$@" >"$dir/said" || { cat "$dir/said" >&2; exit 1; }
	case $1 in postgresql:*) sleep 0.3 ;; esac # its session ends
	rate=$(cut -f3 "$dir/said")
	cpu=$(awk -v server=$(($(cpu_of_server) - was)) '{ printf "%.0f", $4 + server * 1000 / $1 }' "$dir/said")
}
quote() { awk -v a="$1" -v b="$2" 'BEGIN { printf "x%.2f", a / b }'; }
median() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
copy_rows() { # FROM TO: into a ledger without rows, in one transaction
	local t
	case $1 in
	postgresql:*)
		for t in $tables; do psql -q "$1" -c "COPY $t TO '$dir/pg/$t' (FORMAT binary)"; done
		{
			echo "BEGIN;"
			for t in $tables; do echo "COPY $t FROM '$dir/pg/$t' (FORMAT binary);"; done
			echo "COMMIT;"
		} >"$dir/copy.sql"
		time_rows psql -q -v ON_ERROR_STOP=1 "$2" -f "$dir/copy.sql"
		;;
	*)
		{
			echo "PRAGMA synchronous=FULL; ATTACH '$1' AS was; BEGIN;"
			for t in $tables; do echo "INSERT INTO main.$t SELECT * FROM was.$t;"; done
			echo "COMMIT;"
		} >"$dir/copy.sql"
		time_rows sqlite3 "$2" ".read $dir/copy.sql"
		;;
	esac
}
time_rows() { # COMMAND...: sets rate and cpu for the 20,000 jobs
	local from was user system
	from=$(date +%s%N) was=$(cpu_of_server)
	TIMEFORMAT='%U %S'
	{ time "$@" >"$dir/said" 2>&1; } 2>"$dir/time" || { echo "no figures: $(cat "$dir/said")" >&2; exit 1; }
	rate=$(awk -v ns=$(($(date +%s%N) - from)) 'BEGIN { printf "%.0f", 20000 / ns * 1e9 }')
	sleep 0.3
	read -r user system <"$dir/time"
	cpu=$(awk -v ms=$(($(cpu_of_server) - was)) -v u="$user" -v s="$system" 'BEGIN { printf "%.0f", (ms / 1000 + u + s) * 1e6 / 20000 }')
}
design() { # DATABASE
	local a b round ours cost
	for round in 1 2 3; do
		n=$((n + 1)) && a=$(place "$1") && n=$((n + 1)) && b=$(place "$1")
		take "$a" 1 1000 && take "$b" 1 1000
		ENDED_TWICE=1 take "$b" 1001 5000
		ours=$rate cost=$cpu
		take "$a" 1001 5000
		echo "$1, design, round $round: at once $rate jobs/s, $cpu us of cpu a job; a statement each $ours jobs/s, $cost us: $(quote "$rate" "$ours") as fast, $(quote "$cpu" "$cost") of the cpu"
		remove "$a" && remove "$b"
	done
}
limit() { # DATABASE
	local a b ours cost
	n=$((n + 1)) && a=$(place "$1") && n=$((n + 1)) && b=$(place "$1")
	take "$a" 1 20000
	ours=$rate cost=$cpu
	take "$b" 1 1
	case $b in
	postgresql:*) psql -q "$b" -c "TRUNCATE $(tr ' ' ',' <<<"$tables")" ;;
	*) for t in slices stretches attempts slurm_attempts events jobs months rollups associations waits; do echo "DELETE FROM $t;"; done | sqlite3 "$b" ;;
	esac
	copy_rows "$a" "$b"
	echo "$1, limit: 20000 jobs at $ours jobs/s, $cost us of cpu a job; their rows alone $rate jobs/s, $cpu us: $(quote "$ours" "$rate") as fast, $(quote "$cost" "$cpu") of the cpu"
	remove "$a" && remove "$b"
}
growth() { # DATABASE
	local large small have=0 size round there cost
	n=$((n + 1)) && large=$(place "$1")
	for size in $((jobs / 10)) "$jobs"; do
		if [ "$size" -gt "$have" ]; then
			take "$large" $((have + 1)) $((size - have))
			echo "$1, growth: $((size - have)) jobs onto $have, $rate jobs/s, $cpu us of cpu a job"
			have=$size
		fi
		n=$((n + 1)) && small=$(place "$1")
		take "$small" "$have" 1
		: >"$dir/ratios"
		for ((round = 0; round < rounds; round++)); do
			take "$small" $((have + 1)) 10000
			there=$rate cost=$cpu
			take "$large" $((have + 1)) 10000
			have=$((have + 10000))
			echo "$rate $there $cpu $cost" >>"$dir/ratios"
		done
		echo "$1, growth: at $size jobs x$(awk '{ print $2 / $1 }' "$dir/ratios" | median) of the time and x$(awk '{ print $3 / $4 }' "$dir/ratios" | median) of the cpu of an empty ledger" \
			"($(awk '{ printf "%s%d/%d", (NR > 1 ? ", " : ""), $1, $2 }' "$dir/ratios") jobs/s, $(awk '{ printf "%s%d/%d", (NR > 1 ? ", " : ""), $3, $4 }' "$dir/ratios") us)"
		remove "$small"
	done
	remove "$large"
}
for which in $databases; do
	[ "$which" = sqlite ] || server_open || { echo "no figures: no PostgreSQL server"; exit 1; }
	trap end EXIT
	design "$which"
	limit "$which"
	growth "$which"
	[ "$which" = sqlite ] || { server_do stop && rm -rf "$dir/pg"; }
done
