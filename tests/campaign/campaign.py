#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""campaign.py [--seed S] [--seconds N] [--rounds N] [--agents N] [--only KIND,...] [--keep] - exactly once, whatever happens.

Real jobs of real agents run under a real controller while faults are injected at random: kill -9 and stops of controller and agents,
networks that are cut, silent, slow, torn, or repeat requests, disks that fill or fail, clocks that step, a locked ledger, a second
controller, a restore of an earlier backup. Each job records outside of Reeve when it ran (truth.c). At the end all faults are
taken away, the jobs end, and the ledger must have each job's time, once, charged by its rate. TAP; the seed repeats the faults, not the
moments at which they hit. Each round has a seed of its own, from S on. Needs root and a cgroup v2 in which jobs can be made; the disk of the jobs has no quotas, vmem is tier 3.
"""
import argparse, collections, errno, os, random, signal, sqlite3, struct, subprocess, sys, threading, time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from world import USER, World, http_status

TOLERANCE_S = 2.0  # between what a job records of itself and what the ledger has: its start and end are seen by others
S = 1e9


class Jobs:
    """Submits, cancels and remembers."""

    def __init__(self, world, seed):
        self.world, self.random = world, random.Random(f"{seed} jobs")
        self.number = 0          # of submissions
        self.known = {}          # job: (name, when it was acknowledged, by the monotonic clock)
        self.refused = 0         # submissions without an acknowledgement
        self.cancelled = set()
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self.loop, daemon=True)

    def loop(self):
        while not self.stop.is_set():
            try:
                self.submit()
                if self.known and self.random.random() < 0.1:
                    self.cancel()
            except subprocess.SubprocessError:
                pass
            self.stop.wait(self.random.expovariate(1 / 0.5))

    def submit(self):
        self.number += 1
        name = f"n{self.number}"
        seconds = self.random.choice([0, 0.2, 1, 2, 4, 8])
        limit = 3 if seconds == 8 else 60  # those of 8 s exceed their walltime
        cores = self.random.choice([1, 1, 1, 2])
        status, out, _ = self.world.reeve(
            "submit", "-A", "physics", "--name", name, "-l", f"ncpus={cores},vmem=200mb,mem=100mb,walltime={limit}", "-o", "/dev/null", "-j", "oe", "--",
            f"{self.world.dir}/job", self.world.truth, str(seconds), str(self.random.choice([0, 3])), uid=USER, timeout=30)
        if status == 0 and out.split():
            self.known[int(out.split()[-1])] = (name, time.monotonic())
        else:
            self.refused += 1

    def cancel(self):
        job = self.random.choice(list(self.known))
        self.cancelled.add(job)
        self.world.reeve("cancel", str(job), uid=USER, timeout=30)


class Faults:
    """One at a time of each kind; several kinds at once."""

    def __init__(self, world, seed, only):
        self.world, self.random = world, random.Random(f"{seed} faults")
        self.count = collections.Counter()
        self.restores = []       # (when the backup was made, when it was restored), by the monotonic clock
        self.backup = None
        self.led_twice, self.stood_by = 0, False
        every = {name[3:]: getattr(self, name) for name in dir(self) if name.startswith("do_")}
        unknown = set(only) - set(every)
        if unknown:
            sys.exit(f"campaign.py: --only: no {', '.join(sorted(unknown))}; known: {', '.join(sorted(every))}")
        self.kinds = {k: f for k, f in sorted(every.items()) if not only or k in only}

    def step(self):
        kind = self.random.choice(list(self.kinds))
        if self.kinds[kind](self.random.choice(self.world.agents)) is not False:
            self.count[kind] += 1

    def wait(self, least, most):
        time.sleep(self.random.uniform(least, most))

    # ---- processes ----

    def do_kill_controller(self, _):
        self.world.controller.end()
        self.wait(0, 2)
        self.world.controller.start()

    def do_kill_agent(self, agent):
        agent.program.end()
        self.wait(0, 3)
        agent.program.start()

    def do_end_agent(self, agent):
        agent.program.end(signal.SIGTERM)
        self.wait(0, 2)
        agent.program.start()

    def do_stop_controller(self, _):
        self.world.controller.send(signal.SIGSTOP)
        self.wait(0.2, 4)
        self.world.controller.send(signal.SIGCONT)

    def do_stop_agent(self, agent):
        agent.program.send(signal.SIGSTOP)
        self.wait(0.2, 4)
        agent.program.send(signal.SIGCONT)

    def do_kill_both(self, agent):
        self.world.controller.end()
        agent.program.end()
        self.wait(0, 2)
        agent.program.start()
        self.wait(0, 1)
        self.world.controller.start()

    def do_kill_at_write(self, agent):
        """At its n-th change of its store from now, whichever that is."""
        program, words = self.random.choice([(agent.program, agent.words), (self.world.controller, self.world.words)])
        words.kill(self.random.randrange(1, 60))
        end = time.monotonic() + 4
        while program.alive() and time.monotonic() < end:
            time.sleep(0.02)
        died = not program.alive()
        words.heal()
        program.start()
        return died

    # ---- the network ----

    def network(self, agent, mode, least=0.3, most=5):
        agent.network.set(mode)
        self.wait(least, most)
        agent.network.set("ok")

    def do_cut(self, agent):
        self.network(agent, "cut")

    def do_hole(self, agent):
        self.network(agent, "hole")

    def do_slow(self, agent):
        self.network(agent, "slow")

    def do_torn(self, agent):
        self.network(agent, "torn")

    def do_twice(self, agent):
        self.network(agent, "twice")

    def do_late(self, agent):
        self.network(agent, "late")

    # ---- disks ----

    def do_write_fails(self, agent):
        words = self.random.choice([agent.words, self.world.words])
        words.fail(self.random.randrange(1, 20), 0, self.random.choice([errno.EIO, errno.ENOSPC]))
        self.wait(0.2, 2)
        words.heal()

    def do_writes_fail(self, agent):
        words = self.random.choice([agent.words, self.world.words])
        words.fail(1, 1, self.random.choice([errno.EIO, errno.ENOSPC]))
        self.wait(0.2, 3)
        words.heal()

    def do_full(self, agent):
        disk = self.random.choice([agent.disk, self.world.disk])
        disk.fill()
        self.wait(0.2, 3)
        disk.free()

    def do_locked(self, _):
        """Another process has the ledger for itself."""
        try:
            db = sqlite3.connect(self.world.ledger, timeout=2, isolation_level=None)
            db.execute("BEGIN IMMEDIATE")
            self.wait(0.2, 4)
            db.execute("ROLLBACK")
            db.close()
        except sqlite3.Error:
            return False

    # ---- clocks ----

    def do_clock(self, agent):
        self.random.choice([agent.words, self.world.words]).shift(self.random.choice([-7200, -60, 60, 3600, 10800]) + self.random.random())
        self.wait(0.5, 5)

    def do_clock_back(self, agent):
        for words in (agent.words, self.world.words):
            words.shift(0)

    # ---- the ledger ----

    def do_second_controller(self, _):
        """It must not lead while the first does."""
        if not self.world.controller.alive():
            return False
        second = self.world.make_controller("second")
        second.start()
        end = time.monotonic() + self.random.uniform(1, 3)
        while time.monotonic() < end:
            status = http_status(self.world.second_port)
            self.stood_by |= status == 503
            self.led_twice += status == 200 and http_status(self.world.port) == 200
            time.sleep(0.1)
        second.end(signal.SIGTERM)

    def do_backup(self, _):
        path = os.path.join(self.world.dir, f"backup-{self.count['backup']}.db")
        began = time.monotonic()
        status, _, _ = self.world.reeve("admin", "backup", path, "--ledger", self.world.ledger, "--no-verify")
        if status != 0:
            return False
        self.backup = (path, began)

    def do_restore(self, _):
        if not self.backup or self.random.random() < 0.7:
            return False
        (path, began), self.backup = self.backup, None
        self.world.controller.end(signal.SIGTERM)
        self.world.disk.free()
        self.world.words.heal()
        for name in os.listdir(self.world.disk.path):
            if name.startswith("ledger.db"):
                os.unlink(os.path.join(self.world.disk.path, name))
        status, _, err = self.world.reeve("admin", "restore", path, "--ledger", self.world.ledger)
        if status != 0:
            raise RuntimeError(f"the backup {path} is not restored: {err}")
        os.unlink(path)
        self.restores.append((began, time.monotonic()))
        self.world.controller.start()


# ---- what must be so at the end ----

def read_truth(world):
    """{job: [(attempt, begun, alive, ended by itself)]}"""
    runs = collections.defaultdict(list)
    for name in os.listdir(world.truth):
        job, attempt, _ = name.split(".")
        with open(os.path.join(world.truth, name), "rb") as f:
            begun, alive, ended = struct.unpack("qqq", f.read(24).ljust(24, b"\0"))
        if begun:
            runs[int(job)].append((int(attempt), begun, max(begun, alive), ended))
    return runs


def alive_jobs(world):
    """Processes of jobs that still run."""
    return [p for p in os.listdir("/proc") if p.isdigit() and read_link(f"/proc/{p}/exe") == f"{world.dir}/job"]


def read_link(path):
    try:
        return os.readlink(path)
    except OSError:
        return ""


class Checks:
    def __init__(self):
        self.n = self.bad = 0

    def __call__(self, name, wrong, note=""):
        """`wrong`: what contradicts it, a list; empty: it holds."""
        self.n += 1
        self.bad += bool(wrong)
        print(f"{'not ' if wrong else ''}ok {self.n} - {name}{note}")
        for w in list(wrong)[:10]:
            print(f"#   {w}")


def wait_for_end(world, seconds):
    """Until the ledger has no job that has not ended. What is left then."""
    end = time.monotonic() + seconds
    while True:
        status, out, err = world.reeve("jobs", "-n", "-P", "-o", "job,state,node", "--limit", "0")
        left = out.splitlines() if status == 0 else [f"reeve jobs: {err}"]
        if not left or time.monotonic() > end:
            return left
        world.heal()
        time.sleep(1)


def is_excused(faults, when):
    """Submitted after a backup that was restored later: the ledger does not know it any more."""
    return any(began <= when <= restored for began, restored in faults.restores)


def check(ok, world, jobs, faults, left):
    db = sqlite3.connect(f"file:{world.ledger}?mode=ro", uri=True)
    rows = {r[0]: r[1:] for r in db.execute("SELECT job, name, state FROM jobs")}
    attempts = collections.defaultdict(list)
    for job, attempt, ncpus, running, charge in db.execute(
            "SELECT a.job, a.attempt, j.ncpus, a.running_ns, a.charge_requested_ms FROM attempts a JOIN jobs j ON j.job = a.job"):
        attempts[job].append((attempt, ncpus, running, charge))
    truth = read_truth(world)
    known = {j: n for j, (n, when) in jobs.known.items() if not is_excused(faults, when)}
    ok("every job has ended", left)
    ok("no process of a job is left", alive_jobs(world))
    ok("no acknowledged job is missing", [f"job {j} ({n})" for j, n in known.items() if j not in rows])
    names = collections.Counter(name for name, _ in rows.values())
    ok("no submission became two jobs", [f"{n}: {c} jobs" for n, c in names.items() if c > 1])
    ok("no run of a job is unknown", [f"job {j}: {r}" for j, r in truth.items() if j in rows
                                      for r in r if r[0] not in {a[0] for a in attempts[j]}])
    ok("no attempt ran twice", [f"job {j}: {r}" for j, r in truth.items() if len({a for a, *_ in r}) != len(r)])
    ok("no job ran in two places at once", [f"job {j}: {r}" for j, r in truth.items()
                                           if any(b[1] < a[2] for a, b in zip(sorted(r, key=lambda x: x[1]), sorted(r, key=lambda x: x[1])[1:]))])
    wrong, most, total = [], 0.0, 0.0
    for job, list_of in attempts.items():
        ran = {a: (alive - begun) / S for a, begun, alive, _ in truth.get(job, [])}
        for attempt, _, running, _ in list_of:
            # A job that was killed as it began has written nothing.
            difference = running / S - ran.get(attempt, 0)
            total += ran.get(attempt, 0)
            if abs(difference) > abs(most):
                most = difference
            if abs(difference) > TOLERANCE_S:
                wrong.append(f"job {job} attempt {attempt}: ran {ran.get(attempt, 0):.3f} s, the ledger has {running / S:.3f} s")
    ok(f"every attempt's time is what the job recorded, within {TOLERANCE_S:g} s", wrong, f": {total:.0f} s in all, largest difference {most:+.3f} s")
    ok("every charge is cores times running time", [
        f"job {j} attempt {a}: {charge} ms, {n} x {running} ns" for j, of in attempts.items() for a, n, running, charge in of
        if abs(charge - n * running / 1e6) > 1])
    got = world.reeve("admin", "verify", "--ledger", world.ledger)
    ok("the ledger's sums are those of its jobs", [] if got[0] == 0 else (got[1] + got[2]).splitlines())
    ok("two controllers never led at once", [f"seen {faults.led_twice} times"] if faults.led_twice else [])
    if faults.count["second_controller"]:
        ok("a second one waited as a standby", [] if faults.stood_by else ["it never answered as one"])
    ran_jobs = sum(1 for j in rows if truth.get(j))
    ok("jobs ran", [] if ran_jobs else ["none"], f": {len(rows)} jobs, {ran_jobs} ran, {sum(map(len, truth.values()))} runs recorded, "
       f"{len(jobs.cancelled)} cancelled, {jobs.refused} submissions not acknowledged")


def inject(faults, jobs, seconds):
    begun, told = time.monotonic(), time.monotonic()
    while time.monotonic() < begun + seconds:
        faults.wait(0.1, 1.5)
        faults.step()
        if time.monotonic() > told + 60:
            told = time.monotonic()
            print(f"# {told - begun:.0f} s: {sum(faults.count.values())} faults, {len(jobs.known)} jobs", flush=True)


def play(ok, seed, a):
    """One round."""
    bad, world = ok.bad, World(seed, a.agents)
    keep = True
    try:
        print(f"# seed {seed}, {a.seconds:g} s, {a.agents} agents", flush=True)
        world.start()
        jobs, faults = Jobs(world, seed), Faults(world, seed, [k for k in a.only.split(",") if k])
        time.sleep(2)
        jobs.thread.start()
        inject(faults, jobs, a.seconds)
        jobs.stop.set()
        jobs.thread.join()
        world.heal()
        left = wait_for_end(world, 180)
        print(f"# faults: {', '.join(f'{k} {n}' for k, n in sorted(faults.count.items()))}; "
              f"requests sent once more {sum(g.network.again for g in world.agents)}; "
              f"controller started {world.controller.starts} times, agents {sum(g.program.starts for g in world.agents)}")
        check(ok, world, jobs, faults, left)
        keep = a.keep or ok.bad > bad
    finally:
        world.close(keep)
        if keep:
            print(f"# kept: {world.dir}", flush=True)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(3), "little"))
    p.add_argument("--seconds", type=float, default=120, help="of a round")
    p.add_argument("--rounds", type=int, default=1)
    p.add_argument("--agents", type=int, default=2)
    p.add_argument("--only", default="", help="kinds of faults, separated by commas")
    p.add_argument("--keep", action="store_true", help="leave logs and ledger where they are")
    a = p.parse_args()
    if os.geteuid():
        print("1..0 # SKIP needs root")
        return 0
    ok = Checks()
    for i in range(a.rounds):
        play(ok, a.seed + i, a)
    print(f"1..{ok.n}")
    return 1 if ok.bad else 0


if __name__ == "__main__":
    sys.exit(main())
