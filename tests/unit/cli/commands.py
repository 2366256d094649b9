"""What the tests of commands share: a broker over files in memory, and a way to give commands."""

import io
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import pytest

from cordwood import cli
from cordwood.broker.network import Network
from cordwood.client.loop_thread import LoopThread
from cordwood.core.settings import Source
from cordwood.core.system import LoopScheduler, SystemClock
from cordwood.node import Machine, Node
from cordwood.testing.cleaning import cleaning_here
from cordwood.testing.files import MemoryFiles
from cordwood.testing.random import SeededRandom
from cordwood.testing.worker import InlineWorker

GIVEN = {
    "log.dirs": "/logs",
    "listeners": "PLAINTEXT://127.0.0.1:0",
    "auto.create.topics.enable": "false",
}


class Said(NamedTuple):
    """How a command ended, and what it printed."""

    code: int
    out: str
    err: str


Command = Callable[..., Said]


class Piped(io.TextIOWrapper):
    """A standard input of these bytes."""

    def __init__(self, data: bytes) -> None:
        super().__init__(io.BytesIO(data))


@contextmanager
def running_broker() -> Iterator[str]:
    """Yield where a broker is reached."""
    thread = LoopThread("broker")

    async def start() -> Node:
        import asyncio  # noqa: PLC0415  # the loop of this thread is wanted

        clock = SystemClock()
        scheduler = LoopScheduler(asyncio.get_running_loop(), clock)
        files = MemoryFiles()
        machine = Machine(
            files=files,
            clock=clock,
            scheduler=scheduler,
            worker=InlineWorker(),
            random=SeededRandom(1),
            network=Network(clock, scheduler),
            cleaning=cleaning_here(files),
        )
        node = Node([Source("test", GIVEN)], machine)
        await node.start()
        return node

    node = thread.run(start())
    try:
        host, port = node.addresses["PLAINTEXT"]
        yield f"{host}:{port}"
    finally:
        thread.end(node.stop)


def run(
    arguments: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    *,
    stdin: bytes = b"",
) -> Said:
    """Give a command, and return what became of it."""
    monkeypatch.setattr("sys.argv", ["cordwood", *arguments])
    monkeypatch.setattr(sys, "stdin", Piped(stdin))
    with pytest.raises(SystemExit) as left:
        cli.main()
    return Said(int(left.value.code or 0), *capfd.readouterr())
