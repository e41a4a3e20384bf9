#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# forms.sh - every view that prints a table has every form, and the forms agree: json, csv, bars,
# tabs, no header, chosen columns. Offline, with names that try to break rows. TAP.
set -u
cd "$(dirname "$0")/../../.." || exit 1
. tests/cluster/lib/tap_lib.sh
reeve=$PWD/build/bin/reeve
dir=$(mktemp -d /tmp/reeve-forms-XXXXXX)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
export HOME=$dir XDG_CONFIG_HOME=$dir LC_ALL=C.UTF-8 TZ=UTC
unset REEVE_CONTROLLER REEVE_PROFILES

# ---- what there is to see: names with bars, tabs, commas, quotes, line ends, backslashes ----
cat >h.swf <<'SWF'
; UnixStartTime: 1000000000
1 0 10 36000 16 9000 1048576 16 72000 4194304 1 1 3 -1 -1 -1 -1 -1
2 5 0 7200 4 7100 -1 4 7200 -1 1 2 4 -1 -1 -1 -1 -1
SWF
"$reeve" import swf h.swf --cluster c --ledger h.db >/dev/null || bail "import"
"$reeve" admin adjust --ledger h.db --cluster c --job 1 --charge -1.5 --reason $'a|b\\c, "d"\te' >/dev/null || bail "adjust"
python3 - <<'PY'
import sqlite3
d = sqlite3.connect("h.db")
for table, column in ("associations", "user"), ("rollups", "user"), ("adjustments", "user"), ("rollups_month", "user"):
    try:
        d.execute(f'UPDATE {table} SET "{column}" = ? WHERE "{column}" = ?', ('evil|user\\\n,"x"\t', "u1"))
    except sqlite3.OperationalError as e:
        if "no such" not in str(e): raise
d.commit()
PY
printf 'id,parent_id,account,user,raw_shares,order,leaf_usage\n1,,root,,1,0,0\n2,1,"a|b, ""c""\\",,3,0,5\n3,2,"a|b","tab\there",1,0,25\n' >tree.csv
printf 'month,allowance,used\n2012-01,1000,800\n2012-02,1000,0\n2012-03,1000,0\n' >months.csv
printf '[Policy]\nTimeZone = Mars|X\n[Cluster a]\nBundleCores = 0\n' >bad.conf
printf '[Cluster c]\nUnit = core-equivalents\nBundleCores = 1\n' >good.conf
printf '[Account g3]\nUsers = u1, u2\n[Allocation g3/2001]\nKind = target\nPool = cpu\nAmount = 1\nFrom = 2001-01-01\nTo = 2002-01-01\n' >accounts.conf

# ---- the forms of one view ----
cat >agree.py <<'PY'
import csv, io, json, re, subprocess, sys
def run(*more):
    r = subprocess.run(sys.argv[1:] + list(more), capture_output=True)
    return r.stdout.decode(), r.stderr.decode(), r.returncode
def unbar(t): return re.sub(r"\\([0-7]{3})", lambda m: chr(int(m.group(1), 8)), t)
table = list(csv.reader(io.StringIO(run("--csv")[0], newline="")))
names, rows = table[0], table[1:]
assert names and all(len(r) == len(names) for r in rows), "csv: rows of other lengths than the header"
bars = [l.split("|") for l in run("-P")[0].splitlines()]
assert [[unbar(f) for f in r] for r in bars] == table, f"-P is not the csv: {bars}"
ended = run("--parsable")[0].splitlines()
assert all(l.endswith("|") for l in ended), "--parsable: a row does not end with a bar"
assert [l[:-1].split("|") for l in ended] == bars, "--parsable is not -P with an end"
tabs = [l.split("\t") for l in run("--output", "raw")[0].splitlines()]
assert len(tabs) == len(table) and all(len(r) == len(names) for r in tabs), f"raw: {tabs}"
assert run("-P", "-n")[0].splitlines() == run("-P")[0].splitlines()[1:], "-n: more or less than the header is gone"
last = names[-1]
assert [l for l in run("-P", "-n", "-o", last)[0].splitlines()] == [r[-1] for r in bars[1:]], "-o: another column"
doc = json.loads(run("--json")[0])
assert doc["schema"] == "reeve/1", "json has no schema"
assert [l.split("|")[0] for l in run("-o", "help", "-P", "-n")[0].splitlines()] == names, "-o help: other columns"
out, err, code = run("-o", "no-such-column", "--csv")
assert code == 2 and not out and "unknown column 'no-such-column'" in err and names[0] in err, f"an unknown column: {err}"
lists = [v for k, v in doc.items() if isinstance(v, list) and k != "totals"]
if not lists: sys.exit(0) # one document, not rows
assert len(lists) == 1 and len(lists[0]) == len(rows), "json has another number of rows"
for j, r in zip(lists[0], rows):
    for name, field in zip(names, r):
        v = j.get(name)
        assert (v is None or v == "") == (field == ""), f"{name}: json {v!r}, csv {field!r}"
        if isinstance(v, str): assert v == field, f"{name}: json {v!r}, csv {field!r}"
        elif v is not None: assert float(field) == float(v), f"{name}: json {v!r}, csv {field!r}"
PY
agree() { check "$*" python3 agree.py "$reeve" "$@"; }
agree eff --ledger h.db
agree eff --ledger h.db --by user
agree usage --ledger h.db --by user
agree usage --ledger h.db --by user --monthly
agree share --ledger h.db --profile good.conf
agree quota --ledger h.db --profile good.conf --accounts accounts.conf
agree quota --ledger h.db --profile good.conf --accounts accounts.conf --by user
agree prio --ledger h.db --profile good.conf --accounts accounts.conf -A g3 -u u2 -l ncpus=2
agree admin adjustments --ledger h.db
agree admin check-config bad.conf
agree fairshare tree.csv
agree window --allowance months.csv --month 2012-02
has "the names are hostile indeed" 'evil\174user\134\012,"x"\011' "$("$reeve" eff --ledger h.db --by user -P)"
has "and for people no line is broken" 'evil|user\\012,"x"\011' "$("$reeve" eff --ledger h.db --by user | sed -n 2p)"
tap_end
