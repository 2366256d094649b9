"""The collector of kernels, and the marks that others' words set."""

from array import array
from collections.abc import Iterator
from typing import Final

import numpy as np

from cordwood.compaction.engine.engine import BUCKET_SHIFT, KeyBlock
from cordwood.compaction.engine.plain_key_collector import PlainKeyCollector
from cordwood.compaction.engine.record_marks import Marks
from cordwood.compaction.engine.segment_chunk import SegmentChunk
from cordwood.compaction.kernels import key_learning as at
from cordwood.compaction.kernels.batch_runs import BatchRuns, bits_of, refuse
from cordwood.compaction.kernels.key_collection import gather, note_rows
from cordwood.compaction.kernels.key_entries import SLOT_SIZE
from cordwood.compaction.kernels.key_hashes import signed_word
from cordwood.records.kernels import layout
from cordwood.records.kernels.arena import read_only
from cordwood.records.kernels.kernel_definition import Bytes, Words

#: As many records are noted at a time.
_NOTES: Final = 1 << 14
_ALL_HASHES: Final = -1


class KernelKeyCollector:
    """Takes keys with the kernels; those of the old formats the plain twin takes."""

    __slots__ = (
        "_buckets", "_data", "_first_number", "_notes", "_plain", "_runs", "_slots", "_taken",
        "_words",
    )  # fmt: skip

    def __init__(  # tidy: allow[positional] as `Engine.collector` is called
        self, buckets: int, first_number: int, seed: int
    ) -> None:
        self._buckets = buckets
        self._first_number = first_number
        self._plain = PlainKeyCollector(buckets, first_number, seed)
        self._runs = BatchRuns()
        self._words = np.zeros(at.LEARNING_WORDS, np.int64)
        self._words[[at.K_WIDTH, at.K_SEED]] = _ALL_HASHES, signed_word(seed)
        self._notes = np.zeros((_NOTES, at.NOTE_WIDTH), np.int64)
        self._slots = np.zeros(SLOT_SIZE, np.uint8)
        self._data: list[bytes] = []
        self._taken: list[Words] = []

    def collect(self, chunk: SegmentChunk, marks: Marks, *, offsets: range) -> None:
        """Take the records that are marked; see `KeyCollector`."""
        self._words[[at.K_LOW, at.K_HIGH]] = offsets.start, offsets.stop
        latest, _ = bits_of(marks)
        for run in self._runs.of(chunk, marks.count):
            if run.old is not None:
                self._plain.collect(run.old, marks, offsets=offsets)
                continue
            for source, rows in self._runs.learnable_rows(run):
                self._take(source, rows, latest)

    def finish(self) -> Iterator[KeyBlock]:
        """Yield what was taken; see `KeyCollector`."""
        source, notes = read_only(b"".join(self._data)), np.concatenate([_NO_NOTES, *self._taken])
        notes[:, at.N_KEY] = _starts(notes[:, at.N_SIZE] >> 1)
        buckets = notes[:, at.N_HASH] >> BUCKET_SHIFT & self._buckets - 1
        order = np.argsort(buckets, kind="stable")
        notes, ends = notes[order], np.cumsum(np.bincount(buckets, minlength=self._buckets))
        begin = 0
        for end, plain in zip(ends.tolist(), self._plain.finish(), strict=True):
            yield _joined(_noted(source, notes[begin:end]), plain)
            begin = end

    def _take(self, source: Bytes, rows: Words, latest: Bytes) -> None:
        """Take the records of rows."""
        words, ended = self._words, at.FULL
        words[[at.K_ROW, at.K_POSITION]] = 0, -1
        while ended == at.FULL:
            ended = note_rows(source, rows, words, self._notes, self._slots)
            if ended == at.BAD:
                refuse(source.data, int(rows[words[at.K_ROW], layout.T_POSITION]))
            notes = self._notes[: words[at.K_NOTED]]
            numbers = notes[:, at.N_NUMBER]
            notes = notes[(latest[numbers >> 3] >> (numbers & 7) & 1).astype(bool)]
            self._data.append(_keys_of(source, notes))
            notes[:, at.N_NUMBER] += self._first_number
            self._taken.append(notes)


_NO_NOTES: Final = np.zeros((0, at.NOTE_WIDTH), np.int64)


def notes_of(noted: KeyBlock) -> Words:
    """Return noted records as key maps note them, but for their numbers."""
    notes = np.zeros((len(noted.sizes), at.NOTE_WIDTH), np.int64)
    if len(notes):
        sizes = np.frombuffer(noted.sizes, np.int32).astype(np.int64)
        notes[:, at.N_KEY] = _starts(sizes)
        notes[:, at.N_SIZE] = sizes << 1 | np.frombuffer(noted.words, np.int64) & 1
        notes[:, at.N_HASH] = np.frombuffer(noted.hashes, np.int64)
    return notes


def survivors(  # tidy: allow[positional] as `Engine` has it
    marks: Marks, noted: KeyBlock, first_number: int
) -> "array[int]":
    """Return the words of those that are marked as the latest; see `Engine`."""
    if not noted.words:
        return array("q")
    latest, _ = bits_of(marks)
    numbers = np.arange(first_number, first_number + len(noted.words))
    is_latest = (latest[numbers >> 3] >> (numbers & 7) & 1).astype(bool)
    return array("q", np.frombuffer(noted.words, np.int64)[is_latest].tobytes())


def mark(  # tidy: allow[positional] as `Engine` has it
    marks: Marks, first_number: int, words: "array[int]"
) -> None:
    """Mark records as the latest, and tombstones as such; see `Engine`."""
    if not words:
        return
    latest, tombstones = bits_of(marks)
    each = np.frombuffer(words, np.int64)
    for bits, chosen in ((latest, each), (tombstones, each[each & 1 == 1])):
        numbers = (chosen >> 1) - first_number
        np.bitwise_or.at(bits, numbers >> 3, (1 << (numbers & 7)).astype(np.uint8))


def _starts(sizes: Words) -> Words:
    return np.cumsum(sizes) - sizes


def _keys_of(source: Bytes, notes: Words) -> bytes:
    """Return the keys of notes, one behind the other."""
    out = np.empty(int((notes[:, at.N_SIZE] >> 1).sum()), np.uint8)
    copied = gather(source, notes, out)
    assert copied == len(out), "all keys of the notes are in the source"
    return out.tobytes()


def _noted(source: Bytes, notes: Words) -> KeyBlock:
    """Return the noted keys."""
    words = notes[:, at.N_NUMBER] << 1 | notes[:, at.N_SIZE] & 1
    return KeyBlock(
        _keys_of(source, notes),
        array("i", (notes[:, at.N_SIZE] >> 1).astype(np.int32).tobytes()),
        array("Q", notes[:, at.N_HASH].tobytes()),
        array("q", words.tobytes()),
    )


def _joined(first: KeyBlock, second: KeyBlock) -> KeyBlock:
    return KeyBlock(
        first.data + second.data,
        first.sizes + second.sizes,
        first.hashes + second.hashes,
        first.words + second.words,
    )
