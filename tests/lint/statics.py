#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""statics.py - a static function has a name of two words or more (docs/glossary.md): one word cannot be searched for."""
import re
import subprocess
import sys

# words that are the standard name of what the function computes, and the cleanup functions of common/cleanup.h
STANDARD = set("clamp cube least lesser later max min unescape freep closep fclosep closedirp".split())
STATIC = re.compile(r"^static\s(?:[^=;{}()[\"]|\b__attribute__\(\(.*?\)\))*?\b([a-z][a-z0-9]*)\s*\((?![(*])", re.M)

bad = 0
for name in subprocess.run(["git", "ls-files", "*.c", "*.h"], capture_output=True, text=True, check=True).stdout.split():
    try:
        text = open(name, encoding="utf-8", errors="replace").read()
    except FileNotFoundError:
        continue
    for m in STATIC.finditer(text):
        if m.group(1) not in STANDARD:
            bad = 1
            line = text.count("\n", 0, m.start(1)) + 1
            print(f"lint: {name}:{line}: {m.group(1)}(): a static function's name has a verb and an object, as send_report()")
sys.exit(bad)
