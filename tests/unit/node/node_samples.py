"""Nodes for tests, over memory files and in virtual time."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import TypeVar

from cordwood.broker.services import BrokerServices
from cordwood.core.settings import SettingSource
from cordwood.node.node import Node
from cordwood.node.runtime import NodeRuntime
from cordwood.testing.inline_runtime import inline_runtime
from cordwood.testing.memory_files import MemoryFiles
from cordwood.testing.seeded_random import SeededRandom
from cordwood.testing.virtual_clock import VirtualClock

T = TypeVar("T")

GIVEN = {"log.dirs": "/logs", "listeners": "PLAINTEXT://127.0.0.1:0"}


def run(scene: Coroutine[object, object, T]) -> T:
    with asyncio.Runner() as runner:
        return runner.run(scene)


def runtime_over(files: MemoryFiles) -> NodeRuntime:
    clock = VirtualClock()
    return inline_runtime(files, clock=clock, scheduler=clock, random=SeededRandom(1))


@asynccontextmanager
async def started(files: MemoryFiles, **given: str) -> AsyncIterator[tuple[Node, BrokerServices]]:
    """Start a node over these files; yield it with its services."""
    texts = {**GIVEN, **{key.replace("_", "."): text for key, text in given.items()}}
    node = Node([SettingSource("test", texts)], runtime_over(files))
    broker = await node.start()
    try:
        yield node, broker
    finally:
        await node.stop()


async def page(node: Node, path: str) -> bytes:
    """Return the response of a status page."""
    reader, writer = await asyncio.open_connection(*node.addresses["metrics"])
    writer.write(f"GET {path} HTTP/1.1\r\n\r\n".encode())
    shown = await reader.read()
    writer.close()
    await writer.wait_closed()
    return shown
