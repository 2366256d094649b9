"""Lives of a broker over one file system, and the history of all that its clients have seen.

The history outlives crashes. It holds, for each topic id and partition:

    contents    offset and leader epoch -> the record that was acknowledged or read there; it never
                changes
    published   the leader epoch that metadata have shown last; it never falls
    reader      a consumer that was never restarted. It validates its position in each new leader
                epoch (KIP-320), and so it always has the records of the log: none missing, none
                of an earlier history
"""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from cordwood.broker.partitions.partition import Partition
from cordwood.broker.topics.topic_planning import NewPartitions
from cordwood.broker.topics.topic_selection import TopicReference
from cordwood.broker.topics.topic_validation import NewTopic
from cordwood.core.uuids import Uuid
from cordwood.records.batch_builder import BatchBuilder
from cordwood.records.batch_stream import batches
from cordwood.records.record_batch import RecordBatch
from cordwood.storage.log.log_read import FetchIsolation
from cordwood.testing.memory_files import MemoryFiles
from tests.crash.administered import Administered

Place: TypeAlias = tuple[Uuid, int]
ALL_BYTES = 1 << 20
#: Index files are made at their full size.
SMALL = [("segment.index.bytes", "240")]


class Seen(NamedTuple):
    """A record as a client sees it."""

    offset: int
    leader_epoch: int
    value: bytes


@dataclass
class Reader:
    """A consumer's records, and the leader epoch in which its position is valid."""

    records: list[Seen] = field(default_factory=list)
    validated_epoch: int = -1

    @property
    def position(self) -> int:
        return self.records[-1].offset + 1 if self.records else 0


@dataclass
class History:
    """All that clients have seen; a contradiction is an AssertionError."""

    contents: dict[tuple[Place, int, int], bytes] = field(default_factory=dict)
    published: dict[Place, int] = field(default_factory=dict)
    readers: defaultdict[Place, Reader] = field(default_factory=lambda: defaultdict(Reader))
    epochs: defaultdict[tuple[Place, int], set[int]] = field(
        default_factory=lambda: defaultdict(set)
    )
    counts: Counter[str] = field(default_factory=Counter)
    lives: int = 0
    written: int = 0

    def copy(self) -> "History":
        """Return a history that goes on apart from this one."""
        return deepcopy(self)

    def next_value(self) -> bytes:
        """Return a value that was never written."""
        self.written += 1
        return b"%d" % self.written

    def publish(self, place: Place, leader_epoch: int) -> None:
        """Metadata show a leader epoch."""
        before = self.published.get(place, 0)
        assert leader_epoch >= before, f"{_name(place)}: epoch {leader_epoch} follows {before}"
        self.counts["epochs raised"] += leader_epoch > before
        self.published[place] = leader_epoch

    def see(self, place: Place, record: Seen) -> None:
        """Show a record to a client, or acknowledge it."""
        key = (place, record.offset, record.leader_epoch)
        before = self.contents.setdefault(key, record.value)
        assert before == record.value, (
            f"{_name(place)}: {record} was {before!r} before in the same leader epoch"
        )
        epochs = self.epochs[place, record.offset]
        self.counts["offsets written again"] += bool(epochs - {record.leader_epoch})
        epochs.add(record.leader_epoch)


class BrokerLife:
    """One start of a broker; its clients write the history."""

    def __init__(self, files: MemoryFiles, history: History) -> None:
        self._history = history
        history.lives += 1
        self._broker = Administered(files, seed=10 * history.lives)
        for place, partition in self._partitions():
            history.publish(place, partition.leader_epoch)
        self.follow()

    def create(self, topic: str) -> None:
        """Create a topic, unless it is there."""
        new = NewTopic(name=topic, partitions=1, configs=SMALL)
        asyncio.run(self._broker.topics.create([new]))
        self.follow()

    def grow(self, topic: str) -> None:
        """Add a partition to a topic."""
        total = 1 + sum(partition.name.topic == topic for _, partition in self._partitions())
        asyncio.run(self._broker.topics.grow([NewPartitions(topic, total)]))
        self.follow()

    def recreate(self, topic: str) -> None:
        """Delete a topic, and create it again."""
        asyncio.run(self._broker.topics.delete([TopicReference(topic)]))
        self._history.counts["topics deleted"] += 1
        self.create(topic)

    def append(self, *, records: int = 1) -> None:
        """Append a batch to each partition; see it if it is acknowledged."""
        for place, partition in self._partitions():
            builder = BatchBuilder()
            values = [self._history.next_value() for _ in range(records)]
            for value in values:
                builder.append(None, value)
            first = append_acknowledged(partition, builder.build())
            for offset, value in enumerate(values, first):
                self._history.see(place, Seen(offset, partition.leader_epoch, value))

    def follow(self) -> None:
        """Let the readers validate their positions and read on; check what they have then."""
        for place, partition in self._partitions():
            self._history.publish(place, partition.leader_epoch)
            reader, log = self._history.readers[place], list(read(partition))
            self._validate(reader, partition)
            reader.records += [each for each in log if each.offset >= reader.position]
            for record in log:
                self._history.see(place, record)
            assert reader.records == log, f"{_name(place)}: read {reader.records}, not {log}"

    def stop(self) -> None:
        """Stop in order."""
        self._broker.stop()
        self._history.counts["clean stops"] += 1

    def _validate(self, reader: Reader, partition: Partition) -> None:
        """Drop what the leader's log does not have, as a consumer with `earliest` does."""
        if reader.records and reader.validated_epoch != partition.leader_epoch:
            epoch, end = partition.last_offset_for_leader_epoch(reader.records[-1].leader_epoch)
            left = [each for each in reader.records if epoch >= 0 and each.offset < end]
            self._history.counts["readers truncated"] += len(left) < len(reader.records)
            reader.records = left
        reader.validated_epoch = partition.leader_epoch

    def _partitions(self) -> Iterator[tuple[Place, Partition]]:
        for name, topic in sorted(self._broker.metadata.image.topics.items()):
            for number in range(len(topic.partitions)):
                yield (topic.topic_id, number), self._broker.partitions.get(name, number)


def append_acknowledged(partition: Partition, data: bytearray) -> int:
    """Append a batch; return its first offset when it is acknowledged."""
    appended = partition.append(memoryview(data))
    assert appended.done(), "the worker runs at once, and there is one replica"
    return appended.result().result.first_offset


def read(partition: Partition) -> Iterator[Seen]:
    """Yield the records that a consumer reads from the beginning."""
    offset = 0
    while True:
        found = partition.read(
            offset, max_bytes=ALL_BYTES, isolation=FetchIsolation.HIGH_WATERMARK, min_one=True
        )
        if found.slice is None:
            return
        data = bytes(found.slice.read())
        found.slice.release()
        for batch in batches(data):
            assert isinstance(batch, RecordBatch), "only these were written"
            for record in batch.records():
                assert record.value is not None, "only values were written"
                yield Seen(record.offset, batch.partition_leader_epoch, bytes(record.value))
            offset = batch.next_offset


def _name(place: Place) -> str:
    return f"partition {place[1]} of {bytes(place[0]).hex()[:8]}"
