"""A command whose bootstrap brokers all refuse the connection ends at once, with the option."""

import socket
from collections.abc import Iterator

import pytest

from cordwood.cli.bootstrap_check import ensure_listening
from cordwood.core.errors import NetworkError
from tests.unit.cli.commands import run


@pytest.fixture
def closed_port() -> Iterator[int]:
    """A port at which nothing listens, and that no other program gets meanwhile."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]


@pytest.fixture
def open_port() -> Iterator[int]:
    """A port at which a socket listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_refused_connections_are_all_named(closed_port: int) -> None:
    with pytest.raises(NetworkError) as raised:
        ensure_listening(f"127.0.0.1:{closed_port},127.0.0.1:{closed_port}")

    text = f"127.0.0.1:{closed_port}: connection refused"
    assert f"({text}, {text}); check --bootstrap-server" in str(raised.value)


def test_one_listening_broker_is_enough(closed_port: int, open_port: int) -> None:
    ensure_listening(f"127.0.0.1:{closed_port}, 127.0.0.1:{open_port}")


@pytest.mark.parametrize(
    ("error", "reason"),
    (
        (socket.gaierror(-2, "unknown"), "the host name is unknown"),
        (OSError(101, "unreachable"), "the network is unreachable"),
        (UnicodeError("label too long"), "the host name is invalid"),
    ),
)
def test_certain_failure_is_named(
    error: Exception, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(socket, "create_connection", fail)

    with pytest.raises(NetworkError, match=reason):
        ensure_listening("a:1")


def test_slow_broker_is_left_to_the_client(monkeypatch: pytest.MonkeyPatch) -> None:
    def wait(*_: object, **__: object) -> None:
        raise TimeoutError

    monkeypatch.setattr(socket, "create_connection", wait)

    ensure_listening("a:1")


@pytest.mark.parametrize(
    "command",
    (
        ("topics", "list"),
        ("produce", "t"),
        ("consume", "t"),
        ("groups", "list"),
        ("bench", "produce", "--topic", "t"),
        ("offsets",),
        ("log-dirs", "describe"),
        ("cluster", "brokers"),
        ("transactions", "list"),
    ),
    ids=" ".join,
)
def test_command_without_a_broker_ends_at_once(
    command: tuple[str, ...],
    closed_port: int,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    words = (*command, "--bootstrap-server", f"127.0.0.1:{closed_port}")

    result = run(words, monkeypatch, capfd)

    assert (result.code, result.out) == (3, "")
    assert result.err.startswith(
        f"cordwood: no broker is reachable (127.0.0.1:{closed_port}: connection refused)"
    )
