"""A chunk: adjacent whole batches of one segment, the unit that passes read and kernels process."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from cordwood.compaction.engine.batch_retention import BatchRetention
from cordwood.core.binary import Buffer
from cordwood.records.batch_stream import AnyBatch, batches, ensure_whole

if TYPE_CHECKING:
    from array import array


class SegmentChunk(NamedTuple):
    """Whole batches of one segment; `position` is where they begin in it.

    `first_number` is the number of their first record (`record_marks`). `positions`, relative to
    the chunk, and `retentions` belong to the batches that have a retention. `modified_ms` is the
    segment's modification time.

    Chunks whose marks are never read may share numbers (`mark_windows`). Even then their numbers
    are above those of the chunks before them, and below those of the chunks behind them.
    """

    data: Buffer
    position: int
    first_number: int
    positions: "array[int]"
    retentions: "array[int]"
    modified_ms: int


class NumberedBatch(NamedTuple):
    """A batch with a valid checksum, its retention, and the number of its first record."""

    batch: AnyBatch
    retention: BatchRetention
    first_number: int


def numbered_batches(chunk: SegmentChunk) -> Iterator[NumberedBatch]:
    """Yield the batches of a chunk; raise BadRecordsError for a checksum that does not match."""
    retentions = dict(zip(chunk.positions, chunk.retentions, strict=True))
    number, end = chunk.first_number, 0
    for batch in batches(chunk.data):
        batch.ensure_valid()
        yield NumberedBatch(batch, BatchRetention(retentions.get(batch.position, 0)), number)
        number, end = number + count_numbered(batch), batch.end
    ensure_whole(chunk.data, end)


def count_numbered(batch: AnyBatch) -> int:
    """Return how many records of a batch have a number: those of control batches have none."""
    if batch.is_control:
        return 0
    count = batch.count
    if count < 0:
        raise batch.place.invalid("a negative record count", expected="at least 0", found=count)
    return count
