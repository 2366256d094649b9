"""Fixtures of the command tests: a broker with files in memory, and a function to run commands."""

import io
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import pytest

from cordwood import cli
from cordwood.client.loop_thread import LoopThread
from cordwood.core.settings import SettingSource
from cordwood.core.system import LoopScheduler, SystemClock
from cordwood.node.node import Node
from cordwood.testing.inline_runtime import inline_runtime
from cordwood.testing.memory_files import MemoryFiles
from cordwood.testing.seeded_random import SeededRandom

GIVEN = {
    "log.dirs": "/logs",
    "listeners": "PLAINTEXT://127.0.0.1:0",
    "auto.create.topics.enable": "false",
    "group.initial.rebalance.delay.ms": "0",
}


class CommandResult(NamedTuple):
    """Exit code and output of a command."""

    code: int
    out: str
    err: str


Command = Callable[..., CommandResult]


class PipedInput(io.TextIOWrapper):
    """A standard input with the given bytes."""

    def __init__(self, data: bytes) -> None:
        super().__init__(io.BytesIO(data))


@contextmanager
def running_broker() -> Iterator[str]:
    """Yield the address of a running broker."""
    thread = LoopThread("broker")

    async def start() -> Node:
        import asyncio  # noqa: PLC0415  # only for the loop of this thread

        clock = SystemClock()
        scheduler = LoopScheduler(asyncio.get_running_loop(), clock)
        files = MemoryFiles()
        runtime = inline_runtime(files, clock=clock, scheduler=scheduler, random=SeededRandom(1))
        node = Node([SettingSource("test", GIVEN)], runtime)
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
) -> CommandResult:
    """Run a command and return its result."""
    monkeypatch.setattr("sys.argv", ["cordwood", *arguments])
    monkeypatch.setattr(sys, "stdin", PipedInput(stdin))
    with pytest.raises(SystemExit) as exited:
        cli.main()
    return CommandResult(int(exited.value.code or 0), *capfd.readouterr())
