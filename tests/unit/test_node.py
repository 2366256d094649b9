"""Tests of a node's startup and shutdown."""

import asyncio
import errno
import threading
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TypeVar

import pytest

from cordwood.broker.config.config_resources import ALL_BROKERS, topic_resource
from cordwood.broker.network.slice_reader import SliceReader
from cordwood.broker.pending_results import wait_for
from cordwood.broker.services import BrokerServices
from cordwood.broker.topics.topic_validation import NewTopic
from cordwood.compaction.cleaning_job import CleaningJob, CleaningResult, PassControl
from cordwood.compaction.engine.plain_engine import PLAIN
from cordwood.compaction.passes.cleaning_pass import InlineRunner
from cordwood.core.config_codes import ConfigSource
from cordwood.core.errors import ListenError, LogDirectoryError, SettingError
from cordwood.core.lane_threads import LANE_THREADS
from cordwood.core.ports import Lane
from cordwood.core.settings import SettingSource
from cordwood.core.system import ThreadWorker
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.node import RETRY_MS, Node, NodeRuntime
from cordwood.storage.files.delayed_deletions import remove_tree
from cordwood.storage.log.log_read import FetchIsolation
from cordwood.storage.manager.log_changes import roll
from cordwood.storage.manager.log_directory import CHECKPOINTS
from cordwood.testing.file_faults import FileFault
from cordwood.testing.inline_runtime import inline_runtime
from cordwood.testing.memory_files import MemoryFiles
from cordwood.testing.seeded_random import SeededRandom
from cordwood.testing.virtual_clock import VirtualClock
from tests.unit.broker.broker_samples import turns
from tests.unit.broker.network.test_slice_reader import cold_slice
from tests.unit.broker.server_samples import Peer, request
from tests.unit.storage.log_samples import filled

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


def test_node_compacts_due_logs() -> None:
    async def scene() -> list[int]:
        async with started(MemoryFiles(), log_cleanup_policy="compact") as (_, broker):
            await broker.topics.create([NewTopic(name="stock", partitions=1)])
            log = broker.logs.logs[TopicPartition(TopicName("stock"), PartitionId(0))]
            for _ in range(3):
                await wait_for(roll(broker.logs, filled(log, 1)))
            assert isinstance(broker.clock, VirtualClock)
            broker.clock.advance(seconds=15)
            for _ in range(5):
                await asyncio.sleep(0)
            return [each.base_offset for each in log.segments]

    assert run(scene()) == [0, 3]


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


class StuckRunner:
    """A runner whose passes end only when the test lets them end."""

    def __init__(self, files: MemoryFiles) -> None:
        self._inner = InlineRunner(files, PLAIN)
        self.begun = threading.Event()
        self.ends = threading.Event()

    def run(self, job: CleaningJob, control: PassControl) -> CleaningResult:
        self.begun.set()
        self.ends.wait()
        return self._inner.run(job, control)

    def limit(self, bytes_per_second: float) -> None:
        self._inner.limit(bytes_per_second)

    def close(self) -> None:
        self._inner.close()


def test_stop_serves_requests_while_a_pass_ends() -> None:
    files = MemoryFiles()
    runner, worker = StuckRunner(files), ThreadWorker(2)
    runtime = replace(runtime_over(files), cleaner_runner=runner, cleaner_worker=worker)
    node = Node([SettingSource("test", {**GIVEN, "log.cleanup.policy": "compact"})], runtime)

    async def scene() -> bytes:
        broker = await node.start()
        await broker.topics.create([NewTopic(name="stock", partitions=1)])
        log = broker.logs.logs[TopicPartition(TopicName("stock"), PartitionId(0))]
        for _ in range(3):
            await wait_for(roll(broker.logs, filled(log, 1)))
        assert isinstance(broker.clock, VirtualClock)
        broker.clock.advance(seconds=15)
        await asyncio.to_thread(runner.begun.wait)
        stopping = asyncio.get_running_loop().create_task(node.stop())
        await turns(5)
        peer = Peer(*await asyncio.open_connection(*node.addresses["PLAINTEXT"]))
        peer.send(request(1))
        _, versions = await peer.answer()
        runner.ends.set()
        await stopping
        await peer.close()
        return versions

    assert len(run(scene())) > 100
    worker.close()


def test_slow_fsyncs_delay_no_cold_read_no_lookup_and_no_change_of_the_metadata() -> None:
    files, worker, gate = MemoryFiles(), ThreadWorker(), threading.Event()
    runtime = runtime_over(files)
    runtime = replace(runtime, ports=replace(runtime.ports, worker=worker))
    node = Node([SettingSource("test", GIVEN)], runtime)

    async def scene() -> tuple[bytes, int, int | None]:
        broker = await node.start()
        for _ in range(LANE_THREADS[Lane.FLUSH]):
            worker.submit(gate.wait, lane=Lane.FLUSH)
        await broker.topics.create([NewTopic(name="stock", partitions=1)])
        log = filled(broker.logs.logs[TopicPartition(TopicName("stock"), PartitionId(0))], 3)
        data = await SliceReader(worker).read(cold_slice(), 20, length=3)
        lookup = broker.timestamp_lookups.find(log, 0, isolation=FetchIsolation.LOG_END)
        found = await wait_for(lookup)
        producer_id = await broker.producer_ids.next()
        gate.set()
        await node.stop()
        return bytes(data), producer_id, found and found.offset

    assert run(scene()) == (bytes([20, 21, 22]), 0, 0)
    runtime.close()


def test_first_start_creates_kafka_s_files_and_the_metadata() -> None:
    files = MemoryFiles()

    async def scene() -> list[str]:
        async with started(files):
            return files.list("/logs")

    made = {".lock", "meta.properties", "cordwood.metadata", *CHECKPOINTS}
    assert set(run(scene())) == made
    assert set(files.list("/logs")) == made | {".kafka_cleanshutdown"}


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


def test_bound_address_is_published_in_the_metadata() -> None:
    async def scene() -> None:
        async with started(MemoryFiles()) as (node, broker):
            (me,) = broker.metadata.image.brokers.values()
            endpoint = me.endpoints["PLAINTEXT"]
            assert (endpoint.host, endpoint.port) == node.addresses["PLAINTEXT"]

    run(scene())


def test_second_node_on_the_same_directory_is_rejected() -> None:
    files = MemoryFiles()

    async def scene() -> None:
        async with started(files):
            await Node([SettingSource("test", GIVEN)], runtime_over(files)).start()

    with pytest.raises(LogDirectoryError, match="in use by another process"):
        run(scene())


@pytest.mark.parametrize(
    "given",
    (
        {"listeners": "PLAINTEXT://203.0.113.1:1"},
        {"listeners": "nothing"},
        {"log_cleaner_min_compaction_lag_ms": "2", "log_cleaner_max_compaction_lag_ms": "1"},
    ),
)
def test_failed_start_leaves_the_directory_as_it_was(given: dict[str, str]) -> None:
    files = MemoryFiles()

    async def start(**given: str) -> None:
        async with started(files, **given):
            pass

    run(start())
    before = files.list("/logs")
    with pytest.raises((SettingError, ListenError)):
        run(start(**given))
    assert files.list("/logs") == before
    run(start())


@pytest.mark.parametrize("key", ("listeners", "cordwood_metrics_listener"))
def test_start_with_an_invalid_address_touches_no_directory(key: str) -> None:
    files = MemoryFiles()

    async def scene() -> None:
        async with started(files, **{key: "PLAINTEXT://127.0.0.1:99999"}):
            pass

    with pytest.raises(SettingError):
        run(scene())
    assert files.list("/") == []


def test_metrics_listener_that_fails_ends_the_start_before_clients_connect() -> None:
    nowhere = "203.0.113.1:1"

    async def scene() -> None:
        given = {"cordwood_metrics_listener": nowhere, "listeners": f"PLAINTEXT://{nowhere}"}
        async with started(MemoryFiles(), **given):
            pass

    with pytest.raises(ListenError, match="metrics listener: cannot listen"):
        run(scene())


def test_topic_that_contradicts_the_broker_does_not_prevent_a_start() -> None:
    files = MemoryFiles()
    orders, lag = topic_resource("orders"), "min.compaction.lag.ms"

    async def change() -> None:
        async with started(files) as (_, broker):
            await broker.topics.create([NewTopic(name="orders", configs=[(lag, "9")])])
            given = [("log.cleaner.max.compaction.lag.ms", "5")]
            await broker.config_changes.replace(ALL_BROKERS, given, validate_only=False)

    async def kept() -> dict[str, str]:
        async with started(files) as (_, broker):
            return {**broker.configs.texts(orders)}

    run(change())
    assert run(kept()) == {lag: "9"}


def test_node_without_a_directory_is_rejected_with_a_remedy() -> None:
    async def scene() -> None:
        await Node([SettingSource("test", {})], runtime_over(MemoryFiles())).start()

    with pytest.raises(SettingError, match=r"give log\.dirs, or --data DIR"):
        run(scene())


def test_status_pages_show_the_state_of_the_node() -> None:
    async def scene() -> tuple[bytes, bytes]:
        given = {"cordwood_metrics_listener": "127.0.0.1:0"}
        async with started(MemoryFiles(), **given) as (node, broker):
            await broker.topics.create([NewTopic(name="orders", partitions=3)])
            return await page(node, "/metrics"), await page(node, "/healthz")

    metrics, health = run(scene())
    assert b"\ncordwood_partitions 3\n" in metrics
    assert b'\ncordwood_log_bytes{topic="orders"} 0\n' in metrics
    assert b"\ncordwood_group_offsets 0\n" in metrics
    assert b'\ncordwood_transactions_total{result="committed"} 0\n' in metrics
    assert health.startswith(b"HTTP/1.1 200 OK")


def test_offline_directory_is_logged_as_an_error(caplog: pytest.LogCaptureFixture) -> None:
    async def scene() -> None:
        async with started(MemoryFiles()) as (_, broker):
            broker.logs.fail(broker.logs.directories[0], OSError("gone"))

    run(scene())

    levels = {each.levelname for each in caplog.records if "offline" in each.getMessage()}
    assert levels == {"ERROR"}
