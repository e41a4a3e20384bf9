#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# run.sh [--jobs N] [SECONDS [NAME...]] - fuzz every parser of hostile bytes with libFuzzer, ASan and UBSan.
# TAP. Each fuzz_NAME.c says in its head what it links. Seeds: tests/fuzz/seeds/NAME; what is found, and the corpus that grows
# from run to run, is in build/fuzz/NAME. `make check` gives each a short turn, `make check-all` a minute;
# `run.sh --jobs 2 3600` an hour each, two at a time.
set -uo pipefail
cd "$(dirname "$0")/../.."
jobs=1
[ "${1:-}" != --jobs ] || { jobs=$2; shift 2; }
seconds=${1:-10}
shift $(($# > 0))
objdir=$PWD/build/fuzz/obj.$$ # another run may be under way
trap 'rm -rf "$objdir"' EXIT
trap 'exit 130' INT TERM
names=() declare -A target=()
for src in tests/fuzz/fuzz_*.c tests/fuzz/*/fuzz_*.c; do
	name=$(basename "$src" .c) name=${name#fuzz_}
	[ $# -eq 0 ] || [[ " $* " == *" $name "* ]] || continue
	names+=("$name") target[$name]=$src
done
[ ${#names[@]} -gt 0 ] || { echo "run.sh: no such target: $*" >&2; exit 64; }

sources_of() { echo "${target[$1]}" "$(sed -n 's/^ \* links: *//p' "${target[$1]}" | sed 's/\([^ ]*\)/\1.c/g' | tr '\n' ' ')"; }
# compile SOURCE
compile() {
	local object=$objdir/${1%.c}.o
	mkdir -p "${object%/*}"
	clang -std=gnu17 -D_GNU_SOURCE -g -O1 -I. $(pkg-config --cflags libxslt) -fsanitize=fuzzer-no-link,address,undefined \
		-fno-sanitize-recover=all -c -o "$object" "$1"
}
export -f compile
export objdir
# Each once, whatever number of targets links it; one that does not compile is missed by its targets.
for name in "${names[@]}"; do sources_of "$name"; done | tr -s ' ' '\n' | sort -u | grep . | xargs -P "$jobs" -I {} bash -c 'compile {}'

# fuzz NAME: prints its result without the number
fuzz() {
	local name=$1 dir=build/fuzz/$1 libs
	mkdir -p "$dir/corpus"
	libs=$(sed -n 's/^ \* libs: *//p' "${target[$name]}")
	# shellcheck disable=SC2086,SC2046 # words
	if ! clang -fsanitize=fuzzer,address,undefined -o "$dir/fuzz" $(sources_of "$name" | sed "s,\([^ ]*\)\.c,$objdir/\1.o,g") $libs; then
		echo "not ok - $name does not build"
		return 1
	fi
	# shellcheck disable=SC2046 # no word where there are no seeds
	if "$dir/fuzz" -max_total_time="$seconds" -timeout=5 -rss_limit_mb=2048 -verbosity=0 \
		-print_final_stats=1 -artifact_prefix="$dir/" "$dir/corpus" \
		$([ -d "tests/fuzz/seeds/$name" ] && echo "tests/fuzz/seeds/$name") >"$dir/log" 2>&1; then
		echo "ok - $name: $(sed -n 's/^stat::number_of_executed_units: *//p' "$dir/log") inputs in $seconds s"
	else
		tail -n 30 "$dir/log" | sed 's/^/# /'
		echo "not ok - $name"
		return 1
	fi
}
bad=0 running=0
for name in "${names[@]}"; do
	if [ $running -ge "$jobs" ]; then
		wait -n || bad=1
		running=$((running - 1))
	fi
	fuzz "$name" &
	running=$((running + 1))
done
while [ $running -gt 0 ]; do
	wait -n || bad=1
	running=$((running - 1))
done
echo "1..${#names[@]}"
exit $bad
