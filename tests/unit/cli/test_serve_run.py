"""`cordwood serve` as a process: its ready line, its signals, and its errors."""

import asyncio
import re
import resource
import signal
import socket
import subprocess
from pathlib import Path
from typing import Final

import pytest

import cordwood
from cordwood.cli.serve_run import raise_descriptor_limit, stop_without_directories
from tests.serving import CORDWOOD, Serving, ended_with
from tests.unit.storage.manager_samples import LogManagerHarness

ANYWHERE = ("--listen", "127.0.0.1:0")
COLD: Final = {"NUMBA_DISABLE_JIT": "1"}


def serving(tmp_path: Path, *arguments: str, **environment: str) -> Serving:
    """Return a broker to start, which compiles no kernels."""
    return Serving(tmp_path, directories=(), arguments=arguments, environment=COLD | environment)


def rejected(tmp_path: Path, *arguments: str) -> tuple[int, str]:
    """Return the exit code and message of a call that fails before serving."""
    done = subprocess.run(
        (*CORDWOOD, "serve", *arguments), cwd=tmp_path, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stderr


@pytest.mark.parametrize("how", (signal.SIGTERM, signal.SIGINT))
def test_serve_prints_its_address_and_stops_on_a_signal(
    tmp_path: Path, how: signal.Signals
) -> None:
    with ended_with(serving(tmp_path)) as broker:
        broker.start()
        found = re.fullmatch(r"cordwood \S+ is ready: PLAINTEXT 127.0.0.1:(\d+)\n", broker.line)
        assert found is not None, broker.line
        socket.create_connection(("127.0.0.1", int(found[1]))).close()
        broker.process.send_signal(how)

        assert broker.end() == 0
    assert (tmp_path / "cordwood-data" / ".kafka_cleanshutdown").exists()


def test_serve_stops_when_its_last_directory_goes_offline() -> None:
    manager = LogManagerHarness().load()
    stopped = asyncio.Event()
    stop_without_directories(manager, stopped)

    manager.fail(manager.directories[0], OSError("gone"))
    first = stopped.is_set()
    manager.fail(manager.directories[1], OSError("gone too"))

    assert (first, stopped.is_set()) == (False, True)


def test_serve_ends_with_an_error_when_its_only_directory_vanishes(tmp_path: Path) -> None:
    quick = "replica.high.watermark.checkpoint.interval.ms=100"
    with ended_with(serving(tmp_path, "--data", "logs", "--set", quick)) as broker:
        broker.start()
        with cordwood.Producer(broker.line.rpartition(" ")[2].strip()) as producer:
            producer.send("orders", b"3 beams").result()
        (tmp_path / "logs").rename(tmp_path / "unmounted")

        assert broker.end() == 1


def test_serve_rejects_a_directory_in_use(tmp_path: Path) -> None:
    with ended_with(serving(tmp_path, "--data", "logs")) as broker:
        broker.start()
        code, message = rejected(tmp_path, "--data", "logs", *ANYWHERE)

    assert code == 3
    assert "logs: is in use by another process" in message


@pytest.mark.parametrize(
    ("arguments", "text"),
    (
        (("--set", "log.retention.mss=1"), "did you mean log.retention.ms?"),
        (("--set", "log.retention.ms=soon"), "log.retention.ms"),
        (("--listen", "nowhere"), "give NAME://host:port"),
        (("missing.properties",), "missing.properties"),
    ),
)
def test_serve_rejects_unusable_arguments(
    tmp_path: Path, arguments: tuple[str, ...], text: str
) -> None:
    code, message = rejected(tmp_path, *arguments)

    assert code == (3 if arguments == ("missing.properties",) else 2)
    assert text in message
    assert "Traceback" not in message


def test_serve_creates_no_directory_for_a_bad_address(tmp_path: Path) -> None:
    code, message = rejected(tmp_path, "--listen", "127.0.0.1:99999")

    assert (code, [*tmp_path.iterdir()]) == (2, [])
    assert "with a port from 0 to 65535" in message


def test_serve_rejects_a_used_address(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        code, message = rejected(tmp_path, "--listen", f"127.0.0.1:{taken.getsockname()[1]}")

    assert code == 3
    assert "choose an address of this machine" in message


def test_serve_reads_server_properties_below_the_command_line(tmp_path: Path) -> None:
    properties = tmp_path / "server.properties"
    properties.write_text("log.dirs=from-file\nnode.id=7\nprocess.roles=broker\n")

    with ended_with(serving(tmp_path, str(properties), "--data", "chosen")) as broker:
        broker.start()
        broker.stop()

    assert "node.id=7" in (tmp_path / "chosen" / "meta.properties").read_text()
    assert broker.told("setting process.roles has no effect") == 1


def test_serve_notifies_systemd_when_ready_and_stopping(tmp_path: Path) -> None:
    address = str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel:
        channel.bind(address)
        with ended_with(serving(tmp_path, NOTIFY_SOCKET=address)) as broker:
            broker.start()
            ready = channel.recv(100)
            broker.stop()

        assert (ready, channel.recv(100)) == (b"READY=1", b"STOPPING=1")


def test_serve_continues_without_systemds_socket(tmp_path: Path) -> None:
    with ended_with(serving(tmp_path, NOTIFY_SOCKET=str(tmp_path / "gone"))) as broker:
        broker.start()

        assert broker.stop() == 0
    assert broker.told("systemd not notified") == 2


@pytest.mark.parametrize(
    ("hard", "granted", "expected"),
    (
        (4_096, 4_096, 4_096),
        (resource.RLIM_INFINITY, 1 << 20, 1 << 20),
        (resource.RLIM_INFINITY, 10_240, 10_240),
        (resource.RLIM_INFINITY, 256, 256),
    ),
)
def test_serve_has_as_many_descriptors_as_the_system_grants(
    monkeypatch: pytest.MonkeyPatch, hard: int, granted: int, expected: int
) -> None:
    def grant(_: int, limits: tuple[int, int]) -> None:
        if limits[0] > granted:
            raise ValueError(limits)

    monkeypatch.setattr(resource, "getrlimit", lambda _: (256, hard))
    monkeypatch.setattr(resource, "setrlimit", grant)

    assert raise_descriptor_limit() == expected
