#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# generate.sh - reeve(1) on standard output: its frame, and the commands as the verb tables say them.
# docs/man/reeve.1.scd is the result; the tests compare the two.
set -eu
cd "$(dirname "$0")/../.."
cat docs/man/reeve.1.head
echo
build/bin/reeve help --scdoc
echo "# COMMANDS OF REEVE ADMIN"
echo
build/bin/reeve admin help --scdoc | sed -n '/^# OPTIONS/q; /^## /,$p'
echo "# COMMANDS OF REEVE ADMIN ACCOUNTS"
echo
build/bin/reeve admin accounts help --scdoc | sed -n '/^# OPTIONS/q; /^## /,$p'
echo "# COMMANDS OF REEVE ADMIN OUTAGE"
echo
build/bin/reeve admin outage help --scdoc | sed -n '/^# OPTIONS/q; /^## /,$p'
echo "# COMMANDS OF REEVE ADMIN STORAGE"
echo
build/bin/reeve admin storage help --scdoc | sed -n '/^# OPTIONS/q; /^## /,$p'
cat docs/man/reeve.1.foot
