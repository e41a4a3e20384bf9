#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""house.py [OBJDIR] - print the figures of the house that docs/architecture.md compares: folders, largest folder, circles of
object files, files that break the rule of prefixes, share of comment lines, lines by room. Run it in a built tree.
house.py lines [REV] - print lines by room as committed in REV (HEAD): all, and those of code alone (no comments, no blank
lines); and how many of them are in files of later work."""
import collections
import os
import re
import subprocess
import sys

TOPS = ("common", "agent", "controller", "cli", "bpf", "slurm")
# Files of later work, apart from which the figures are compared.
LATER = {
    "beside Slurm, PBS": re.compile(r"slurm|^cli/admin/reconcile|^agent/(foreign|pbs)/|manager/pbs|common/model/pbs|tests/node/pbs"),
    "moving a ledger": re.compile(r"^(controller/ledger|cli/admin)/(archive|migrate)|pg_load"),
    "pages for browsers": re.compile(r"^controller/(web|session|api/web)/|^cli/verbs/web"),
}
build = sys.argv[1] if len(sys.argv) > 1 else "build"
here = os.path.dirname(os.path.abspath(__file__))


def comment_lines(text):
    """lines that hold nothing but (a part of) a comment"""
    count, inside = 0, False
    for line in text.splitlines():
        line = line.strip()
        if "SPDX-License-Identifier" in line:
            continue
        if inside:
            count += 1
            inside = "*/" not in line
        elif line.startswith("//"):
            count += 1
        elif line.startswith("/*"):
            count += 1
            inside = "*/" not in line
    return count


def code_lines(text):
    return sum(1 for line in text.splitlines() if line.strip()) - comment_lines(text)


def print_lines(rev):
    listed = subprocess.run(["git", "ls-tree", "-r", "--name-only", rev], capture_output=True, text=True, check=True).stdout
    rooms, parts = collections.defaultdict(lambda: [0, 0]), collections.defaultdict(lambda: [0, 0])
    for path in listed.split():
        if not path.endswith((".c", ".h")) or path.split("/")[0] not in TOPS + ("tests",):
            continue
        text = subprocess.run(["git", "show", f"{rev}:{path}"], capture_output=True, check=True).stdout.decode(errors="replace")
        what = next((name for name, files in LATER.items() if files.search(path)), "all else")
        tree = "tests" if path.startswith("tests/") else "program"
        for sums in (rooms[path.split("/")[0]], parts[f"{tree}, {what}"]):
            sums[0] += text.count("\n")
            sums[1] += code_lines(text)
    print(f"{'lines in ' + rev:30} {'all':>8} {'code':>8}")
    for name, (both, code) in sorted(rooms.items()) + sorted(parts.items()):
        print(f"  {name:28} {both:8} {code:8}")


if build == "lines":
    print_lines(sys.argv[2] if len(sys.argv) > 2 else "HEAD")
    sys.exit()

folders, lines, share = {}, {}, {}
for top in TOPS:
    for folder, _, names in os.walk(top):
        sources = [n for n in names if n.endswith((".c", ".h"))]
        if not sources:
            continue
        folders[folder] = len(sources)
        for name in sources:
            text = open(os.path.join(folder, name), errors="replace").read()
            room = "/".join(folder.split("/")[:2])
            lines[room] = lines.get(room, 0) + text.count("\n")
            kind = name[-1]
            total, comments = share.get(kind, (0, 0))
            share[kind] = (total + text.count("\n"), comments + comment_lines(text))
largest = max(folders, key=folders.get)
circles = subprocess.run([os.path.join(here, "cycles.py"), build], capture_output=True, text=True).stdout
known = os.path.join("tests", "lint", "cycles.txt")
n_known = sum(1 for l in open(known) if l.strip() and l[0] != "#") if os.path.exists(known) else 0
left = subprocess.run([os.path.join(here, "prefixes.py"), build, "--left"], capture_output=True, text=True).stdout.split()
print(f"folders                               {len(folders)}")
print(f"largest folder                        {largest} ({folders[largest]} files)")
print(f"folders with more than 20 files       {sum(n > 20 for n in folders.values())}")
print(f"circles of object files               {circles.count('each other') + n_known}")
print(f"files that break the rule of prefixes {len(left)}")
for kind in "ch":
    total, comments = share[kind]
    print(f"comment lines in .{kind} files            {100 * comments / total:.1f} %")
print(f"lines of .c and .h                    {sum(lines.values())}")
for room in sorted(lines):
    print(f"  {room:30} {lines[room]:7}")
