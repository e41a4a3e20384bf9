#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""prefixes.py OBJDIR - exported functions and types begin with the name of their file, of their folder, or with a
prefix of their room (tests/lint/prefixes.txt)."""
import os
import re
import subprocess
import sys

TOPS = ("common", "agent", "controller", "cli")
rooms = {}
for line in open("tests/lint/prefixes.txt"):
    if line.strip() and line[0] != "#":
        room, *prefixes = line.split()
        rooms[room] = prefixes


def allowed(path):
    """what names of this file may begin with"""
    folder, name = os.path.split(path)
    stem = os.path.splitext(name)[0].removesuffix("_impl")
    parts = folder.split("/")
    words = {stem, parts[-1], parts[-1].rstrip("s"), stem.rstrip("s"), f"{parts[-1]}_{stem}"}
    for i in range(len(parts), 0, -1):
        words.update(p.rstrip("_") for p in rooms.get("/".join(parts[:i]), ()))
    return words


def fits(symbol, path):
    return any(symbol == w or symbol.startswith(w + "_") for w in allowed(path))


build = sys.argv[1]
found = {}
objects = [os.path.join(f, n) for t in TOPS for f, _, ns in os.walk(os.path.join(build, t)) for n in ns
           if n.endswith(".o") and os.path.exists(os.path.join(f, n)[len(build) + 1:-2] + ".c")]
for line in subprocess.run(["nm", "-gA", "--defined-only", *objects], capture_output=True, text=True, check=True).stdout.splitlines():
    place, rest = line.rsplit(":", 1)
    symbol, path = rest.split()[-1], place[len(build) + 1:-2] + ".c"
    if symbol != "main" and not symbol.startswith("pam_sm_") and not fits(symbol, path):
        found.setdefault(path, []).append(symbol)
for t in TOPS:
    for folder, _, names in os.walk(t):
        for name in names:
            path = os.path.join(folder, name)
            if name.endswith(".h"):
                for m in re.finditer(r"^(?:struct|enum|union) (\w+) \{", open(path, errors="replace").read(), re.M):
                    if not fits(m.group(1), path):
                        found.setdefault(path, []).append(m.group(1))
for path in sorted(found):
    print(f"lint: {path}: {' '.join(sorted(found[path]))}: neither {' nor '.join(sorted(allowed(path)))} is their prefix")
sys.exit(1 if found else 0)
