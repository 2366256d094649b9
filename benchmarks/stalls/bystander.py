"""A client that sends a small request every few milliseconds, in a process of its own.

    python -m benchmarks.stalls.bystander HOST PORT FILE

It sends ApiVersions on one connection and records how long after its due time each response
arrives. Without a broker it connects until there is one; the time until then does not count. A
closed standard input ends it. FILE.noise has the time by which the machine woke too late a thread
that only waits.
"""

import select
import socket
import struct
import sys
import threading
from time import monotonic
from typing import Final

from benchmarks.stalls.latency_file import LatencyWriter

EVERY_S: Final = 0.005
_RETRY_S: Final = 0.02
_TIMEOUT_S: Final = 60
#: ApiVersions, version 0, correlation 1, no client id.
_REQUEST: Final = struct.pack(">ihhih", 10, 18, 0, 1, -1)


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
    due_s = monotonic()
    while not _is_over(max(0, due_s - monotonic())):
        connection.sendall(_REQUEST)
        _receive(connection, struct.unpack(">i", _receive(connection, 4))[0])
        pings.add(due_s, (monotonic() - due_s) * 1e3)
        due_s += EVERY_S


def _receive(connection: socket.socket, size: int) -> bytes:
    data = connection.recv(size, socket.MSG_WAITALL)
    if len(data) < size:
        raise ConnectionResetError
    return data


def _is_over(within_s: float) -> bool:
    """Wait; return whether the standard input was closed meanwhile."""
    return bool(select.select([sys.stdin], [], [], within_s)[0])


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
