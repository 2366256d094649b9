"""A client that sends a small request every few milliseconds, in a process of its own.

    python -m benchmarks.stalls.bystander HOST PORT FILE

It sends ApiVersions on one connection and records how long after its due time each response
arrives. A request is sent when it is due, also while others have no response yet. Without a broker
it connects until there is one; the time until then does not count. A closed standard input ends it.
FILE.noise has the time by which the machine woke too late a thread that only waits.
"""

import select
import socket
import struct
import sys
import threading
from collections import deque
from time import monotonic
from typing import Final

from benchmarks.stalls.latency_file import LatencyWriter

EVERY_S: Final = 0.005
_RETRY_S: Final = 0.02
_TIMEOUT_S: Final = 60
#: ApiVersions, version 0, correlation 1, no client id.
_REQUEST: Final = struct.pack(">ihhih", 10, 18, 0, 1, -1)
_SIZE: Final = struct.Struct(">i")
_RECEIVE_BYTES: Final = 64 * 1024


def main(host: str, port: int, path: str) -> None:
    """Ping until the standard input is closed."""
    over = threading.Event()
    waiting = threading.Thread(target=_wait, args=(over, f"{path}.noise"))
    waiting.start()
    pings = LatencyWriter(path)
    while not _is_over(_RETRY_S):
        try:
            with socket.create_connection((host, port), _TIMEOUT_S) as connection:
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                _ping(connection, pings)
        except OSError:
            continue
        finally:
            pings.flush()
    over.set()
    waiting.join()


def _wait(over: threading.Event, path: str) -> None:
    """Record how late each wait ends."""
    noise = LatencyWriter(path)
    due_s = monotonic()
    while not over.wait(max(0, due_s - monotonic())):
        noise.add(due_s, max(0, monotonic() - due_s) * 1e3)
        due_s = max(due_s, monotonic()) + EVERY_S
    noise.close()


def _ping(connection: socket.socket, pings: LatencyWriter) -> None:
    """Ping until the standard input or the connection is closed."""
    due_s, sent, received = monotonic(), deque[float](), bytearray()
    while True:
        wait_s = max(0, due_s - monotonic())
        readable = select.select([sys.stdin, connection], [], [], wait_s)[0]
        if sys.stdin in readable:
            return
        if connection in readable:
            data = connection.recv(_RECEIVE_BYTES)
            if not data:
                raise ConnectionResetError
            received += data
            while _drop_response(received):
                due_then_s = sent.popleft()
                pings.add(due_then_s, (monotonic() - due_then_s) * 1e3)
        while due_s <= monotonic():
            connection.sendall(_REQUEST)
            sent.append(due_s)
            due_s += EVERY_S


def _drop_response(received: bytearray) -> bool:
    """Remove a whole response from the received bytes; return whether there was one."""
    if len(received) < _SIZE.size:
        return False
    size = _SIZE.size + int(_SIZE.unpack_from(received)[0])
    if len(received) < size:
        return False
    del received[:size]
    return True


def _is_over(within_s: float) -> bool:
    """Wait; return whether the standard input was closed meanwhile."""
    return bool(select.select([sys.stdin], [], [], within_s)[0])


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
