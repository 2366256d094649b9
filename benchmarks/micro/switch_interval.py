"""How long does a request wait for the event loop while workers run Python, by switch interval?

    chrt -f 20 python -m benchmarks.micro.switch_interval

An echo server in a process of its own has threads that compute in plain Python. A client sends 20
bytes every 5 ms and waits for them; the work of the threads is counted. `chrt` keeps other
processes off the processors; without it the figures are those of the machine.
"""

import asyncio
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from time import monotonic, sleep
from typing import Final

from benchmarks.figure import Figure

INTERVALS_MS: Final = (5, 1, 0.5, 0.2)
SECONDS: Final = 3.0
_ROOT: Final = Path(__file__).parents[2]
WORKERS: Final = 2
EVERY_S: Final = 0.005
_FRAME: Final = bytes(20)
_BYTES_A_SECOND: Final = 85 << 20


class Echo(asyncio.Protocol):
    """A server that answers in a task, as a broker does; it stops with its first connection."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._tasks = set[asyncio.Task[None]]()

    def data_received(self, data: bytes) -> None:
        task = asyncio.get_running_loop().create_task(self._answer(data))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def connection_lost(self, _: Exception | None) -> None:
        asyncio.get_running_loop().stop()

    async def _answer(self, data: bytes) -> None:
        self._transport.write(data)


def figures(size: int = 256 << 20) -> Iterator[Figure]:
    """Measure each interval for a part of three seconds."""
    for interval_ms in INTERVALS_MS:
        waited, rate = _measure(interval_ms, min(SECONDS, size / _BYTES_A_SECOND))
        name = f"{WORKERS} threads of Python, switch interval {interval_ms} ms"
        yield Figure(name=f"{name}, request, p50", value=waited[len(waited) // 2], unit="ms")
        yield Figure(name=f"{name}, request, maximum", value=waited[-1], unit="ms")
        yield Figure(name=f"{name}, work", value=rate, unit="units/s")


def _measure(interval_ms: float, seconds: float) -> tuple[list[float], float]:
    """Return the sorted waits of a client, and the rate of the threads' work."""
    command = (sys.executable, "-m", "benchmarks.micro.switch_interval", str(interval_ms))
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=_ROOT) as server:
        assert server.stdout is not None
        waited = sorted(_waits(int(server.stdout.readline()), seconds))
        rate = float(server.stdout.readline())
    return waited, rate


def _waits(port: int, seconds: float) -> Iterator[float]:
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        end_s = monotonic() + seconds
        while monotonic() < end_s:
            sleep(EVERY_S)
            began_s = monotonic()
            connection.sendall(_FRAME)
            connection.recv(len(_FRAME), socket.MSG_WAITALL)
            yield (monotonic() - began_s) * 1e3


def serve(interval_ms: float) -> None:
    """Print the port, serve one connection, and print the rate of the work."""
    sys.setswitchinterval(interval_ms / 1e3)
    done = [0] * WORKERS

    def work(number: int) -> None:
        while True:
            sum(each * each % 7 for each in range(2_000))
            done[number] += 1

    loop = asyncio.new_event_loop()
    server = loop.run_until_complete(loop.create_server(Echo, "127.0.0.1", 0))
    for number in range(WORKERS):
        threading.Thread(target=work, args=(number,), daemon=True).start()
    print(server.sockets[0].getsockname()[1], flush=True)
    began_s = monotonic()
    loop.run_forever()
    print(sum(done) / (monotonic() - began_s), flush=True)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        serve(float(sys.argv[1]))
    else:
        for figure in figures():
            print(figure)
