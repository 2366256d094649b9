"""The key map of kernels: a budget of bytes for slots and keys, and as few ranges as it allows.

    budget   slots, twice as many whenever three quarters of them are taken and there is room for
             them; the arena has all the rest

When neither suffices the range loses its upper half. Hashes lie evenly, so the ranges after it are
made as wide as the keys that were seen in it allow.
"""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final, NamedTuple

import numpy as np

from cordwood.compaction.cleaning_job import CleaningFailedError
from cordwood.compaction.engine.batch_retention import BatchRetention
from cordwood.compaction.engine.engine import HASHES, KeyBlock
from cordwood.compaction.engine.record_marks import Marks
from cordwood.compaction.engine.segment_chunk import SegmentChunk, numbered_batches
from cordwood.compaction.kernels import key_learning as at
from cordwood.compaction.kernels.batch_runs import T_NUMBER, BatchRuns, bits_of, refuse
from cordwood.compaction.kernels.kernel_key_collector import notes_of
from cordwood.compaction.kernels.key_entries import ENTRY_HEADER, ERASED, SLOT_SIZE
from cordwood.compaction.kernels.key_hashes import signed_word
from cordwood.compaction.kernels.key_learning import go_over
from cordwood.compaction.kernels.key_map_resizing import fill_slots, forget_others, mark_learnt
from cordwood.compaction.key_hash import key_hash
from cordwood.core.binary import INT64_MAX
from cordwood.records.kernels import layout
from cordwood.records.kernels.arena import read_only
from cordwood.records.kernels.kernel_definition import Bytes, Words

_FEWEST_SLOTS: Final = 8
#: Part of the keys that surely fit, by which ranges are made.
_CAUTION: Final = 0.97
_NO_ROWS: Final = np.zeros((0, layout.TABLE_WIDTH), np.int64)


class _KeyToNote(NamedTuple):
    """A record that counts for its key, as it is noted."""

    key: bytes
    number: int
    is_tombstone: bool = False


class KernelKeyMap:
    """Learns with the kernels; `memory_bytes` bounds its slots and keys together."""

    __slots__ = (
        "_arena", "_bits", "_erased", "_first", "_marks", "_memory_bytes", "_notes", "_runs",
        "_slots", "_span", "_unkeyed", "_words", "keys",
    )  # fmt: skip

    def __init__(
        self,
        marks: Marks,
        memory_bytes: int,
        *,
        erased: frozenset[bytes] = frozenset(),
        seed: int = 0,
    ) -> None:
        self.keys = self._unkeyed = 0
        self._marks = marks
        self._bits = bits_of(marks)
        self._memory_bytes = memory_bytes
        self._erased = erased
        self._runs = BatchRuns()
        self._notes = np.zeros((at.NOTES, at.NOTE_WIDTH), np.int64)
        self._words = np.zeros(at.LEARNING_WORDS, np.int64)
        self._words[at.K_SEED] = signed_word(seed)
        self._arena = np.empty(memory_bytes, np.uint8)  # no memory is taken until it is written
        self._slots = np.zeros(SLOT_SIZE * _first_slots(memory_bytes, marks.count), np.uint8)
        self._span = HASHES

    # -- the protocol

    def begin_range(self, first_hash: int) -> None:
        """Forget all keys, and know the erased ones; see `KeyMap`."""
        self._first = first_hash
        self._words[at.K_KEYS] = self._words[at.K_USED] = 0
        self._narrow(self._span)
        self._slots.fill(0)
        self._bound()
        self._words[at.K_IS_LEARNING] = 1
        self._go_over_keyed(_KeyToNote(key, ERASED) for key in self._erased)

    def learn(self, chunk: SegmentChunk, *, first_offset: int) -> None:
        """Remember the last record of each key; see `KeyMap`."""
        self._go(chunk, first_offset, INT64_MAX, is_learning=True)

    def look_up(self, chunk: SegmentChunk, *, end_offset: int) -> None:
        """Mark the records whose keys were not learnt; see `KeyMap`."""
        self._go(chunk, 0, end_offset, is_learning=False)

    def learn_keys(self, keys: KeyBlock, *, first_number: int) -> None:
        """Remember noted records; see `KeyMap`."""
        self._go_over_noted(keys, first_number, is_learning=True)

    def look_up_keys(self, keys: KeyBlock, *, first_number: int) -> None:
        """Mark noted records whose keys were not learnt; see `KeyMap`."""
        self._go_over_noted(keys, first_number, is_learning=False)

    def finish_range(self) -> int:
        """Mark what was learnt, and make the next range as wide as it may be; see `KeyMap`."""
        self.keys += mark_learnt(self._words, self._arena, self._bits[0], self._marks.count)
        self._unkeyed = self.unkeyed
        end = self._first + self._span
        known, used = self._words[[at.K_KEYS, at.K_USED]].tolist()
        if known:
            self._span = max(1, int(self._span * _CAUTION * self._most_keys(used / known) / known))
        return end

    @property
    def unkeyed(self) -> int:
        """The records without a key, which are met again in each range; see `KeyMap`."""
        return self._unkeyed if self._first else int(self._words[at.K_UNKEYED])

    @property
    def taken(self) -> int:
        """The bytes that slots and keys take."""
        return len(self._slots) + int(self._words[at.K_USED])

    # -- records into the map

    def _go(self, chunk: SegmentChunk, low: int, high: int, *, is_learning: bool) -> None:
        words = self._words
        words[[at.K_IS_LEARNING, at.K_LOW, at.K_HIGH]] = is_learning, low, high
        for run in self._runs.of(chunk, self._marks.count):
            if run.old is not None:
                self._go_over_keyed(self._keyed(run.old))
                continue
            for source, rows in self._runs.learnable_rows(run):
                if not self._go_over(source, rows):
                    refuse(run.source.data, int(rows[words[at.K_ROW], layout.T_POSITION]))

    def _go_over(self, source: Bytes, rows: Words, noted: int = 0) -> bool:
        """Learn, or look up, what is noted, then the records of rows; False at a bad row."""
        words = self._words
        words[[at.K_ROW, at.K_POSITION, at.K_NOTED, at.K_DONE]] = 0, -1, noted, 0
        while True:
            memory = self._slots, self._arena
            ended = go_over(source, rows, words, self._notes, memory, self._bits)
            if ended != at.FULL:
                return bool(ended == at.DONE)
            self._make_room(rows)

    def _keyed(self, old: SegmentChunk) -> Iterator[_KeyToNote]:
        """Yield those of the records of a batch of the old formats that are asked for."""
        low, high = self._words[[at.K_LOW, at.K_HIGH]].tolist()
        for batch, retention, first_number in numbered_batches(old):
            if retention & BatchRetention.DELETE:
                continue
            for number, record in enumerate(batch.records(), first_number):
                if not low <= record.offset < high:
                    continue
                if record.key is None:
                    self._words[at.K_UNKEYED] += 1
                else:
                    yield _KeyToNote(record.key, number, is_tombstone=record.value is None)

    def _go_over_keyed(self, keyed: Iterable[_KeyToNote]) -> None:
        """Learn, or look up, records that come as objects."""
        each = iter(keyed)
        while noted := list(islice(each, at.NOTES)):
            place = 0
            for note, one in zip(self._notes, noted, strict=False):
                hashed = signed_word(key_hash(one.key, int(self._words[at.K_SEED])))
                note[:] = place, len(one.key) << 1 | one.is_tombstone, one.number, hashed
                place += len(one.key)
            source = read_only(b"".join(one.key for one in noted))
            self._words[[at.K_NOTED, at.K_DONE]] = len(noted), 0
            self._forget_notes()
            self._go_over(source, _NO_ROWS, int(self._words[at.K_NOTED]))

    def _go_over_noted(self, keys: KeyBlock, first_number: int, *, is_learning: bool) -> None:
        """Learn, or look up, records that others have noted."""
        source, words = read_only(keys.data), self._words
        notes = notes_of(keys)
        notes[:, at.N_NUMBER] = np.arange(first_number, first_number + len(notes))
        words[at.K_IS_LEARNING] = is_learning
        for begin in range(0, len(notes), at.NOTES):
            taken = notes[begin : begin + at.NOTES]
            self._notes[: len(taken)] = taken
            words[[at.K_NOTED, at.K_DONE]] = len(taken), 0
            self._forget_notes()
            self._go_over(source, _NO_ROWS, int(words[at.K_NOTED]))

    # -- room

    def _bound(self) -> None:
        """Set the limits of slots and arena."""
        slots = len(self._slots)
        self._words[at.K_MOST_KEYS] = _most_taken(slots // SLOT_SIZE)
        self._words[at.K_MOST_BYTES] = self._memory_bytes - slots

    def _make_room(self, rows: Words) -> None:
        """For the note that is due have more slots, if there is memory for them, or fewer keys."""
        words = self._words
        note = self._notes[words[at.K_DONE]].tolist()
        needed = ENTRY_HEADER + (note[at.N_SIZE] >> 1)
        slots = len(self._slots)
        is_short_of_slots = words[at.K_KEYS] >= words[at.K_MOST_KEYS]
        if is_short_of_slots and words[at.K_USED] + needed <= self._memory_bytes - 2 * slots:
            self._slots = np.zeros(0, np.uint8)  # so that there are never both
            self._slots = np.zeros(2 * slots, np.uint8)
        else:
            if self._span == 1:
                raise self._does_not_fit(note, rows)
            self._narrow(self._span // 2)
            forget_others(words, self._arena)
            self._forget_notes()
            self._slots.fill(0)
        fill_slots(words, self._slots, self._arena)
        self._bound()

    def _narrow(self, span: int) -> None:
        """Restrict the range to N hashes from its first one on, if it has that many."""
        self._span = min(span, HASHES - self._first)
        self._words[at.K_BELOW] = signed_word(-self._first % HASHES)
        self._words[at.K_WIDTH] = signed_word(self._span - 1)

    def _forget_notes(self) -> None:
        """Take notes away that the range has not."""
        done, noted = self._words[[at.K_DONE, at.K_NOTED]].tolist()
        notes = self._notes[done:noted]
        above = notes[:, at.N_HASH].astype(np.uint64) - np.uint64(self._first)
        kept = notes[above <= np.uint64(self._span - 1)]
        self._notes[: len(kept)] = kept
        self._words[[at.K_DONE, at.K_NOTED]] = 0, len(kept)

    def _most_keys(self, key_bytes: float) -> float:
        """Return the number of keys of N bytes that fit, for any number of slots."""
        most, slots = 0.0, len(self._slots) // SLOT_SIZE
        while (room := self._memory_bytes - SLOT_SIZE * slots) > 0:
            most = max(most, min(_most_taken(slots), room / key_bytes))
            slots *= 2
        return most

    def _does_not_fit(self, note: list[int], rows: Words) -> CleaningFailedError:
        row = np.searchsorted(rows[:, T_NUMBER], note[at.N_NUMBER], "right") - 1
        where = f"the batch at offset {rows[row, layout.T_BASE_OFFSET]}" if len(rows) else "a batch"
        return CleaningFailedError(
            f"a key of {where} has {note[at.N_SIZE] >> 1} bytes, which {self._memory_bytes} bytes"
            " for the keys of a pass cannot hold; raise log.cleaner.dedupe.buffer.size"
        )


def _most_taken(slots: int) -> int:
    """Return how many slots may be taken: with more of them a search would be long."""
    return slots // 4 * 3


def _first_slots(memory_bytes: int, records: int) -> int:
    """Return with how many slots to begin: for an eighth of the records, in a quarter of memory."""
    slots = _FEWEST_SLOTS
    while 8 * slots < records and 8 * SLOT_SIZE * slots <= memory_bytes:
        slots *= 2
    return slots
