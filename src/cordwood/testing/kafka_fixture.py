"""Broker of the fixture `kafka`: a whole broker in the test's process, on its own socket.

    bootstrap            address for any client; the socket uses Kafka's protocol
    clock, faults        time of its logs, and fault injection
    snapshot, rewind     save and restore the broker's state while the test runs
    records              records of a topic, without a client

The broker runs on an event loop in its own thread. Its files are in memory unless the test requests
files on disk. There are no worker threads: work that a call of the test starts is done when the
call returns.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Final, Literal, NamedTuple, Self, TypeAlias

from cordwood.broker.process.descriptor_budget import DescriptorBudget
from cordwood.broker.services import BrokerServices
from cordwood.broker.topics.topic_validation import NewTopic
from cordwood.client.consumer.completed_fetch import CompletedFetch, completed_fetch
from cordwood.client.loop_thread import LoopThread
from cordwood.config import ensure_valid
from cordwood.core.errors import KafkaError, SettingError, UnknownTopicOrPartitionError
from cordwood.core.settings import SettingSource, SettingValue, texts_of
from cordwood.core.system import LoopScheduler, SystemClock, SystemFiles, SystemRandom
from cordwood.core.types import PartitionId, TimestampMs, TopicName, TopicPartition
from cordwood.core.uuids import Uuid
from cordwood.node.node import Node
from cordwood.node.runtime import NodeRuntime
from cordwood.records.record import Record
from cordwood.storage.checkpoints.checkpoint_files import (
    HIGH_WATERMARKS,
    LOG_START_OFFSETS,
    RECOVERY_POINTS,
)
from cordwood.storage.log.log_read import FetchIsolation
from cordwood.storage.topic_settings import TOPIC_SETTINGS
from cordwood.testing.broker_faults import BrokerFaults
from cordwood.testing.disk_model import DirectoryNode
from cordwood.testing.inline_runtime import inline_runtime
from cordwood.testing.kafka_clock import KafkaClock
from cordwood.testing.kafka_options import KafkaOptions
from cordwood.testing.memory_files import MemoryFiles
from cordwood.testing.running_clock import RunningClock

MEMORY: Final = "/kafka-logs"

IsolationLevel: TypeAlias = Literal["read_uncommitted", "read_committed"]

_ISOLATIONS: Final[Mapping[str, FetchIsolation]] = {
    "read_uncommitted": FetchIsolation.HIGH_WATERMARK,
    "read_committed": FetchIsolation.TXN_COMMITTED,
}
_ANYWHERE: Final = "PLAINTEXT://127.0.0.1:0"
_READ_BYTES: Final = 1 << 20
#: Names of topics in the repr of a broker.
_SHOWN: Final = 5

#: Where a broker for tests differs from Kafka's defaults; docs/testing.md has the reasons.
SETTINGS: Final[Mapping[str, str]] = {
    "log.message.timestamp.type": "LogAppendTime",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
    "group.initial.rebalance.delay.ms": "0",
    # An index is preallocated, here in memory. One of this size is full after 20 MB of log.
    "log.index.size.max.bytes": "65536",
    # Interval of the cleaner on idle logs; a long one keeps `clock.advance(days=7)` fast.
    "log.cleaner.backoff.ms": "3600000",
    # Checkpoints are written by `snapshot` and at the broker's stop. At Kafka's interval, an
    # advance by a week would write each a hundred thousand times.
    "replica.high.watermark.checkpoint.interval.ms": "3600000",
    "log.flush.offset.checkpoint.interval.ms": "3600000",
    "log.flush.start.offset.checkpoint.interval.ms": "3600000",
}


@dataclass(frozen=True, slots=True)
class KafkaSnapshot:
    """Saved files and time of a broker."""

    files: DirectoryNode = field(repr=False)
    now_ms: TimestampMs
    is_running: bool


class _BrokerPorts(NamedTuple):
    """Ports that survive a restart of the broker; `files` is None for files on disk."""

    runtime: NodeRuntime
    clock: RunningClock
    files: MemoryFiles | None


class Kafka:
    """A broker that serves from its start until `close`, or in a `with` block.

    >>> with Kafka.start() as kafka:
    ...     kafka.create_topic("orders", partitions=2)
    ...     kafka.records("orders")
    []
    """

    def __init__(self, thread: LoopThread, ports: _BrokerPorts, options: KafkaOptions) -> None:
        self.clock = KafkaClock(ports.clock, thread)
        script = None if ports.files is None else ports.files.script
        self.faults = BrokerFaults(
            script,
            clock=ports.runtime.network_clock,
            scheduler=ports.runtime.network_scheduler,
            name_of=self._name_of,
        )
        self._thread = thread
        self._ports = ports
        self._texts = _texts_of(options)
        self._address = ""
        self._node: Node | None = None
        self._broker: BrokerServices | None = None

    def __repr__(self) -> str:
        if self._node is None or self._broker is None:
            return f"<cordwood.testing.Kafka of {self._address}, closed>"
        topics = self._broker.metadata.image.topics.values()
        names = sorted(each.name for each in topics if not each.is_internal)
        more = ", ..." if len(names) > _SHOWN else ""
        shown = f"topics {', '.join(names[:_SHOWN])}{more}" if names else "no topics"
        return f"<cordwood.testing.Kafka at {self._address}, {shown}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        __tracebackhide__ = True
        self.close()

    @classmethod
    def start(cls, options: KafkaOptions | None = None) -> Self:
        """Start a broker and return it.

        >>> kafka = Kafka.start(KafkaOptions(config={"num.partitions": 2}))
        >>> kafka.close()
        """
        options = options or KafkaOptions()
        if options.is_on_disk and options.directory is None:
            raise ValueError("files on disk need a place; give KafkaOptions(directory=...)")
        thread = LoopThread("cordwood-kafka", owner="broker")
        kafka: Self | None = None
        try:
            kafka = cls(thread, thread.run(_broker_ports(options)), options)
            thread.run(kafka._start())
        except BaseException:
            thread.end(_no_cleanup)
            raise
        return kafka

    @property
    def bootstrap(self) -> str:
        """Address for clients, as `host:port`."""
        assert self._node is not None, "the broker runs"
        return str(next(iter(self._node.addresses.values())))

    def create_topic(self, name: str, *, partitions: int = 1, **configs: SettingValue) -> None:
        """Create a topic.

        Args:
            name: The name of the topic.
            partitions: Number of partitions.
            configs: Settings of the topic, with underscores for dots.

        >>> kafka.create_topic("stock", partitions=2, retention_ms=3_600_000)
        """
        __tracebackhide__ = True
        texts = [(key.replace("_", "."), text) for key, text in texts_of(configs).items()]
        try:
            TOPIC_SETTINGS.refuse_unknown(key for key, _ in texts)
        except SettingError as error:
            raise error.with_traceback(None)  # noqa: B904  # it is the same error
        new = NewTopic(name=name, partitions=partitions, configs=texts)
        (outcome,) = self._thread.run(self._serving.topics.create([new]))
        if isinstance(outcome, KafkaError):
            raise outcome

    def records(
        self,
        topic: str,
        *,
        partition: int | None = None,
        isolation_level: IsolationLevel = "read_uncommitted",
    ) -> list[Record]:
        """Return the records of a topic that a consumer would read, by partition and offset.

        Args:
            topic: The name of the topic; UnknownTopicOrPartitionError if there is none.
            partition: The partition to read, by default all.
            isolation_level: `read_committed` leaves out records of open and aborted transactions.

        >>> [record.value for record in kafka.records("orders")]
        [b'3 beams']
        """
        __tracebackhide__ = True
        if isolation_level not in _ISOLATIONS:
            raise ValueError(
                f"isolation_level is {isolation_level!r}; give {' or '.join(_ISOLATIONS)}"
            )
        isolation = _ISOLATIONS[isolation_level]
        try:
            data = self._thread.call(lambda: self._read(topic, partition, isolation))
        except KafkaError as error:
            raise error.with_traceback(None)  # noqa: B904  # it is the same error
        return [record for part in data for record in part.plain_records()]

    def snapshot(self) -> KafkaSnapshot:
        """Save the present state for `rewind`, without disturbing any client."""
        return self._thread.call(self._snapshot)

    def rewind(self, snapshot: KafkaSnapshot) -> None:
        """Restore a saved state, as a restore from a backup does. Connections are closed.

        The address stays. Leader epochs increase and producer ids are not reused, so that no client
        mistakes new records for the ones of the snapshot.
        """
        self._thread.run(self._rewind(snapshot))

    def restart(self) -> None:
        """Stop cleanly and start again, at the same address. Connections are closed."""
        self._thread.run(self._restart())

    def close(self) -> None:
        """Stop; FaultNotMetError if a fault was not met as planned."""
        __tracebackhide__ = True
        try:
            self.faults.clear()
        finally:
            self._thread.end(self._stop)

    # -- on the broker's thread

    @property
    def _serving(self) -> BrokerServices:
        assert self._broker is not None, "the broker runs"
        return self._broker

    async def _start(self) -> None:
        source = SettingSource("the test", self._texts)
        ensure_valid(source)
        self._node = Node([source], self._ports.runtime, around=self.faults.around)
        self._broker = await self._node.start()
        self._address = self.bootstrap
        if self._texts["listeners"] == _ANYWHERE:
            self._texts["listeners"] = f"PLAINTEXT://{self.bootstrap}"

    async def _stop(self) -> None:
        node, self._node = self._node, None
        if node is not None:
            await node.stop()

    async def _restart(self) -> None:
        await self._stop()
        await self._start()

    def _snapshot(self) -> KafkaSnapshot:
        files, clock, logs = self._memory(), self._ports.clock, self._serving.logs
        logs.checkpoints.write_all(RECOVERY_POINTS)
        logs.checkpoints.write_all(LOG_START_OFFSETS)
        logs.checkpoints.write_all(HIGH_WATERMARKS)
        return KafkaSnapshot(files.saved(), clock.now_ms(), clock.is_running)

    async def _rewind(self, snapshot: KafkaSnapshot) -> None:
        files, clock = self._memory(), self._ports.clock
        unused_id = await self._serving.producer_ids.next()
        await self._stop()
        files.restore(snapshot.files)
        clock.jump_to(snapshot.now_ms)
        if snapshot.is_running:
            clock.run()
        else:
            clock.freeze()
        await self._start()
        while await self._serving.producer_ids.next() < unused_id:
            pass

    def _memory(self) -> MemoryFiles:
        if self._ports.files is None:
            raise ValueError(
                "snapshot and rewind need files in memory; this broker's files are on disk"
            )
        return self._ports.files

    def _read(
        self, topic: str, partition: int | None, isolation: FetchIsolation
    ) -> list[CompletedFetch]:
        """Return the batches of a topic, those of each partition in offset order."""
        image = self._serving.metadata.image.topics.get(topic)
        if image is None:
            raise UnknownTopicOrPartitionError(self._unknown(topic))
        count = len(image.partitions)
        if partition is not None and partition not in range(count):
            raise UnknownTopicOrPartitionError(
                f"topic {topic!r} has no partition {partition}; it has 0 to {count - 1}"
            )
        wanted = range(count) if partition is None else (partition,)
        return [part for index in wanted for part in self._read_partition(topic, index, isolation)]

    def _unknown(self, topic: str) -> str:
        """Return the text of an error about a topic that does not exist."""
        topics = self._serving.metadata.image.topics.values()
        names = sorted(each.name for each in topics if not each.is_internal)
        near = get_close_matches(topic, names, n=1)
        remedy = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(names) or 'none'}"
        return f"the broker has no topic {topic!r}; {remedy}"

    def _read_partition(
        self, topic: str, index: int, isolation: FetchIsolation
    ) -> list[CompletedFetch]:
        partition = self._serving.partitions.get(topic, index)
        place = TopicPartition(TopicName(topic), PartitionId(index))
        offset, parts = int(partition.log.bounds.log_start), list[CompletedFetch]()
        while True:
            read = partition.read(offset, max_bytes=_READ_BYTES, isolation=isolation, min_one=True)
            if read.slice is None:
                return parts
            data, aborted = bytes(read.slice.read()), read.aborted
            read.slice.release()
            part, damage = completed_fetch(place, data, offset=offset, aborted=aborted)
            if damage is not None:
                raise damage
            parts.append(part)
            offset = part.end[0]

    def _name_of(self, topic: str | Uuid) -> str | None:
        if isinstance(topic, str):
            return topic
        image = self._serving.metadata.image.topics_by_id.get(topic)
        return None if image is None else image.name


async def _broker_ports(options: KafkaOptions) -> _BrokerPorts:
    """Return the broker's ports for the running loop."""
    real = SystemClock()
    scheduler = LoopScheduler(asyncio.get_running_loop(), real)
    clock = RunningClock(real, scheduler)
    memory = None if options.is_on_disk else MemoryFiles(clock)
    files = memory or SystemFiles()
    budget = DescriptorBudget.of_program()
    runtime = replace(
        inline_runtime(
            files,
            clock=clock,
            scheduler=clock,
            random=SystemRandom(),
            network_clock=real,
            network_scheduler=scheduler,
        ),
        max_open_files=budget.files,
        max_connections=budget.connections,
    )
    return _BrokerPorts(runtime, clock, memory)


async def _no_cleanup() -> None:
    """Do nothing: the broker has not started."""


def _texts_of(options: KafkaOptions) -> dict[str, str]:
    """Return the broker's settings as texts; the test's own settings win."""
    given: Mapping[str, SettingValue] = {
        **SETTINGS,
        "log.dirs": options.directory or MEMORY,
        "listeners": _ANYWHERE,
        "auto.create.topics.enable": options.auto_create,
        **options.config,
    }
    return texts_of(given)
