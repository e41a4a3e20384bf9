#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""cycles.py OBJDIR - fail when object files need each other in a circle, and say by which symbols.

Each half of the program (common with agent, controller or cli) is looked at alone, by true object file:
tests/lint/cycles.txt lists the circles that are known, one a line; it may only shrink."""
import os
import subprocess
import sys


def symbols(objects):
    """object -> (defined, needed)"""
    out = subprocess.run(["nm", "-gA", *objects], capture_output=True, text=True, check=True).stdout
    defines, needs = {}, {o: set() for o in objects}
    for line in out.splitlines():
        place, rest = line.rsplit(":", 1)
        words = rest.split()
        kind, name = words[-2], words[-1]
        if name == "main":
            continue
        if kind == "U":
            needs[place].add(name)
        else:
            defines[name] = place
    return defines, needs


def circles(edges):
    """Tarjan's strongly connected components of more than one object, without recursion."""
    index, low, on, stack, found, count = {}, {}, set(), [], [], 0
    for root in edges:
        if root in index:
            continue
        work = [(root, iter(edges[root]))]
        index[root] = low[root] = count = count + 1
        stack.append(root)
        on.add(root)
        while work:
            node, rest = work[-1]
            for to in rest:
                if to not in index:
                    index[to] = low[to] = count = count + 1
                    stack.append(to)
                    on.add(to)
                    work.append((to, iter(edges[to])))
                    break
                if to in on:
                    low[node] = min(low[node], index[to])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    part = []
                    while True:
                        part.append(stack.pop())
                        on.discard(part[-1])
                        if part[-1] == node:
                            break
                    if len(part) > 1:
                        found.append(sorted(part))
    return found


def main():
    build = sys.argv[1]
    known = set()
    if os.path.exists("tests/lint/cycles.txt"):
        known = {line.strip() for line in open("tests/lint/cycles.txt") if line.strip() and line[0] != "#"}
    seen, bad = set(), 0
    for half in ("agent", "controller", "cli"):
        objects = [
            os.path.join(folder, name)
            for top in ("common", half)
            for folder, _, names in os.walk(os.path.join(build, top))
            for name in names
            if name.endswith(".o") and "/launch" not in folder and os.path.exists(
                os.path.join(folder, name)[len(build) + 1:-2] + ".c")
        ]
        defines, needs = symbols(objects)
        via = {}
        edges = {o: [] for o in objects}
        for o, names in needs.items():
            for name in sorted(names):
                to = defines.get(name)
                if to and to != o:
                    via.setdefault((o, to), []).append(name)
        for o, to in sorted(via):
            edges[o].append(to)
        for part in circles(edges):
            short = " ".join(o[len(build) + 1:-2] for o in part)
            if short in seen:
                continue
            seen.add(short)
            if short in known:
                continue
            bad = 1
            print(f"lint: object files need each other ({half}): {short}")
            for (o, to), names in sorted(via.items()):
                if o in part and to in part:
                    print(f"lint:   {o[len(build) + 1:-2]} needs {to[len(build) + 1:-2]}: {' '.join(names)}")
    for line in known - seen:
        bad = 1
        print(f"lint: this circle is no longer there, delete it from tests/lint/cycles.txt: {line}")
    return bad


sys.exit(main())
