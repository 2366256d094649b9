"""A broker as a process: from its settings to one line on the standard output, and to a signal.

SIGTERM and SIGINT end it as a broker should end: what is at work is answered, logs are closed.
Under systemd it says when it is ready and when it stops (`Type=notify`). Events go to the standard
error. The kernels are compiled, if they never were, while it serves already.
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
from cordwood.broker.allocation import keep_freed_memory
from cordwood.broker.collecting import made_to_stay
from cordwood.broker.settings.catalogue import BROKER_SETTINGS
from cordwood.cli.output import say
from cordwood.cli.paths import absolute
from cordwood.config import Given, PropertiesFile, read_given
from cordwood.core.errors import KafkaStorageError
from cordwood.core.settings import Source
from cordwood.embedded import this_machine
from cordwood.node import Node
from cordwood.observability.logs import fields, write_events
from cordwood.records import kernels
from cordwood.records.inspect import Inspector

#: Where logs go if nobody says so: beside where the command was started.
DEFAULT_DATA: Final = "cordwood-data"

#: Of the descriptors that the process may have; the others are left for connections.
_SHARE_OF_FILES: Final = 0.5
#: Asked for where the system tells no limit, and what every system grants.
_DESCRIPTORS_OF_PLENTY: Final = 1 << 20
_DESCRIPTORS_EVERYWHERE: Final = 10_240

_log = logging.getLogger(__name__)


def serve(properties: str | None, overrides: Sequence[str]) -> None:
    """Read the settings, and serve until a signal comes."""
    path = None if properties is None else Path(absolute(properties))
    given = read_given(
        None if path is None else PropertiesFile(str(path), path.read_bytes()),
        environment=os.environ,
        overrides=overrides,
    )
    _write_log(given)
    keep_freed_memory()
    by_default = Source("default of the command", {"log.dirs": absolute(DEFAULT_DATA)})
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(_run([*given.sources, by_default]))


def overrides(settings: Sequence[str], *, data: str | None, listen: str | None) -> list[str]:
    """Return all that was said on the command line; the options of their own are the strongest."""
    texts = list(settings)
    if data is not None:
        texts.append(f"log.dirs={absolute(data)}")
    if listen is not None:
        texts.append(f"listeners=PLAINTEXT://{listen}")
    return texts


async def _run(sources: Sequence[Source]) -> None:
    """Start, say where, and stop when a signal comes."""
    files_open = int(raise_descriptor_limit() * _SHARE_OF_FILES)
    machine = replace(
        this_machine(files_open=files_open, host=socket.gethostname()), inspector=_load_inspector
    )
    node = Node(sources, machine)
    over = _until_signalled()
    try:
        with made_to_stay():
            await node.start()
        say(_ready_line(node))
        _tell_systemd("READY=1")
        _warm_kernels(node)
        await over.wait()
        _tell_systemd("STOPPING=1")
    finally:
        await node.stop()
        machine.close()


def _write_log(given: Given) -> None:
    """Write events from now on; those of the settings come first."""
    resolved = BROKER_SETTINGS.resolve(given.sources)
    style, level = resolved["cordwood.log.format"].value, resolved["cordwood.log.level"].value
    write_events(sys.stderr, style=str(style), level=str(level))
    for warning in given.warnings:
        _log.warning("setting", extra=fields(what=warning))


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """Return uvloop's where it is installed."""
    try:
        import uvloop  # noqa: PLC0415  # it is optional
    except ImportError:
        return None
    return uvloop.new_event_loop


def raise_descriptor_limit() -> int:
    """Let the process have as many descriptors as it may, and return how many that is.

    Where no limit is told there is one all the same, which the kernel does not name.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = _DESCRIPTORS_OF_PLENTY if hard == resource.RLIM_INFINITY else hard
    for wanted in (most, max(soft, _DESCRIPTORS_EVERYWHERE)):
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            return wanted
    return soft


def _load_inspector() -> Inspector:
    with made_to_stay():
        return kernels.inspector()


def _warm_kernels(node: Node) -> None:
    """Compile the kernels if they never were, in other processes, and let the node use them.

    Nobody waits for this: a broker that is stopped meanwhile stops.
    """
    loop = asyncio.get_running_loop()

    def warm() -> None:
        try:
            kernels.warm(lambda words: _log.info("kernels", extra=fields(what=words)))
            loop.call_soon_threadsafe(node.use_kernels)
        except KafkaStorageError as error:
            _log.warning("kernels", extra=fields(what=str(error)))
        except RuntimeError:  # the loop has ended
            return

    threading.Thread(target=warm, name="kernels", daemon=True).start()


def _until_signalled() -> asyncio.Event:
    """Return what is set by a signal to end."""
    over = asyncio.Event()
    for each in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(each, over.set)
    return over


def _ready_line(node: Node) -> str:
    where = ", ".join(f"{name} {address}" for name, address in node.addresses.items())
    return f"cordwood {__version__} is ready: {where}"


def _tell_systemd(state: str) -> None:
    """Tell whoever started this how it is, if that wants to be told."""
    address = os.environ.get("NOTIFY_SOCKET")
    if not address:
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel:
        try:
            channel.connect("\0" + address[1:] if address.startswith("@") else address)
            channel.send(state.encode())
        except OSError as error:
            _log.warning("systemd not told", extra=fields(state=state, reason=str(error)))
