#!/bin/bash
# run.sh [SECONDS [NAME...]] - fuzz every parser of hostile bytes with libFuzzer, ASan and UBSan.
# TAP. Each fuzz_NAME.c says in its head what it links. Seeds: tests/fuzz/seeds/NAME; what is found
# goes to build/fuzz/NAME. `make check` gives each a short turn; let it run for hours now and then.
set -uo pipefail
cd "$(dirname "$0")/../.."
seconds=${1:-10}
shift $(($# > 0))
n=0 bad=0
for src in tests/fuzz/fuzz_*.c; do
	name=$(basename "$src" .c) name=${name#fuzz_}
	[ $# -eq 0 ] || [[ " $* " == *" $name "* ]] || continue
	n=$((n + 1))
	dir=build/fuzz/$name
	mkdir -p "$dir/corpus"
	links=$(sed -n 's/^ \* links: *//p' "$src" | sed 's/\([^ ]*\)/\1.c/g')
	libs=$(sed -n 's/^ \* libs: *//p' "$src")
	# shellcheck disable=SC2086
	if ! clang -std=gnu17 -D_GNU_SOURCE -g -O1 -I. -fsanitize=fuzzer,address,undefined \
		-fno-sanitize-recover=all -o "$dir/fuzz" "$src" $links $libs; then
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
