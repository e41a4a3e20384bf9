#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""campaign.py [OPTION]... - exactly once, whatever happens.

Real jobs of real agents run under a real controller while faults are injected at random: kill -9, stops and power cuts of controller,
nodes and PostgreSQL; connections that are cut, silent, slow, torn, or repeat requests; packets that are lost, repeated, delayed, out of
order or damaged; disks that fill or fail, clocks that step, a locked ledger, a second controller, a restore of an earlier backup. Jobs
run on one node or on two, as tasks of arrays, and are suspended, resumed, preempted and cancelled. Each job records outside of Reeve when
it ran (truth.c). At the end all faults are taken away, the jobs end, and the ledger must have each job's time, once, charged by its rate.

TAP; the seed repeats the faults, not the moments at which they hit. Each round has a seed of its own, from S on. Needs root, a cgroup v2
in which jobs can be made, namespaces, loop devices and /dev/net/tun; the disk of the jobs has no quotas, vmem is tier 3.
"""
import argparse, os, signal, sys, time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from checks import Checks, check
from faults import Faults
from jobs import Jobs
from world import USER, World


def wait_for_end(world, seconds):
    """Until the ledger has no job that has not ended, or none has ended for so long; what its owner suspended is resumed. What is left then."""
    end, least = time.monotonic() + seconds, None
    while True:
        status, out, err = world.reeve("jobs", "-n", "-P", "-o", "job,state,node", "--limit", "0")
        left = out.splitlines() if status == 0 else [f"reeve jobs: {err}"]
        if status == 0 and (least is None or len(left) < least):
            end, least = time.monotonic() + seconds, len(left)
        if not left or time.monotonic() > end:
            return left
        world.heal()
        for line in world.reeve("jobs", "--array", "-n", "-P", "-o", "job,state,node", "--limit", "0")[1].splitlines():
            if "|suspended|" in line:
                world.reeve("resume", line.split("|")[0], uid=USER)
        time.sleep(1)


def tell(world, faults):
    """What was played, in lines of a comment."""
    packets = {k: sum(g.link.count[k] for g in world.agents) for k in world.agents[0].link.count}
    print(f"# faults: {sum(faults.count.values())}: {', '.join(f'{k} {n}' for k, n in sorted(faults.count.items()))}")
    print(f"# requests sent once more {sum(g.relay.again for g in world.agents if g.relay)}; packets {', '.join(f'{k} {n}' for k, n in packets.items())}")
    print(f"# controller started {world.controller.starts} times ({faults.ended_alone} times it had ended by itself), agents "
          f"{sum(g.program.starts for g in world.agents)}, boots of nodes {sum(g.boots for g in world.agents)}, "
          f"load {os.getloadavg()[0]:.1f}", flush=True)


def play(ok, seed, a):
    """One round."""
    bad, world = ok.bad, World(seed, a)
    keep = True
    try:
        print(f"# seed {seed}, {a.seconds:g} s, {a.agents} agents, {a.database}, scheduler {a.scheduler}", flush=True)
        world.start()
        jobs, faults = Jobs(world, seed), Faults(world, seed, [k for k in a.only.split(",") if k])
        time.sleep(2)
        jobs.thread.start()
        faults.inject(a.seconds)
        jobs.stop.set()
        jobs.thread.join()
        world.heal()
        left = wait_for_end(world, 120)
        tell(world, faults)
        print(f"# not acknowledged: {'; '.join(f'{n} x {why}' for why, n in jobs.refused.most_common(5))}")
        check(ok, world, jobs, faults, left)
        keep = a.keep or ok.bad > bad
    except SystemExit:
        keep = a.keep
        raise
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
    p.add_argument("--database", choices=["sqlite", "postgres"], default="sqlite", help="where the ledger is")
    p.add_argument("--scheduler", choices=["fifo", "backfill", "suspend"], default="suspend", help="with suspend, jobs preempt others")
    p.add_argument("--only", default="", help="kinds of faults, separated by commas")
    p.add_argument("--keep", action="store_true", help="leave logs and ledger where they are")
    a = p.parse_args()
    if os.geteuid():
        print("1..0 # SKIP needs root")
        return 0
    # Also where they are ignored, as in the background of a shell: the round is cleared away.
    for s in (signal.SIGINT, signal.SIGTERM):
        signal.signal(s, lambda number, frame: sys.exit(128 + number))
    ok = Checks()
    for i in range(a.rounds):
        play(ok, a.seed + i, a)
    print(f"1..{ok.n}")
    return 1 if ok.bad else 0


if __name__ == "__main__":
    sys.exit(main())
