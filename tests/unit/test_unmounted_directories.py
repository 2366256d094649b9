"""A log directory that is not mounted: an empty directory is in its place when the broker starts.

The broker must not serve its partitions empty from offset 0, which would hide their records.
"""

import asyncio

from cordwood.broker.pending_results import wait_for
from cordwood.broker.services import BrokerServices
from cordwood.broker.topics.topic_validation import NewTopic
from cordwood.core.errors import KafkaError
from cordwood.core.settings import SettingSource
from cordwood.node.node import Node
from cordwood.testing.inline_runtime import inline_runtime
from cordwood.testing.memory_files import MemoryFiles
from cordwood.testing.seeded_random import SeededRandom
from cordwood.testing.virtual_clock import VirtualClock
from tests.unit.storage.log_samples import batch

PARTITIONS = 4
END, OFFLINE = "1 record", "KafkaStorageError"


def node(files: MemoryFiles) -> Node:
    clock = VirtualClock()
    runtime = inline_runtime(files, clock=clock, scheduler=clock, random=SeededRandom(1))
    given = {"log.dirs": "/a,/b", "listeners": "PLAINTEXT://127.0.0.1:0"}
    return Node([SettingSource("test", given)], runtime)


async def one_life(files: MemoryFiles, *, is_first: bool = False) -> list[str]:
    """Start and stop a broker; return what it has of each partition."""
    started = node(files)
    broker = await started.start()
    if is_first:
        await broker.topics.create([NewTopic(name="orders", partitions=PARTITIONS)])
        for index in range(PARTITIONS):
            await wait_for(broker.partitions.get("orders", index).append(memoryview(batch())))
    found = [served(broker, index) for index in range(PARTITIONS)]
    await started.stop()
    return found


def served(broker: BrokerServices, index: int) -> str:
    try:
        end = broker.partitions.get("orders", index).log.bounds.log_end
    except KafkaError as error:
        return type(error).__name__
    return END if end == 1 else f"{end} records"


def test_partitions_are_offline_until_their_directory_is_mounted() -> None:
    files = MemoryFiles()
    first = asyncio.run(one_life(files, is_first=True))

    files.rename("/b", "/unmounted")
    files.make_directory("/b")
    without = asyncio.run(one_life(files))
    files.rename("/b", "/mount-point")
    files.rename("/unmounted", "/b")
    again = asyncio.run(one_life(files))

    assert first == again == [END] * PARTITIONS
    assert sorted(without) == [END, END, OFFLINE, OFFLINE]


def test_broker_without_its_only_metadata_serves_no_empty_partition() -> None:
    """Both directories are unmounted: the broker knows no topic, so none is empty."""
    files = MemoryFiles()
    asyncio.run(one_life(files, is_first=True))

    for path in ("/a", "/b"):
        files.rename(path, f"{path}-unmounted")
        files.make_directory(path)
    without = asyncio.run(one_life(files))

    assert without == ["UnknownTopicOrPartitionError"] * PARTITIONS
