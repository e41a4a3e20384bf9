#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# run.sh [SECONDS [NAME...]] - fuzz every parser of hostile bytes with libFuzzer, ASan and UBSan.
# TAP. Each fuzz_NAME.c says in its head what it links. Seeds: tests/fuzz/seeds/NAME; what is found
# goes to build/fuzz/NAME. `make check` gives each a short turn; let it run for hours now and then.
set -uo pipefail
cd "$(dirname "$0")/../.."
seconds=${1:-10}
shift $(($# > 0))
n=0 bad=0
objdir=$PWD/build/fuzz/obj.$$ # another run may be under way
trap 'rm -rf "$objdir"' EXIT
declare -A compiled=()
# compile SOURCE: once a run, for all programs that link it.
compile() {
	local object=$objdir/${1%.c}.o
	[ -z "${compiled[$1]:-}" ] || return 0
	mkdir -p "${object%/*}"
	rm -f "$object"
	clang -std=gnu17 -D_GNU_SOURCE -g -O1 -I. -fsanitize=fuzzer-no-link,address,undefined \
		-fno-sanitize-recover=all -c -o "$object" "$1" && compiled[$1]=1
}
for src in tests/fuzz/fuzz_*.c tests/fuzz/*/fuzz_*.c; do
	name=$(basename "$src" .c) name=${name#fuzz_}
	[ $# -eq 0 ] || [[ " $* " == *" $name "* ]] || continue
	n=$((n + 1))
	dir=build/fuzz/$name
	mkdir -p "$dir/corpus"
	objects=()
	for source in "$src" $(sed -n 's/^ \* links: *//p' "$src" | sed 's/\([^ ]*\)/\1.c/g'); do
		compile "$source" || break
		objects+=("$objdir/${source%.c}.o")
	done
	libs=$(sed -n 's/^ \* libs: *//p' "$src")
	# shellcheck disable=SC2086
	if ! clang -fsanitize=fuzzer,address,undefined -o "$dir/fuzz" "${objects[@]}" $libs; then
		echo "not ok $n - $name does not build"; bad=1; continue
	fi
	if "$dir/fuzz" -max_total_time="$seconds" -timeout=5 -rss_limit_mb=2048 -verbosity=0 \
		-print_final_stats=1 -artifact_prefix="$dir/" "$dir/corpus" \
		$([ -d tests/fuzz/seeds/$name ] && echo tests/fuzz/seeds/$name) >"$dir/log" 2>&1; then
		echo "ok $n - $name: $(sed -n 's/^stat::number_of_executed_units: *//p' "$dir/log") inputs in $seconds s"
	else
		tail -n 30 "$dir/log" | sed 's/^/# /'
		echo "not ok $n - $name"; bad=1
	fi
done
echo "1..$n"
exit $bad
