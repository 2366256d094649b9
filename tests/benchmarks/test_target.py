"""A broker under fire that responds, that does not, and that hangs up."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from time import monotonic

import pytest

from benchmarks.bombs import target
from benchmarks.bombs.target import MOST_UNANSWERED, Target
from benchmarks.kafka.peers import Peer
from benchmarks.stalls.latency_file import LatencyWriter

Serve = Callable[[socket.socket], object]


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with closing(socket.create_server(("127.0.0.1", 0))) as made:
        yield made


def thrown(listener: socket.socket, serve: Serve, *, times: int = 1) -> Target:
    """Throw requests at a peer that serves each connection like this."""

    def accept() -> None:
        for _ in range(times):
            with listener.accept()[0] as connection:
                serve(connection)

    thread = threading.Thread(target=accept)
    thread.start()
    folder = Path()
    found = Target(Peer("peer", [], listener.getsockname()[1], folder), folder / "pings")
    for _ in range(times):
        found.throw(b"bomb", "Fetch v12")
    thread.join()
    return found


def wait_for_end(connection: socket.socket) -> None:
    while connection.recv(100):
        pass


def test_request_ends_with_the_last_byte_of_its_response(listener: socket.socket) -> None:
    def respond(connection: socket.socket) -> None:
        connection.recv(4)
        for piece in (b"\0\0", b"\0\3", b"ab", b"c"):
            connection.sendall(piece)
        wait_for_end(connection)

    assert thrown(listener, respond).unanswered == 0


def test_end_of_the_connection_is_a_response(listener: socket.socket) -> None:
    assert thrown(listener, lambda connection: connection.recv(4)).unanswered == 0


def test_broker_without_responses_is_stuck(
    listener: socket.socket, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(target, "PATIENCE_S", 0.05)

    found = thrown(listener, wait_for_end, times=MOST_UNANSWERED)

    assert found.is_stuck
    assert "peer: Fetch v12: no response in 0.05 s" in capsys.readouterr().err


@pytest.fixture
def pinged(tmp_path: Path) -> Target:
    """A broker with pings at 1, 2 and 3 s, of which the second one took 7 ms."""
    writer = LatencyWriter(str(tmp_path / "pings"))
    for due_s, late_ms in ((1, 0), (2, 7), (3, 1)):
        writer.add(due_s, late_ms)
    writer.close()
    return Target(Peer("peer", [], 0, tmp_path), tmp_path / "pings")


def test_longest_ping_is_one_of_its_time(pinged: Target) -> None:
    assert pinged.longest_ping_ms(1.5, 2.5) == 7


def test_ping_without_a_response_lasts_until_now(
    pinged: Target, capsys: pytest.CaptureFixture[str]
) -> None:
    end_s = monotonic() - target.PATIENCE_S - 1

    assert pinged.longest_ping_ms(0, end_s) > target.PATIENCE_S * 1e3
    assert "peer: no response to pings" in capsys.readouterr().err
