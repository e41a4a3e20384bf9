#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Each event that log_job() or log_event() is given has an id in common/log.c and a text in units/reeve.catalog, and none has two."""
import glob
import re
import sys

rows = re.findall(r'^\t\{ "([a-z]+)", "([0-9a-f]{32})" \},$', open("common/log.c").read(), re.M)
words = [word for word, _ in rows]
texts = re.findall(r"^-- ([0-9a-f]{32})$", open("units/reeve.catalog").read(), re.M)
bad = []
if words != sorted(set(words)):
    bad.append("common/log.c: words are in order, each once")
ids = sorted(i for _, i in rows)
if len(set(ids)) != len(ids) or ids != sorted(texts):
    bad.append("units/reeve.catalog: one text for each id of common/log.c: %s" % sorted(set(ids) ^ set(texts)))
seen = set()
for path in (p for room in ("agent", "common", "controller", "mail", "slurm", "storage") for p in glob.glob(room + "/**/*.c", recursive=True)):
    for call in re.findall(r"\blog_job\(\s*(LOG_\w+|priority)\s*,(.*?)\);", open(path).read(), re.S):
        seen.update(re.findall(r'^[^"]*,[^"]*"([a-z]+)"', call[1]) + re.findall(r'[?:] "([a-z]+)"(?=\s*[:,])', call[1].split('"%')[0]))
    seen.update(re.findall(r'\blog_event\(\s*[^",;]+,\s*"([a-z]+)"', open(path).read()))
seen |= {"held", "released"}  # controller/api/jobs/hold.c passes the word on
for word in sorted(seen - set(words)):
    bad.append("log_job() with the event '%s', which common/log.c does not have" % word)
for word in sorted(set(words) - seen):
    bad.append("common/log.c: no log_job() has the event '%s'" % word)
print("\n".join("lint: " + b for b in bad), end="\n" if bad else "")
sys.exit(1 if bad else 0)
