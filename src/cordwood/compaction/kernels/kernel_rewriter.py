"""Rewriter with kernels: a run of batches gets verdicts, is written and sealed, each in one step.

Compressed batches are processed one by one. Dropped ones are not decompressed, unchanged ones only
for the stream hash, and the others are compressed again. The plain twin handles rare and old
batches. The output buffer is kept between chunks.
"""

from struct import Struct
from typing import Final, NamedTuple

import numpy as np

from cordwood.compaction.certificate import PassCounts
from cordwood.compaction.engine.plain_rewriter import PlainRewriter
from cordwood.compaction.engine.record_marks import Marks
from cordwood.compaction.engine.segment_chunk import SegmentChunk
from cordwood.compaction.kernels import row_output as at
from cordwood.compaction.kernels import row_verdicts
from cordwood.compaction.kernels.batch_runs import (
    T_NUMBER,
    T_RETENTION,
    BatchRun,
    BatchRuns,
    bits_of,
    chunk_of,
    refuse,
)
from cordwood.compaction.kernels.key_hashes import signed_word
from cordwood.compaction.kernels.row_output import write_rows
from cordwood.compaction.kernels.row_verdicts import COPIED, GONE, PLAIN, judge_rows
from cordwood.compaction.key_hash import MASK
from cordwood.compaction.plan.cleaning_plan import CleaningPlan
from cordwood.compaction.plan.delete_horizon import new_delete_horizon_ms
from cordwood.core.binary import Buffer, crc32c
from cordwood.records.batch_location import CODEC_BITS
from cordwood.records.compression import Codec, compress
from cordwood.records.kernels import layout
from cordwood.records.kernels.crc32c import CRC_AT, CRC_START, seal
from cordwood.records.kernels.kernel_definition import Bytes, TwoSlabs, Words
from cordwood.records.legacy_message import LOG_OVERHEAD
from cordwood.records.record_batch import CONTROL_BIT, HEADER_SIZE

_FIRST_ROOM: Final = 64 * 1024
_WHOLE: Final = [layout.T_POSITION, layout.T_SIZE, layout.T_ATTRIBUTES]
_SIZE_AT: Final = 8
_SIZE: Final = Struct(">i")
_CRC: Final = Struct(">I")


class _Room:
    """Bytes that are written one behind the other, used again from chunk to chunk."""

    __slots__ = ("slab", "words")

    def __init__(self, plan: CleaningPlan) -> None:
        self.slab = np.empty(_FIRST_ROOM, np.uint8)
        self.words = np.zeros(at.WRITING_WORDS, np.int64)
        self.words[at.W_NOW] = plan.now_ms
        self.words[at.W_HORIZON] = new_delete_horizon_ms(plan)

    def grow(self, needed: int) -> None:
        """Ensure room for N bytes in all."""
        if needed > len(self.slab):
            larger = np.empty(2 * needed, np.uint8)
            larger[: self.used] = self.slab[: self.used]
            self.slab = larger

    def append(self, data: Buffer) -> None:
        """Write bytes behind what there is."""
        used = self.used
        self.grow(used + len(data))
        self.slab[used : used + len(data)] = np.frombuffer(data, np.uint8)
        self.words[at.W_USED] = used + len(data)

    @property
    def used(self) -> int:
        return int(self.words[at.W_USED])


class KernelRewriter:
    """Leaves what a plan leaves, with the kernels."""

    __slots__ = ("_loose", "_now_ms", "_plain", "_room", "_runs", "_sums")

    def __init__(self, plan: CleaningPlan) -> None:
        self._plain = PlainRewriter(plan)
        self._now_ms = plan.now_ms
        self._runs = BatchRuns()
        self._room = _Room(plan)
        self._loose = _Room(plan)
        self._sums = np.zeros(row_verdicts.COUNT_WORDS, np.int64)

    def rewrite(self, chunk: SegmentChunk, marks: Marks, *, counts: PassCounts) -> memoryview:
        """Return the batches that stay; see `Rewriter`."""
        self._room.words[at.W_USED] = 0
        task = _Task(chunk, marks, bits_of(marks), counts)
        for run in self._runs.of(chunk, marks.count):
            if run.old is not None:
                self._room.append(self._plain.rewrite(run.old, marks, counts=counts))
                continue
            judge_rows(run.rows, task.bits, self._now_ms, self._sums)
            if run.is_packed:
                for row in range(len(run.rows)):
                    self._pack(run.source, run.rows[row : row + 1], task)
            else:
                self._write_run(run, task)
        self._add_sums(counts)
        return self._room.slab.data[: self._room.used]

    def _write_run(self, run: BatchRun, task: "_Task") -> None:
        """Write the batches of a run that is not compressed."""
        rows, room = run.rows, self._room
        while len(rows):
            before = room.used
            done = _write(run.source, run.source, rows, task=task, room=room)
            seal(room.slab, rows, done)
            task.counts.bytes_kept += room.used - before
            if done < len(rows):  # which is left to the plain twin
                self._leave(rows[done], task)
            rows = rows[done + 1 :]

    def _pack(self, source: Bytes, rows: Words, task: "_Task") -> None:
        """Write a compressed batch, the only one of these rows."""
        judgement = rows[0, T_RETENTION]
        if judgement == PLAIN:
            self._leave(rows[0], task)
        if judgement in (PLAIN, GONE):
            return
        position, size, attributes = rows[0, _WHOLE].tolist()
        left: Buffer = source.data[position : position + size]
        if not attributes & CONTROL_BIT:
            loose = self._loose
            loose.words[at.W_USED] = 0
            records = self._runs.unpack(source, rows[0])
            _write(source, records, rows, task=task, room=loose)
            if judgement != COPIED:
                left = _packed(Codec(attributes & CODEC_BITS), loose.slab.data[: loose.used])
        self._room.append(left)
        task.counts.bytes_kept += len(left)

    def _leave(self, row: Words, task: "_Task") -> None:
        """Let the plain twin do what is left of a batch."""
        alone = chunk_of(task.chunk, int(row[layout.T_POSITION]), int(row[layout.T_SIZE]))
        alone = alone._replace(first_number=int(row[T_NUMBER]))
        self._room.append(self._plain.rewrite(alone, task.marks, counts=task.counts))

    def _add_sums(self, counts: PassCounts) -> None:
        """Add what the kernels have counted."""
        for name, number in zip(row_verdicts.NAMES, self._sums.tolist(), strict=True):
            setattr(counts, name, getattr(counts, name) + number)
        self._sums[:] = 0


class _Task(NamedTuple):
    """The inputs of a rewrite, and the marks as kernels see them."""

    chunk: SegmentChunk
    marks: Marks
    bits: TwoSlabs
    counts: PassCounts


def _write(source: Bytes, records: Bytes, rows: Words, *, task: _Task, room: _Room) -> int:
    """Write rows, in a room that grows; returns the first that is left to the plain twin."""
    words, done = room.words, 0
    words[at.W_STREAM] = signed_word(task.counts.stream)
    words[at.W_ENDED] = at.NO_ROOM
    while words[at.W_ENDED] == at.NO_ROOM:
        done += write_rows(source, records, rows[done:], task.bits, words, room.slab)
        if words[at.W_ENDED] == at.NO_ROOM:
            room.grow(int(words[at.W_NEEDED]))
    if words[at.W_ENDED] == at.BAD:
        refuse(source.data, int(rows[done, layout.T_POSITION]))
    task.counts.stream = int(words[at.W_STREAM]) & MASK
    return done


def _packed(codec: Codec, data: memoryview) -> bytearray:
    """Return a batch whose records are not compressed yet; its checksum is computed too."""
    out = bytearray(data[:HEADER_SIZE])
    out += compress(codec, data[HEADER_SIZE:])
    _SIZE.pack_into(out, _SIZE_AT, len(out) - LOG_OVERHEAD)
    _CRC.pack_into(out, CRC_AT, crc32c(memoryview(out)[CRC_START:]))
    return out
