# SPDX-License-Identifier: GPL-2.0-or-later
"""world.py - what the campaign plays with: a munged, a real controller, real agents with real jobs, and the network between them.

Each agent speaks to the controller through a Network of its own, which is a TCP relay that can be cut, slow, torn, or send what it
relayed once more. Disks fail and clocks step by tests/cluster/lib/store_fault.c, which is preloaded.
"""
import mmap, os, random, shutil, signal, socket, struct, subprocess, tempfile, threading, time, urllib.error, urllib.request

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BIN = os.path.join(os.environ.get("BUILD", os.path.join(TOP, "build")), "bin")
USER = 1  # whose jobs these are


def run(*args, **more):
    return subprocess.run([str(a) for a in args], capture_output=True, text=True, errors="replace", **more)


def must(*args, **more):
    got = run(*args, **more)
    if got.returncode:
        raise RuntimeError(f"{' '.join(map(str, args))}: {got.stderr.strip() or got.returncode}")
    return got.stdout


def free_port():
    """Below those that the kernel gives to clients."""
    while True:
        port = random.SystemRandom().randrange(20000, 32000)
        with socket.socket() as s:
            try:
                s.bind(("127.0.0.1", port))
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

    def heal(self):
        self.at[0:4] = struct.pack("i", 0)


class Network:
    """A relay on one port to another. mode: ok, cut (connections end), hole (nothing passes), slow, torn (half of what is read
    passes, then the end), twice (a request is sent once more at once), late (once more some seconds later)."""

    def __init__(self, to_port, seed):
        self.to_port, self.mode, self.random = to_port, "ok", random.Random(seed)
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.listener.getsockname()[1]
        self.open = set()
        self.lock = threading.Lock()
        self.again = 0  # requests that were sent once more
        threading.Thread(target=self.accept, daemon=True).start()

    def set(self, mode):
        self.mode = mode
        if mode in ("cut", "torn"):
            with self.lock:
                for s in self.open:
                    try:
                        s.shutdown(socket.SHUT_RDWR)
                    except OSError:
                        pass

    def accept(self):
        while True:
            s, _ = self.listener.accept()
            if self.mode == "cut":
                s.close()
            else:
                threading.Thread(target=self.relay, args=(s,), daemon=True).start()

    def relay(self, client):
        try:
            server = socket.create_connection(("127.0.0.1", self.to_port), 5)
            server.settimeout(None)
        except OSError:
            client.close()
            return
        with self.lock:
            self.open |= {client, server}
        other = threading.Thread(target=self.pump, args=(server, client, False), daemon=True)
        other.start()
        self.pump(client, server, True)
        other.join()
        with self.lock:
            self.open -= {client, server}
        client.close()
        server.close()

    def pump(self, a, b, is_request):
        try:
            while data := a.recv(65536):
                mode = self.mode
                if mode == "slow":
                    time.sleep(self.random.uniform(0.02, 1.5))
                while self.mode == "hole":
                    time.sleep(0.05)
                if mode == "torn" and self.random.random() < 0.3:
                    b.sendall(data[:len(data) // 2])
                    break
                b.sendall(data)
                if is_request and data.startswith(b"POST") and mode in ("twice", "late"):
                    delay = 0 if mode == "twice" else self.random.uniform(0.5, 8)
                    threading.Timer(delay, self.send_again, (data,)).start()
        except OSError:
            pass
        for s in (a, b):
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def send_again(self, data):
        try:
            with socket.create_connection(("127.0.0.1", self.to_port), 5) as s:
                s.sendall(data)
                s.settimeout(3)
                s.recv(4096)
                self.again += 1
        except OSError:
            pass


class Program:
    """A daemon that is started, killed and stopped; its log is kept."""

    def __init__(self, name, args, log, env):
        self.name, self.args, self.log = name, args, log
        self.env = dict(os.environ, **env)
        self.process, self.starts = None, 0

    def start(self):
        if self.alive():
            return
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(self.args, stderr=log, stdout=log, stdin=subprocess.DEVNULL, env=self.env)
        self.starts += 1

    def alive(self):
        return self.process is not None and self.process.poll() is None

    def send(self, number):
        if self.alive():
            self.process.send_signal(number)

    def end(self, number=signal.SIGKILL):
        if self.process is None:
            return
        self.send(signal.SIGCONT)
        self.send(number)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Disk:
    """A small file system that can be filled."""

    def __init__(self, path, megabytes):
        self.path = path
        os.makedirs(path, exist_ok=True)
        must("mount", "-t", "tmpfs", "-o", f"size={megabytes}M,mode=755", "none", path)

    def fill(self):
        with open(os.path.join(self.path, "filler"), "wb", buffering=0) as f:
            try:
                while True:
                    f.write(bytes(65536))
            except OSError:
                pass

    def free(self):
        try:
            os.unlink(os.path.join(self.path, "filler"))
        except FileNotFoundError:
            pass

    def close(self):
        run("umount", "-l", self.path)


class Agent:
    def __init__(self, world, number):
        self.name = f"c{number}"
        self.dir = os.path.join(world.dir, self.name)
        self.network = Network(world.port, f"{world.seed} {self.name}")
        for name in ("jobfs", "pins", "run"):
            os.makedirs(os.path.join(self.dir, name))
        self.disk = Disk(os.path.join(self.dir, "state"), 24)
        self.run_disk = Disk(os.path.join(self.dir, "run"), 16)
        self.words = Words(os.path.join(self.dir, "words"))
        self.group = os.path.join(world.mount, f"{world.group}-{self.name}")
        config = os.path.join(self.dir, "agent.conf")
        with open(config, "w") as f:
            f.write(f"""[Agent]
Node = {self.name}
Controller = http://127.0.0.1:{self.network.port}
ControllerUser = root
MinUid = 1
MinGid = 1
RequireUserCredential = no
MungeSocket = {world.dir}/munge.sock
Manager = cgroup
CgroupParent = {os.path.basename(self.group)}
RunDirectory = {self.dir}/run
StateDirectory = {self.dir}/state
JobfsDirectory = {self.dir}/jobfs
PinDirectory = {self.dir}/pins
LaunchProgram = {world.dir}/reeve-launch
VmemTier = 3
ReservedMemory = 100MB
SampleInterval = 1s
ReportInterval = 1s
KillGrace = 1s
""")
        self.program = Program(self.name, [os.path.join(BIN, "reeve-agent"), "--config", config], os.path.join(self.dir, "log"),
                               {"LD_PRELOAD": world.fault, "STORE_FAULT": self.words.path})

    def heal(self):
        self.network.set("ok")
        self.disk.free()
        self.words.heal()
        self.words.shift(0)
        self.program.send(signal.SIGCONT)
        self.program.start()

    def close(self):
        self.program.end(signal.SIGTERM)
        for top, _, files in os.walk(self.group):
            if "cgroup.kill" in files and top != self.group:
                try:
                    with open(os.path.join(top, "cgroup.kill"), "w") as f:
                        f.write("1")
                except OSError:
                    pass
        for _ in range(50):
            for top, _, _ in os.walk(self.group, topdown=False):
                try:
                    os.rmdir(top)
                except OSError:
                    pass
            if not os.path.exists(self.group):
                break
            time.sleep(0.1)
        self.disk.close()
        self.run_disk.close()


class World:
    def __init__(self, seed, n_agents):
        self.seed = seed
        self.dir = tempfile.mkdtemp(prefix="reeve-campaign-", dir="/var/lib")  # jobs have a /tmp of their own
        os.chmod(self.dir, 0o755)
        self.mount = next(line.split()[1] for line in open("/proc/mounts") if line.split()[2] == "cgroup2")
        self.group = os.path.basename(self.dir)
        self.truth = os.path.join(self.dir, "truth")
        os.mkdir(self.truth)
        os.chmod(self.truth, 0o1777)
        self.fault = os.path.join(self.dir, "fault.so")
        must("cc", "-std=gnu17", "-D_GNU_SOURCE", "-O1", "-shared", "-fPIC", "-o", self.fault, f"{TOP}/tests/cluster/lib/store_fault.c")
        must("cc", "-std=gnu17", "-D_GNU_SOURCE", "-O1", "-static", "-o", f"{self.dir}/job", f"{TOP}/tests/campaign/truth.c")
        shutil.copy(os.path.join(BIN, "reeve-launch"), f"{self.dir}/reeve-launch")
        self.start_munge()
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.disk = Disk(os.path.join(self.dir, "ledger"), 96)
        self.ledger = os.path.join(self.disk.path, "ledger.db")
        self.words = Words(os.path.join(self.dir, "words"))
        self.second_port = free_port()
        self.write_configuration("controller", self.port)
        self.write_configuration("second", self.second_port)
        self.controller = self.make_controller("controller")
        self.agents = [Agent(self, i + 1) for i in range(n_agents)]

    def start_munge(self):
        with open(f"{self.dir}/munge.key", "wb") as f:
            f.write(os.urandom(128))
        os.chmod(f"{self.dir}/munge.key", 0o600)
        must("munged", "--force", *(f"--{k}-file={self.dir}/munge.{k}" for k in ("key", "pid", "log", "seed")),
             f"--socket={self.dir}/munge.sock")

    def write_configuration(self, name, port):
        with open(f"{self.dir}/{name}.conf", "w") as f:
            f.write(f"""[Controller]
Listen = 127.0.0.1:{port}
Database = {self.ledger}
MungeSocket = {self.dir}/munge.sock
Operators = root
AcceptNodes = any
NodeLost = 3600
[Policy]
Scheduler = fifo
[Cluster main]
BundleCores = 1
BundleMemory = 4GB
DefaultResources = jobfs=10MB,walltime=1:00:00
[Account physics]
Users = daemon
""")
        with open(f"{self.dir}/reeve.conf", "w") as f:
            f.write(f"[Client]\nController = {self.url}\nControllerUser = root\nMungeSocket = {self.dir}/munge.sock\n")

    def make_controller(self, name):
        return Program(name, [os.path.join(BIN, "reeve-controller"), "--config", f"{self.dir}/{name}.conf"], f"{self.dir}/{name}.log",
                       {"LD_PRELOAD": self.fault, "STORE_FAULT": self.words.path, "STORE_FAULT_NAME": "/ledger.db"})

    def reeve(self, *args, uid=0, timeout=60):
        """The command; (status, output, error). Status None: it took too long."""
        args = [os.path.join(self.dir, "reeve"), args[0], *(("--config", f"{self.dir}/reeve.conf") if args[0] != "admin" else ()), *args[1:]]
        if uid:
            args = ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups"] + args
        try:
            got = run(*args, timeout=timeout)
        except subprocess.TimeoutExpired:
            return None, "", "timeout"
        return got.returncode, got.stdout, got.stderr

    def start(self):
        shutil.copy(os.path.join(BIN, "reeve"), f"{self.dir}/reeve")
        self.controller.start()
        for a in self.agents:
            a.program.start()

    def heal(self):
        self.disk.free()
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
            os.kill(int(open(f"{self.dir}/munge.pid").read()), signal.SIGTERM)
        except (OSError, ValueError):
            pass
        if keep:
            shutil.copytree(self.disk.path, f"{self.dir}/kept")
        self.disk.close()
        if not keep:
            shutil.rmtree(self.dir, ignore_errors=True)
