"""The broker process of `cordwood serve`: settings, startup, the ready line, and signals.

SIGTERM and SIGINT shut it down cleanly: requests in progress are answered, logs are closed. It also
stops when all log directories are offline, and then ends with an error. It
notifies systemd when it is ready and when it stops (`Type=notify`). Log events go to the standard
error. The kernels are compiled in the background, if they never were.
"""

import asyncio
import logging
import os
import resource
import signal
import socket
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

from cordwood import __version__
from cordwood.broker.process.process_tuning import exempt_from_gc, keep_freed_memory
from cordwood.broker.settings.catalogue import BROKER_SETTINGS
from cordwood.cli.arguments import absolute_path
from cordwood.cli.terminal import print_output
from cordwood.config import GivenSettings, PropertiesFile, read_settings
from cordwood.core.errors import KafkaStorageError
from cordwood.core.settings import SettingSource
from cordwood.embedded import system_runtime
from cordwood.node import Node
from cordwood.observability.logs import fields, write_events
from cordwood.records import kernels
from cordwood.records.record_checks import Inspector
from cordwood.storage.manager.log_manager import LogManager

#: The default log directory, in the working directory of the command.
DEFAULT_DATA: Final = "cordwood-data"

#: The share of the descriptor limit for files; the rest is for connections.
_FILES_SHARE: Final = 0.5
#: Requested where the hard limit is infinite; some kernels have a limit all the same.
_MANY_DESCRIPTORS: Final = 1 << 20
#: Requested if the kernel rejects that; every system grants it.
_PORTABLE_DESCRIPTORS: Final = 10_240

_log = logging.getLogger(__name__)


def serve(properties: str | None, overrides: Sequence[str]) -> None:
    """Read the settings, and serve until a signal arrives."""
    path = None if properties is None else Path(absolute_path(properties))
    given = read_settings(
        None if path is None else PropertiesFile(str(path), path.read_bytes()),
        environment=os.environ,
        overrides=overrides,
    )
    _write_log(given)
    keep_freed_memory()
    by_default = SettingSource("default of the command", {"log.dirs": absolute_path(DEFAULT_DATA)})
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(_run([*given.sources, by_default]))


def overrides(settings: Sequence[str], *, data: str | None, listen: str | None) -> list[str]:
    """Return the settings of the command line; `--data` and `--listen` override `--set`."""
    texts = list(settings)
    if data is not None:
        texts.append(f"log.dirs={absolute_path(data)}")
    if listen is not None:
        texts.append(f"listeners=PLAINTEXT://{listen}")
    return texts


async def _run(sources: Sequence[SettingSource]) -> None:
    """Start the node, print its addresses, and stop it when a signal arrives."""
    max_open_files = int(raise_descriptor_limit() * _FILES_SHARE)
    runtime = replace(
        system_runtime(max_open_files=max_open_files, host=socket.gethostname()),
        inspector=_load_inspector,
    )
    node = Node(sources, runtime)
    stopped = _stop_event()
    try:
        with exempt_from_gc():
            broker = await node.start()
        stop_without_directories(broker.logs, stopped)
        print_output(_ready_line(node))
        _notify_systemd("READY=1")
        _warm_kernels(node)
        await stopped.wait()
        _notify_systemd("STOPPING=1")
        if not broker.logs.is_serving:
            raise KafkaStorageError(
                "all log directories are offline, so the broker stops; repair the disks and restart"
            )
    finally:
        await node.stop()
        runtime.close()


def _write_log(given: GivenSettings) -> None:
    """Start the log, and log the warnings about the settings first."""
    resolved = BROKER_SETTINGS.resolve(given.sources)
    style, level = resolved["cordwood.log.format"].value, resolved["cordwood.log.level"].value
    write_events(sys.stderr, style=str(style), level=str(level))
    for warning in given.warnings:
        _log.warning("setting", extra=fields(what=warning))


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """Return the loop factory of uvloop if that is installed."""
    try:
        import uvloop  # noqa: PLC0415  # optional
    except ImportError:
        return None
    return uvloop.new_event_loop


def raise_descriptor_limit() -> int:
    """Raise the soft descriptor limit as far as the system allows, and return it.

    An infinite hard limit does not mean that every value is accepted: the kernel may have a limit
    that it does not report.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = _MANY_DESCRIPTORS if hard == resource.RLIM_INFINITY else hard
    for limit in (most, max(soft, _PORTABLE_DESCRIPTORS)):
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
            return limit
    return soft


def _load_inspector() -> Inspector:
    with exempt_from_gc():
        return kernels.inspector()


def _warm_kernels(node: Node) -> None:
    """Compile the kernels if they never were, in other processes, and hand them to the node.

    A daemon thread waits for this, so it does not delay a shutdown.
    """
    loop = asyncio.get_running_loop()

    def warm() -> None:
        try:
            kernels.warm(lambda words: _log.info("kernels", extra=fields(what=words)))
            loop.call_soon_threadsafe(node.use_kernels)
        except KafkaStorageError as error:
            _log.warning("kernels", extra=fields(what=str(error)))
        except RuntimeError:  # the loop is closed
            return

    threading.Thread(target=warm, name="kernels", daemon=True).start()


def _stop_event() -> asyncio.Event:
    """Return an event that SIGTERM and SIGINT set."""
    stopped = asyncio.Event()
    for each in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(each, stopped.set)
    return stopped


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
