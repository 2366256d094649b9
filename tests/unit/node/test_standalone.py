"""Tests of a node whose metadata are in its log directories."""

import errno

from cordwood.broker.config.config_resources import topic_resource
from cordwood.broker.topics.topic_validation import NewTopic
from cordwood.core.config_codes import ConfigSource
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.node.standalone import RETRY_MS
from cordwood.storage.files.delayed_deletions import remove_tree
from cordwood.testing.file_faults import FileFault
from cordwood.testing.memory_files import MemoryFiles
from cordwood.testing.virtual_clock import VirtualClock
from tests.unit.broker.broker_samples import turns
from tests.unit.node.node_samples import run, started
from tests.unit.storage.log_samples import batch


def test_lost_logs_that_checkpoints_name_are_created_at_the_start() -> None:
    files = MemoryFiles()

    async def scene() -> int:
        async with started(files) as (_, broker):
            await broker.topics.create([NewTopic(name="stock", partitions=3)])
        for index in (0, 2):
            remove_tree(files, f"/logs/stock-{index}")
        async with started(files) as (_, broker):
            return len(broker.logs.logs)

    assert run(scene()) == 3


def test_new_cluster_has_one_minimum_of_in_sync_replicas_for_all_brokers() -> None:
    """A startup value counts until the cluster exists, as in Kafka 4.3."""
    files = MemoryFiles()

    async def described(value: str) -> tuple[str | None, ConfigSource]:
        async with started(files, min_insync_replicas=value) as (_, broker):
            (entry,) = broker.configs.describe(topic_resource("a"), ["min.insync.replicas"])
            return entry.value, entry.source

    assert run(described("2")) == ("2", ConfigSource.DYNAMIC_DEFAULT_BROKER)
    assert run(described("3")) == ("2", ConfigSource.DYNAMIC_DEFAULT_BROKER)


def test_topics_are_restored_after_a_restart() -> None:
    files = MemoryFiles()

    async def first() -> object:
        async with started(files) as (_, broker):
            await broker.topics.create([NewTopic(name="orders", partitions=3)])
            return broker.metadata.image.topics["orders"]

    async def second() -> object:
        async with started(files) as (_, broker):
            return broker.metadata.image.topics["orders"]

    assert run(first()) == run(second())


def test_logs_without_space_are_created_by_a_retry() -> None:
    files = MemoryFiles()

    async def scene() -> list[list[TopicPartition]]:
        async with started(files) as (_, broker):
            full = FileFault(on="create", path="*/orders-0/*", code=errno.ENOSPC, times=9)
            files.script.add(full)
            await broker.topics.create([NewTopic(name="orders", partitions=1)])
            files.script.reset()
            assert isinstance(broker.clock, VirtualClock)
            before = broker.metadata.image.topics["orders"].leaderless()
            broker.clock.advance(ms=RETRY_MS)
            await turns(10)
            return [before, broker.metadata.image.topics["orders"].leaderless()]

    assert run(scene()) == [[("orders", 0)], []]


def test_moved_replica_is_served_without_its_former_directory() -> None:
    files = MemoryFiles()
    name = TopicPartition(TopicName("orders"), PartitionId(0))

    async def moved() -> str:
        async with started(files, log_dirs="/a,/b") as (_, broker):
            await broker.topics.create([NewTopic(name="orders", partitions=1)])
            broker.partitions.get(*name).append(memoryview(batch()))
            former = broker.partitions.get(*name).log.directory
            target = "/b" if former == "/a/orders-0" else "/a"
            await broker.log_dir_moves.alter(name, target)
            while broker.partitions.get(*name).log.directory == former:
                await turns()
            return target

    async def next_life(directory: str) -> tuple[str, int]:
        async with started(files, log_dirs=directory) as (_, broker):
            log = broker.partitions.get(*name).led_log
            return log.directory, log.bounds.log_end

    target = run(moved())
    assert run(next_life(target)) == (f"{target}/orders-0", 1)
