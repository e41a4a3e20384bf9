#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""coverage.py [--least PERCENT] [--missing] [ROOM...] - which lines of each room the unit tests alone run, as gcov counts them.

Builds below build/coverage all objects of the pure rooms (tests/lint/pure.txt) and the unit tests that link one of them, but those of
more than 80 objects (tests of the ledger), which are none of a pure room; runs the tests, and prints by folder: lines, lines that ran, percent. A pure room of which fewer than PERCENT (98) of the lines ran fails; a file that no test
links counts with all its lines. --missing prints the lines that did not run; ROOM: these rooms instead, pure or not.
TAP.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import subprocess
import sys

OUT = "build/coverage"
OBJECTS_MOST = 80
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def pure_rooms():
    with open("tests/lint/pure.txt", encoding="utf-8") as f:
        return [line.strip() for line in f if line.strip() and not line.startswith("#")]


def sources_of(rooms):
    listed = subprocess.run(["git", "ls-files", *(f"{r}/*.c" for r in rooms)], capture_output=True, text=True, check=True).stdout
    return listed.split()


def make(*targets):
    env = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    subprocess.run(["make", "-s", "--no-print-directory", f"-j{os.cpu_count()}", f"O={OUT}", "COVERAGE=1", *targets], check=True, env=env)


def tests_of(sources):
    """Programs, by the database of make: those that link an object of these sources, and not too much else."""
    objects = {f"{OUT}/{s[:-2]}.o" for s in sources}
    said = subprocess.run(["make", "-pqrR", "--no-print-directory", f"O={OUT}", "COVERAGE=1", "unit-tests"], capture_output=True, text=True, check=False)
    found = []
    for line in said.stdout.splitlines():
        name, colon, needs = line.partition(": ")
        if colon and name.startswith(f"{OUT}/tests/unit/test_") and not name.endswith(".d"):
            needs = [n for n in needs.split() if n.endswith(".o")]
            if objects.intersection(needs) and len(needs) <= OBJECTS_MOST:
                found.append(name)
    return sorted(set(found))


def forget_counts():
    for folder, _, names in os.walk(OUT):
        for name in names:
            if name.endswith(".gcda"):
                os.remove(os.path.join(folder, name))


def run_test(path):
    return path, subprocess.run([path], capture_output=True, check=False, stdin=subprocess.DEVNULL).returncode


def count_lines(source):
    """{line: how often it ran} of one object; an object that no test linked has no counts, and gcov says 0 of each line."""
    notes = f"{OUT}/{source[:-2]}.gcno"
    counts = notes[:-5] + ".gcda"
    said = subprocess.run(["gcov", "--json-format", "--stdout", counts if os.path.exists(counts) else notes],
                          capture_output=True, text=True, check=True).stdout
    lines = {}
    for document in said.splitlines():
        for of in json.loads(document)["files"]:
            if of["file"] == source:
                for line in of["lines"]:
                    lines[line["line_number"]] = lines.get(line["line_number"], 0) + line["count"]
    return source, lines


def spans(numbers):
    out = []
    for n in sorted(numbers):
        if out and n == out[-1][1] + 1:
            out[-1][1] = n
        else:
            out.append([n, n])
    return ", ".join(f"{a}-{b}" if b > a else str(a) for a, b in out)


def main():
    os.chdir(ROOT)
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--least", type=float, default=98)
    args.add_argument("--missing", action="store_true")
    args.add_argument("rooms", nargs="*")
    args = args.parse_args()
    rooms = args.rooms or pure_rooms()
    sources = sources_of(rooms)
    tests = tests_of(sources)
    make(*tests, *(f"{OUT}/{s[:-2]}.o" for s in sources))
    forget_counts()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        failed = [path for path, status in pool.map(run_test, tests) if status]
        counted = dict(pool.map(count_lines, sources))
    for path in failed:
        print(f"# {path} failed: its lines may be missing below")
    by_folder = collections.defaultdict(lambda: [0, 0])
    for source, lines in counted.items():
        for where in {os.path.dirname(source), *(r for r in rooms if source.startswith(r + "/"))}:
            by_folder[where][0] += len(lines)
            by_folder[where][1] += sum(1 for n in lines.values() if n)
        missing = [line for line, n in lines.items() if not n]
        if args.missing and missing:
            print(f"# {source}: {spans(missing)}")
    print(f"# {'folder':40} {'lines':>7} {'ran':>7} {'%':>6}")
    for folder, (n, ran) in sorted(by_folder.items(), key=lambda f: f[1][1] / max(f[1][0], 1)):
        print(f"# {folder:40} {n:7} {ran:7} {100 * ran / max(n, 1):6.1f}")
    bad = bool(failed)
    for i, room in enumerate(rooms, 1):
        n, ran = by_folder[room]
        percent = 100 * ran / max(n, 1)
        bad |= percent < args.least
        print(f"{'ok' if percent >= args.least else 'not ok'} {i} - {room}: unit tests run {percent:.1f} % of {n} lines")
    print(f"1..{len(rooms)}")
    return int(bad)


if __name__ == "__main__":
    sys.exit(main())
