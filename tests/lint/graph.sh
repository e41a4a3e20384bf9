#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# graph.sh - fail when an include points up or sideways, when object files form a cycle, when a pure object needs something impure, or when
# jansson parses outside of common/wire/json/load.c.      usage: graph.sh OBJDIR (from the repository root)
set -eu
obj=$1
bad=0
say() { echo "lint: $*"; bad=1; }

# 1. includes, by tests/lint/layers.txt
up=$(find common agent controller cli -name '*.[ch]' -print0 | xargs -0 awk '
	function dir(p) { sub(/\/[^\/]*$/, "", p); return p }
	function room(p) { for (p = dir(p); !(p in layer) && p ~ /\//;) p = dir(p); return p } # the nearest folder that is named
	function top(p) { sub(/\/.*/, "", p); return p }
	BEGIN { while ((getline l < "tests/lint/layers.txt") > 0) if (l !~ /^#/) {
		split(l, f, " "); layer[f[2]] = f[1]; if (f[3] == "library") library[f[2]] } }
	/^#include "/ {
		split($0, q, "\""); to = room(q[2]); from = room(FILENAME)
		if (q[2] ~ /\.skel\.h$/ || q[2] !~ /\// || from == to) next
		if (!(from in layer)) { print FILENAME ": its room is not in tests/lint/layers.txt"; next }
		if (!(to in layer)) { print FILENAME ": includes " q[2] ", whose room is not in tests/lint/layers.txt"; next }
		if (layer[to] >= layer[from]) print FILENAME ": includes upwards: " q[2]
		a = top(from); b = top(to)
		if (a != b && b != "common" && b != "bpf" && !(a == "cli" && to in library))
			print FILENAME ": reaches into " b ": " q[2]
	}')
[ -z "$up" ] || say "$up"

# 2. object files that need each other, by true object
tests/lint/cycles.py "$obj" || bad=1

# 3. purity: no mutable variable, nothing needed but each other, memory, strings and maths
pure=$(grep -v '^#' tests/lint/pure.txt | sed "s,^,$obj/," | xargs -I {} find {} -name '*.o' 2>/dev/null)
libc='^(mem(cpy|move|set|cmp|chr)|str(len|n?cmp|n?dup|chr|rchr|nlen|spn|cspn|str|to[u]?ll)|sigabbrev_np|v?snprintf|qsort(_r)?|bsearch|malloc|calloc|realloc|free|exp2?l?|log2?l?|powl?|fabsl?|__v?snprintf_chk|__mem(cpy|set|move)_chk|__str(n?cpy|n?cat)_chk|__(stack_chk|chk)_fail|__errno_location|__ctype_[a-z]*_loc|_GLOBAL_OFFSET_TABLE_|__(u?div|u?mod|u?divmod)ti[34]|__popcountdi2)$'
ours=$(nm -g --defined-only $pure $obj/common/err.o | awk 'NF == 3 { print $3 }' | sort -u)
for o in $pure; do
	src=${o#"$obj"/}
	[ -e "${src%.o}.c" ] || continue # of a file that is gone
	impure=$(nm -u "$o" | awk '{ print $NF }' | grep -Ev "$libc" | grep -Fvx "$ours" || true)
	state=$(objdump -t "$o" | awk '/ O / && $4 ~ /^\.(data|bss)/ && $4 !~ /^\.data\.rel\.ro/ || / O .*\*COM\*/ { print $NF }')
	[ -z "$impure" ] || say "$o is in a pure room but needs:" $impure
	[ -z "$state" ] || say "$o is in a pure room but has a mutable variable:" $state
done

# 4. text is parsed and made as JSON in one place, which looks at the allocations
bypass=$(grep -rnE '\bjson_(load(s|b|f|fd|_file|_callback)|dumps)\(' --include='*.c' common agent controller cli slurm mail storage | grep -v '^common/wire/json/load\.c:' || true)
[ -z "$bypass" ] || say "call common/wire/json/load.h: $bypass"
exit $bad
