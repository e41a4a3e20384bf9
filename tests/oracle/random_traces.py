#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""random_traces.py SEED CORES N - N small random histories of a machine of CORES, in one file.

They follow one another with so much time between that each begins on an empty machine. Made to be
hard: equal submit times, jobs of the full machine and of one core, estimates equal to the run time
and far above it, runs that end at the same instant as others, and rows that are no possible job.
"""
import random
import sys

GAP = 1_000_000


def history(rng, cores):
    """Rows of (submit, run, cores, requested time)."""
    grid = rng.choice([1, 1, 5, 60])  # times are multiples: many coincide
    busy = rng.choice([1, 3, 10, 40])
    at = 0
    for _ in range(rng.randint(1, 30)):
        if rng.random() < 0.6:
            at += grid * rng.randint(0, busy)
        size = rng.choice([1, cores, rng.randint(1, cores), rng.randint(1, max(1, cores // 3))])
        run = grid * rng.randint(1, 12)
        asked = rng.choice([run, run, -1, 0, run + grid * rng.randint(0, 5), run * 10, run // 2])
        if rng.random() < 0.05:
            size, run = rng.choice([(0, run), (-1, run), (cores + 1, run), (size, 0), (size, -1)])
        yield at, run, size, asked


def main():
    seed, cores, n = (int(a) for a in sys.argv[1:4])
    rng = random.Random(seed)
    print(f"; UnixStartTime: 0\n; MaxProcs: {cores}")
    number = 0
    for i in range(n):
        for submit, run, size, asked in history(rng, cores):
            number += 1
            print(number, i * GAP + submit, -1, run, size, -1, -1, size, asked, -1, 1,
                  rng.randint(1, 5), rng.randint(1, 3), -1, -1, -1, -1, -1)


main()
