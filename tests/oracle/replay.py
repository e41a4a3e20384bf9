#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""replay.py fcfs|easy TRACE.swf[.gz] [CORES] - the textbook's queue, as plain as possible.

An oracle for `reeve simulate`: it shares no code, no language and no data structure with it. Prints
job,submit_s,start_s,end_s,wait_s,suspended_s of every job, in order of submission, then of number.

Conventions: rows with run <= 0, cores <= 0 or cores above the machine are left out; estimate = the
larger of requested time and run time; at each instant first all endings, then all arrivals, then one
scheduling pass. easy: the first of the queue gets a reservation at the earliest time its cores will be
free by the estimates; a later job starts, in queue order, when it ends by its estimate no later than
that, or takes only cores that the first will not need.
"""
import gzip
import heapq
import sys


def read(path, cores):
    jobs = []
    opener = gzip.open if path.endswith(".gz") else open
    with opener(path, "rt", errors="replace") as f:
        for line in f:
            if line.startswith(";"):
                key, _, value = line.lstrip("; \t").partition(":")
                if key == "MaxProcs" and cores is None:
                    cores = int(value)
                continue
            v = line.split()
            if len(v) == 18:
                jobs.append({"number": int(v[0]), "submit": int(v[1]), "run": int(v[3]),
                             "cores": int(v[4]), "estimate": max(int(v[8]), int(v[3]))})
    jobs = [j for j in jobs if j["run"] > 0 and 0 < j["cores"] <= cores]
    jobs.sort(key=lambda j: (j["submit"], j["number"]))
    return jobs, cores


def fcfs_pass(now, queue, running, free):
    starts = []
    while queue and queue[0]["cores"] <= free:
        free -= queue[0]["cores"]
        starts.append(queue.pop(0))
    return starts


def easy_pass(now, queue, running, free):
    starts = fcfs_pass(now, queue, running, free)
    free -= sum(j["cores"] for j in starts)
    if not queue:
        return starts
    # When will the head's cores be free, and how many more are free then?
    head = queue[0]
    ends = sorted((j["start"] + j["estimate"], j["cores"]) for j in running)
    ends = sorted(ends + [(now + j["estimate"], j["cores"]) for j in starts])
    at_shadow = free
    shadow = None
    for end, cores in ends:
        if shadow is not None and end > shadow:
            break
        at_shadow += cores
        if shadow is None and at_shadow >= head["cores"]:
            shadow = end
    extra = at_shadow - head["cores"]
    left = [head]
    for j in queue[1:]:
        in_time = now + j["estimate"] <= shadow
        if j["cores"] <= free and (in_time or j["cores"] <= extra):
            free -= j["cores"]
            if not in_time:
                extra -= j["cores"]
            starts.append(j)
        else:
            left.append(j)
    queue[:] = left
    return starts


def replay(jobs, cores, schedule):
    queue, running, ends = [], [], []
    free, arrived = cores, 0
    while arrived < len(jobs) or ends:
        now = min(([jobs[arrived]["submit"]] if arrived < len(jobs) else []) +
                  ([ends[0][0]] if ends else []))
        while ends and ends[0][0] == now:
            job = jobs[heapq.heappop(ends)[1]]
            running.remove(job)
            free += job["cores"]
        while arrived < len(jobs) and jobs[arrived]["submit"] == now:
            jobs[arrived]["index"] = arrived
            queue.append(jobs[arrived])
            arrived += 1
        for job in schedule(now, queue, running, free):
            job["start"] = now
            free -= job["cores"]
            assert free >= 0
            running.append(job)
            heapq.heappush(ends, (now + job["run"], job["index"]))
    assert not queue


def main():
    name, path = sys.argv[1:3]
    jobs, cores = read(path, int(sys.argv[3]) if len(sys.argv) > 3 else None)
    replay(jobs, cores, {"fcfs": fcfs_pass, "easy": easy_pass}[name])
    print("job,submit_s,start_s,end_s,wait_s,suspended_s")
    for j in jobs:
        print(f'{j["number"]},{j["submit"]},{j["start"]},{j["start"] + j["run"]},'
              f'{j["start"] - j["submit"]},0')


if __name__ == "__main__":
    main()
