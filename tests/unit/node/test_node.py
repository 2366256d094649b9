"""Tests of a node's startup and shutdown."""

import asyncio
import gc
import threading
from dataclasses import replace

import pytest

from cordwood.broker.config.config_resources import ALL_BROKERS, topic_resource
from cordwood.broker.network.slice_reader import SliceReader
from cordwood.broker.pending_results import wait_for
from cordwood.broker.topics.topic_validation import NewTopic
from cordwood.compaction.cleaning_job import CleaningJob, CleaningResult, PassControl
from cordwood.compaction.engine.plain_engine import PLAIN
from cordwood.compaction.passes.cleaning_pass import InlineRunner
from cordwood.core.errors import ListenError, LogDirectoryError, SettingError
from cordwood.core.lane_threads import LANE_THREADS
from cordwood.core.ports import Lane
from cordwood.core.settings import SettingSource
from cordwood.core.system import ThreadWorker
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.node.node import Node
from cordwood.storage.log.log_read import FetchIsolation
from cordwood.storage.manager.log_changes import roll
from cordwood.storage.manager.log_directory import CHECKPOINTS
from cordwood.testing.memory_files import MemoryFiles
from cordwood.testing.virtual_clock import VirtualClock
from tests.unit.broker.broker_samples import turns
from tests.unit.broker.network.test_slice_reader import cold_slice
from tests.unit.broker.server_samples import Peer, request
from tests.unit.node.node_samples import GIVEN, run, runtime_over, started
from tests.unit.storage.log_samples import filled


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


def test_offline_directory_is_logged_as_an_error(caplog: pytest.LogCaptureFixture) -> None:
    async def scene() -> None:
        async with started(MemoryFiles()) as (_, broker):
            broker.logs.fail(broker.logs.directories[0], OSError("gone"))

    run(scene())

    levels = {each.levelname for each in caplog.records if "offline" in each.getMessage()}
    assert levels == {"ERROR"}


def test_stop_allows_full_collections_while_requests_wait_for_a_turn() -> None:
    """The loop may end before each of them has had one, and the process may have other nodes."""
    before = gc.get_threshold()

    async def scene() -> tuple[int, int, int]:
        async with started(MemoryFiles()) as (_, broker):
            loop = asyncio.get_running_loop()
            waiting = [loop.create_task(broker.turns.next_turn()) for _ in range(1_000)]
            await asyncio.sleep(0)
            assert gc.get_threshold() != before
        after = gc.get_threshold()
        for each in waiting:
            each.cancel()
        return after

    assert run(scene()) == before
    assert gc.get_threshold() == before
