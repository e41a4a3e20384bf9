#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""spdx.py [--write] - each source file says its licence in its first line, or in the second where the first is for the system.
With --write the files that do not are given that line. Data, configuration and documents have it from debian/copyright."""
import os
import re
import shutil
import subprocess
import sys

LINE = "SPDX-License-Identifier: GPL-2.0-or-later"
FORMS = {"/* %s */": ("c", "h", "S", "css"), "// %s": ("js",), "<!-- %s -->": ("xsl",), "-- %s": ("lua",), "# %s": ("sh", "py", "mk", "Makefile")}


def form_of(name, first):
    """How a comment is written in this file; None for what is no source."""
    if name.startswith("tests/fuzz/seeds/") or name.startswith("."):
        return None
    suffix = re.split(r"[./]", name)[-1]
    for form, suffixes in FORMS.items():
        if suffix in suffixes:
            return form
    return "# %s" if first.startswith("#!") else None


def add_line(lines, form):
    head = 1 if lines and lines[0].startswith(("#!", "<?xml")) else 0
    # A script that prints its head as its help counts lines.
    counted = re.compile(r"(sed -n '2,)(\d+)s")
    if head and lines[0].startswith("#!"):
        lines = [counted.sub(lambda m: f"sed -n '3,{int(m.group(2)) + 1}s", line) for line in lines]
    return lines[:head] + [form % LINE + "\n"] + lines[head:]


bad = 0
for name in subprocess.run(["git", "ls-files"], capture_output=True, text=True, check=True).stdout.splitlines():
    try:
        lines = open(name, encoding="utf-8").read().splitlines(keepends=True)
    except (FileNotFoundError, IsADirectoryError, UnicodeDecodeError):
        continue
    form = form_of(name, lines[0] if lines else "")
    if not form or form % LINE + "\n" in lines[:2]:
        continue
    if "--write" in sys.argv[1:]:
        # By another name first: a shell that runs this script goes on with the file that it has open.
        with open(name + ".spdx", "w", encoding="utf-8") as f:
            f.writelines(add_line(lines, form))
        shutil.copymode(name, name + ".spdx")
        os.replace(name + ".spdx", name)
    else:
        bad = 1
        print(f"lint: {name}: no '{form % LINE}' in its first two lines (tests/lint/spdx.py --write adds it)")
sys.exit(bad)
