# SPDX-License-Identifier: GPL-2.0-or-later
"""node.py - a node: a real agent with real jobs in cgroups of their own, a network namespace, disks of its own, and boots.

At each boot CLOCK_BOOTTIME begins again (a time namespace) and there is another boot id (a file over the kernel's). When the power of the
node is cut, all its processes and cgroups, /run, and what its disks had not synced are gone at once.
"""
import os, signal, time, uuid

from network import Link, Relay
from programs import BIN, Disk, Machine, Program, Words

SINCE_BOOT_S = 60  # what CLOCK_BOOTTIME shows at a boot


class Agent:
    def __init__(self, world, number):
        self.name = f"c{number}"
        self.dir = os.path.join(world.dir, self.name)
        self.link = Link(f"{os.path.basename(world.dir)}-{self.name}", f"{world.seed} {self.name} link")
        # Each second node speaks to the controller itself: then it is the controller's connection that loses packets.
        self.relay = Relay(self.link.host, world.port, f"{world.seed} {self.name}") if number % 2 else None
        self.pins = os.path.join(self.dir, "pins")
        os.makedirs(self.pins)
        self.disk = Disk(world, os.path.join(self.dir, "state"), 24)
        self.jobs_disk = Disk(world, os.path.join(self.dir, "jobfs"), 16)
        self.run = os.path.join(self.dir, "run")
        os.mkdir(self.run)
        self.words = Words(os.path.join(self.dir, "words"))
        self.group = os.path.join(world.mount, f"{world.group}-{self.name}")
        config = os.path.join(self.dir, "agent.conf")
        port = self.relay.port if self.relay else world.port
        with open(config, "w") as f:
            f.write(f"""[Agent]
Node = {self.name}
Controller = http://{self.link.host}:{port}
ControllerUser = root
MinUid = 1
MinGid = 1
RequireUserCredential = no
MungeSocket = {world.dir}/munge.sock
Manager = cgroup
CgroupParent = {os.path.basename(self.group)}
RunDirectory = {self.run}
StateDirectory = {self.disk.path}
JobfsDirectory = {self.jobs_disk.path}
PinDirectory = {self.pins}
LaunchProgram = {world.dir}/reeve-launch
VmemTier = 3
ReservedMemory = 100MB
SampleInterval = 1s
ReportInterval = 1s
KillGrace = 1s
""")
        self.boots = 0
        self.boot()
        self.program = Program([os.path.join(BIN, "reeve-agent"), "--config", config], os.path.join(self.dir, "log"),
                               {"LD_PRELOAD": world.fault, "STORE_FAULT": self.words.path}, inside=lambda: [*self.machine.enter, "--time", "--net"])

    def heal(self):
        self.link.set()
        if self.relay:
            self.relay.set("ok")
        self.disk.free()
        self.words.heal()
        self.words.shift(0)
        self.program.send(signal.SIGCONT)
        self.program.start()

    def cut_power(self):
        """At one moment: first nothing of the agent goes on, so that it sees neither its jobs end nor its disks fail."""
        self.program.send(signal.SIGSTOP)
        self.disk.cut()
        self.jobs_disk.cut()
        self.end_jobs()
        self.program.end()
        self.machine.end()

    def boot(self):
        path = os.path.join(self.dir, "boot_id")
        with open(path, "w") as f:
            f.write(f"{uuid.uuid4()}\n")
        clock = SINCE_BOOT_S - int(time.clock_gettime(time.CLOCK_BOOTTIME))
        self.machine = Machine([self.disk, self.jobs_disk], self.run, ["nsenter", f"--net=/run/netns/{self.link.name}"],
                               ["--time", f"--boottime={clock}", f"--monotonic={clock}"], f"mount --bind {path} /proc/sys/kernel/random/boot_id")
        self.boots += 1

    def restore_power(self):
        self.remove_group()
        self.disk.wait_unused()
        self.jobs_disk.wait_unused()
        self.boot()

    def end_jobs(self):
        try:
            with open(os.path.join(self.group, "cgroup.kill"), "w") as f:
                f.write("1")
        except FileNotFoundError:
            pass

    def remove_group(self):
        for _ in range(100):
            for top, _, _ in os.walk(self.group, topdown=False):
                try:
                    os.rmdir(top)
                except OSError:
                    pass
            if not os.path.exists(self.group):
                return
            time.sleep(0.1)
        raise RuntimeError(f"{self.group} has processes that do not end")

    def close(self):
        self.program.end(signal.SIGTERM)
        self.end_jobs()
        try:
            self.remove_group()
        finally:
            self.machine.end()
            self.link.close()
