"""raw_answer.py PORT_FILE BYTES_FILE - a server that reads the head of a request, prints it, sends the bytes and closes."""
import socket
import sys

listening = socket.create_server(("127.0.0.1", 0))
with open(sys.argv[1], "w") as f:
    f.write(str(listening.getsockname()[1]))
with open(sys.argv[2], "rb") as f:
    answer = f.read()
while True:
    connection, _ = listening.accept()
    head = b""
    while b"\r\n\r\n" not in head:
        piece = connection.recv(4096)
        if not piece:
            break
        head += piece
    print(head.decode("latin-1"), flush=True)
    connection.sendall(answer)
    connection.close()
