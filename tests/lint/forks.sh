#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# forks.sh - no process is a copy of a daemon that becomes a user: each fork executes a program, or has a line in forks.txt that says why not.
# A copy has the memory of root's program, and the user whom it becomes may stop it for ever.
set -u
list=tests/lint/forks.txt bad=0
calls='(^|[^A-Za-z0-9_])((v|_F)?fork|clone3?|clone_into_(fork|spawn)|popen|system|daemon)\(|SYS_(clone|fork|vfork)'
found=$(git ls-files 'agent/*.c' 'cli/*.c' 'common/*.c' 'controller/*.c' 'mail/*.c' 'slurm/*.c' | while read -r file; do
	# Comments, and definitions.
	n=$(sed -E 's,/\*.*\*/,,; /^[/ ]\*/d; /^(pid_t|int) clone_into/d; s,"[^"]*",,g' "$file" | grep -cE "$calls")
	[ "$n" = 0 ] || echo "$file $n"
done)
listed=$(awk '!/^#/ && NF { n[$1] += $2 } END { for (f in n) print f, n[f] }' $list | sort)
for line in $(printf '%s\n' "$found" | tr ' ' '='); do
	printf '%s\n' "$listed" | grep -Fqx "${line%=*} ${line#*=}" ||
		{ echo "lint: ${line%=*}: ${line#*=} calls that make a process, unlike $list: use posix_spawn()"; bad=1; }
done
while read -r file n kind program; do
	case $file in '' | '#'*) continue ;; esac
	printf '%s\n' "$found" | grep -q "^$file " || { echo "lint: $list: $file makes no process: delete the line"; bad=1; }
	case $kind in
	exec) grep -qE '\bf?exec(l|v)[pe]*\(' "${program:-$file}" || { echo "lint: ${program:-$file} executes nothing"; bad=1; } ;;
	bounded) grep -q 'bounded_begin(' "$file" && grep -q 'PR_SET_DUMPABLE, 0' "$file" || { echo "lint: $file: bounded_begin(), PR_SET_DUMPABLE"; bad=1; } ;;
	root) grep -qE 'set(res|e)?[ug]id\(|owner_become\(|become_user\(' "$file" && { echo "lint: $file becomes another user: $list says root"; bad=1; } ;;
	*) echo "lint: $list: $file: $n $kind?"; bad=1 ;;
	esac
done <$list
exit $bad
