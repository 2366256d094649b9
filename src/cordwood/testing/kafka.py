"""What the fixture `kafka` gives: a whole broker in the test's process, on a socket of its own.

    bootstrap            for any client; the protocol on the socket is the real one
    clock, faults        the time of its logs, and what goes wrong
    snapshot, rewind     everything as it was, while the test goes on
    records              what is in a topic, without a client

The broker works on an event loop in a thread of its own. Its files are in memory unless the test
wants them on the disk, and nothing is done by other threads: what a call of the test has begun is
done when it returns.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Self

from cordwood.broker.broker import Broker
from cordwood.broker.network import Network
from cordwood.broker.topic_rules import NewTopic
from cordwood.client.loop_thread import LoopThread
from cordwood.config import ensure_sound
from cordwood.core.errors import KafkaError, UnknownTopicOrPartitionError
from cordwood.core.ids import Uuid
from cordwood.core.settings import SettingValue, Source, texts_of
from cordwood.core.system import LoopScheduler, SystemClock, SystemFiles, SystemRandom
from cordwood.core.types import TimestampMs
from cordwood.node import Machine, Node
from cordwood.records.record import Record
from cordwood.records.stream import batches
from cordwood.storage.reading import Isolation
from cordwood.testing.broker_faults import BrokerFaults
from cordwood.testing.cleaning import cleaning_here
from cordwood.testing.files import MemoryFiles
from cordwood.testing.kafka_clock import KafkaClock
from cordwood.testing.medium import Directory
from cordwood.testing.running_clock import RunningClock
from cordwood.testing.worker import InlineWorker

MEMORY: Final = "/kafka-logs"

_ANYWHERE: Final = "PLAINTEXT://127.0.0.1:0"
_READ_BYTES: Final = 1 << 20

#: Where a broker for tests differs from Kafka's defaults; docs/testing.md has the reasons.
SETTINGS: Final[Mapping[str, str]] = {
    "log.message.timestamp.type": "LogAppendTime",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
    "group.initial.rebalance.delay.ms": "0",
    # An index takes its room at once, here in memory; so small a one is full after 20 MB of log.
    "log.index.size.max.bytes": "65536",
    # As often as that an idle log is looked at; each week that is let pass has so many looks less.
    "log.cleaner.backoff.ms": "3600000",
    # Written when a snapshot is taken, and when the broker stops; advancing by a week would write
    # them a hundred thousand times.
    "replica.high.watermark.checkpoint.interval.ms": "3600000",
    "log.flush.offset.checkpoint.interval.ms": "3600000",
    "log.flush.start.offset.checkpoint.interval.ms": "3600000",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaOptions:
    """What a test may ask of its broker; `directory` is where files go that are not in memory."""

    auto_create: bool = True
    config: Mapping[str, SettingValue] = field(default_factory=dict)
    directory: str | None = None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A broker as it was: its files and its time."""

    files: Directory
    now_ms: TimestampMs
    is_running: bool


class _Ground(NamedTuple):
    """What stays when the broker is started again; `files` is None where they are on the disk."""

    machine: Machine
    clock: RunningClock
    files: MemoryFiles | None


class Kafka:
    """A broker that serves from the moment it is made until `close`."""

    def __init__(self, thread: LoopThread, ground: _Ground, options: KafkaOptions) -> None:
        self.clock = KafkaClock(ground.clock, thread)
        script = None if ground.files is None else ground.files.script
        self.faults = BrokerFaults(ground.machine.network, script, name_of=self._name_of)
        self._thread = thread
        self._ground = ground
        self._texts = _texts_of(options)
        self._node: Node | None = None
        self._broker: Broker | None = None

    @classmethod
    def start(cls, options: KafkaOptions) -> Self:
        """Return a broker that serves."""
        thread = LoopThread("cordwood-kafka", owner="broker")
        kafka: Self | None = None
        try:
            kafka = cls(thread, thread.run(_make_ground(options)), options)
            thread.run(kafka._start())
        except BaseException:
            thread.end(_nothing)
            raise
        return kafka

    @property
    def bootstrap(self) -> str:
        """Where clients connect to, as `host:port`."""
        assert self._node is not None, "it serves"
        return str(next(iter(self._node.addresses.values())))

    def create_topic(self, name: str, *, partitions: int = 1, **configs: SettingValue) -> None:
        """Make a topic; of the names of configs, underscores are dots: `retention_ms=1000`."""
        texts = [(key.replace("_", "."), text) for key, text in texts_of(configs).items()]
        new = NewTopic(name=name, partitions=partitions, configs=texts)
        (outcome,) = self._thread.run(self._serving.topics.create([new]))
        if isinstance(outcome, KafkaError):
            raise outcome

    def records(self, topic: str, *, partition: int | None = None) -> list[Record]:
        """Return what readers of a topic see, partition after partition, or of one of them."""
        data = self._thread.call(lambda: self._read(topic, partition))
        return [
            record
            for part in data
            for batch in batches(part)
            if not batch.is_control
            for record in batch.records()
        ]

    def snapshot(self) -> Snapshot:
        """Return everything as it is now, for `rewind`; nobody is disturbed."""
        return self._thread.call(self._snapshot)

    def rewind(self, snapshot: Snapshot) -> None:
        """Put everything back as it was, as a restore from a backup does. Connections are closed.

        The address stays. Leader epochs go up and ids of producers are not given again, so nobody
        takes what is written from now on for what was there before.
        """
        self._thread.run(self._rewind(snapshot))

    def restart(self) -> None:
        """Stop in good order and start again, at the same address. Connections are closed."""
        self._thread.run(self._restart())

    def close(self) -> None:
        """Stop; FaultNotMetError if a fault was planned that has not happened."""
        try:
            self.faults.clear()
        finally:
            self._thread.end(self._stop)

    # -- on the broker's thread

    @property
    def _serving(self) -> Broker:
        assert self._broker is not None, "it serves"
        return self._broker

    async def _start(self) -> None:
        source = Source("the test", self._texts)
        ensure_sound(source)
        self._node = Node([source], self._ground.machine, around=self.faults.around)
        self._broker = await self._node.start()
        if self._texts["listeners"] == _ANYWHERE:
            self._texts["listeners"] = f"PLAINTEXT://{self.bootstrap}"

    async def _stop(self) -> None:
        node, self._node = self._node, None
        if node is not None:
            await node.stop()

    async def _restart(self) -> None:
        await self._stop()
        await self._start()

    def _snapshot(self) -> Snapshot:
        files, clock, logs = self._memory(), self._ground.clock, self._serving.logs
        logs.write_recovery_points()
        logs.write_log_starts()
        logs.write_high_watermarks()
        return Snapshot(files.saved(), clock.now_ms(), clock.is_running)

    async def _rewind(self, snapshot: Snapshot) -> None:
        files, clock = self._memory(), self._ground.clock
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
        if self._ground.files is None:
            raise ValueError("only a broker with its files in memory can be rewound")
        return self._ground.files

    def _read(self, topic: str, partition: int | None) -> list[bytes]:
        """Return the batches of a topic, those of each partition in their order."""
        image = self._serving.metadata.image.topics.get(topic)
        if image is None:
            raise UnknownTopicOrPartitionError(f"there is no topic {topic!r}")
        wanted = range(len(image.partitions)) if partition is None else (partition,)
        return [part for index in wanted for part in self._read_partition(topic, index)]

    def _read_partition(self, topic: str, index: int) -> list[bytes]:
        partition = self._serving.partitions.get(topic, index)
        offset, parts = int(partition.log.bounds.log_start), list[bytes]()
        while True:
            read = partition.read(
                offset, max_bytes=_READ_BYTES, isolation=Isolation.HIGH_WATERMARK, min_one=True
            )
            if read.slice is None:
                return parts
            parts.append(bytes(read.slice.read()))
            read.slice.release()
            offset = max(batch.last_offset for batch in batches(parts[-1])) + 1

    def _name_of(self, topic: str | Uuid) -> str | None:
        if isinstance(topic, str):
            return topic
        image = self._serving.metadata.image.topics_by_id.get(topic)
        return None if image is None else image.name


async def _make_ground(options: KafkaOptions) -> _Ground:
    """Return what a broker stands on, for the running loop."""
    real = SystemClock()
    network = Network(real, LoopScheduler(asyncio.get_running_loop(), real))
    clock = RunningClock(*network)
    memory = MemoryFiles(clock) if options.directory is None else None
    files = memory or SystemFiles()
    machine = Machine(
        files=files,
        clock=clock,
        scheduler=clock,
        worker=InlineWorker(),
        random=SystemRandom(),
        network=network,
        cleaning=cleaning_here(files),
    )
    return _Ground(machine, clock, memory)


async def _nothing() -> None:
    """There is nothing to be stopped."""


def _texts_of(options: KafkaOptions) -> dict[str, str]:
    """Return the settings of the broker: the test's own are the strongest."""
    given: Mapping[str, SettingValue] = {
        **SETTINGS,
        "log.dirs": options.directory or MEMORY,
        "listeners": _ANYWHERE,
        "auto.create.topics.enable": options.auto_create,
        **options.config,
    }
    return texts_of(given)
