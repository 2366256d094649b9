"""Ports of the coordinators, which the broker implements.

InternalLog   one partition of an internal topic, led by this broker in one leader epoch
MarkerSender  writes the ends of transactions into partitions, wherever their leaders are
"""

from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from typing import NamedTuple, Protocol, Self

from cordwood.coordination.coordinator_record import CoordinatorRecord
from cordwood.coordination.outcome import TransactionalProducer
from cordwood.core.errors import KafkaError
from cordwood.core.ports import Pending
from cordwood.core.types import TopicPartition


class InternalLog(Protocol):
    """One partition of an internal topic, in one leader epoch.

    Calls run on the event loop. Appends are written in the order of the calls.
    """

    @property
    def partition(self) -> int:
        """The number of the partition."""

    @property
    def leader_epoch(self) -> int:
        """The leader epoch, which is the epoch of the coordinator."""

    def encode(
        self, records: Sequence[CoordinatorRecord], *, producer: TransactionalProducer | None = None
    ) -> bytearray:
        """Return the batch of records for `append`; on any thread."""

    def append(
        self,
        records: Sequence[CoordinatorRecord],
        *,
        producer: TransactionalProducer | None = None,
        batch: bytearray | None = None,
    ) -> Pending[int]:
        """Append records as one batch; the result is their base offset, once they count.

        `batch` is that of the records if `encode` has made it. Raises a KafkaError if the records
        are not written. An error of the result leaves that open.
        """

    def open_batch(self) -> "InternalBatch":
        """Return an empty batch; raise a KafkaError if the log takes no records now."""

    def append_marker(self, marker: "TransactionMarker") -> Pending[int]:
        """Append the end of a transaction in this partition; otherwise as `append`."""

    def load(self) -> AsyncIterator[memoryview]:
        """Yield all whole batches up to the log end; raise a KafkaError if the leadership ends."""

    async def wait_until_committed(self) -> None:
        """Wait until all records that the log has now count; otherwise as `load`."""


class InternalBatch(Protocol):
    """Records of several outcomes, outside of transactions, which share an append."""

    def add(self, records: Sequence[CoordinatorRecord], now_ms: int) -> bool:
        """Add the records of an outcome; return False, with nothing added, if they do not fit."""

    def append(self) -> Pending[int]:
        """Append the batch as `InternalLog.append`."""


class TransactionMarker(NamedTuple):
    """The end of one transaction, for its partitions (Kafka: `TxnMarkerEntry`)."""

    producer_id: int
    producer_epoch: int
    coordinator_epoch: int
    is_commit: bool
    partitions: frozenset[TopicPartition]
    #: 2 if the marker's epoch is above that of the transaction's records.
    transaction_version: int = 0

    def remaining(self, errors: Mapping[TopicPartition, KafkaError]) -> Self:
        """Return the marker for those partitions that do not have it yet."""
        return self._replace(partitions=self.partitions & errors.keys())


class MarkerSender(Protocol):
    """Writes markers at the leaders of partitions."""

    def send(self, marker: TransactionMarker) -> Awaitable[Mapping[TopicPartition, KafkaError]]:
        """Try each partition once; return the errors of those that have no marker yet.

        A caller that is cancelled withdraws the markers that have not been sent.
        """
