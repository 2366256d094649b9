"""Lookup of a record in one batch by timestamp (Kafka: `FileRecords.searchForTimestamp`).

The records are read in order, as strictly as `RecordBatch.records` and `LegacyBatch.records` read
them, up to the one that is found. Checksums of whole batches are not checked. This is the plain
twin of `kernels.record_lookup`. It serves small batches, and all without kernels.
"""

from typing import NamedTuple, Protocol

from cordwood.records.batch_stream import AnyBatch


class RecordPosition(NamedTuple):
    """The timestamp and the offset of a record."""

    timestamp: int
    offset: int


class RecordFinder(Protocol):
    """A search in the records of a batch; not thread-safe."""

    def find(self, batch: AnyBatch, *, timestamp: int, first_offset: int) -> RecordPosition | None:
        """Return the first record from `first_offset` on that is not earlier than `timestamp`.

        Raises `CorruptMessageError` or `InvalidRecordError` at an invalid record before that one.
        """


class RecordFinders(Protocol):
    """A factory of finders, for any thread."""

    def __call__(self, size: int, /) -> RecordFinder:
        """Return a finder for a batch of `size` bytes."""


class PlainRecordFinder:
    """A finder that reads record by record."""

    __slots__ = ()

    def find(self, batch: AnyBatch, *, timestamp: int, first_offset: int) -> RecordPosition | None:
        """Return the first record that qualifies; see `RecordFinder`."""
        for record in batch.records():
            if record.timestamp >= timestamp and record.offset >= first_offset:
                return RecordPosition(record.timestamp, record.offset)
        return None


def plain_record_finder(size: int) -> RecordFinder:  # noqa: ARG001 - as the port has it
    """Return the plain finder for every size."""
    return PlainRecordFinder()
