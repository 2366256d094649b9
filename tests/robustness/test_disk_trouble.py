"""Full and failing disks under a running broker: clear errors for the affected requests only.

A small file system in memory becomes full under a broker process. Acknowledged records stay
readable, also after a kill and a restart on the full disk. With room again the broker accepts
records as before. In another test one of two log directories fails during writes; the logs of the
other one are not affected.
"""

import asyncio
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest

import cordwood
from cordwood.core.errors import KafkaStorageError, LeaderNotAvailableError, RequestTimedOutError
from cordwood.core.settings import SettingSource
from cordwood.core.system import LoopScheduler, SystemClock
from cordwood.node.node import Node
from cordwood.testing.file_faults import FileFault
from cordwood.testing.memory_files import MemoryFiles
from tests.robustness.partitions import read_all
from tests.serving import Serving, ended_with
from tests.unit.node.node_samples import runtime_over

ROOM_BYTES: Final = 6 << 20
#: The second one fills what the first one has left.
TOPICS: Final = {"orders": 30_000, "flushed": 300}
ALWAYS: Final = 1_000_000
PATIENCE_MS: Final = 1_000

pytestmark = pytest.mark.timeout(600)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Mount a small file system."""
    path = tmp_path / "disk"
    path.mkdir()
    mount = ("mount", "-t", "tmpfs", "-o", f"size={ROOM_BYTES}", "tmpfs", str(path))
    done = subprocess.run(mount, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"a file system cannot be mounted: {done.stderr.strip()}")
    yield path
    subprocess.run(("umount", "-l", str(path)), check=True)


def fill(bootstrap: str, topic: str, size: int) -> int:
    """Produce until the disk is full; return the number of acknowledged records."""
    taken = 0
    with cordwood.Producer(bootstrap, delivery_timeout_ms=PATIENCE_MS) as producer:
        while True:
            delivery = producer.send(topic, bytes(size), partition=0)
            try:
                delivery.result()
            except RequestTimedOutError:
                assert "No space left on device" in str(delivery.exception())
                return taken
            taken += 1


def end_of(bootstrap: str, topic: str) -> int:
    """Consume a topic and return its end offset."""
    return len(read_all(bootstrap, (topic, 0)))


def test_full_disk_rejects_writes_until_space_is_available(
    small_disk: Path, tmp_path: Path
) -> None:
    """A broker killed on a full disk starts again, and has all records once there is room."""
    ballast = [small_disk / "ballast", small_disk / "more"]
    for each in ballast:
        each.write_bytes(bytes(ROOM_BYTES // 4))
    settings = {"log.segment.bytes": str(1 << 20)}
    with ended_with(Serving(tmp_path, settings, directories=[small_disk / "logs"])) as broker:
        broker.start()
        with cordwood.Admin(broker.address) as admin:
            admin.create_topic("orders", partitions=1)
            admin.create_topic("flushed", partitions=1, configs={"flush.messages": "1"})
        taken = 0
        for each in ballast:
            taken += sum(fill(broker.address, topic, size) for topic, size in TOPICS.items())
            ends = {topic: end_of(broker.address, topic) for topic in TOPICS}
            assert sum(ends.values()) >= taken
            broker.kill()
            broker.start()
            each.unlink()
            assert broker.stop() == 0
            broker.start()
            assert {topic: end_of(broker.address, topic) for topic in TOPICS} == ends
        assert not broker.told("is offline")


@asynccontextmanager
async def started(files: MemoryFiles) -> AsyncIterator[tuple[Node, str]]:
    """Start a node over two directories; yield it with its address."""
    clock = SystemClock()
    scheduler = LoopScheduler(asyncio.get_running_loop(), clock)
    runtime = replace(
        runtime_over(files), network_clock=clock, network_scheduler=scheduler, host="127.0.0.1"
    )
    given = {"log.dirs": "/a,/b", "listeners": "PLAINTEXT://127.0.0.1:0"}
    node = Node([SettingSource("test", given)], runtime)
    await node.start()
    try:
        yield node, "{}:{}".format(*node.addresses["PLAINTEXT"])
    finally:
        await node.stop()


async def produced(bootstrap: str, partitions: range) -> set[int]:
    """Send a record to each partition of a topic; return the partitions that acknowledged it."""
    taken = set()
    async with cordwood.aio.Producer(bootstrap, delivery_timeout_ms=PATIENCE_MS) as producer:
        for partition in partitions:
            delivery = await producer.send(
                "orders", b"42 logs", partition=partition, timestamp_ms=0
            )
            try:
                await delivery
            except (RequestTimedOutError, KafkaStorageError, LeaderNotAvailableError):
                continue
            taken.add(partition)
    return taken


def test_failed_directory_does_not_affect_the_other_one() -> None:
    files = MemoryFiles()
    partitions = range(4)

    async def fail() -> dict[str, set[int]]:
        async with started(files) as (_, bootstrap), cordwood.aio.Admin(bootstrap) as admin:
            await admin.create_topic("orders", partitions=len(partitions))
            assert await produced(bootstrap, partitions) == {*partitions}
            homes = {
                each.path: {found.partition for found in each.partitions}
                for each in await admin.describe_log_dirs(1)
            }
            files.script.add(FileFault(on="pwrite", path="/b/*", times=ALWAYS))
            assert await produced(bootstrap, partitions) == homes["/a"]
            assert await produced(bootstrap, partitions) == homes["/a"]
            failed = [each.path for each in await admin.describe_log_dirs(1) if each.error]
            assert failed == ["/b"]
            return homes

    async def recover() -> dict[int, int]:
        async with started(files) as (_, bootstrap), cordwood.aio.Consumer(bootstrap) as consumer:
            ends = await consumer.end_offsets([("orders", each) for each in partitions])
            return {each.partition: end for each, end in ends.items()}

    homes = asyncio.run(fail())
    files.script.reset()
    ends = asyncio.run(recover())

    assert homes.keys() == {"/a", "/b"}
    assert ends == {each: 3 if each in homes["/a"] else 1 for each in partitions}


def test_full_disk_is_an_error_for_producers_only() -> None:
    files = MemoryFiles()

    async def scene() -> None:
        async with started(files) as (_, bootstrap), cordwood.aio.Admin(bootstrap) as admin:
            await admin.create_topic("orders", partitions=2)
            assert await produced(bootstrap, range(2)) == {0, 1}
            files.capacity_bytes = files.used_bytes()
            assert await produced(bootstrap, range(2)) == set()
            async with cordwood.aio.Consumer(bootstrap) as consumer:
                consumer.assign([("orders", 0)])
                consumer.seek_to_beginning()
                assert len(await consumer.poll()) == 1
            files.capacity_bytes = 1 << 40
            assert await produced(bootstrap, range(2)) == {0, 1}

    asyncio.run(scene())
