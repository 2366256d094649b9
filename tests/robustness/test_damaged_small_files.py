"""Every damage of a small file ends in a start, or in an error of ours with a remedy.

Each file next to the records is cut at each length, and a bit of each byte is flipped. Then a node
starts over the log directories. An assertion, or another error of Python, would end
`cordwood serve` with a traceback.
"""

import asyncio
from collections.abc import Callable, Iterator
from typing import Final

import pytest

from cordwood.broker.topics.topic_validation import NewTopic
from cordwood.core.errors import CordwoodError
from cordwood.core.ports import FileKind
from cordwood.core.settings import SettingSource
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.node.node import Node
from cordwood.storage.files.atomic_write import read_whole, write_synced
from cordwood.testing.inline_runtime import inline_runtime
from cordwood.testing.memory_files import MemoryFiles
from cordwood.testing.seeded_random import SeededRandom
from cordwood.testing.virtual_clock import VirtualClock
from tests.unit.storage.log_samples import filled

GIVEN: Final = SettingSource("test", {"log.dirs": "/a", "listeners": "PLAINTEXT://127.0.0.1:0"})
SMALL_FILES: Final = (
    "/a/.kafka_cleanshutdown",
    "/a/cleaner-offset-checkpoint",
    "/a/cordwood.metadata",
    "/a/log-start-offset-checkpoint",
    "/a/meta.properties",
    "/a/recovery-point-offset-checkpoint",
    "/a/replication-offset-checkpoint",
    "/a/orders-0/00000000000000000000.timeindex",
    "/a/orders-0/00000000000000000003.snapshot",
    "/a/orders-0/00000000000000000003.timeindex",
    "/a/orders-0/00000000000000000004.snapshot",
    "/a/orders-0/leader-epoch-checkpoint",
    "/a/orders-0/partition.metadata",
)
PARTITION: Final = TopicPartition(TopicName("orders"), PartitionId(0))


def node_over(files: MemoryFiles) -> Node:
    clock = VirtualClock()
    runtime = inline_runtime(files, clock=clock, scheduler=clock, random=SeededRandom(1))
    return Node([GIVEN], runtime)


async def first_life(files: MemoryFiles) -> None:
    """Leave a topic with records and several segments."""
    node = node_over(files)
    broker = await node.start()
    await broker.topics.create([NewTopic(name="orders", partitions=1)])
    log = broker.logs.logs[PARTITION]
    filled(log, 3).roll()
    filled(log, 1)
    await node.stop()


def small_files(files: MemoryFiles, directory: str = "/") -> Iterator[str]:
    """Yield the paths of all files but the record files."""
    for kind in (FileKind.FILE, FileKind.DIRECTORY):
        for name in files.list(directory, kind):
            path = f"{directory.rstrip('/')}/{name}"
            if kind is FileKind.DIRECTORY:
                yield from small_files(files, path)
            elif not name.endswith(".log"):
                yield path


def beginnings(data: bytes) -> Iterator[bytes]:
    """Yield the file cut at each length."""
    for length in range(len(data)):
        yield data[:length]


def flips(data: bytes) -> Iterator[bytes]:
    """Yield the file with a flipped bit in each byte."""
    for at, byte in enumerate(data):
        yield data[:at] + bytes([byte ^ (1 << at % 8)]) + data[at + 1 :]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("damage", (beginnings, flips))
@pytest.mark.parametrize("path", SMALL_FILES)
def test_damage_of_a_small_file_never_ends_in_a_traceback(
    path: str, damage: Callable[[bytes], Iterator[bytes]]
) -> None:
    files = MemoryFiles()
    with asyncio.Runner() as runner:
        runner.run(first_life(files))
        whole, failures = files.saved(), list[str]()
        for data in damage(read_whole(files, path)):
            write_synced(files, path, data=data)
            failures += runner.run(failure(files, str(data)))
            files.restore(whole)

    assert not failures, "\n".join(failures)


def test_every_small_file_is_damaged() -> None:
    files = MemoryFiles()
    with asyncio.Runner() as runner:
        runner.run(first_life(files))

    assert [path for path in small_files(files) if read_whole(files, path)] == [*SMALL_FILES]


async def failure(files: MemoryFiles, damage: str) -> list[str]:
    """Start a node; return the damage if it ends in an error that has no remedy."""
    node = node_over(files)
    try:
        await node.start()
    except CordwoodError as error:
        return [] if getattr(error, "remedy", "") else [f"{damage}: without a remedy: {error!r}"]
    except Exception as error:  # noqa: BLE001 - any other error is what is looked for
        return [f"{damage}: {error!r}"]
    await node.stop()
    return []
