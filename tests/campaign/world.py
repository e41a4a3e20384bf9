# SPDX-License-Identifier: GPL-2.0-or-later
"""world.py - what the campaign plays with: a munged, a real controller with its database, and nodes with real agents and jobs.

Disks fail and clocks step by tests/cluster/lib/store_fault.c, which is preloaded.
"""
import os, random, shutil, signal, socket, subprocess, tempfile, urllib.error, urllib.request

from database import Postgres, Sqlite
from node import Agent
from programs import BIN, TOP, Program, Words, must, run

USER = 1  # whose jobs these are


def free_port():
    """Below those that the kernel gives to clients."""
    while True:
        port = random.SystemRandom().randrange(20000, 32000)
        with socket.socket() as s:
            try:
                s.bind(("0.0.0.0", port))
                return port
            except OSError:
                pass


def http_status(port):
    """Of /metrics, which a controller that leads answers with 200, a standby with 503. 0: no answer."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=3) as answer:
            return answer.status
    except urllib.error.HTTPError as e:
        return e.code
    except OSError:
        return 0


class World:
    def __init__(self, seed, a):
        self.seed, self.scheduler = seed, a.scheduler
        self.dir = tempfile.mkdtemp(prefix="reeve-campaign-", dir="/var/lib")  # jobs have a /tmp of their own
        os.chmod(self.dir, 0o755)
        self.mount = next(line.split()[1] for line in open("/proc/mounts") if line.split()[2] == "cgroup2")
        self.group = os.path.basename(self.dir)
        self.truth = os.path.join(self.dir, "truth")
        os.mkdir(self.truth)
        os.chmod(self.truth, 0o1777)
        self.images = os.path.join(self.dir, "images")  # of disks, in memory: syncs cost nothing
        os.mkdir(self.images)
        must("mount", "-t", "tmpfs", "-o", "size=1G,mode=700", "none", self.images)
        self.fault = os.path.join(self.dir, "fault.so")
        must("cc", "-std=gnu17", "-D_GNU_SOURCE", "-O1", "-shared", "-fPIC", "-o", self.fault, f"{TOP}/tests/cluster/lib/store_fault.c")
        must("cc", "-std=gnu17", "-D_GNU_SOURCE", "-O1", "-static", "-o", f"{self.dir}/job", f"{TOP}/tests/campaign/truth.c")
        for name in ("reeve", "reeve-launch"):
            shutil.copy(os.path.join(BIN, name), f"{self.dir}/{name}")
        self.start_munge()
        self.port, self.second_port = free_port(), free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.database = {d.ENGINE: d for d in (Sqlite, Postgres)}[a.database](self)
        self.words = Words(os.path.join(self.dir, "words"))
        self.write_configuration("controller", self.port)
        self.write_configuration("second", self.second_port)
        self.controller = self.make_controller("controller")
        self.agents = [Agent(self, i + 1) for i in range(a.agents)]

    def start_munge(self):
        with open(f"{self.dir}/munge.key", "wb") as f:
            f.write(os.urandom(128))
        os.chmod(f"{self.dir}/munge.key", 0o600)
        must("munged", "--force", *(f"--{k}-file={self.dir}/munge.{k}" for k in ("key", "pid", "log", "seed")),
             f"--socket={self.dir}/munge.sock")

    def write_configuration(self, name, port):
        with open(f"{self.dir}/{name}.conf", "w") as f:
            f.write(f"""[Controller]
Listen = 0.0.0.0:{port}
Database = {self.database.place}
MungeSocket = {self.dir}/munge.sock
Operators = root
AcceptNodes = any
NodeLost = 3600
[Policy]
Scheduler = {self.scheduler}
[Cluster main]
BundleCores = 1
BundleMemory = 4GB
DefaultResources = jobfs=10MB,walltime=1:00:00
Queues = normal,express
[Queue normal]
RunPriority = 1
[Queue express]
RunPriority = 2
[Account physics]
Users = daemon
""")
        with open(f"{self.dir}/reeve.conf", "w") as f:
            f.write(f"[Client]\nController = {self.url}\nControllerUser = root\nMungeSocket = {self.dir}/munge.sock\n")

    def make_controller(self, name):
        return Program([os.path.join(BIN, "reeve-controller"), "--config", f"{self.dir}/{name}.conf"], f"{self.dir}/{name}.log",
                       {"LD_PRELOAD": self.fault, "STORE_FAULT": self.words.path, "STORE_FAULT_NAME": "/ledger.db"},
                       inside=lambda: self.database.machine.enter)

    def reeve(self, *args, uid=0, timeout=60):
        """The command; (status, output, error). Status None: it took too long."""
        args = [os.path.join(self.dir, "reeve"), args[0], *(("--config", f"{self.dir}/reeve.conf") if args[0] != "admin" else ()), *args[1:]]
        if args[1] == "admin":  # on the controller's machine, by its clock
            args = [*self.database.machine.enter, "env", f"LD_PRELOAD={self.fault}", f"STORE_FAULT={self.words.path}", "STORE_FAULT_NAME=/none", *args]
        if uid:
            args = ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups"] + args
        try:
            got = run(*args, timeout=timeout)
        except subprocess.TimeoutExpired:
            return None, "", "timeout"
        return got.returncode, got.stdout, got.stderr

    def start(self):
        self.controller.start()
        for a in self.agents:
            a.program.start()

    def heal(self):
        self.database.disk.free()
        self.database.start()
        self.words.heal()
        self.words.shift(0)
        self.controller.send(signal.SIGCONT)
        self.controller.start()
        for a in self.agents:
            a.heal()

    def close(self, keep):
        for a in self.agents:
            a.close()
        self.controller.end(signal.SIGTERM)
        try:
            with open(f"{self.dir}/munge.pid") as f:
                os.kill(int(f.read()), signal.SIGTERM)
        except (OSError, ValueError):
            pass
        if keep:
            self.database.keep(f"{self.dir}/kept")
        self.database.close()
        run("umount", "-l", self.images)
        if not keep:
            shutil.rmtree(self.dir, ignore_errors=True)
