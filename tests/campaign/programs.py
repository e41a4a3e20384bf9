# SPDX-License-Identifier: GPL-2.0-or-later
"""programs.py - daemons that are started, stopped and killed, and the file systems below them, which fill up or lose power."""
import fcntl, mmap, os, signal, struct, subprocess, time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BIN = os.path.join(os.environ.get("BUILD", os.path.join(TOP, "build")), "bin")
SHUTDOWN, WITHOUT_FLUSH = 0x8004587D, 2  # FS_IOC_SHUTDOWN (linux/fs.h), EXT4_GOING_FLAGS_NOLOGFLUSH


def run(*args, **more):
    return subprocess.run([str(a) for a in args], capture_output=True, text=True, errors="replace", **more)


def must(*args, **more):
    got = run(*args, **more)
    if got.returncode:
        raise RuntimeError(f"{' '.join(map(str, args))}: {got.stderr.strip() or got.returncode}")
    return got.stdout


def children(pid):
    """Of a process, as /proc has them."""
    found = []
    for name in os.listdir("/proc"):
        try:
            with open(f"/proc/{name}/stat") as f:
                if name.isdigit() and int(f.read().rpartition(")")[2].split()[1]) == pid:
                    found.append(int(name))
        except (OSError, IndexError):
            pass
    return found


class Words:
    """What store_fault.c reads: struct words."""

    def __init__(self, path):
        self.path = path
        with open(path, "wb") as f:
            f.truncate(32)
        with open(path, "r+b") as f:
            self.at = mmap.mmap(f.fileno(), 32)

    def fail(self, nth, forever, error):
        self.at[4:20] = struct.pack("iiii", forever, error, 0, 0)
        self.at[0:4] = struct.pack("i", nth)

    def kill(self, nth):
        self.at[4:20] = struct.pack("iiii", 0, 0, 0, 1)
        self.at[0:4] = struct.pack("i", nth)

    def shift(self, seconds):
        self.at[24:32] = struct.pack("q", int(seconds * 1e9))

    def now_s(self):
        """The wall clock of the programs that read these words."""
        return time.time() + struct.unpack("q", self.at[24:32])[0] / 1e9

    def heal(self):
        self.at[0:4] = struct.pack("i", 0)


class Program:
    """A daemon; its log is kept. `inside`: the command that puts it where it runs, made for each start."""

    def __init__(self, args, log, env=None, inside=lambda: []):
        self.args, self.log, self.inside = args, log, inside
        self.env = dict(os.environ, **(env or {}))
        self.process, self.starts = None, 0

    def start(self):
        if self.alive():
            return
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen([*self.inside(), *self.args], stderr=log, stdout=log, stdin=subprocess.DEVNULL, env=self.env)
        self.starts += 1

    def alive(self):
        return self.process is not None and self.process.poll() is None

    def send(self, number):
        if self.alive():
            self.process.send_signal(number)

    def send_all(self, number):
        """To the program and what it started."""
        if not self.alive():
            return
        for pid in [self.process.pid, *children(self.process.pid)]:
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass

    def end(self, number=signal.SIGKILL):
        if self.process is None:
            return
        self.send(number)
        self.send(signal.SIGCONT)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Disk:
    """A small ext4 on a loop device, which a Machine mounts. It can be filled, and lose its power: what was not synced is lost, as it is with
    the page cache of a machine. What the file system had written counts as being on disk: the disk itself loses nothing."""

    def __init__(self, world, path, megabytes):
        self.path, self.image, self.machine = path, os.path.join(world.images, path.strip("/").replace("/", "-")), None
        os.makedirs(path, exist_ok=True)
        with open(self.image, "wb") as f:
            f.truncate(megabytes << 20)
        must("mkfs.ext4", "-q", "-m", "0", self.image)

    def at(self, name=""):
        """Where a file of it is for processes that are not in the machine."""
        return os.path.join(f"/proc/{self.machine.pid}/root{self.path}", name)

    def fill(self):
        with open(self.at("filler"), "wb", buffering=0) as f:
            try:
                while True:
                    f.write(bytes(65536))
            except OSError:
                pass

    def free(self):
        try:
            os.unlink(self.at("filler"))
        except FileNotFoundError:
            pass

    def cut(self):
        """Nothing reaches the disk from now on."""
        fd = os.open(self.at(), os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.ioctl(fd, SHUTDOWN, struct.pack("I", WITHOUT_FLUSH))
        finally:
            os.close(fd)

    def wait_unused(self):
        """After cut(). File systems and mount namespaces end some time after the last process in them."""
        end = time.monotonic() + 20
        while must("losetup", "--associated", self.image):
            if time.monotonic() > end:
                raise RuntimeError(f"{self.path} is still in use after its power was cut")
            time.sleep(0.02)


class Machine:
    """A machine that is booted: a process with a mount namespace that alone has its disks (those of other processes do not hold them), a
    /run that is empty, and more namespaces: `inside` and `options` are commands before and options of unshare. `then`: what a boot does."""

    def __init__(self, disks, run=None, inside=(), options=(), then="true"):
        mounts = [f"mount -t ext4 -o loop {d.image} {d.path}" for d in disks]
        if run:
            mounts.append(f"mount -t tmpfs -o size=16M,mode=755 none {run}")
        self.process = subprocess.Popen(
            [*inside, "unshare", "--mount", *options, "--fork", "--kill-child", "sh", "-c", " && ".join([*mounts, then, "echo $$", "exec sleep infinity"])],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        self.pid = self.process.stdout.readline().strip()
        if not self.pid:
            raise RuntimeError("a machine cannot be made: no namespaces, loop devices or ext4?")
        self.enter = ["nsenter", f"--target={self.pid}", "--mount"]
        for d in disks:
            d.machine = self
            d.free()

    def end(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
