"""Facts about the records of one batch: sufficient to accept or reject it for a log.

Every record is read, as strictly as `RecordBatch.records` and `LegacyBatch.records` read it, and
none is kept. This is the plain twin of `kernels.record_checks`. It serves without kernels, and
it words the error when a kernel has rejected a batch. Checksums of whole batches are not
checked; those inside a wrapper are.
"""

from itertools import pairwise
from typing import Final, NamedTuple, Protocol

from cordwood.records.batch_stream import AnyBatch
from cordwood.records.compression import DEFAULT_LIMIT
from cordwood.records.record import Record, TimestampType
from cordwood.records.record_batch import RecordBatch

_NO_TIMESTAMP: Final = -1


class BatchFacts(NamedTuple):
    """The facts of a valid batch.

    `is_sequential`: no offset is missing between the two in a v2 header or, in the old formats,
    between the first record and the last. `min_timestamp` ignores records without a timestamp and
    is -1 without any; `max_timestamp` is never below -1. `foreign` counts the messages in a wrapper
    with another magic than the wrapper's.
    """

    record_count: int
    first_offset: int
    is_sequential: bool
    min_timestamp: int
    max_timestamp: int
    keyless: int
    foreign: int = 0


class Inspector(Protocol):
    """A reader of all records of a batch; thread-safe."""

    @property
    def is_compiled(self) -> bool:
        """Whether records are read by machine code, a hundred times as fast as plain Python."""

    def inspect(self, batch: AnyBatch, *, limit: int = DEFAULT_LIMIT) -> BatchFacts:
        """Return the facts of a batch.

        Raises `CorruptMessageError` or `InvalidRecordError` at the first invalid record, or when
        more than `limit` bytes would have to be decompressed. Changes no bytes.
        """


class PlainInspector:
    """An inspector that reads record by record."""

    __slots__ = ()

    is_compiled: Final = False

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
    """Return whether a record has another magic than its batch, which only a wrapper allows."""
    if isinstance(batch, RecordBatch):
        return False
    return (record.timestamp_type is TimestampType.NO_TIMESTAMP) != (batch.magic == 0)


def _first_and_last(batch: AnyBatch, records: list[Record]) -> tuple[int, int]:
    """Return the offsets that bound a sequential batch; an old batch is never empty."""
    if isinstance(batch, RecordBatch):
        return batch.base_offset, batch.last_offset
    return records[0].offset, records[-1].offset


def _are_in_steps(records: list[Record]) -> bool:
    """Return whether each offset is one above the previous record's."""
    return all(after.offset - before.offset == 1 for before, after in pairwise(records))
