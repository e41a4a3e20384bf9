#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A controller in an attacker's hands: passes requests on to the real one, and meddles with the messages of interactive steps in its answers.

usage: meddler.py CONTROLLER-PORT MUNGE-SOCKET DIR	writes its own port to DIR/meddler.port
What it does is the word in DIR/meddle, looked at for each answer; DIR/meddled has a line for each answer that it has changed:
  change   what was typed: "good" becomes "evil"
  replay   an earlier message is sent in the place of a later one
  forge    a terminal of its own types "evil", with a key of user 2 (bin)
  output   what was printed: "good" becomes "evil"
Answers to nodes are signed by the controller's user: the one who runs this. Anything else is passed on as it is.
"""
import hashlib
import hmac
import http.client
import http.server
import json
import os
import struct
import subprocess
import sys
import time

UPSTREAM, SOCKET, DIR = int(sys.argv[1]), sys.argv[2], sys.argv[3]
HEAD, STATE, MAC = 24, 80, 32
first = {}  # the first message of each kind of action


def munge(payload, *more):
    return subprocess.run(["munge", "-S", SOCKET, "--string", payload, *more], check=True, capture_output=True, text=True).stdout.strip()


def sign(credential, body):
    digest = hashlib.sha256(credential.encode() + b"\n" + body).hexdigest()
    return "Munge " + munge("reeve1 " + digest)


def split(message):
    """serial, credential, state, data of an input message."""
    flags, serial, n_credential, n_state = struct.unpack("<IQII", message[4:HEAD])
    at = HEAD + n_credential
    return serial, message[HEAD:at], message[at:at + n_state], message[at + n_state:]


def join(serial, credential, state, data):
    return b"RCI2" + struct.pack("<IQII", 0, serial, len(credential), len(state)) + credential + state + data


def seal(key, label, text):
    return text + hmac.new(key, label + b"\0" + text, hashlib.sha256).digest()


def forge(serial, order):
    """A whole terminal, as the user's command would make it, but for whose munge credential it is."""
    key, session = os.urandom(32), time.time_ns()
    statement = {"schema": "reeve/1", "kind": "console", "nonce": "0" * 32, "job": order["job"], "step": order["step"],
                 "began_ns": session, "key": key.hex()}
    made = subprocess.run(["setpriv", "--reuid", "2", "--clear-groups", "munge", "-S", SOCKET, "-u", "0", "--string", json.dumps(statement)],
                          check=True, capture_output=True, text=True).stdout.strip()
    state = struct.pack("<QQIHHqqq", session, 1, 1, 0, 0, 0, 0, 0)
    data = struct.pack("<QQqI", session, 1, 0, 0) + b"evil\n"
    return join(serial, made.encode(), seal(key, b"reeve console: state of the terminal", state), seal(key, b"reeve console: input", data))


def meddle(action, body):
    """The body that is sent in the place of this one."""
    at = body.find(b"RCI2")
    if action == "output":
        return body.replace(b"good", b"evil") if b"RCO2" in body else body
    if at < 0 or action not in ("change", "replay", "forge"):
        return body
    serial, credential, state, data = split(body[at:])
    if action == "change":
        return body[:at] + join(serial, credential, state, data.replace(b"good", b"evil"))
    document = json.loads(body[:body.index(0)])
    if action == "forge":
        if "forge" in first:  # once: what the user types comes after it
            return body
        first["forge"] = message = forge(serial, document["steps"][0])
    else:
        if not data:
            return body
        if "replay" not in first:
            first["replay"] = (state, data)
            return body
        message = join(serial, credential, *first["replay"])
    document["steps"][0]["size"] = len(message)
    return json.dumps(document).encode() + b"\0" + message


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def relay(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        upstream = http.client.HTTPConnection("127.0.0.1", UPSTREAM, timeout=120)
        upstream.request(self.command, self.path, body or None, dict(self.headers))
        answer = upstream.getresponse()
        was = answer.read()
        upstream.close()
        try:
            with open(DIR + "/meddle", encoding="ascii") as f:
                action = f.read().strip()
        except FileNotFoundError:
            action = ""
        is_now = meddle(action, was)
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() == "x-reeve-credential" and is_now != was:
                value = sign(self.headers["Authorization"], is_now)
            if name.lower() not in ("content-length", "transfer-encoding", "connection"):
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(is_now)))
        self.end_headers()
        if is_now != was:
            with open(DIR + "/meddled", "a", encoding="ascii") as f:
                print(action, file=f)
        self.wfile.write(is_now)

    do_GET = do_POST = relay


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
with open(DIR + "/meddler.port", "w", encoding="ascii") as port:
    print(server.server_port, file=port)
server.serve_forever()
