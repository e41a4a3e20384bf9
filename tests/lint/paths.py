#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""paths.py - a file or folder that a document or a comment names is there.

Looks at `paths` in *.md, and at paths in comments of *.c, *.h, *.sh, *.mk and Makefile."""
import glob
import re
import subprocess
import sys

PATH = re.compile(r"(?<![\w/.$*-])((?:agent|bpf|cli|common|controller|docs|tests|units)/[\w./*{},-]*[\w/*}])")


def expand(path):
    """shell braces: a{b,c}d"""
    m = re.search(r"\{([^{}]*)\}", path)
    if not m:
        return [path]
    return [p for word in m.group(1).split(",") for p in expand(path[:m.start()] + word + path[m.end():])]


def exists(path):
    path = path.rstrip(".,")
    return any(glob.glob(p) or glob.glob(p + ".[ch]") or glob.glob(p + "*.[ch]") for p in expand(path))


names = subprocess.run(["git", "ls-files", "*.md", "*.c", "*.h", "*.sh", "*.mk", "Makefile"],
                       capture_output=True, text=True, check=True).stdout.split()
bad = 0
for name in names:
    try:
        text = open(name, errors="replace").read()
    except FileNotFoundError:
        continue
    for number, line in enumerate(text.splitlines(), 1):
        if name.endswith(".md"):
            parts = re.findall(r"`([^`]*)`", line)
        elif line.lstrip().startswith(("/*", "*", "//", "#")) and not line.startswith("#include"):
            parts = [line]
        else:
            continue
        for part in parts:
            for path in PATH.findall(part):
                if re.search(r"[A-Z]{2}", path) or path == "bpf/bpf_helper_defs.h":
                    continue  # a placeholder; a header of libbpf
                if not exists(path):
                    bad = 1
                    print(f"lint: {name}:{number}: names {path}, which is not there")
sys.exit(bad)
