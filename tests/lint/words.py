#!/usr/bin/env python3
"""words.py - refuse expressions of tests/lint/words.txt in code, messages, help and documents.

tests/lint/words_left.txt lists the files that still have some; it may only shrink."""
import re
import subprocess
import sys

LEFT = "tests/lint/words_left.txt"
patterns = [line.rstrip("\n") for line in open("tests/lint/words.txt") if line.strip() and line[0] != "#"]
refused = re.compile("|".join(f"(?:{p})" for p in patterns), re.IGNORECASE)
try:
    left = {line.strip() for line in open(LEFT) if line.strip() and line[0] != "#"}
except FileNotFoundError:
    left = set()
names = subprocess.run(
    ["git", "ls-files", "*.c", "*.h", "*.sh", "*.md", "*.scd", "*.conf", "*.mk", "*.py", "*.service", "Makefile"],
    capture_output=True, text=True, check=True).stdout.split()
bad, seen = 0, set()
for name in names:
    if name in ("docs/glossary.md",):
        continue
    try:
        text = open(name, encoding="utf-8", errors="replace").read()
    except FileNotFoundError:
        continue
    for number, line in enumerate(text.splitlines(), 1):
        found = refused.search(line)
        if not found:
            continue
        seen.add(name)
        if name not in left or "-v" in sys.argv:
            bad = 1
            print(f"lint: {name}:{number}: '{found.group(0)}': see docs/glossary.md")
if "--left" in sys.argv:
    print("\n".join(sorted(seen)))
for name in sorted(left - seen):
    if "--strict" in sys.argv:
        bad = 1
        print(f"lint: {name} has no refused expression any more: delete it from {LEFT}")
sys.exit(bad)
