"""Batches of producers for the tests of producer states and snapshots."""

from cordwood.records.batch_header import BatchHeader
from cordwood.records.control_records import EndTransaction
from cordwood.storage.append_origin import AppendOrigin
from cordwood.storage.producers.producer_append_info import ProducerChanges
from cordwood.storage.producers.producer_state_entry import ProducedBatch
from cordwood.storage.producers.producer_state_manager import ProducerStateManager
from cordwood.storage.producers.verification_guard import VerificationGuard

TRANSACTIONAL = 0x10
CONTROL = 0x20


def header_at(
    offset: int,
    *,
    producer: tuple[int, int],
    sequence: int,
    count: int = 1,
    timestamp: int = 1000,
    attributes: int = 0,
) -> BatchHeader:
    """Return a header of `count` records; `producer` is an id and an epoch."""
    return BatchHeader(
        position=0,
        size=100,
        magic=2,
        base_offset=offset,
        last_offset=offset + count - 1,
        partition_leader_epoch=0,
        crc=0,
        attributes=attributes,
        base_timestamp=timestamp,
        max_timestamp=timestamp,
        producer_id=producer[0],
        producer_epoch=producer[1],
        base_sequence=sequence,
        record_count=count,
    )


def data(
    offset: int,
    sequence: int = 0,
    *,
    producer: tuple[int, int] = (1, 0),
    count: int = 1,
    timestamp: int = 1000,
    is_transactional: bool = False,
) -> ProducedBatch:
    """Return a batch of an idempotent producer, which may be transactional."""
    return ProducedBatch(
        header_at(
            offset,
            producer=producer,
            sequence=sequence,
            count=count,
            timestamp=timestamp,
            attributes=TRANSACTIONAL if is_transactional else 0,
        )
    )


def end(
    offset: int,
    *,
    producer: tuple[int, int] = (1, 0),
    is_commit: bool = False,
    coordinator_epoch: int = 0,
    timestamp: int = 1000,
) -> ProducedBatch:
    """Return the batch with the marker of a transaction."""
    header = header_at(
        offset,
        producer=producer,
        sequence=-1,
        timestamp=timestamp,
        attributes=TRANSACTIONAL | CONTROL,
    )
    return ProducedBatch(
        header, EndTransaction(is_commit=is_commit, coordinator_epoch=coordinator_epoch)
    )


def append(
    states: ProducerStateManager,
    *batches: ProducedBatch,
    origin: AppendOrigin = AppendOrigin.REPLICATION,
    guard: VerificationGuard | None = None,
) -> ProducerChanges:
    """Append as a log does, and return the changes."""
    changes = states.analyze(batches, origin, guard=guard)
    assert isinstance(changes, ProducerChanges), changes
    states.apply(changes)
    for completed in changes.completed:
        states.complete(completed)
    states.advance(batches[-1].header.next_offset)
    return changes
