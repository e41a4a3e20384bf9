#!/bin/bash
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
	$(bench_objects controller/{pricing,sharetree,quota,accounts,config,ledger,policy,history,postgres} common/{db,wire,model,conf,csv} common/{err,nearest,utf8}.c) \
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
take() { # PLACE FIRST JOBS: jobs a second
	"$bin" "$@" >"$dir/said" || { cat "$dir/said" >&2; exit 1; }
	cut -f3 "$dir/said"
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
time_rows() { # COMMAND...: seconds
	local from
	from=$(date +%s%N)
	"$@" >"$dir/said" 2>&1 || { echo "no figures: $(cat "$dir/said")" >&2; exit 1; }
	awk -v ns=$(($(date +%s%N) - from)) 'BEGIN { printf "%.3f", ns / 1e9 }'
}
design() { # DATABASE
	local a b round ours each
	for round in 1 2 3; do
		n=$((n + 1)) && a=$(place "$1") && n=$((n + 1)) && b=$(place "$1")
		take "$a" 1 1000 >/dev/null && take "$b" 1 1000 >/dev/null
		each=$(ENDED_TWICE=1 take "$b" 1001 5000)
		ours=$(take "$a" 1001 5000)
		echo "$1, design, round $round: at once $ours jobs/s, a statement each $each jobs/s: $(quote "$ours" "$each")"
		remove "$a" && remove "$b"
	done
}
limit() { # DATABASE
	local a b ours s
	n=$((n + 1)) && a=$(place "$1") && n=$((n + 1)) && b=$(place "$1")
	ours=$(take "$a" 1 20000)
	take "$b" 1 1 >/dev/null
	case $b in
	postgresql:*) psql -q "$b" -c "TRUNCATE $(tr ' ' ',' <<<"$tables")" ;;
	*) for t in slices stretches attempts slurm_attempts events jobs months rollups associations waits; do echo "DELETE FROM $t;"; done | sqlite3 "$b" ;;
	esac
	s=$(copy_rows "$a" "$b")
	awk -v ours="$ours" -v s="$s" -v w="$1" 'BEGIN { printf "%s, limit: 20000 jobs at %.0f jobs/s, their rows alone at %.0f jobs/s: x%.2f of it\n", w, ours, 20000 / s, ours * s / 20000 }'
	remove "$a" && remove "$b"
}
growth() { # DATABASE
	local large small have=0 size round at a b rate
	n=$((n + 1)) && large=$(place "$1")
	for size in $((jobs / 10)) "$jobs"; do
		if [ "$size" -gt "$have" ]; then
			rate=$(take "$large" $((have + 1)) $((size - have)))
			echo "$1, growth: $((size - have)) jobs onto $have, $rate jobs/s"
			have=$size
		fi
		n=$((n + 1)) && small=$(place "$1")
		take "$small" "$have" 1 >/dev/null
		: >"$dir/ratios"
		for ((round = 0; round < rounds; round++)); do
			at=$((have + 1))
			b=$(take "$small" $at 10000)
			a=$(take "$large" $at 10000)
			have=$((have + 10000))
			awk "BEGIN { print $a / $b, $a, $b }" >>"$dir/ratios"
		done
		echo "$1, growth: at $size jobs x$(median <"$dir/ratios") of an empty ledger ($(sort -n "$dir/ratios" | awk '{ printf "%s%.0f/%.0f", (NR > 1 ? ", " : ""), $2, $3 }') jobs/s)"
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
