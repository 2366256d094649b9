"""A disk is full, or fails, under a broker at work: who is refused hears why, all others go on.

A file system of its own, small and in memory, is full for the process that serves from it. What is
acknowledged before stays readable, also by a broker that is killed and started while there is no
room, and with room again it takes records as before. Of two log directories one fails in the
middle of writes: the logs of the other one do not notice.
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
from cordwood.broker.network import Network
from cordwood.core.errors import KafkaStorageError, LeaderNotAvailableError, RequestTimedOutError
from cordwood.core.settings import Source
from cordwood.core.system import LoopScheduler, SystemClock
from cordwood.node import Node
from cordwood.testing.faults import Fault
from cordwood.testing.files import MemoryFiles
from tests.robustness.partitions import read_all
from tests.serving import Serving, ended_with
from tests.unit.test_node import machine_over

ROOM_BYTES: Final = 6 << 20
#: The second one fills what the first one has left.
TOPICS: Final = {"orders": 30_000, "flushed": 300}
ALWAYS: Final = 1_000_000
PATIENCE_MS: Final = 1_000

pytestmark = pytest.mark.timeout(600)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system with little room."""
    path = tmp_path / "disk"
    path.mkdir()
    mount = ("mount", "-t", "tmpfs", "-o", f"size={ROOM_BYTES}", "tmpfs", str(path))
    done = subprocess.run(mount, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"a file system cannot be mounted: {done.stderr.strip()}")
    yield path
    subprocess.run(("umount", "-l", str(path)), check=True)


def fill(bootstrap: str, topic: str, size: int) -> int:
    """Produce until there is no room, and return how many records were taken."""
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
    """Read a topic, and return where it ends."""
    return len(read_all(bootstrap, (topic, 0)))


def test_full_disk_refuses_writes_until_there_is_room(small_disk: Path, tmp_path: Path) -> None:
    """A broker that is killed meanwhile comes up again, and when there is room has everything."""
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
    """A node over two directories, and its address."""
    clock = SystemClock()
    network = Network(clock, LoopScheduler(asyncio.get_running_loop(), clock))
    machine = replace(machine_over(files), network=network, host="127.0.0.1")
    given = {"log.dirs": "/a,/b", "listeners": "PLAINTEXT://127.0.0.1:0"}
    node = Node([Source("test", given)], machine)
    await node.start()
    try:
        yield node, "{}:{}".format(*node.addresses["PLAINTEXT"])
    finally:
        await node.stop()


async def produced(bootstrap: str, partitions: range) -> set[int]:
    """Send a record to each of a topic's partitions, and return those that have taken it."""
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


def test_failed_directory_leaves_the_other_one_at_work() -> None:
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
            files.script.add(Fault(on="pwrite", path="/b/*", times=ALWAYS))
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


def test_full_disk_is_told_to_whoever_writes_and_to_nobody_else() -> None:
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
