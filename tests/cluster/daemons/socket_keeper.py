#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""socket_keeper.py PIDFILE ADDRESS... -- COMMAND...: what systemd does with a socket unit and Restart=: opens and keeps a listening
socket for each ADDRESS (PORT of 127.0.0.1, or a path), passes them to COMMAND, and starts it again when it has ended, after half a second. The
process id of COMMAND is in PIDFILE. SIGTERM ends both."""
import os
import signal
import socket
import sys
import time

pid_file, at = sys.argv[1], sys.argv.index("--")
sockets = []
for where in sys.argv[2:at]:
    s = socket.socket(socket.AF_UNIX if "/" in where else socket.AF_INET)
    if s.family == socket.AF_INET:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind(where if "/" in where else ("127.0.0.1", int(where)))
    if "/" in where:
        os.chmod(where, 0o666)
    s.listen(4096)
    sockets.append(s)
child = 0


def end(*_):
    if child:
        os.kill(child, signal.SIGTERM)
        os.waitpid(child, 0)
    os._exit(0)


def start():
    pid = os.fork()
    if pid:
        return pid
    fds = [os.dup2(s.fileno(), 100 + i) for i, s in enumerate(sockets)]
    for i, fd in enumerate(fds):
        os.dup2(fd, 3 + i, inheritable=True)
        os.close(fd)
    os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS=str(len(fds)))
    os.execvp(sys.argv[at + 1], sys.argv[at + 1:])


signal.signal(signal.SIGTERM, end)
while True:
    child = start()
    with open(pid_file + ".new", "w") as f:
        f.write(str(child))
    os.rename(pid_file + ".new", pid_file)
    os.waitpid(child, 0)
    child = 0
    time.sleep(0.5)
