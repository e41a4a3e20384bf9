#!/bin/sh
# faults.sh - every test that docs/faults.md names is there.
bad=0
pins=$(grep '^|' docs/faults.md | grep -o '`tests/[^:`]*: [^`]*`' | tr -d '`')
[ -n "$pins" ] || { echo "docs/faults.md names no test"; exit 1; }
while IFS= read -r pin; do
	file=${pin%%: *} name=${pin#*: }
	grep -qF -- "$name" "$file" 2>/dev/null || { echo "docs/faults.md: no test '$name' in $file"; bad=1; }
done <<PINS
$pins
PINS
exit $bad
