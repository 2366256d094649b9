"""A partition of an internal topic that this broker leads, for its coordinator.

Kafka: `CoordinatorPartitionWriter`. A batch that is too large for its log is rejected here, at
once: the log would reject it on the worker, after the coordinator has changed its state.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Final

from cordwood.broker.partitions import partition_loader
from cordwood.broker.partitions.partition import Partition
from cordwood.broker.partitions.partition_leader import (
    INTERNAL,
    AppendRequest,
    PartitionAppendResult,
)
from cordwood.broker.pending_results import Completed
from cordwood.coordination.coordinator_record import CoordinatorRecord
from cordwood.coordination.outcome import TransactionalProducer
from cordwood.coordination.ports import TransactionMarker
from cordwood.coordination.runtime.internal_batches import encode_batch
from cordwood.coordination.runtime.open_batch import OpenBatch
from cordwood.core.errors import MessageTooLargeError, RecordListTooLargeError
from cordwood.core.ports import LoopPorts, Pending
from cordwood.core.types import TopicPartition
from cordwood.records.compression import Codec
from cordwood.records.control_records import EndTransaction
from cordwood.storage.append_origin import AppendOrigin
from cordwood.storage.log.log_append import AppendContext
from cordwood.storage.log_config import LogConfig
from cordwood.storage.producers.verification_guard import VerificationGuard

#: The transaction version from which a marker's epoch is above that of the transaction's records.
EPOCH_BUMP: Final = 2


class CoordinatorLog:
    """The log of one partition, in one leader epoch; `codec` compresses its batches."""

    def __init__(
        self,
        partition: Partition,
        leader_epoch: int,
        *,
        ports: LoopPorts,
        codec: Callable[[], Codec] = lambda: Codec.NONE,
    ) -> None:
        self._partition = partition
        self._leader_epoch = leader_epoch
        self._ports = ports
        self._codec = codec
        #: The verification of the transaction whose append is the next one.
        self.guard: VerificationGuard | None = None

    @property
    def partition(self) -> int:
        return self._partition.name.partition

    @property
    def name(self) -> TopicPartition:
        """The name of the partition."""
        return self._partition.name

    @property
    def leader_epoch(self) -> int:
        return self._leader_epoch

    def encode(
        self, records: Sequence[CoordinatorRecord], *, producer: TransactionalProducer | None = None
    ) -> bytearray:
        return encode_batch(
            records, now_ms=self._ports.clock.now_ms(), producer=producer, codec=self._codec()
        )

    def append(
        self,
        records: Sequence[CoordinatorRecord],
        *,
        producer: TransactionalProducer | None = None,
        batch: bytearray | None = None,
    ) -> Pending[int]:
        guard = None
        if producer is not None:  # also an append that is rejected takes it
            guard, self.guard = self.guard, None
        leader = self._partition.leader(self._leader_epoch)
        if batch is None:
            batch = self.encode(records, producer=producer)
        _ensure_fits(batch, leader.log.config)
        context = AppendContext(AppendOrigin.COORDINATOR, guard)
        return base_offset(leader.append(memoryview(batch), AppendRequest(context=context)))

    def open_batch(self) -> OpenBatch:
        leader = self._partition.leader(self._leader_epoch)
        leader.ensure_allowed(INTERNAL)
        config = leader.log.config
        return OpenBatch(
            self._append_built,
            most_bytes=min(config.max_message_bytes, config.segment_bytes),
            codec=self._codec(),
        )

    def _append_built(self, batch: bytearray) -> Pending[int]:
        leader = self._partition.leader(self._leader_epoch)
        return base_offset(leader.append_internal(memoryview(batch)))

    def start_verification(
        self, producer: TransactionalProducer, *, supports_epoch_bump: bool
    ) -> VerificationGuard | None:
        """Return the guard of a transaction to verify; None if it is open in this partition."""
        return self._partition.led_log.producers.start_verification(
            producer.producer_id,
            sequence=0,
            epoch=producer.producer_epoch,
            now_ms=self._ports.clock.now_ms(),
            supports_epoch_bump=supports_epoch_bump,
        )

    def append_marker(self, marker: TransactionMarker) -> Pending[int]:
        return append_marker(self._partition, marker, leader_epoch=self._leader_epoch)

    def load(self) -> AsyncIterator[memoryview]:
        self.guard = None  # of an append that the shard before has not made
        return partition_loader.load(self._partition, self._leader_epoch, worker=self._ports.worker)

    async def wait_until_committed(self) -> None:
        await partition_loader.wait_until_committed(self._partition, self._leader_epoch)


def append_marker(
    partition: Partition, marker: TransactionMarker, *, leader_epoch: int
) -> Pending[int]:
    """End a transaction in a partition that this broker leads; -1 stands for any leader epoch."""
    pending = partition.leader(leader_epoch).append_marker(
        EndTransaction(marker.is_commit, marker.coordinator_epoch),
        producer_id=marker.producer_id,
        producer_epoch=marker.producer_epoch,
        is_strict=marker.transaction_version >= EPOCH_BUMP,
    )
    return base_offset(pending)


def base_offset(pending: Pending[PartitionAppendResult]) -> Pending[int]:
    """Return the base offset of an append; a result that exists already stays one."""
    if pending.done() and pending.exception() is None:
        return Completed(pending.result().result.first_offset)
    return _BaseOffset(pending)


class _BaseOffset:
    """The base offset of an append that does not count yet, or that has failed."""

    __slots__ = ("_pending",)

    def __init__(self, pending: Pending[PartitionAppendResult]) -> None:
        self._pending = pending

    def done(self) -> bool:
        return self._pending.done()

    def result(self) -> int:
        return self._pending.result().result.first_offset

    def exception(self) -> BaseException | None:
        return self._pending.exception()

    def add_done_callback(self, call: Callable[[Pending[int]], object], /) -> None:
        # A reference from the callback to this object would be a cycle.
        self._pending.add_done_callback(lambda ended: call(_BaseOffset(ended)))


def _ensure_fits(batch: bytearray, config: LogConfig) -> None:
    size = len(batch)
    if size > config.max_message_bytes:
        raise MessageTooLargeError(
            f"the records have {size} bytes (max.message.bytes is {config.max_message_bytes})"
        )
    if size > config.segment_bytes:
        raise RecordListTooLargeError(
            f"the records have {size} bytes (segment.bytes is {config.segment_bytes})"
        )
