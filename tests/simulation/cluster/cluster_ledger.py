"""Ledger of a simulated cluster: acknowledged records, consumed records, and the logs of the nodes.

    acknowledged  each record that a producer with acks=all has an answer for, by its offset
    consumed      each record that a consumer has received, by its offset
    counted       each batch below the high watermark of any replica, by its base offset

The three must agree at each offset, for all replicas and at all times.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple, cast

from cordwood.broker.partitions.partition import Partition
from cordwood.broker.services import BrokerServices
from cordwood.core.errors import KafkaError
from cordwood.core.types import TopicPartition
from cordwood.records.batch_stream import batches
from cordwood.records.record_batch import RecordBatch
from cordwood.storage.log.log_read import FetchIsolation
from tests.simulation.cluster.cluster_world import ClusterWorld
from tests.simulation.cluster.counted_zookeeper import TOPIC

LOST: Final = "an acknowledged record is never lost while an in-sync replica lives"
PREFIXES: Final = "replicas are prefixes of each other below the high watermark"
ONE_LEADER: Final = "a leader epoch has one leader"
UNCHANGED: Final = "a consumer never sees a record disappear or change"
ONCE: Final = "a record of an idempotent producer is in the log once"

_MAX_BYTES: Final = 1 << 24


class CountedBatch(NamedTuple):
    """A batch that counts; the CRC covers its records."""

    last_offset: int
    crc: int
    leader_epoch: int


class ClusterLedger:
    """The records of a cluster, as its clients and its replicas have them."""

    def __init__(self, world: ClusterWorld) -> None:
        self._world = world
        self.acknowledged = defaultdict[int, dict[int, bytes]](dict)
        self.consumed = defaultdict[int, dict[int, bytes]](dict)
        self._counted = defaultdict[int, dict[int, CountedBatch]](dict)
        self._leaders = dict[tuple[TopicPartition, int], int]()
        self._checked = dict[tuple[object, int], int]()

    # -- clients

    def acknowledge(self, number: int, offset: int, value: bytes) -> None:
        """Store a record that was acknowledged by all in-sync replicas."""
        self._world.count("records acknowledged")
        self.acknowledged[number][offset] = value
        self._compare(number, offset, value, others=self.consumed, invariant=LOST)

    def consume(self, number: int, offset: int, value: bytes) -> None:
        """Store a consumed record."""
        self._world.count("records consumed")
        self._compare(number, offset, value, others=self.consumed, invariant=UNCHANGED)
        self._compare(number, offset, value, others=self.acknowledged, invariant=LOST)
        self.consumed[number][offset] = value

    def _compare(
        self,
        number: int,
        offset: int,
        value: bytes,
        *,
        others: Mapping[int, Mapping[int, bytes]],
        invariant: str,
    ) -> None:
        known = others[number].get(offset, value)
        if known != value:
            text = f"partition {number} has {value!r} at {offset}, and had {known!r}"
            self._world.violate(invariant, text)

    # -- replicas

    def look(self, node_id: int, broker: BrokerServices) -> None:
        """Compare the replicas of a node with all that was seen before."""
        for partition in broker.partitions:
            if partition.name.topic == TOPIC:
                self._look_at_log(node_id, partition)

    def lead(self, node_id: int, name: TopicPartition, epoch: int) -> None:
        """Store that a node begins to lead."""
        known = self._leaders.setdefault((name, epoch), node_id)
        if known != node_id:
            text = f"{known} and {node_id} lead {name} in epoch {epoch}"
            self._world.violate(ONE_LEADER, text)

    def _look_at_log(self, node_id: int, partition: Partition) -> None:
        number = partition.name.partition
        try:
            bounds = partition.log.bounds
        except KafkaError:
            return
        key = partition.log, number
        start = self._checked.get(key, 0)
        if start >= bounds.high_watermark:
            return
        counted = self._counted[number]
        for batch in batches_of(partition, start, FetchIsolation.HIGH_WATERMARK):
            found = CountedBatch(batch.last_offset, batch.crc, batch.partition_leader_epoch)
            known = counted.setdefault(batch.base_offset, found)
            if known != found:
                text = (
                    f"node {node_id} has {found} at {batch.base_offset} of partition {number}, "
                    f"another one {known}"
                )
                self._world.violate(PREFIXES, text)
        self._checked[key] = bounds.high_watermark

    def settle(self, nodes: Mapping[int, BrokerServices], *, idempotent: Iterable[str]) -> None:
        """Check all records on all nodes, at the end."""
        self._checked.clear()
        prefixes = (*(f"{each}:".encode() for each in idempotent),)
        for node_id, broker in nodes.items():
            self.look(node_id, broker)
            for partition in broker.partitions:
                if partition.name.topic == TOPIC:
                    self._settle(node_id, partition, prefixes)

    def _settle(self, node_id: int, partition: Partition, prefixes: tuple[bytes, ...]) -> None:
        number, world = partition.name.partition, self._world
        records = {
            record.offset: bytes(cast("bytes", record.value))
            for batch in batches_of(partition, 0, FetchIsolation.LOG_END)
            for record in batch.records()
        }
        for ledger, invariant in ((self.acknowledged, LOST), (self.consumed, UNCHANGED)):
            for offset, value in ledger[number].items():
                if records.get(offset) != value:
                    text = (
                        f"node {node_id} has {records.get(offset)!r} at {offset} of partition "
                        f"{number}, instead of {value!r}"
                    )
                    world.violate(invariant, text)
        copies = Counter(each for each in records.values() if each.startswith(prefixes))
        for value, count in copies.items():
            if prefixes and count > 1:
                world.violate(ONCE, f"partition {number} has {value!r} {count} times")


def batches_of(partition: Partition, start: int, isolation: FetchIsolation) -> list[RecordBatch]:
    """Return the batches of a replica from an offset on; a read ends at the high watermark."""
    found = list[RecordBatch]()
    while True:
        read = partition.read(
            start, max_bytes=_MAX_BYTES, isolation=isolation, min_one=True, needs_leader=False
        )
        if read.slice is None:
            return found
        try:
            data = bytes(read.slice.read())
        finally:
            read.slice.release()
        found += (each for each in batches(data) if isinstance(each, RecordBatch))
        start = found[-1].last_offset + 1
