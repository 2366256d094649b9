"""The broker process of `cordwood serve`: settings, startup, the ready line, and signals.

SIGTERM, SIGINT and SIGHUP shut it down cleanly: requests in progress are answered, logs are closed.
They also end a start. SIGQUIT logs the stacks of all threads and tasks. The broker also stops when
all log directories are offline, and then ends with an error. It
notifies systemd when it is ready and when it stops (`Type=notify`). Log events go to the standard
error.
"""

import asyncio
import logging
import os
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Final

from cordwood.broker.config.listeners import ListenerSettings, listeners_of, open_to_every_client
from cordwood.broker.dispatch import load_handlers
from cordwood.broker.process.descriptor_budget import DescriptorBudget, raise_descriptor_limit
from cordwood.broker.process.freed_memory import CHECK_MS, FreedMemory, system_memory
from cordwood.broker.process.process_tuning import (
    exempt_from_gc,
    keep_freed_memory,
    replace_full_collections,
    shorten_switches,
)
from cordwood.broker.process.stack_dump import log_stacks
from cordwood.broker.services import BrokerServices
from cordwood.broker.settings.catalogue import BROKER_SETTINGS
from cordwood.cli.arguments import absolute_path
from cordwood.cli.stop_signals import StopSignals
from cordwood.cli.terminal import print_output
from cordwood.config import GivenSettings, PropertiesFile, read_settings
from cordwood.coordination.runtime.background_tasks import BackgroundTasks
from cordwood.core.address import Address
from cordwood.core.errors import KafkaStorageError, SettingError, StartInterruptedError
from cordwood.core.ports import Clock, Lane, Worker
from cordwood.core.settings import SettingSource
from cordwood.core.version import __version__
from cordwood.embedded import system_runtime
from cordwood.node.node import Node
from cordwood.observability.log_writer import LogWriter, stop_writing, write_events
from cordwood.observability.logs import fields
from cordwood.storage.manager.log_manager import LogManager

#: The default log directory, in the working directory of the command.
DEFAULT_DATA: Final = "cordwood-data"

_LOCAL: Final = "127.0.0.1"

#: The longest delay of other preparations while groups and transactions are loaded.
_GROUPS_FIRST_S: Final = 1.0
#: The longest wait before the second ready line.
_LONGEST_LOAD_S: Final = 3_600.0

_log = logging.getLogger(__name__)


def serve(properties: str | None, overrides: Sequence[str], *, signals: StopSignals) -> None:
    """Read the settings, and serve until a signal arrives."""
    path = None if properties is None else Path(absolute_path(properties))
    given = read_settings(
        None if path is None else PropertiesFile(str(path), path.read_bytes()),
        environment=os.environ,
        overrides=overrides,
    )
    log = _write_log(given)
    signal.signal(signal.SIGQUIT, _log_stacks)
    keep_freed_memory()
    shorten_switches()
    replace_full_collections()
    by_default = SettingSource("default of the command", {"log.dirs": absolute_path(DEFAULT_DATA)})
    try:
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            runner.run(_run([*given.sources, by_default], signals, log))
    except StartInterruptedError as error:
        _log.info("start interrupted", extra=fields(reason=str(error)))
    finally:
        signals.catch()  # the loop has ended; a second signal must not cut the last lines off
        stop_writing(log)


def overrides(settings: Sequence[str], *, data: str | None, listen: str | None) -> list[str]:
    """Return the settings of the command line; SettingError if two options set the same one."""
    texts = list(settings)
    if data is not None:
        _ensure_unset(settings, ("log.dirs", "log.dir"), option="--data")
        texts.append(f"log.dirs={absolute_path(data)}")
    if listen is not None:
        _ensure_unset(settings, ("listeners",), option="--listen")
        texts.append(f"listeners=PLAINTEXT://{_listen_address(listen)}")
    return texts


def _listen_address(text: str) -> Address:
    """Parse `--listen`: HOST:PORT, or a port of this machine alone."""
    address = f"{_LOCAL}:{text}" if text.isdecimal() else text.partition("/")[0]
    try:
        return Address.parse(address, key="--listen", lowest_port=0)
    except SettingError as error:
        raise SettingError(
            f"--listen {text} is not an address",
            key="--listen",
            remedy=(
                "give HOST:PORT (0.0.0.0:9092 for every address), or a port of this machine, such"
                " as 9092"
            ),
        ) from error


def _ensure_unset(settings: Sequence[str], keys: Sequence[str], *, option: str) -> None:
    """Raise if `--set` has one of `keys`, which `option` sets too."""
    for key in (setting.partition("=")[0].strip() for setting in settings):
        if key in keys:
            raise SettingError(
                f"{option} and --set {key} contradict each other",
                key=key,
                remedy="give one of them",
            )


async def _run(sources: Sequence[SettingSource], signals: StopSignals, log: LogWriter) -> None:
    """Start the node, print its addresses, and stop it when a signal arrives."""
    budget = DescriptorBudget.of(raise_descriptor_limit())
    runtime = replace(
        system_runtime(budget, host=socket.gethostname()),
        check_start=signals.check,
        lost_log_lines=lambda: log.lost_lines,
    )
    node = Node(sources, runtime)
    stopped = asyncio.Event()
    try:
        with exempt_from_gc():
            broker = await node.start()
        signals.pass_to(asyncio.get_running_loop(), stopped)
        stop_without_directories(broker.logs, stopped)
        print_output(f"{_ready_line(node)}\n{_data_line(broker.logs)}")
        warn_of_open_listeners(listeners_of(broker.configs).listeners)
        _notify_systemd("READY=1")
        _return_freed_memory(broker, runtime.ports.worker)
        preparations = BackgroundTasks()
        coordinators = (broker.coordinators.groups, broker.coordinators.transactions)
        loading = prepare(
            [each.runtime.tasks for each in coordinators],
            partial(runtime.ports.worker.submit, load_handlers, lane=Lane.COMPUTE),
            clock=runtime.network_clock,
        )
        preparations.begin(loading)
        await stopped.wait()
        await preparations.stop()
        _notify_systemd("STOPPING=1")
        if not broker.logs.is_serving:
            raise KafkaStorageError(
                "all log directories are offline, so the broker stops; repair the disks and restart"
            )
    finally:
        await node.stop()
        runtime.close()


def _write_log(given: GivenSettings) -> LogWriter:
    """Start the log, and log the warnings about the settings first."""
    resolved = BROKER_SETTINGS.resolve(given.sources)
    style, level = resolved["cordwood.log.format"].value, resolved["cordwood.log.level"].value
    log = write_events(sys.stderr, style=str(style), level=str(level))
    for warning in given.warnings:
        _log.warning("setting", extra=fields(what=warning))
    return log


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """Return the loop factory of uvloop if that is installed."""
    try:
        import uvloop  # noqa: PLC0415  # optional
    except ImportError:
        return None
    return uvloop.new_event_loop


def _return_freed_memory(broker: BrokerServices, worker: Worker) -> None:
    """Return memory that malloc keeps, from now on, whenever the broker is quiet."""
    memory = system_memory()
    if memory is not None:
        broker.scheduler.every(CHECK_MS, FreedMemory(worker, memory).check)


async def prepare(
    loads: Sequence[BackgroundTasks], load_handlers: Callable[[], object], *, clock: Clock
) -> None:
    """Load the handlers after the groups, for which clients wait already.

    A second ready line follows if groups and transactions take long to load.
    """
    began_ms = clock.monotonic_ms()
    for tasks in loads:
        await tasks.settle(_GROUPS_FIRST_S)
    load_handlers()
    if all(tasks.is_idle for tasks in loads):
        return
    for tasks in loads:
        await tasks.settle(_LONGEST_LOAD_S)
    took_s = (clock.monotonic_ms() - began_ms) / 1000
    print_output(f"groups and transactions are ready, {took_s:.0f} s after the start")


def _log_stacks(_number: int, _frame: FrameType | None) -> None:
    """Log the stacks, in a handler of Python, so that a blocked loop can be seen."""
    try:
        tasks = asyncio.all_tasks()
    except RuntimeError:  # no loop is running
        tasks = set()
    log_stacks(tasks)


def stop_without_directories(logs: LogManager, stopped: asyncio.Event) -> None:
    """Set the event once all log directories are offline, so that the process ends with an error.

    As with Kafka, a supervisor sees the end of the process, and no client waits for a broker that
    cannot store anything.
    """

    def look(_: object) -> None:
        if not logs.is_serving:
            stopped.set()

    logs.on_lost(look)
    look(None)


def _ready_line(node: Node) -> str:
    where = ", ".join(f"{name} {address}" for name, address in node.addresses.items())
    return f"cordwood {__version__} is ready: {where}"


def _data_line(logs: LogManager) -> str:
    paths = ", ".join(os.path.abspath(each.path) for each in logs.directories)  # noqa: PTH100  # a link keeps its name
    return f"the data are in {paths}"


def warn_of_open_listeners(listeners: Sequence[ListenerSettings]) -> None:
    """Log a warning for each listener that only the network protects."""
    for each in open_to_every_client(listeners):
        _log.warning(
            "listener without protection",
            extra=fields(
                listener=each.name,
                what="everyone who reaches this machine may read and change all topics",
                remedy="use --listen 127.0.0.1:9092, a firewall, or TLS with client certificates",
            ),
        )


def _notify_systemd(state: str) -> None:
    """Send the state to systemd if it started this process with a notification socket."""
    address = os.environ.get("NOTIFY_SOCKET")
    if not address:
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel:
        try:
            channel.connect("\0" + address[1:] if address.startswith("@") else address)
            channel.send(state.encode())
        except OSError as error:
            _log.warning("systemd not notified", extra=fields(state=state, reason=str(error)))
