#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# text.sh - format as .clang-format says; manual pages are well-formed and have every key; no unfinished words.
set -u
bad=0
files=$(git ls-files '*.c' '*.h')
# shellcheck disable=SC2086
clang-format --dry-run -Werror $files 2>&1 | grep -E 'error:' | sed 's/^/lint: /;s/code should be clang-formatted.*/not formatted: clang-format -i/' | head -20 | grep . && bad=1
unfinished='TO''DO|FIX''ME|\\bXX''X\\b|not (yet )?implem''ented'
git grep -nIE "$unfinished" -- '*.c' '*.h' '*.sh' Makefile | sed 's/^/lint: unfinished: /' | grep . && bad=1
# doc_edit() holds the document: without a cleanup each call leaks all of it.
git grep -nE '^\s+struct doc \w+ = doc_edit\(' -- '*.c' | sed 's/^/lint: no _cleanup_doc_: /' | grep . && bad=1
for page in docs/man/*.scd; do
	out=$(scdoc <"$page" 2>&1 >/dev/null) || { echo "lint: $page: $out"; bad=1; }
done
# Each key of a configuration file has its paragraph: reeve-controller(8) is generated, and compared by cli_golden.sh.
for table in agent/config.c:reeve-agent.8 slurm/follow/config.c:reeve-slurm.8 cli/client/config.c:reeve.conf.5 mail/config.c:reeve-mail.8; do
	page=docs/man/${table#*:}.scd
	keys=$(grep -oE '(TEXT|NUMBER|WORD)\("[A-Za-z]+"|\{ "(Agent|Slurm|Client|Mail)", "[A-Za-z]+"' "${table%%:*}" |
		sed 's/.*[ (]"//; s/"$//')
	[ -n "$keys" ] || { echo "lint: no keys in ${table%%:*}"; bad=1; }
	for key in $keys; do
		grep -q "\*$key\*" "$page" || { echo "lint: $page has no $key of ${table%%:*}"; bad=1; }
	done
done
# Of the agent's, the paragraph on SIGHUP lists those that a reload applies.
live=$(awk '/(TEXT|NUMBER|WORD)\("|\{ "Agent", "/ { key = $0; sub(/.*(\("|"Agent", ")/, "", key); sub(/".*/, "", key) }
	/CONF_LIVE/ { print key }' agent/config.c | sort)
said=$(sed -n '/^SIGHUP /,/^$/p' docs/man/reeve-agent.8.scd | grep -oE '\*[A-Za-z]+\*' | tr -d '*' | sort)
[ -n "$live" ] && [ "$live" = "$said" ] || { echo "lint: docs/man/reeve-agent.8.scd: SIGHUP applies:" $live; bad=1; }
exit $bad
