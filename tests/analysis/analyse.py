#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""analyse.py [--shrink] [-j N] [TOOL|FILE.c]... - static analysis of every C source: gcc -fanalyzer, clang-tidy and cppcheck.

  TOOL      gcc, clang or cppcheck alone; FILE.c: these files alone
  --shrink  delete the lines of the baseline that are no longer needed

TAP, a test for each tool. A file is analysed again when it, or a header of Reeve's that it includes, has changed since it was last
analysed (build/analysis/TOOL.json). tests/analysis/baseline.txt holds what was read and found to be no fault: a finding that it
does not hold fails, and so does a line that no finding needs any more. It may only shrink: what an analyser finds in new code is
mended, or the code is written so that the analyser can follow it.
"""
import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CACHE = "build/analysis"
BASELINE = "tests/analysis/baseline.txt"
ROOMS = ["common", "agent", "controller", "cli", "slurm", "mail", "storage"]

# What clang-tidy is asked, in groups. Left out of them: rules of style that the lints of tests/lint/ decide (names, sizes, the order of
# parameters); rules that the compiler's own -W options and fortified calls make superfluous; and its paths through functions
# (clang-analyzer), which know no cleanup attribute, and see a leak wherever one frees: gcc's are taken in their place.
TIDY = ",".join("""
    -* bugprone-* cert-* misc-redundant-expression misc-misplaced-const misc-unconventional-assign-operator
    -bugprone-easily-swappable-parameters -bugprone-assignment-in-if-condition -bugprone-reserved-identifier
    -bugprone-narrowing-conversions -bugprone-branch-clone -bugprone-suspicious-include -bugprone-suspicious-string-compare
    -cert-dcl37-c -cert-dcl51-cpp -cert-dcl03-c -cert-err33-c -cert-msc30-c -cert-msc32-c -cert-msc50-cpp -cert-msc51-cpp -cert-env33-c
    -cert-err34-c -bugprone-implicit-widening-of-multiplication-result -bugprone-macro-parentheses
    """.split())
# gcc 12 loses a pointer that is kept in a struct, and takes it for a leak. The leak sanitizer sees these (tests/sanitized.sh).
GCC_BLIND = {"analyzer-malloc-leak", "analyzer-file-leak"}
# What cppcheck cannot see: that a cleanup attribute frees; that a program has one thread, or a thread calls none of these.
CPPCHECK_BLIND = "missingInclude memleak resourceLeak readdirCalled getpwuidCalled getpwnamCalled getgrnamCalled getgrgidCalled localtimeCalled".split()
CPPCHECK_MACROS = ["json_array_foreach(a,i,v)=while(((i=0),(v=json_array_get(a,i))))", "json_object_foreach(o,k,v)=while(((k=""),(v=json_object_get(o,k))))", "LIBBPF_OPTS(t,n,...)=struct t n={0}"]
INCLUDES = ["-I.", "-Ibuild", "-iquote", "build/bpf-skel"]


def said(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


def compiler_flags():
    return ["-std=gnu17", "-D_GNU_SOURCE", *INCLUDES, *said("pkg-config", "--cflags", "libxslt", "libpq", "lua5.1")]


# TOOL: the command before the file's name, the arguments after it
def tools():
    flags = compiler_flags()
    return {
        "gcc": (["gcc", "-O2", "-fanalyzer", "-fdiagnostics-plain-output", "-c", "-o", "/dev/null", *flags], []),
        "clang": (["clang-tidy", "--quiet", f"--checks={TIDY}"], ["--", *flags]),
        "cppcheck": (["cppcheck", "--quiet", "--enable=warning,portability,performance", "--std=c11", "--library=gnu,posix",
                      *(f"--suppress={check}" for check in CPPCHECK_BLIND), *(f"-D{macro}" for macro in CPPCHECK_MACROS), "--template={file}:{line}:{column}: warning: {message} [{id}]", "-I.",
                      "-D_GNU_SOURCE"], []),
    }


class Functions:
    """Which function a line of a file belongs to: the one whose head was the last at the margin."""

    def __init__(self):
        self.of_file = {}

    def of(self, path, line):
        if path not in self.of_file:
            self.of_file[path] = list(heads(path))
        name = "-"
        for first, last, function in self.of_file[path]:
            if first <= line <= last:
                name = function
        return name


def heads(path):
    sig = first = None
    with open(path, encoding="utf-8", errors="replace") as f:
        for n, text in enumerate(f, 1):
            m = re.match(r"[A-Za-z_][^=;]*?(\w+)\(", text)
            if m and not text.startswith("typedef"):
                sig, first = m.group(1), n
            elif text.startswith("}") and sig:
                yield first, n, sig
                sig = None
            elif re.match(r"[A-Za-z_].*[;={]\s*$", text):
                sig = None


class Sources:
    """A digest of a file with all of Reeve's headers that it includes."""

    def __init__(self):
        self.headers_of, self.digest_of = {}, {}

    def headers(self, path):
        if path not in self.headers_of:
            found = []
            with open(path, encoding="utf-8", errors="replace") as f:
                for name in re.findall(r'^\s*#\s*include\s+"([^"]+)"', f.read(), re.M):
                    for place in (os.path.join(os.path.dirname(path), name), name, "build/bpf-skel/" + name):
                        if os.path.exists(place):
                            found.append(os.path.normpath(place))
                            break
            self.headers_of[path] = found
        return self.headers_of[path]

    def content(self, path):
        if path not in self.digest_of:
            with open(path, "rb") as f:
                self.digest_of[path] = hashlib.sha256(f.read()).hexdigest()
        return self.digest_of[path]

    def digest(self, path):
        seen, unread = set(), [path]
        while unread:
            one = unread.pop()
            if one not in seen:
                seen.add(one)
                unread.extend(self.headers(one))
        return hashlib.sha256("".join(one + self.content(one) for one in sorted(seen)).encode()).hexdigest()


FINDING = re.compile(r"^(?P<file>[^\s:]+):(?P<line>\d+):(?:\d+:)? (?P<kind>warning|error|fatal error): (?P<text>.*) \[(?P<check>[^\]\s]+)\]$")


def analyse(command, path):
    """The findings of one tool in one file: [check, file, line, text]. A file that does not compile is one too."""
    r = subprocess.run(command[0] + [path] + command[1], capture_output=True, text=True, errors="replace", check=False)
    found = []
    for text in (r.stdout + r.stderr).splitlines():
        m = FINDING.match(text)
        if m:
            check = m["check"].removeprefix("-W").split(",")[0]
            item = [check, os.path.relpath(os.path.join(ROOT, m["file"]), ROOT), int(m["line"]), m["text"]]
            if item not in found:
                found.append(item)
        elif re.search(r": (fatal )?error: ", text):
            found.append(["does-not-compile", path, 0, text])
    if r.returncode not in (0, 1) and not found:
        found.append(["does-not-run", path, 0, f"exit {r.returncode}: {r.stderr.strip()[-300:]}"])
    return found


class Cache:
    def __init__(self, tool):
        self.path = f"{CACHE}/{tool}.json"
        try:
            with open(self.path, encoding="utf-8") as f:
                self.kept = json.load(f)
        except (FileNotFoundError, ValueError):
            self.kept = {}
        self.lock = threading.Lock()

    def save(self):
        os.makedirs(CACHE, exist_ok=True)
        with self.lock, open(self.path + ".new", "w", encoding="utf-8") as f:
            json.dump(self.kept, f)
        os.replace(self.path + ".new", self.path)


def run_tool(name, command, files, sources, jobs):
    cache = Cache(name)
    version = " ".join(said(command[0][0], "--version"))
    asked = hashlib.sha256(json.dumps([command, version]).encode()).hexdigest()
    stale = []
    for path in files:
        key = asked + sources.digest(path)
        kept = cache.kept.get(path)
        if not kept or kept[0] != key:
            stale.append((path, key))

    def one(item):
        path, key = item
        found = analyse(command, path)
        with cache.lock:
            cache.kept[path] = [key, found]

    with ThreadPoolExecutor(jobs) as pool:
        for i, _ in enumerate(pool.map(one, stale)):
            if i % 50 == 49:
                cache.save()
    cache.save()
    return len(stale), [f for path in files for f in cache.kept[path][1] if f[0] not in GCC_BLIND]


def read_baseline():
    """{key: number}, of lines "CHECK FILE:FUNCTION [xN]"."""
    held = {}
    with open(BASELINE, encoding="utf-8") as f:
        for text in f:
            words = text.split("#")[0].split()
            if words:
                held[" ".join(words[:2])] = int(words[2][1:]) if len(words) > 2 else 1
    return held


def shrink_baseline(needed):
    out = []
    with open(BASELINE, encoding="utf-8") as f:
        for text in f:
            words = text.split("#")[0].split()
            n = needed.get(" ".join(words[:2]), 0)
            if not words:
                out.append(text)
            elif n:
                out.append(" ".join(words[:2]) + (f" x{n}" if n > 1 else "") + "\n")
    with open(BASELINE, "w", encoding="utf-8") as f:
        f.writelines(out)


def compare(found, held, functions, files, tool_checks):
    """Prints what the baseline does not hold, and what it holds in vain. Returns {key: number that it needs}, is it good?"""
    by_key, seen = {}, set()
    for check, path, line, text in sorted(map(tuple, found)):
        if (check, path, line, text) not in seen:  # a header's, found in each file that includes it
            seen.add((check, path, line, text))
            by_key.setdefault(f"{check} {path}:{functions.of(path, line) if line else '-'}", []).append(f"{path}:{line}: {text} [{check}]")
    good = True
    for key, texts in by_key.items():
        if len(texts) > held.get(key, 0):
            good = False
            for text in texts:
                print(f"# {text}")
            print(f"#   the baseline holds {held.get(key, 0)} of {len(texts)}: {key}")
    for key, n in held.items():
        check, place = key.split(" ")
        if check in tool_checks and place.rsplit(":", 1)[0] in files and len(by_key.get(key, [])) < n:
            good = False
            print(f"# the baseline holds more than is found: {key} x{n}, found {len(by_key.get(key, []))}; analyse.py --shrink")
    return {key: min(len(texts), held[key]) for key, texts in by_key.items() if key in held}, good


def is_of(tool, check):
    kind = "gcc" if check.startswith("analyzer-") else "clang" if "-" in check else "cppcheck"
    return kind == tool


def main():
    os.chdir(ROOT)
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--shrink", action="store_true")
    args.add_argument("-j", type=int, default=os.cpu_count())
    args.add_argument("what", nargs="*")
    args = args.parse_args()
    every = tools()
    names = [w for w in args.what if w in every] or list(every)
    files = [w for w in args.what if w not in every] or [f for f in said("git", "ls-files", *(f"{r}/*.c" for r in ROOMS)) if os.path.exists(f)]
    sources, functions, held = Sources(), Functions(), read_baseline()
    bad, needed = 0, {}
    for n, name in enumerate(names, 1):
        analysed, found = run_tool(name, every[name], files, sources, args.j)
        mine = {key.split(" ")[0] for key in held if is_of(name, key.split(" ")[0])}
        need, good = compare(found, held, functions, set(files), mine)
        needed.update(need)
        bad |= not good
        print(f"{'ok' if good else 'not ok'} {n} - {name}: {len(files)} files, {analysed} of them analysed now; {sum(need.values())} findings in the baseline")
    print(f"1..{len(names)}")
    if args.shrink and len(names) == len(every) and len(files) > 1:
        shrink_baseline(needed)
    return int(bad)


if __name__ == "__main__":
    sys.exit(main())
