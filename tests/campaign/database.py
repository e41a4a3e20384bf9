# SPDX-License-Identifier: GPL-2.0-or-later
"""database.py - where the ledger is: a file of SQLite, or a PostgreSQL server of the campaign's own. Both are on a small disk."""
import csv, glob, io, os, pwd, shutil, signal, time

from programs import Disk, Machine, Program, must, run


def read_rows(text):
    """CSV; what is a number becomes one."""
    return [tuple(int(v) if v.lstrip("-").isdigit() else v for v in row) for row in csv.reader(io.StringIO(text))]


class Sqlite:
    ENGINE = "sqlite"

    def __init__(self, world):
        self.world = world
        self.disk = Disk(world, os.path.join(world.dir, "ledger"), 96)
        self.place = os.path.join(self.disk.path, "ledger.db")
        self.machine = Machine([self.disk])

    def sql(self, *commands):
        """Not by sqlite3 here: it would resolve the link in /proc by which a file of another machine is named."""
        return run(*self.machine.enter, "sqlite3", "-bail", "-csv", "-cmd", ".timeout 2000", self.place, *commands)

    def rows(self, sql):
        got = self.sql(sql)
        if got.returncode:
            raise RuntimeError(f"{sql}: {got.stderr.strip()}")
        return read_rows(got.stdout)

    def start(self):
        pass

    def cut(self):
        self.disk.cut()
        self.machine.end()

    def restore_power(self):
        self.disk.wait_unused()
        self.machine = Machine([self.disk])

    def lock(self, seconds, _):
        """Another process has the ledger for itself."""
        return self.sql("BEGIN IMMEDIATE", f".shell sleep {seconds:.3f}", "ROLLBACK").returncode == 0

    def backup(self, path):
        return self.world.reeve("admin", "backup", path, "--ledger", self.place, "--no-verify")[0] == 0

    def restore(self, path, _):
        """The controller does not run."""
        for name in os.listdir(self.disk.at()):
            if name.startswith("ledger.db"):
                os.unlink(self.disk.at(name))
        return self.world.reeve("admin", "restore", path, "--ledger", self.place)

    def keep(self, path):
        shutil.copytree(self.disk.at(), path, ignore=shutil.ignore_patterns("lost+found"))

    def close(self):
        self.machine.end()


class Postgres:
    ENGINE = "postgres"

    def __init__(self, world):
        self.world = world
        bins = sorted(glob.glob("/usr/lib/postgresql/*/bin"))
        if not bins:
            raise RuntimeError("no PostgreSQL server is installed: make deps")
        self.user = pwd.getpwnam("postgres").pw_uid
        self.dir = os.path.join(world.dir, "pg")
        os.mkdir(self.dir)
        self.disk = Disk(world, os.path.join(self.dir, "disk"), 400)
        self.machine = Machine([self.disk])
        data = os.path.join(self.disk.path, "data")
        os.mkdir(self.disk.at("data"))
        for path in (self.dir, self.disk.at("data")):
            os.chown(path, self.user, -1)
        must(*self.machine.enter, "setpriv", f"--reuid={self.user}", "--clear-groups", f"{bins[-1]}/initdb", "-D", data, "-A", "trust", "-E", "UTF8")
        self.program = Program([f"{bins[-1]}/postgres", "-D", data, "-k", self.dir, "-c", "listen_addresses=", "-c", "shared_buffers=16MB",
                                "-c", "max_wal_size=64MB", "-c", "min_wal_size=32MB"], os.path.join(self.dir, "log"),
                               inside=lambda: [*self.machine.enter, "setpriv", f"--reuid={self.user}", "--clear-groups"])
        self.server = f"postgresql:///postgres?host={self.dir}&user=postgres"
        self.place = f"{self.server}&options=-csearch_path%3Dlive"
        self.start()
        self.run_sql("CREATE SCHEMA live")

    def sql(self, text, timeout=30):
        return run("psql", "-q", "-t", "--csv", "-v", "ON_ERROR_STOP=1", self.place, "-c", text, timeout=timeout)

    def run_sql(self, text):
        """As soon as the server answers."""
        end = time.monotonic() + 60
        while True:
            got = self.sql(text)
            if got.returncode == 0:
                return got.stdout
            if got.returncode != 2 or time.monotonic() > end:  # 2: no connection
                raise RuntimeError(f"{text}: {got.stderr.strip()}")
            time.sleep(0.1)

    def rows(self, sql):
        return read_rows(self.run_sql(sql))

    def start(self):
        self.program.start()

    def cut(self):
        self.program.send_all(signal.SIGSTOP)
        self.disk.cut()
        self.kill()
        self.machine.end()

    def restore_power(self):
        self.disk.wait_unused()
        self.machine = Machine([self.disk])
        self.start()

    def kill(self):
        """-9, all of it at once."""
        self.program.send_all(signal.SIGKILL)
        self.program.end()

    def lock(self, seconds, choice):
        """Another session locks a table."""
        table = choice(["jobs", "attempts", "nodes", "meta"])
        return self.sql(f"BEGIN; LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep({seconds:.3f}); ROLLBACK").returncode == 0

    def end_sessions(self):
        got = self.sql("SELECT COUNT(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'")
        return got.returncode == 0 and got.stdout.strip() != "0"

    def backup(self, path):
        return run("pg_dump", "--format=custom", "--schema=live", f"--file={path}", self.server).returncode == 0

    def restore(self, path, taken_s):
        self.run_sql("DROP SCHEMA live CASCADE")
        got = run("pg_restore", f"--dbname={self.server}", path)
        if got.returncode:
            return got.returncode, got.stdout, got.stderr
        taken = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(taken_s))
        return self.world.reeve("admin", "restore", "--mark", "--taken", taken, "--ledger", self.place)

    def keep(self, path):
        must("pg_dump", "--schema=live", f"--file={path}", self.server)

    def close(self):
        self.program.end(signal.SIGINT)
        self.machine.end()
