#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# faults.sh - every test that docs/faults.md and docs/security.md name is there; each row of the latter's
# tables names one; and it has a row for each route of the controller and each method and property of the agent on D-Bus.
bad=0
say() { echo "$*"; bad=1; }
for doc in docs/faults.md docs/security.md; do
	pins=$(grep '^|' $doc | grep -o '`tests/[^:`]*: [^`]*`' | tr -d '`')
	[ -n "$pins" ] || say "$doc names no test"
	while IFS= read -r pin; do
		file=${pin%%: *} name=${pin#*: }
		grep -qF -- "$name" "$file" 2>/dev/null || say "$doc: no test '$name' in $file"
	done <<PINS
$pins
PINS
done

doc=docs/security.md
# The head of a table and the line below it have no test.
rows=$(awk '/^\|/ { if (before !~ /^\|/) { before = $0; getline; before = $0; next } print } { before = $0 }' $doc)
untested=$(printf '%s\n' "$rows" | grep -v '`tests/[^:`]*: [^`]*`')
[ -z "$untested" ] || say "$doc: rows without a test:
$untested"
shown=$(printf '%s\n' "$rows" | grep -o '^| `[^|]*|')
for name in $(sed -nE 's/^\t\{ "([A-Z]+)", "([^"]+)".*/\1:\2/p' controller/api/routes.c | sed 's/#/ID/') \
	$(sed -nE 's/^\tSD_BUS_(METHOD_WITH_NAMES|METHOD|PROPERTY)\("([A-Za-z]+)".*/org.reeve.Agent1:\2/p' agent/dbus.c); do
	name="$(echo "$name" | tr : ' ')"
	case $shown in *"\`$name\`"*) ;; *) say "$doc has no row for $name" ;; esac
done
exit $bad
