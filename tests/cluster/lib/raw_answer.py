# SPDX-License-Identifier: GPL-2.0-or-later
"""raw_answer.py PORT_FILE BYTES_FILE [keep] - a server that reads the head of a request, prints it, sends the bytes and closes;
with `keep` it reads the next one of that connection first, until there is none."""
import socket
import sys

listening = socket.create_server(("127.0.0.1", 0))
with open(sys.argv[1], "w") as f:
    f.write(str(listening.getsockname()[1]))
with open(sys.argv[2], "rb") as f:
    answer = f.read()
keeps = len(sys.argv) > 3


def read_head(connection):
    head = b""
    while b"\r\n\r\n" not in head:
        try:
            piece = connection.recv(4096)
        except ConnectionError:
            piece = b""
        if not piece:
            return None
        head += piece
    return head


while True:
    connection, _ = listening.accept()
    print("connection", flush=True)
    head = read_head(connection)
    while head:
        print(head.decode("latin-1"), flush=True)
        connection.sendall(answer)
        head = read_head(connection) if keeps else None
    connection.close()
