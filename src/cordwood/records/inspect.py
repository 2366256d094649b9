"""What the records of one batch say together: enough to decide whether a log may take them.

Every record is read, as strictly as `RecordBatch.records` and `LegacyBatch.records` read it, and
none is kept. This is the plain twin of `kernels.inspect`; it serves until the kernels are warm,
and it finds the words when a kernel has refused a batch. Checksums of whole batches are not looked
at; those inside a wrapper are.
"""

from itertools import pairwise
from typing import Final, NamedTuple, Protocol

from cordwood.records.batch import RecordBatch
from cordwood.records.compression import DEFAULT_LIMIT
from cordwood.records.record import Record, TimestampType
from cordwood.records.stream import AnyBatch

_NO_TIMESTAMP: Final = -1


class BatchFacts(NamedTuple):
    """The facts of a batch whose records are all sound.

    `is_sequential`: no offset is missing, between the two that a v2 header names or, in the old
    formats, between the first record and the last. `min_timestamp` leaves out the records that
    have none and is -1 when no record has one; `max_timestamp` is never below -1. `foreign` counts
    the messages in a wrapper that are not of the wrapper's own magic.
    """

    record_count: int
    first_offset: int
    is_sequential: bool
    min_timestamp: int
    max_timestamp: int
    keyless: int
    foreign: int = 0


class Inspector(Protocol):
    """Reads the records of a batch through; not to be shared between threads."""

    def inspect(self, batch: AnyBatch, *, limit: int = DEFAULT_LIMIT) -> BatchFacts:
        """Return the facts of a batch.

        Raises `CorruptMessageError` or `InvalidRecordError` at the first record that is unsound,
        or when more than `limit` bytes would have to be decompressed. Changes nothing.
        """


class PlainInspector:
    """Reads record by record."""

    __slots__ = ()

    def inspect(self, batch: AnyBatch, *, limit: int = DEFAULT_LIMIT) -> BatchFacts:
        """Return the facts of a batch; see `Inspector`."""
        records = list(batch.records(limit=limit))
        timestamps = (record.timestamp for record in records)
        given = [timestamp for timestamp in timestamps if timestamp != _NO_TIMESTAMP]
        first, last = _first_and_last(batch, records)
        return BatchFacts(
            record_count=len(records),
            first_offset=first,
            is_sequential=len(records) == last - first + 1 and _are_in_steps(records),
            min_timestamp=min(given, default=_NO_TIMESTAMP),
            max_timestamp=max([_NO_TIMESTAMP, *given]),
            keyless=sum(record.key is None for record in records),
            foreign=sum(is_foreign(record, batch) for record in records),
        )


def is_foreign(record: Record, batch: AnyBatch) -> bool:
    """Whether a record is of another magic than its batch, which only a wrapper lets happen."""
    if isinstance(batch, RecordBatch):
        return False
    return (record.timestamp_type is TimestampType.NO_TIMESTAMP) != (batch.magic == 0)


def _first_and_last(batch: AnyBatch, records: list[Record]) -> tuple[int, int]:
    """Return between which offsets none is to be missing; an old batch is never without records."""
    if isinstance(batch, RecordBatch):
        return batch.base_offset, batch.last_offset
    return records[0].offset, records[-1].offset


def _are_in_steps(records: list[Record]) -> bool:
    """Whether each offset is one above that of the record before."""
    return all(after.offset - before.offset == 1 for before, after in pairwise(records))
