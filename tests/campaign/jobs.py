# SPDX-License-Identifier: GPL-2.0-or-later
"""jobs.py - submits jobs of several kinds, cancels, suspends and resumes them, and remembers what was acknowledged."""
import collections, random, subprocess, threading, time

from world import USER

TASKS = 3  # of an array
KINDS = ["plain"] * 7 + ["nodes"] * 2 + ["array"]


class Jobs:
    def __init__(self, world, seed):
        self.world, self.random = world, random.Random(f"{seed} jobs")
        self.number = 0          # of submissions
        self.known = {}          # job: (name, kind, when it was acknowledged, by the monotonic clock)
        self.refused = collections.Counter()  # why submissions were not acknowledged
        self.cancelled = set()
        self.suspended = []      # by their owner, and not resumed
        self.suspensions = self.resumptions = 0
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self.loop, daemon=True)

    def loop(self):
        while not self.stop.is_set():
            try:
                self.submit()
                for act, chance in ((self.cancel, 0.1), (self.suspend, 0.6), (self.resume, 0.4)):
                    if self.known and self.random.random() < chance:
                        act()
            except subprocess.SubprocessError:
                pass
            self.stop.wait(self.random.expovariate(1 / 0.8))

    def submit(self):
        self.number += 1
        name, kind = f"n{self.number}", self.random.choice(KINDS)
        if kind == "nodes" and len(self.world.agents) < 2:
            kind = "plain"
        seconds = self.random.choice([0, 0.2, 1, 2, 4, 8])
        limit = 3 if seconds == 8 else 60  # those of 8 s exceed their walltime
        cores = self.random.choice([1, 1, 1, 2])
        each = f"ncpus={cores}:vmem=200mb:mem=100mb"
        request = f"select=2:{each},place=scatter" if kind == "nodes" else each.replace(":", ",")
        more = ["-J", f"1-{TASKS}"] if kind == "array" else []
        if self.random.random() < 0.3:
            more += ["-r", "y"]
        more += ["-q", self.random.choice(["normal", "normal", "express"])]
        status, out, err = self.world.reeve(
            "submit", "-A", "physics", "--name", name, "-l", f"{request},walltime={limit}", "-o", "/dev/null", "-j", "oe", *more, "--",
            f"{self.world.dir}/job", self.world.truth, str(seconds), str(self.random.choice([0, 3])), uid=USER, timeout=30)
        if status == 0 and out.split():
            self.known[int(out.split()[-1].split("[")[0])] = (name, kind, time.monotonic())
        else:
            self.refused[" ".join(w for w in err.split()[:14] if "http" not in w)] += 1

    def some_job(self):
        """Most often a recent one."""
        jobs = list(self.known)
        return self.random.choice(jobs[-6:] if self.random.random() < 0.8 else jobs)

    def cancel(self):
        job = self.some_job()
        self.cancelled.add(job)
        self.world.reeve("cancel", str(job), uid=USER, timeout=30)

    def suspend(self):
        job = self.some_job()
        if self.world.reeve("suspend", str(job), uid=USER, timeout=30)[0] == 0:
            self.suspended.append(job)
            self.suspensions += 1

    def resume(self):
        if self.suspended:
            job = self.suspended.pop(self.random.randrange(len(self.suspended)))
            self.resumptions += self.world.reeve("resume", str(job), uid=USER, timeout=30)[0] == 0
