#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""history_sums.py swf|sacct FILE[.gz] - the core seconds of a history, and those of each user.

An oracle for `reeve import`: it shares no code and no language with it. Prints "USER CORE_SECONDS" by
user, sorted by name, then "CORE_SECONDS" of all.

Conventions: SWF: field 4 (run time) times field 5 (allocated processors), if that is not known field 8 (requested ones); users are field
12 as "uN". sacct: lines of the XDMoD export (JobID to NodeList, without a heading); End - Start times the cpu of
AllocTRES; steps (a dot in the first field) and jobs that did not start are left out. Jobs of no time or no cores count nothing.
"""
import collections
import datetime
import gzip
import sys


def read_swf(lines):
    for line in lines:
        v = line.split()
        if not v or v[0].startswith(";"):
            continue
        run, cores = float(v[3]), int(v[4])
        if cores <= 0:
            cores = int(v[7])
        if run > 0 and cores > 0:
            yield "u" + v[11], int(run) * cores


def seconds_of(text):
    return int(datetime.datetime.fromisoformat(text).replace(tzinfo=datetime.timezone.utc).timestamp())


def read_sacct(lines):
    for line in lines:
        v = line.rstrip("\n").split("|")
        job, user, start, end, allocated = v[0], v[8], v[12], v[13], v[22]
        if "." in job or "T" not in start or "T" not in end:
            continue
        cores = int(dict(one.split("=", 1) for one in allocated.split(",") if "=" in one)["cpu"])
        lasted = seconds_of(end) - seconds_of(start)
        if lasted > 0 and cores > 0:
            yield user, lasted * cores


def main():
    form, path = sys.argv[1:3]
    with (gzip.open if path.endswith(".gz") else open)(path, "rt", errors="replace") as f:
        sums = collections.Counter()
        for user, amount in {"swf": read_swf, "sacct": read_sacct}[form](f):
            sums[user] += amount
    for user in sorted(sums):
        print(user, sums[user])
    print(sum(sums.values()))


main()
