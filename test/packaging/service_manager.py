"""Replaces systemd in tests: starts a program with open sockets and prints its notifications.

usage: service_manager.py FOLDER SOCKETS WATCHDOG_USEC PROGRAM ARGUMENT...
SOCKETS is the number of TCP sockets for the program; if it is not 0, FOLDER/web.sock follows them.
Forwards SIGTERM to the program and exits with its status.
"""

import fcntl
import os
import signal
import socket
import sys
import threading

FIRST_SOCKET = 3
OUT_OF_THE_WAY = 100


def open_sockets(folder, count):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    for one in sockets:
        print("socket", one.getsockname()[1], flush=True)
    if sockets:
        unix = socket.socket(socket.AF_UNIX)
        unix.bind(os.path.join(folder, "web.sock"))
        unix.listen()
        sockets.append(unix)
    return sockets


def become(command, sockets):
    """Moves the sockets to descriptors 3, 4, …, which may be in use."""
    copies = [fcntl.fcntl(one.fileno(), fcntl.F_DUPFD, OUT_OF_THE_WAY) for one in sockets]
    for index, copy in enumerate(copies):
        os.dup2(copy, FIRST_SOCKET + index, inheritable=True)
    own = str(os.getpid())
    os.environ.update(LISTEN_PID=own, WATCHDOG_PID=own, LISTEN_FDS=str(len(sockets)))
    os.execvp(command[0], command)


def print_messages(notify):
    while True:
        message = notify.recv(4096).decode()
        if message != "BARRIER=1":
            print("notified", *message.splitlines(), sep="\t", flush=True)


def main(folder, count, watchdog_usec, *command):
    os.environ["NOTIFY_SOCKET"] = os.path.join(folder, "notify")
    if watchdog_usec != "0":
        os.environ["WATCHDOG_USEC"] = watchdog_usec
    notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    notify.bind(os.environ["NOTIFY_SOCKET"])
    sockets = open_sockets(folder, int(count))
    child = os.fork()
    if child == 0:
        become(command, sockets)
    signal.signal(signal.SIGTERM, lambda *_: os.kill(child, signal.SIGTERM))
    threading.Thread(target=print_messages, args=[notify], daemon=True).start()
    _, status = os.waitpid(child, 0)
    sys.exit(os.waitstatus_to_exitcode(status))


main(*sys.argv[1:])
