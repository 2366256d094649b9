"""A broker under fire: one request at a time, each with a deadline, and its memory.

A broker that does not respond within PATIENCE_S, as Kafka does not to requests that fill its heap,
still computes. The parts end after MOST_UNANSWERED such requests.
"""

import socket
import sys
from pathlib import Path
from time import monotonic, sleep
from typing import TYPE_CHECKING, Final

import cordwood
from benchmarks.bombs.requests import TOPIC
from benchmarks.kafka.peers import Peer
from benchmarks.stalls.latency_file import is_written_to, latencies

if TYPE_CHECKING:
    from benchmarks.bombs.bombed_cluster import BombedCluster
    from benchmarks.bombs.coordination import CoordinationSite

#: The longest time of a request, and that of a start.
PATIENCE_S: Final = 20
_START_S: Final = 60
MOST_UNANSWERED: Final = 2
_SETTLE_S: Final = 30
#: The share of a processor that an idle broker takes at most, with the pings of the bystander.
_IDLE_SHARE: Final = 0.2
_MIB: Final = 1 << 20


class Target:
    """A broker under fire, and the bystander's file."""

    def __init__(self, peer: Peer, pings: Path) -> None:
        self.peer = peer
        self.pings = pings
        self.used = peer.folder / "loop.used"
        self.unanswered = 0
        self.site: CoordinationSite | None = None
        self.cluster: BombedCluster | None = None

    @property
    def is_stuck(self) -> bool:
        """Whether MOST_UNANSWERED requests had no response: later ones would have none."""
        return self.unanswered >= MOST_UNANSWERED

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.peer.port), PATIENCE_S)

    def throw(self, bomb: bytes, name: str) -> None:
        """Send one request and wait for its response, or the end of the connection.

        A stuck broker gets no further request.
        """
        if self.is_stuck:
            return
        end_s = monotonic() + PATIENCE_S
        try:
            with self.connect() as connection:
                connection.sendall(bomb)
                _receive(connection, end_s)
        except TimeoutError:
            self.unanswered += 1
            print(f"{self.peer.name}: {name}: no response in {PATIENCE_S} s", file=sys.stderr)
        except OSError:
            return

    def descriptors(self) -> int:
        return sum(1 for _ in self._place("fd").iterdir())

    def warm_up(self) -> None:
        """Let the broker take a record, and load what it needs for that."""
        with cordwood.Producer(self.peer.bootstrap) as producer:
            producer.send(TOPIC, b"warm").result(_START_S)
        before = 0.0
        while (now := self.peer.resident_mib()) != before:
            before = now
            sleep(0.5)

    def settle(self) -> None:
        """Wait until the broker has nothing more to do for connections that have ended."""
        for _ in range(_SETTLE_S):
            used_s = self.peer.processor_seconds()
            sleep(1)
            if self.peer.processor_seconds() - used_s < _IDLE_SHARE:
                return

    def begin_peak(self) -> float:
        """Forget the peak of the resident memory so far; return the memory."""
        self._place("clear_refs").write_text("5")
        return self.peer.resident_mib()

    def peak_mib(self) -> float:
        """Return the peak of the resident memory since then."""
        lines = self._place("status").read_text().splitlines()
        kib = next(each.split()[1] for each in lines if each.startswith("VmHWM"))
        return int(kib) / 1024

    def longest_ping_ms(self, start_s: float, end_s: float) -> float:
        """Return the longest delay of a ping of a time; without a response, the wait so far."""
        while not is_written_to(self.pings, end_s):
            if monotonic() > end_s + PATIENCE_S:
                print(f"{self.peer.name}: no response to pings", file=sys.stderr)
                return (monotonic() - end_s) * 1e3
            sleep(0.1)
        return worst_ms(self.pings, start_s, end_s)

    def _place(self, name: str) -> Path:
        assert self.peer.process is not None
        return Path(f"/proc/{self.peer.process.pid}", name)


def worst_ms(events: Path, start_s: float, end_s: float) -> float:
    """Return the longest delay of the events of a time, 0 if there are none."""
    try:
        return latencies(events, start_s, end_s).most
    except (ValueError, FileNotFoundError):
        return 0


def _receive(connection: socket.socket, end_s: float) -> None:
    """Receive a whole response; TimeoutError after the deadline."""
    received, size = bytearray(), 4
    while size > 0:
        connection.settimeout(max(end_s - monotonic(), 0.001))
        piece = connection.recv(_MIB)
        if not piece:
            return
        if len(received) < 4:
            received += piece
            size = 4 + int.from_bytes(received[:4]) - len(received) if len(received) >= 4 else 4
        else:
            size -= len(piece)
