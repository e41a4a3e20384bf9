# SPDX-License-Identifier: GPL-2.0-or-later
"""network.py - the way from an agent to the controller: a link that loses, repeats, delays, reorders and damages IP packets, and a relay of
TCP connections that cuts, stalls and tears them, or repeats requests.

The link needs no netem: both its ends are TUN devices, one in the network namespace of the agent, and the campaign carries the packets.
"""
import fcntl, heapq, os, random, select, socket, struct, threading, time

from programs import must, run

TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 1, 0x1000


class Relay:
    """From one address to another. mode: ok, cut (connections end), hole (nothing passes), slow, torn (half of what is read
    passes, then the end), twice (a request is sent once more at once), late (once more some seconds later)."""

    def __init__(self, address, to_port, seed):
        self.to_port, self.mode, self.random = to_port, "ok", random.Random(seed)
        self.listener = socket.create_server((address, 0), backlog=64)
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


class Link:
    """A network namespace, joined to ours by two TUN devices whose packets are carried here. What may happen to a packet:

    loss, twice, late, damage	a probability each; a late packet arrives up to a second after those behind it
    one_way			"in" or "out": nothing passes in that direction
    delay			seconds, of all packets, and up to as much again by chance
    rate			bytes a second, each way; 0: any. Half a second of packets waits, more are lost
    """
    CALM = {"loss": 0, "twice": 0, "late": 0, "damage": 0, "one_way": "", "delay": 0, "rate": 0}

    def __init__(self, name, seed):
        self.name, self.random = name, random.Random(seed)
        self.count = {"carried": 0, "lost": 0, "sent twice": 0, "out of order": 0, "damaged": 0}
        self.is_open, self.way = True, dict(self.CALM)
        self.host, self.node = self.choose_addresses()
        must("ip", "netns", "add", name)
        self.ends = [self.make_end(None, self.host, self.node), self.make_end(name, self.node, self.host)]
        must("ip", "-n", name, "link", "set", "lo", "up")
        self.waiting, self.number, self.free_at = [], 0, [0.0, 0.0]
        self.thread = threading.Thread(target=self.carry, daemon=True)
        self.thread.start()

    @staticmethod
    def choose_addresses():
        """Of 10.0.0.0/8, two that this machine has no route to but its default one."""
        choice = random.SystemRandom()
        while True:
            net = f"10.{choice.randrange(256)}.{choice.randrange(256)}.{choice.randrange(64) * 4}"
            if not run("ip", "route", "show", "root", net + "/30").stdout.strip() and not run("ip", "addr", "show", "to", net + "/30").stdout.strip():
                base = net.rpartition(".")
                return (f"{base[0]}.{int(base[2]) + 1}", f"{base[0]}.{int(base[2]) + 2}")

    def make_end(self, namespace, address, peer):
        fd = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        got = fcntl.ioctl(fd, TUNSETIFF, struct.pack("16sH22x", b"reeve%d", IFF_TUN | IFF_NO_PI))
        device = got[:16].rstrip(b"\0").decode()
        where = ("-n", namespace) if namespace else ()
        if namespace:
            must("ip", "link", "set", device, "netns", namespace)
        must("ip", *where, "addr", "add", address, "peer", peer, "dev", device)
        must("ip", *where, "link", "set", device, "up", "mtu", "1400")
        return fd

    def set(self, **way):
        self.way = dict(self.CALM, **way)

    def carry(self):
        while self.is_open:
            left = max(0.0, self.waiting[0][0] - time.monotonic()) if self.waiting else 0.5
            for fd in select.select(self.ends, [], [], left)[0]:
                try:
                    self.take(self.ends.index(fd), os.read(fd, 65536))
                except OSError:
                    pass
            while self.waiting and self.waiting[0][0] <= time.monotonic():
                _, _, to, packet = heapq.heappop(self.waiting)
                try:
                    os.write(self.ends[to], packet)
                except OSError:
                    pass  # the device's queue is full: lost

    def take(self, end, packet):
        """A packet that came out of one end goes to the other, or does not."""
        way, chance, now = self.way, self.random.random, time.monotonic()
        at = now + (way["delay"] * (1 + chance()) if way["delay"] else 0)
        if way["rate"]:
            at = max(at, self.free_at[end]) + len(packet) / way["rate"]
        if chance() < way["loss"] or way["one_way"] == ("in", "out")[end] or (way["rate"] and at - now > 0.5 + way["delay"] * 2):
            self.count["lost"] += 1
            return
        if way["rate"]:
            self.free_at[end] = at
        if chance() < way["damage"]:
            self.count["damaged"] += 1
            packet = bytearray(packet)
            packet[self.random.randrange(len(packet))] ^= 1 << self.random.randrange(8)
        again = chance() < way["twice"]
        self.count["sent twice"] += again
        for _ in range(1 + again):
            late = chance() < way["late"]
            self.count["out of order"] += late
            self.count["carried"] += 1
            self.number += 1
            heapq.heappush(self.waiting, (at + (chance() if late else 0), self.number, 1 - end, bytes(packet)))

    def close(self):
        self.is_open = False
        self.thread.join()
        for fd in self.ends:
            os.close(fd)
        run("ip", "netns", "delete", self.name)
