"""Brokers and ZooKeeper as child processes of `cordwood cluster up`.

    start   ZooKeeper, then the brokers one after the other, each until it serves
    run     until a signal; a process that ends is reported
    stop    the brokers one after the other, each of which moves its leaderships first; ZooKeeper

The children are in sessions of their own: Ctrl-C reaches this process alone.
"""

import shlex
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from types import FrameType
from typing import IO, Final

from cordwood.cli.arguments import absolute_path
from cordwood.cli.terminal import print_message, print_output
from cordwood.cli.zookeeper_server import server_command, server_config
from cordwood.client.blocking import Admin
from cordwood.core.errors import NetworkError, SettingError

#: The longest time that a process takes to stop, and ZooKeeper to answer.
PATIENCE_S: Final = 60
_LOOK_S: Final = 0.2
_READY: Final = "is ready: PLAINTEXT "


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterOptions:
    """The options of the command."""

    brokers: int
    data: str
    base_port: int
    zookeeper: str | None
    zookeeper_port: int
    settings: tuple[str, ...]


@dataclass(slots=True)
class Child:
    """A child process; its log is a file."""

    name: str
    process: "subprocess.Popen[str]"
    log: Path
    command: Sequence[str] = ()
    address: str = ""
    is_reported: bool = False

    def stop(self) -> None:
        """End it as an operator would, and by force if that takes too long."""
        self.process.terminate()
        try:
            self.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            print_message(f"{self.name} does not stop, and is killed")
            self.process.kill()
            self.process.wait()


def run(options: ClusterOptions) -> None:
    """Run the cluster until a signal."""
    data = Path(absolute_path(options.data))
    with _stop_event() as stopped, ExitStack() as stack:
        zookeeper, children = options.zookeeper, list[Child]()
        if zookeeper is None:
            child = _start_zookeeper(data / "zookeeper", options.zookeeper_port)
            stack.callback(child.stop)
            children.append(child)
            zookeeper = child.address
            _wait_for_zookeeper(child, stopped)
        print_output(f"zookeeper  {zookeeper}")
        brokers = list[Child]()
        for number in range(1, options.brokers + 1):
            if stopped.is_set():
                return
            broker = _start_broker(options, data, number=number, zookeeper=zookeeper)
            stack.callback(broker.stop)
            brokers.append(broker)
            _wait_for_broker(broker)
            print_output(f"{broker.name}   {broker.address}")
        _wait_for_registrations(brokers, stopped)
        print_output(f"bootstrap  {','.join(each.address for each in brokers)}")
        children += brokers
        while not stopped.wait(_LOOK_S):
            _report_ended(children)
        print_message("stopping the brokers, one after the other")


def broker_command(
    options: ClusterOptions, folder: Path, *, number: int, zookeeper: str
) -> list[str]:
    """Return the command of one broker; settings of the user override those of the cluster."""
    copies = min(3, options.brokers)
    port = options.base_port + number - 1 if options.base_port else 0
    settings = (
        f"zookeeper.connect={zookeeper}",
        f"node.id={number}",
        f"default.replication.factor={copies}",
        f"min.insync.replicas={max(1, copies - 1)}",
        f"offsets.topic.replication.factor={copies}",
        f"transaction.state.log.replication.factor={copies}",
        f"transaction.state.log.min.isr={max(1, copies - 1)}",
    )
    given = {each.partition("=")[0].strip() for each in options.settings}
    chosen = [each for each in settings if each.partition("=")[0] not in given]
    command = [sys.executable, "-m", "cordwood", "serve", "--data", str(folder / "data")]
    command += ["--listen", f"127.0.0.1:{port}"]
    for each in (*chosen, *options.settings):
        command += ["--set", each]
    return command


def _start_zookeeper(folder: Path, port: int) -> Child:
    if port:
        _ensure_free(port)
    folder.mkdir(parents=True, exist_ok=True)
    port = port or _free_port()
    config = folder / "zoo.cfg"
    config.write_text(server_config(folder=folder, port=port), encoding="utf-8")
    child = _start("zookeeper", server_command(config), folder)
    child.address = f"127.0.0.1:{port}"
    return child


def _ensure_free(port: int) -> None:
    """Reject a port that another server has: the brokers would join the cluster there."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise SettingError(
                f"port {port} of 127.0.0.1 is in use",
                key="--zookeeper-port",
                remedy="give another one; or --zookeeper HOST:PORT, to join a running server",
            ) from error


def _start_broker(options: ClusterOptions, data: Path, *, number: int, zookeeper: str) -> Child:
    folder = data / f"broker-{number}"
    folder.mkdir(parents=True, exist_ok=True)
    command = broker_command(options, folder, number=number, zookeeper=zookeeper)
    return _start(f"broker {number}", command, folder)


def _start(name: str, command: Sequence[str], folder: Path) -> Child:
    log = folder / "log.txt"
    with log.open("a", encoding="utf-8") as words:
        process = subprocess.Popen(  # noqa: S603  # commands of this module
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=words,
            text=True,
            start_new_session=True,
        )
    return Child(name, process, log, command)


def _wait_for_zookeeper(child: Child, stopped: Event) -> None:
    """Wait until the server accepts connections."""
    host, port = child.address.split(":")
    for _ in range(int(PATIENCE_S / _LOOK_S)):
        if child.process.poll() is not None:
            raise end_of(child)
        try:
            socket.create_connection((host, int(port)), timeout=1).close()
        except OSError:
            if stopped.wait(_LOOK_S):
                return
        else:
            return
    raise NetworkError(f"{child.name} does not answer at {child.address}; its log: {child.log}")


def _wait_for_broker(broker: Child) -> None:
    """Wait for the line with the address."""
    output: IO[str] | None = broker.process.stdout
    assert output is not None, "it is a pipe"
    for line in output:
        _, is_ready, address = line.strip().partition(_READY)
        if is_ready:
            broker.address = address.split(",")[0].strip()
            return
    broker.process.wait()
    raise end_of(broker)


def _wait_for_registrations(brokers: Sequence[Child], stopped: Event) -> None:
    """Wait until each broker has the image of the controller with all brokers.

    A broker that ends meanwhile is reported afterwards.
    """
    for broker in brokers:
        with Admin(broker.address) as admin:
            _wait_for_all(admin, brokers, stopped=stopped)


def _wait_for_all(admin: Admin, brokers: Sequence[Child], *, stopped: Event) -> None:
    while len(admin.describe_cluster().brokers) < len(brokers):
        if _has_ended(brokers) or stopped.wait(_LOOK_S):
            return


def _has_ended(children: Sequence[Child]) -> bool:
    return any(each.process.poll() is not None for each in children)


def _report_ended(children: Sequence[Child]) -> None:
    for each in children:
        if not each.is_reported and each.process.poll() is not None:
            each.is_reported = True
            print_message(str(end_of(each)))
            print_message(f"to start it again: {shlex.join(each.command)}")


def end_of(child: Child) -> NetworkError:
    """Return the error of a process that has ended, with the last line of its log."""
    code = child.process.returncode
    text = f"{child.name} has ended with code {code}; its log: {child.log}"
    lines = child.log.read_text(encoding="utf-8", errors="replace").splitlines()
    return NetworkError(f"{text}, which ends with: {lines[-1]}" if lines else text)


def _free_port() -> int:
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def _stop_event() -> Iterator[Event]:
    """Yield an event that SIGINT and SIGTERM set."""
    stopped = Event()

    def stop(_number: int, _frame: FrameType | None) -> None:
        stopped.set()

    before = {each: signal.signal(each, stop) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stopped
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
