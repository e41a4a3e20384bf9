# SPDX-License-Identifier: GPL-2.0-or-later
"""checks.py - what must be so at the end of a round: the ledger against what each job recorded outside of Reeve."""
import collections, os, struct

TOLERANCE_S = 2.0  # between what a job records of itself and what the ledger has: its start and end are seen by others
# A node without power has lost what its jobs ran since its last report; the reports go out each second, but not through every fault.
POWER_S = 6.0
S = 1e9
EXITED = 1  # enum job_end_kind

Run = collections.namedtuple("Run", "attempt seconds begun_s ended_s is_whole")


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


def read_truth(world):
    """{job: [Run]}, in the order of time"""
    runs = collections.defaultdict(list)
    for name in os.listdir(world.truth):
        job, attempt, _ = name.split(".")
        with open(os.path.join(world.truth, name), "rb") as f:
            begun, alive, ended, frozen, at = struct.unpack("5q", f.read(40).ljust(40, b"\0"))
        if begun:
            alive = max(begun, alive)
            runs[int(job)].append(Run(int(attempt), (alive - begun - frozen) / S, at / S, (at + alive - begun) / S, ended))
    for of in runs.values():
        of.sort(key=lambda r: r.begun_s)
    return runs


def alive_jobs(world):
    """Processes of jobs that still run."""
    return [p for p in os.listdir("/proc") if p.isdigit() and read_link(f"/proc/{p}/exe") == f"{world.dir}/job"]


def read_link(path):
    try:
        return os.readlink(path)
    except OSError:
        return ""


class Ledger:
    """What the ledger has, and what a restore or a power cut excuses."""

    def __init__(self, world, jobs, faults):
        self.jobs, self.faults = jobs, faults
        read = world.database.rows
        self.rows = {r[0]: r[1:] for r in read("SELECT job, name, ncpus, array_job FROM jobs")}
        self.spread = {r[0] for r in read("SELECT DISTINCT job FROM parts")}
        self.attempts = collections.defaultdict(dict)
        for job, attempt, running, charge, end in read("SELECT job, attempt, running_ns, charge_requested_ms, end_kind FROM attempts"):
            self.attempts[job][attempt] = (running, charge, end)
        self.n_suspended, self.suspended_s = read("SELECT COUNT(*), COALESCE(SUM(suspended_ns) / 1000000000, 0) FROM attempts WHERE suspended_ns > 0")[0]
        self.nodes = collections.defaultdict(set)
        for job, attempt, node in read("SELECT job, attempt, node FROM attempts UNION SELECT job, attempt, node FROM parts"):
            self.nodes[job, attempt].add(node)

    def is_known(self, when):
        """Not: submitted after a backup that was restored later. The ledger does not know it any more."""
        return not any(began <= when <= restored for began, restored, _ in self.faults.restores)

    def is_repeated(self, job, runs):
        """A job on several nodes that ran after a backup which was restored is run again, and charged for that run alone
        (docs/operation.md, "Back-up and restore")."""
        return job in self.spread and any(r.begun_s <= at and r.ended_s >= at - (restored - began) for r in runs
                                          for began, restored, at in self.faults.restores)

    def had_power_cut(self, job, run):
        return any(node in self.nodes[job, run.attempt] and run.begun_s - 1 <= at <= run.ended_s + 1 for node, at in self.faults.power_cuts)


def check_time(ok, ledger, truth):
    """Each attempt's running time against the runs of that attempt."""
    wrong, most, whose, total, cut, least, again = [], 0.0, "no job", 0.0, 0, 0.0, 0
    for job, attempts in ledger.attempts.items():
        for attempt, (running, _, end) in attempts.items():
            runs = [r for r in truth.get(job, []) if r.attempt == attempt]
            if ledger.is_repeated(job, runs):
                again += 1
                runs = runs[-1:] if running or end == EXITED else []  # it may have been cancelled before it ran again
            # A job that was killed as it began has written nothing.
            ran = sum(r.seconds for r in runs)
            total += ran
            difference = running / S - ran
            allowed = TOLERANCE_S
            if difference < 0 and any(ledger.had_power_cut(job, r) for r in runs):
                allowed, cut, least = POWER_S, cut + 1, min(least, difference)
            elif abs(difference) > abs(most):
                most, whose = difference, f"job {job} attempt {attempt}"
            if abs(difference) > allowed:
                wrong.append(f"job {job} attempt {attempt}: ran {ran:.3f} s, the ledger has {running / S:.3f} s")
    ok(f"every attempt's time is what the job recorded, within {TOLERANCE_S:g} s", wrong,
       f": {total:.0f} s in all, largest difference {most:+.3f} s ({whose}); {cut} attempts whose node lost power lack at most {-least:.3f} s; "
       f"{again} jobs on several nodes had run after a backup that was restored")


def check_runs(ok, ledger, truth):
    ok("no run of a job is unknown", [f"job {j}: {r}" for j, of in truth.items() if j in ledger.rows for r in of
                                      if r.attempt not in ledger.attempts[j] and not ledger.is_repeated(j, of)])
    ok("no attempt ran twice", [f"job {j}: {of}" for j, of in truth.items()
                                if len({r.attempt for r in of}) != len(of) and not ledger.is_repeated(j, of)])
    ok("no job ran in two places at once", [f"job {j}: {of}" for j, of in truth.items()
                                           if any(b.begun_s < a.ended_s for a, b in zip(of, of[1:]))])


def check_jobs(ok, world, ledger, left):
    known = {j: n for j, (n, _, when) in ledger.jobs.known.items() if ledger.is_known(when)}
    ok("every job has ended", left)
    ok("no process of a job is left", alive_jobs(world))
    ok("no acknowledged job is missing", [f"job {j} ({n})" for j, n in known.items() if j not in ledger.rows])
    names = collections.Counter(name for name, _, array in ledger.rows.values() if not array)
    ok("no submission became two jobs", [f"{n}: {c} jobs" for n, c in names.items() if c > 1])


def check(ok, world, jobs, faults, left):
    ledger, truth = Ledger(world, jobs, faults), read_truth(world)
    check_jobs(ok, world, ledger, left)
    check_runs(ok, ledger, truth)
    check_time(ok, ledger, truth)
    ok("every charge is cores times running time", [
        f"job {j} attempt {a}: {charge} ms, {ledger.rows[j][1]} x {running} ns" for j, of in ledger.attempts.items()
        for a, (running, charge, _) in of.items() if abs(charge - ledger.rows[j][1] * running / 1e6) > 1])
    got = world.reeve("admin", "verify", "--ledger", world.database.place)
    ok("the ledger's sums are those of its jobs", [] if got[0] == 0 else (got[1] + got[2]).splitlines())
    ok("two controllers never led at once", [f"seen {faults.led_twice} times"] if faults.led_twice else [])
    if faults.count["second_controller"]:
        ok("a second one waited as a standby", [] if faults.stood_by else ["it never answered as one"])
    ran = [j for j in ledger.rows if truth.get(j)]
    ok("jobs ran", [] if ran else ["none"], f": {len(ledger.rows)} jobs, {len(ran)} ran ({sum(j in ledger.spread for j in ran)} on several "
       f"nodes, {sum(ledger.rows[j][2] > 0 for j in ran)} tasks of arrays), {sum(map(len, truth.values()))} runs recorded, {len(jobs.cancelled)} cancelled, "
       f"{jobs.suspensions} suspended by their owner, {ledger.n_suspended} runs suspended in all (for {int(float(ledger.suspended_s))} s), {jobs.refused.total()} submissions not acknowledged")
