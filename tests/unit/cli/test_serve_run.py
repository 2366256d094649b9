"""`cordwood serve` as a process: its ready line, its signals, and its errors."""

import asyncio
import os
import re
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Final

import pytest

import cordwood
from cordwood.broker.config.listeners import ListenerSettings, SecurityProtocol
from cordwood.cli import serve_run
from cordwood.cli.serve_run import stop_without_directories, warn_of_open_listeners
from cordwood.coordination.runtime.background_tasks import BackgroundTasks
from cordwood.protocol.apis import API_VERSIONS
from cordwood.testing.virtual_clock import VirtualClock
from tests.serving import CORDWOOD, Serving, ended_with
from tests.unit.storage.manager_samples import LogManagerHarness

ANYWHERE = ("--listen", "127.0.0.1:0")
#: `cordwood` that blocks its event loop for a time, before its ready line.
BLOCKED_LOOP: Final = """
import time
from cordwood.cli import main, serve_run

def ready_line(node, original=serve_run._ready_line):
    time.sleep(0.5)
    return original(node)

serve_run._ready_line = ready_line
main()
"""
#: `cordwood` that gets a signal while it loads its first log.
SIGNAL_WHILE_LOADING: Final = """
import os
import signal
from cordwood.cli import main
from cordwood.storage.manager import log_startup

def load(manager, to_load, original=log_startup._load):
    os.kill(os.getpid(), signal.{how})
    return original(manager, to_load)

log_startup._load = load
main()
"""
#: `cordwood` that gets Ctrl-C while it imports its modules.
SIGNAL_AT_ONCE: Final = """
import os
import signal
from cordwood.cli import main, serve

def parser(original=serve._parser):
    os.kill(os.getpid(), signal.SIGINT)
    return original()

serve._parser = parser
main()
"""
NOHUP: Final = """
import signal
from cordwood.cli import main

signal.signal(signal.SIGHUP, signal.SIG_IGN)
main()
"""
FEW_DESCRIPTORS: Final = """
import resource
from cordwood.cli import main

resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
main()
"""


def serving(tmp_path: Path, *arguments: str, **environment: str) -> Serving:
    """Return a broker to start."""
    return Serving(tmp_path, directories=(), arguments=arguments, environment=environment)


def rejected(tmp_path: Path, *arguments: str) -> tuple[int, str]:
    """Return the exit code and message of a call that fails before serving."""
    done = subprocess.run(
        (*CORDWOOD, "serve", *arguments), cwd=tmp_path, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stderr


@pytest.mark.parametrize("how", (signal.SIGTERM, signal.SIGINT, signal.SIGHUP))
def test_serve_prints_its_address_and_stops_on_a_signal(
    tmp_path: Path, how: signal.Signals
) -> None:
    with ended_with(serving(tmp_path)) as broker:
        broker.start()
        found = re.fullmatch(r"cordwood \S+ is ready: PLAINTEXT 127.0.0.1:(\d+)\n", broker.line)
        assert found is not None, broker.line
        assert broker.process.stdout is not None, "it is a pipe"
        data = broker.process.stdout.readline()
        assert data == f"the data are in {tmp_path / 'cordwood-data'}\n"
        socket.create_connection(("127.0.0.1", int(found[1]))).close()
        broker.process.send_signal(how)

        assert broker.end() == 0
    assert (tmp_path / "cordwood-data" / ".kafka_cleanshutdown").exists()


@pytest.mark.parametrize("how", ("SIGTERM", "SIGINT", "SIGHUP"))
def test_signal_while_logs_are_loaded_ends_the_start_cleanly(tmp_path: Path, how: str) -> None:
    with ended_with(serving(tmp_path)) as broker:
        broker.start()
        with cordwood.Admin(broker.address) as admin:
            admin.create_topic("orders", partitions=3)
        broker.stop()
        broker.program = (sys.executable, "-c", SIGNAL_WHILE_LOADING.format(how=how))
        broker.launch()

        assert (broker.end(), "Traceback" in broker.words.read_text()) == (0, False)
        assert broker.told("start interrupted") == 1
        assert (tmp_path / "cordwood-data" / ".kafka_cleanshutdown").exists()


def test_signal_before_the_settings_are_read_ends_the_start_cleanly(tmp_path: Path) -> None:
    program = (sys.executable, "-c", SIGNAL_AT_ONCE)
    with ended_with(Serving(tmp_path, program=program)) as broker:
        broker.launch()

        assert (broker.end(), "Traceback" in broker.words.read_text()) == (0, False)


def test_sighup_that_is_ignored_stays_ignored(tmp_path: Path) -> None:
    program = (sys.executable, "-c", NOHUP)
    with ended_with(Serving(tmp_path, program=program)) as broker:
        broker.start()
        broker.process.send_signal(signal.SIGHUP)
        with cordwood.Admin(broker.address) as admin:
            assert admin.list_topics() == []
        assert broker.stop() == 0


def test_sigquit_logs_all_stacks_and_the_broker_goes_on(tmp_path: Path) -> None:
    with ended_with(serving(tmp_path)) as broker:
        broker.start()
        with cordwood.Admin(broker.address) as admin:
            admin.list_topics()
            broker.process.send_signal(signal.SIGQUIT)
            while not broker.told("SocketServer._serve "):
                admin.list_topics()
        assert broker.stop() == 0

    words = broker.words.read_text()
    assert re.search(r'event=stack thread=MainThread stack=".*_log_stacks', words)
    assert re.search(r'event=stack tasks=1 stack="SocketServer._serve ', words)


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


def test_serve_reports_a_long_callback_with_its_stack_when_asked_to(tmp_path: Path) -> None:
    program = (sys.executable, "-c", BLOCKED_LOOP)
    with ended_with(Serving(tmp_path, arguments=("--debug",), program=program)) as broker:
        broker.start()
        broker.stop()

    (line,) = [each for each in broker.words.read_text().splitlines() if "held up" in each]
    assert "ready_line (<string>" in line


@pytest.fixture
def stalled_pipe() -> Iterator[int]:
    """Return the writing end of a full pipe without a reader's progress."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    with suppress(BlockingIOError):
        while True:
            os.write(writing, b"x" * 4096)
    os.set_blocking(writing, True)
    yield writing
    os.close(reading)
    os.close(writing)


def test_serve_answers_and_stops_while_the_reader_of_its_log_stalls(
    tmp_path: Path, stalled_pipe: int
) -> None:
    settings = {"process.roles": "broker"}
    stalled = Serving(tmp_path, settings, program=CORDWOOD)
    stalled.log = stalled_pipe
    with ended_with(stalled) as broker:
        broker.start()
        for _ in range(300):
            assert exchange(broker, key=9_999) == b""
        answer = exchange(broker, key=API_VERSIONS.key)

        assert (len(answer), broker.stop()) == (4, 0)


def exchange(broker: Serving, *, key: int) -> bytes:
    """Send a request without a body; return the length of the response, if there is one."""
    with socket.create_connection(address_of(broker)) as peer:
        peer.sendall(struct.pack(">ihhih", 10, key, 0, 1, -1))
        return peer.recv(4)


def test_idle_connections_leave_the_descriptors_of_files(tmp_path: Path) -> None:
    program = (sys.executable, "-c", FEW_DESCRIPTORS)
    with ended_with(Serving(tmp_path, program=program)) as broker, ExitStack() as idle:
        broker.start()
        with cordwood.Admin(broker.address) as admin:
            admin.create_topic("orders", partitions=1)
            for _ in range(150):
                peer = idle.enter_context(socket.socket())
                peer.settimeout(0)
                peer.connect_ex(address_of(broker))
            while not broker.told("connections limited"):
                admin.list_topics()
            admin.create_topic("late", partitions=50)
            (late,) = admin.describe_topics(["late"])
            assert [each.leader for each in late.partitions] == [1] * 50

        assert broker.told("connections limited") == 1


def address_of(broker: Serving) -> tuple[str, int]:
    host, _, port = broker.address.rpartition(":")
    return host, int(port)


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
        (("--listen", "nowhere"), "--listen nowhere is not an address"),
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
    assert "--listen 127.0.0.1:99999 is not an address" in message


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


def test_listener_that_only_the_network_protects_is_a_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def listener(name: str, host: str, protocol: SecurityProtocol) -> ListenerSettings:
        return ListenerSettings(name=name, host=host, port=1, protocol=protocol)

    plain, tls = SecurityProtocol.PLAINTEXT, SecurityProtocol.SSL
    given = [
        listener("LOCAL", "127.0.0.1", plain),
        listener("OPEN", "0.0.0.0", plain),
        listener("EMPTY", "", plain),
        listener("TLS", "::", tls),
    ]

    warn_of_open_listeners(given)

    assert caplog.messages == ["listener without protection"] * 2


def test_second_ready_line_follows_only_if_groups_load_long(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(serve_run, "_GROUPS_FIRST_S", 0.0)
    loaded: list[str] = []

    async def scene(*, is_slow: bool) -> None:
        groups, end = BackgroundTasks(), asyncio.Event()
        if is_slow:
            groups.begin(_wait(end))
        asyncio.get_running_loop().call_later(0, end.set)
        await serve_run.prepare(
            [groups, BackgroundTasks()], lambda: loaded.append("handlers"), clock=VirtualClock()
        )

    asyncio.run(scene(is_slow=False))
    assert capfd.readouterr().out == ""
    asyncio.run(scene(is_slow=True))
    assert capfd.readouterr().out == "groups and transactions are ready, 0 s after the start\n"
    assert loaded == ["handlers"] * 2


async def _wait(end: asyncio.Event) -> None:
    await end.wait()
