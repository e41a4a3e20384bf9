#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# metrics_clients.py ADDRESS KIND - clients of the agent's metrics that misbehave; ADDRESS is a socket's path or HOST:PORT.
#   garbage		requests of all sorts of bytes; prints how each was answered: a status, "closed" or "silence"
#   slow SECONDS		a byte a second; prints how long it was let
#   silent N		N connections that say nothing; prints "open", and waits for a line before it leaves
#   deaf N		N connections that ask and read nothing; the same
#   burst N		N connections with a whole request, one after the other; prints how many had an answer
import os, random, socket, sys, time

address, kind = sys.argv[1], sys.argv[2]


# A full backlog is EAGAIN of a Unix socket, and of TCP a connection that takes longer.
def connect():
    while True:
        try:
            return connect_once()
        except BlockingIOError:
            time.sleep(0.05)


def connect_once():
    if address.startswith('/'):
        s = socket.socket(socket.AF_UNIX)
        s.settimeout(20)
        s.connect(address)
    else:
        host, port = address.rsplit(':', 1)
        s = socket.create_connection((host, int(port)), 20)
    return s


def answer(s, wait=8):
    s.settimeout(wait)
    text = b''
    try:
        while len(text) < 64:
            piece = s.recv(65536)
            if not piece:
                break
            text += piece
    except socket.timeout:
        return 'silence'
    except ConnectionError:
        pass
    return text.split(b' ')[1].decode() if text.startswith(b'HTTP/1.1 ') else 'closed'


def garbage():
    random.seed(7)
    whole = b'GET /metrics HTTP/1.1\r\n\r\n'
    for name, data in [('whole', whole), ('bytes', bytes(random.randrange(1, 256) for _ in range(500)) + b'\n\n'),
                       ('nul', b'GET /metrics\0 HTTP/1.1\r\n\r\n'), ('tls', b'\x16\x03\x01\x02\x00\x01\r\n\r\n'),
                       ('long', b'GET /' + b'a' * 20000), ('post', b'POST /metrics HTTP/1.1\r\n\r\n'),
                       ('path', b'GET /../../etc/shadow HTTP/1.1\r\n\r\n'), ('http2', b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
                       ('twice', whole + whole), ('bytes in pieces', whole)]:
        s = connect()
        try:
            if name == 'bytes in pieces':
                for i in range(len(data)):
                    s.sendall(data[i:i + 1])
            else:
                s.sendall(data)
        except ConnectionError:
            pass
        print(name, answer(s))
        s.close()


def slow(seconds):
    s, begun = connect(), time.monotonic()
    try:
        for c in b'GET /metrics HTTP/1.1\r\nX: ' + b'a' * seconds:
            s.sendall(bytes([c]))
            time.sleep(1)
            s.settimeout(0.01)
            try:
                if not s.recv(1):
                    break
            except socket.timeout:
                pass
    except ConnectionError:
        pass
    print(f'{time.monotonic() - begun:.1f}')


def crowd(n, data):
    all = []
    for _ in range(n):
        s = connect()
        try:
            if data:
                s.sendall(data)
        except ConnectionError:
            pass
        all.append(s)
    print('open', flush=True)
    sys.stdin.readline()


def burst(n):
    ok = 0
    for _ in range(n):
        s = connect()
        try:
            s.sendall(b'GET /metrics HTTP/1.1\r\n\r\n')
        except ConnectionError:
            pass
        ok += answer(s, 20) == '200'
        s.close()
    print(ok)


if kind == 'garbage':
    garbage()
elif kind == 'slow':
    slow(int(sys.argv[3]))
elif kind == 'silent':
    crowd(int(sys.argv[3]), b'')
elif kind == 'deaf':
    crowd(int(sys.argv[3]), b'GET /metrics HTTP/1.1\r\n\r\n')
elif kind == 'burst':
    burst(int(sys.argv[3]))
