#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""words.py - refuse expressions of tests/lint/words.txt in code, messages, help and documents."""
import re
import subprocess
import sys

patterns = [line.rstrip("\n") for line in open("tests/lint/words.txt") if line.strip() and line[0] != "#"]
refused = re.compile("|".join(f"(?:{p})" for p in patterns), re.IGNORECASE)
names = subprocess.run(
    ["git", "ls-files", "*.c", "*.h", "*.sh", "*.md", "*.scd", "*.conf", "*.mk", "*.py", "*.service", "Makefile"],
    capture_output=True, text=True, check=True).stdout.split()
bad = 0
for name in names:
    if name in ("docs/glossary.md",):
        continue
    try:
        text = open(name, encoding="utf-8", errors="replace").read()
    except FileNotFoundError:
        continue
    for number, line in enumerate(text.splitlines(), 1):
        found = refused.search(line)
        if found:
            bad = 1
            print(f"lint: {name}:{number}: '{found.group(0)}': see docs/glossary.md")
sys.exit(bad)
