#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# sizes.sh - functions of at most 60 lines, 5 parameters and 3 levels; files of at most 600 lines (that of the licence not counted); folders of at most 24 files.
# tests/lint/exceptions.txt holds "WHAT FILE[:FUNCTION]" lines; it may only shrink: one that is no
# longer needed fails too.
set -eu
# shellcheck disable=SC2046
found=$(awk '
	FNR == 1 { if (file) ends(); file = FILENAME; infn = 0; sig = ""; lines = 0 }
	!/SPDX-License-Identifier/ { lines++ }
	function ends() { if (lines > 600) print "file-lines " file " (" lines ")" }
	function args(s,   t, n) {
		sub(/^[^(]*\(/, "", s); sub(/\)[^)]*$/, "", s)
		gsub(/\([^()]*\)/, "", s); t = s; n = gsub(/,/, ",", t) + 1; return n }
	!infn && /^[A-Za-z_].*[(]/ && !/;[ \t]*$/ && !/^(typedef|#)/ && !/^[^(]*=/ { sig = $0; start = FNR; next_sig = 1; if ($0 ~ /{$/) sig = ""; next }
	!infn && sig != "" && /^[ \t]/ { sig = sig $0; next }
	!infn && sig != "" && /^{/ { infn = 1; name = sig; sub(/\(.*/, "", name); sub(/.*[ *]/, "", name)
		if (name != "BPF_PROG" && args(sig) > 5) print "parameters " file ":" name " (" args(sig) ")"
		depth = 1; first = FNR; next }
	!infn { sig = "" }
	infn && /^}/ { if (FNR - first - 1 > 60) print "function-lines " file ":" name " (" FNR - first - 1 ")"; infn = 0; sig = ""; next }
	infn { t = $0; sub(/^[ \t]*/, "", t)
		if (t ~ /^}/) depth--
		if (t ~ /(\)|else|do)[ ]?{$/) { depth++; if (depth > 4) print "nesting " file ":" name } else if (t ~ /{$/) depth++ }
	END { ends() }' $(git ls-files '*.c' '*.h') | sort -u)
bad=0
# About 20 files a folder: what `ls` shows at once.
git ls-files agent bpf cli common controller pbs slurm tests | awk '
	/\.([ch]|sh|py|mk)$/ { sub(/\/[^\/]*$/, ""); n[$0]++ }
	END { for (d in n) if (n[d] > 24) { print "lint: too many files: " d " (" n[d] "; 24 at most): give a part of them a folder"; bad = 1 }; exit bad }' || bad=1
what=$(echo "$found" | sed 's/ ([0-9]*)$//')
while read -r kind place; do
	case $kind in ''|'#'*) continue ;; esac
	echo "$what" | grep -Fqx "$kind $place" || { echo "lint: exception '$kind $place' is no longer needed: delete it"; bad=1; }
done < tests/lint/exceptions.txt
[ -z "$found" ] || while IFS= read -r line; do
	grep -Fqx "${line% (*}" tests/lint/exceptions.txt || { echo "lint: too large: $line"; bad=1; }
done <<EOF
$found
EOF
exit $bad
