"""A chunk as runs of batches that kernels can go over: scanned, checked, numbered.

    table   the rows of `records.kernels.header_scan`; once the checksum has been compared, the
    number of the batch's first record takes its place, and the retention that of the action

Batches of the old formats come one at a time, to be dealt with plainly.
"""

from array import array
from bisect import bisect_left
from collections.abc import Iterator
from typing import Final, NamedTuple, NoReturn

import numpy as np

from cordwood.compaction.engine.batch_retention import BatchRetention
from cordwood.compaction.engine.record_marks import Marks
from cordwood.compaction.engine.segment_chunk import SegmentChunk, count_numbered
from cordwood.core.binary import INT64_MAX, INT64_MIN, bytes_view
from cordwood.core.errors import BadRecordsError, InvalidRecordError
from cordwood.records.batch_stream import AnyBatch, batch_at, batches, ensure_whole
from cordwood.records.kernels import layout as at
from cordwood.records.kernels.arena import read_only
from cordwood.records.kernels.crc32c import first_wrong
from cordwood.records.kernels.header_scan import scan
from cordwood.records.kernels.kernel_definition import (
    BATCH_ROWS,
    INT,
    WORDS,
    Bytes,
    TwoSlabs,
    Words,
    inlined,
    kernel,
)
from cordwood.records.kernels.room import Room
from cordwood.records.record_batch import CONTROL_BIT

T_NUMBER: Final = at.T_CRC
T_RETENTION: Final = at.T_ACTION
CONTROL: Final = int(BatchRetention.CONTROL)
#: Batches whose records no key map sees.
UNLEARNT: Final = int(BatchRetention.DELETE | BatchRetention.CONTROL)

#: As many rows as a run may have, and as many bytes: a chunk of the usual size is one run.
ROWS: Final = 4096
GROUP_BYTES: Final = 1 << 20

# -- words of the numbering
W_NUMBER: Final = 0  # of the next record
W_RETENTION: Final = 1  # the next of the batches that have a retention
W_COUNT: Final = 2  # all records that there are marks for
RUN_WORDS: Final = 3


@inlined
def has_marks(row: Words, marks: TwoSlabs) -> bool:
    """Return whether all records of a row have marks."""
    count = 8 * min(len(marks[0]), len(marks[1]))
    return bool(0 <= row[T_NUMBER] <= count - row[at.T_COUNT])


@kernel(INT, BATCH_ROWS, WORDS, WORDS, WORDS.of(RUN_WORDS))
def number_rows(table: Words, positions: Words, retentions: Words, words: Words) -> int:
    """Write numbers and retentions into the rows; returns the first whose count cannot be right."""
    number, next_flagged = words[W_NUMBER], words[W_RETENTION]
    flagged = min(len(positions), len(retentions))
    for row in range(len(table)):
        retention = 0
        if next_flagged < flagged and positions[next_flagged] == table[row, at.T_POSITION]:
            retention = retentions[next_flagged]
            next_flagged += 1
        table[row, T_NUMBER] = number
        if table[row, at.T_ATTRIBUTES] & CONTROL_BIT:
            retention |= CONTROL
        elif not 0 <= table[row, at.T_COUNT] <= words[W_COUNT] - number:
            return row
        else:
            number += table[row, at.T_COUNT]
        table[row, T_RETENTION] = retention
    words[W_NUMBER], words[W_RETENTION] = number, next_flagged
    return len(table)


class BatchRun(NamedTuple):
    """Batches of one kind; `old` is the chunk of a batch of the old formats, which has no row."""

    source: Bytes
    rows: Words
    is_packed: bool = False
    old: SegmentChunk | None = None


class BatchRuns:
    """Goes over chunks; keeps its table, and its room for unpacked records."""

    __slots__ = ("_room", "_state", "_table", "_words")

    def __init__(self) -> None:
        self._table = np.zeros((ROWS, at.TABLE_WIDTH), np.int64)
        self._state = np.zeros(at.SCAN_WORDS, np.int64)
        self._state[at.S_START] = self._state[at.S_MIN_TIMESTAMP] = INT64_MIN
        self._state[at.S_LAST], self._state[at.S_GROUP_BYTES] = INT64_MAX, GROUP_BYTES
        self._words = np.zeros(RUN_WORDS, np.int64)
        self._room = Room()

    def of(self, chunk: SegmentChunk, count: int) -> Iterator[BatchRun]:
        """Yield the runs of a chunk, each to be used before the next; `count` have marks."""
        view, state, end = bytes_view(chunk.data), self._state, 0
        source = read_only(view)
        positions = np.array(chunk.positions, np.int64)
        retentions = np.array(chunk.retentions, np.int64)
        self._words[:] = chunk.first_number, 0, count
        while end < len(view):
            state[at.S_POSITION] = end
            rows = self._table[: scan(source, self._table, state)]
            if len(rows) == 0:
                refuse(view, end)
            begin, end = end, int(state[at.S_POSITION])
            if state[at.S_KIND] in (at.PLAIN_RUN, at.PACKED_RUN):
                sound = first_wrong(source, rows, len(rows))
                sound = min(sound, number_rows(rows[:sound], positions, retentions, self._words))
                if sound < len(rows):
                    refuse(view, int(rows[sound, at.T_POSITION]))
                yield BatchRun(source, rows, is_packed=state[at.S_KIND] == at.PACKED_RUN)
            else:
                for batch in batches(view[:end], begin):
                    yield BatchRun(source, rows[:0], old=self._old(batch, chunk))

    def learnable_rows(self, run: BatchRun) -> Iterator[tuple[Bytes, Words]]:
        """Yield the rows of a run that key maps see, with what their records lie in."""
        if not run.is_packed:
            yield run.source, run.rows
            return
        for row in range(len(run.rows)):
            rows = run.rows[row : row + 1]
            if not rows[0, T_RETENTION] & UNLEARNT:
                yield self.unpack(run.source, rows[0]), rows

    def unpack(self, source: Bytes, words: Words) -> Bytes:
        """Decompress the records of a row, into the room if they fit it; the row receives the
        range.
        """
        unpacked = self._room.unpack_row(source, words)
        if unpacked is None:
            refuse(source.data, int(words[at.T_POSITION]))
        return unpacked

    def _old(self, batch: AnyBatch, chunk: SegmentChunk) -> SegmentChunk:
        """Return a batch of the old formats as a chunk of its own, and count its records."""
        alone = chunk_of(chunk, batch.position, batch.size)._replace(
            first_number=int(self._words[W_NUMBER])
        )
        try:
            batch.ensure_valid()
            self._words[W_NUMBER] += count_numbered(batch)
        except BadRecordsError:
            refuse(batch.view, batch.position)
        self._words[W_RETENTION] += len(alone.positions)
        if self._words[W_NUMBER] > self._words[W_COUNT]:
            refuse(batch.view, batch.position)
        return alone


def bits_of(marks: Marks) -> TwoSlabs:
    """Return the bits as kernels see them, and write them: the latest, and tombstones."""
    return np.frombuffer(marks.latest, np.uint8), np.frombuffer(marks.tombstones, np.uint8)


def chunk_of(chunk: SegmentChunk, position: int, size: int) -> SegmentChunk:
    """Return one batch of a chunk as a chunk, whose records are still to be count_numbered."""
    next_flagged = bisect_left(chunk.positions, position)
    retentions = chunk.retentions[
        next_flagged : next_flagged
        + (chunk.positions[next_flagged : next_flagged + 1] == array("q", [position]))
    ]
    return chunk._replace(
        data=bytes_view(chunk.data)[position : position + size],
        position=chunk.position + position,
        positions=array("q", [0] * len(retentions)),
        retentions=retentions,
    )


def refuse(view: memoryview, position: int) -> NoReturn:
    """Raise the error of the batch at a position, worded by the plain twins."""
    batch = batch_at(view, position)
    if batch is None:
        ensure_whole(view, position)
        raise AssertionError("what is cut off is not whole")
    batch.ensure_valid()
    count_numbered(batch)
    for _ in batch.records():
        pass
    raise InvalidRecordError(
        "the kernel rejects a batch that the plain reader accepts",
        position=position,
        base_offset=batch.base_offset,
    )
