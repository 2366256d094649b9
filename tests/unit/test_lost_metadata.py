"""Retention and cleaning delete no record of topics whose metadata a disk has lost."""

import asyncio

import pytest

from cordwood.broker.topics.topic_validation import NewTopic
from cordwood.core.errors import DamagedFileError
from cordwood.core.settings import SettingSource
from cordwood.node.node import Node
from cordwood.storage.checkpoints.metadata_file_format import METADATA_FILE
from cordwood.storage.files.atomic_write import read_whole, write_synced
from cordwood.testing.inline_runtime import inline_runtime
from cordwood.testing.memory_files import MemoryFiles
from cordwood.testing.seeded_random import SeededRandom
from cordwood.testing.virtual_clock import VirtualClock
from tests.unit.broker.broker_samples import turns
from tests.unit.storage.log_samples import NOW, batch, lead

MONTH_MS = 30 * 24 * 3600 * 1000
TOPICS = {"keep": {"retention.ms": "-1"}, "table": {"cleanup.policy": "compact"}}


def node(files: MemoryFiles, log_dirs: str) -> Node:
    clock = VirtualClock()
    runtime = inline_runtime(files, clock=clock, scheduler=clock, random=SeededRandom(1))
    given = {"log.dirs": log_dirs, "listeners": "PLAINTEXT://127.0.0.1:0"}
    return Node([SettingSource("test", given)], runtime)


async def write_old_records(files: MemoryFiles, log_dirs: str) -> None:
    """Create the topics, with closed segments of old records."""
    started = node(files, log_dirs)
    broker = await started.start()
    await broker.topics.create(
        [
            NewTopic(name=name, partitions=2, configs=[*configs.items()])
            for name, configs in TOPICS.items()
        ]
    )
    for log in broker.logs.logs.values():
        for _ in range(5):
            lead(log, batch(timestamp=NOW - MONTH_MS))
            log.roll()
        log.set_high_watermark(log.bounds.log_end)
    await started.stop()


async def starts_after_rounds(files: MemoryFiles, log_dirs: str) -> dict[str, set[int]]:
    """Start again, wait for three rounds of retention and cleaning.

    Returns the log start offsets by directory.
    """
    started = node(files, log_dirs)
    broker = await started.start()
    assert isinstance(broker.clock, VirtualClock)
    for _ in range(3):
        broker.clock.advance(seconds=300)
        await turns(10)
    found: dict[str, set[int]] = {}
    for log in broker.logs.logs.values():
        assert {each.base_offset for each in log.segments} >= {0, 5}
        found.setdefault(log.directory[:2], set()).add(log.bounds.log_start)
    await started.stop()
    return found


def flip_one_bit(files: MemoryFiles) -> None:
    path = f"/a/{METADATA_FILE}"
    data = bytearray(read_whole(files, path))
    data[-20] ^= 1
    write_synced(files, path, data=bytes(data) + b"\n")


def test_records_outlive_metadata_with_a_flipped_bit() -> None:
    files = MemoryFiles()
    asyncio.run(write_old_records(files, "/a"))
    flip_one_bit(files)
    with pytest.raises(DamagedFileError, match="no record of these topics"):
        asyncio.run(starts_after_rounds(files, "/a"))

    files.rename(f"/a/{METADATA_FILE}", f"/a/{METADATA_FILE}.damaged")
    assert asyncio.run(starts_after_rounds(files, "/a")) == {"/a": {0}}


def test_records_outlive_the_replacement_of_the_first_disk() -> None:
    files = MemoryFiles()
    asyncio.run(write_old_records(files, "/a,/b"))
    files.rename("/a", "/old")

    assert asyncio.run(starts_after_rounds(files, "/a,/b")) == {"/b": {0}}
