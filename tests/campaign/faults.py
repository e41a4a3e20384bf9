# SPDX-License-Identifier: GPL-2.0-or-later
"""faults.py - the kinds of faults: each method do_KIND injects one and takes it away. False: it could not be injected."""
import collections, errno, os, random, signal, sys, threading, time

from world import http_status

ON_THE_WAY = {"cut", "hole", "slow", "torn", "twice", "late", "clock", "clock_back", *(f"packets_{k}" for k in (
    "lost", "one_way", "twice", "disordered", "damaged", "delayed", "few", "all"))}


class Faults:
    """Two series at once, each one fault after the other: of networks and clocks, and of everything else."""

    def __init__(self, world, seed, only):
        self.world, self.random = world, random.Random(f"{seed} faults")
        self.count = collections.Counter()
        self.restores = []       # (when the backup was made, when it was restored), by the monotonic clock, and the latter by the wall clock
        self.power_cuts = []     # (node, when by the wall clock)
        self.backup = None
        self.broken = []         # what ended a series
        self.ended_alone = 0     # the controller, with an error; systemd would start it again
        self.led_twice, self.stood_by = 0, False
        every = {name[3:]: getattr(self, name) for name in dir(self) if name.startswith("do_")}
        unknown = set(only) - set(every)
        if unknown:
            sys.exit(f"campaign.py: --only: no {', '.join(sorted(unknown))}; known: {', '.join(sorted(every))}")
        kinds = [k for k in sorted(every) if (not only or k in only) and (not k.startswith("server_") or self.has_server())]
        self.series = [[every[k] for k in kinds if (k in ON_THE_WAY) == way] for way in (False, True)]

    def has_server(self):
        return self.world.database.ENGINE == "postgres"

    def inject(self, seconds):
        threads = [threading.Thread(target=self.play, args=(kinds, time.monotonic() + seconds)) for kinds in self.series if kinds]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        if self.broken:
            raise self.broken[0]

    def play(self, kinds, end):
        """One series."""
        try:
            while time.monotonic() < end and not self.broken:
                self.wait(0.1, 1.5)
                if kinds is self.series[0] and not self.world.controller.alive():
                    self.ended_alone += 1
                    self.world.controller.start()
                inject = self.random.choice(kinds)
                if inject(self.random.choice(self.world.agents)) is not False:
                    self.count[inject.__name__[3:]] += 1
        except Exception as e:  # of the campaign, or of what it calls: the round ends with it
            self.broken.append(e)

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
        program, words = self.random.choice(self.stores(agent))
        words.kill(self.random.randrange(1, 60))
        end = time.monotonic() + 4
        while program.alive() and time.monotonic() < end:
            time.sleep(0.02)
        died = not program.alive()
        words.heal()
        program.start()
        return died

    # ---- power ----

    def do_power_cut(self, agent):
        """Of a node: its jobs end with it."""
        agent.cut_power()
        self.power_cuts.append((agent.name, time.time()))
        self.wait(0, 4)
        agent.restore_power()
        agent.program.start()

    def do_power_cut_controller(self, _):
        """Of the machine with the controller and its database."""
        self.world.controller.send(signal.SIGSTOP)
        self.world.database.cut()
        self.world.controller.end()
        self.wait(0, 3)
        self.world.database.restore_power()
        self.world.controller.start()

    # ---- connections ----

    def relay(self, agent, mode, least=0.3, most=5):
        if not agent.relay:
            return False
        agent.relay.set(mode)
        self.wait(least, most)
        agent.relay.set("ok")

    def do_cut(self, agent):
        return self.relay(agent, "cut")

    def do_hole(self, agent):
        return self.relay(agent, "hole")

    def do_slow(self, agent):
        return self.relay(agent, "slow")

    def do_torn(self, agent):
        return self.relay(agent, "torn")

    def do_twice(self, agent):
        return self.relay(agent, "twice")

    def do_late(self, agent):
        return self.relay(agent, "late")

    # ---- packets ----

    def link(self, agent, **way):
        agent.link.set(**way)
        self.wait(2, 15)
        agent.link.set()

    def do_packets_lost(self, agent):
        self.link(agent, loss=self.random.choice([0.02, 0.1, 0.3, 0.6]))

    def do_packets_one_way(self, agent):
        self.link(agent, one_way=self.random.choice(["in", "out"]))

    def do_packets_twice(self, agent):
        self.link(agent, twice=self.random.uniform(0.1, 0.9))

    def do_packets_disordered(self, agent):
        self.link(agent, late=self.random.uniform(0.05, 0.5))

    def do_packets_damaged(self, agent):
        self.link(agent, damage=self.random.uniform(0.02, 0.4))

    def do_packets_delayed(self, agent):
        self.link(agent, delay=self.random.uniform(0.05, 1.5))

    def do_packets_few(self, agent):
        self.link(agent, rate=self.random.choice([2000, 8000, 40000]))

    def do_packets_all(self, agent):
        self.link(agent, loss=0.1, twice=0.1, late=0.2, damage=0.05, delay=0.2, rate=40000)

    # ---- disks ----

    def stores(self, agent):
        """Whose writes can fail: what PostgreSQL writes is not looked at."""
        found = [(agent.program, agent.words)]
        return found if self.has_server() else found + [(self.world.controller, self.world.words)]

    def do_write_fails(self, agent):
        _, words = self.random.choice(self.stores(agent))
        words.fail(self.random.randrange(1, 20), 0, self.random.choice([errno.EIO, errno.ENOSPC]))
        self.wait(0.2, 2)
        words.heal()

    def do_writes_fail(self, agent):
        _, words = self.random.choice(self.stores(agent))
        words.fail(1, 1, self.random.choice([errno.EIO, errno.ENOSPC]))
        self.wait(0.2, 3)
        words.heal()

    def do_full(self, agent):
        disk = self.random.choice([agent.disk, agent.jobs_disk, self.world.database.disk])
        disk.fill()
        self.wait(0.2, 3)
        disk.free()
        self.world.database.start()  # PostgreSQL ends when it cannot write its log

    def do_locked(self, _):
        return self.world.database.lock(self.random.uniform(0.2, 8 if self.has_server() else 4), self.random.choice)

    # ---- the PostgreSQL server ----

    def do_server_restart(self, _):
        self.world.database.program.end(signal.SIGINT)
        self.wait(0, 2)
        self.world.database.start()

    def do_server_killed(self, _):
        self.world.database.kill()
        self.wait(0, 2)
        self.world.database.start()

    def do_server_stopped(self, _):
        self.world.database.program.send_all(signal.SIGSTOP)
        self.wait(0.2, 6)
        self.world.database.program.send_all(signal.SIGCONT)

    def do_server_sessions(self, _):
        return self.world.database.end_sessions()

    def do_server_and_controller(self, _):
        self.world.database.kill()
        self.world.controller.end()
        self.wait(0, 2)
        self.world.controller.start()
        self.wait(0, 2)
        self.world.database.start()
        self.wait(0, 1)
        self.world.controller.start()

    # ---- clocks ----

    def do_clock(self, agent):
        self.random.choice([agent.words, self.world.words]).shift(self.random.choice([-7200, -60, 60, 3600, 10800]) + self.random.random())
        self.wait(0.5, 5)

    def do_clock_back(self, agent):
        for words in (agent.words, self.world.words):
            words.shift(0)

    # ---- the ledger ----

    def both_lead(self):
        """A controller whose lead was lost with the PostgreSQL server answers what it has read until it looks, a quarter of LeadLease (15 s)
        later, and writes nothing (docs/operation.md). With a file no other can lead before it has ended."""
        end = time.monotonic() + (15 if self.world.database.ENGINE == "postgres" else 0)
        while http_status(self.world.port) == 200 == http_status(self.world.second_port):
            if time.monotonic() >= end:
                return True
            time.sleep(0.1)
        return False

    def do_second_controller(self, _):
        """It must not lead while the first does."""
        if not self.world.controller.alive():
            return False
        second = self.world.make_controller("second")
        second.start()
        end, status = time.monotonic() + self.random.uniform(1, 3), 0
        while time.monotonic() < end or (not status and second.alive() and time.monotonic() < end + 20):
            status = http_status(self.world.second_port)
            self.stood_by |= status == 503
            self.led_twice += status == 200 and self.both_lead()
            time.sleep(0.1)
        second.end(signal.SIGTERM)

    def do_backup(self, _):
        path = os.path.join(self.world.dir, f"backup-{self.count['backup']}.db")
        began, taken_s = time.monotonic(), self.world.words.now_s()
        if not self.world.database.backup(path):
            if os.path.exists(path):
                os.unlink(path)  # pg_dump leaves what it had
            return False
        self.backup = (path, began, taken_s)

    def do_restore(self, _):
        if not self.backup or self.random.random() < 0.7:
            return False
        (path, began, taken_s), self.backup = self.backup, None
        self.world.controller.end(signal.SIGTERM)
        self.world.database.disk.free()
        self.world.database.start()
        self.world.words.heal()
        status, _, err = self.world.database.restore(path, taken_s)
        if status != 0:
            raise RuntimeError(f"the backup {path} is not restored: {err}")
        os.unlink(path)
        self.restores.append((began, time.monotonic(), time.time()))
        self.world.controller.start()
