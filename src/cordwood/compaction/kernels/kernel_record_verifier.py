"""The judge of kernels: batches of v2 go to them, all others, and what is wrong, to the plain one.

    budget   slots, twice as many whenever three quarters of them are taken and there is room for
             them; the arena has all the rest

Old formats are judged plainly, over the same keys. Where a kernel finds anything wrong with a batch
the plain judge looks at it once more, and finds the words.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple, NoReturn

import numpy as np

from cordwood.compaction.kernels import proof_batches as at
from cordwood.compaction.kernels import proof_keys as keys_at
from cordwood.compaction.kernels import proof_rows as rows_at
from cordwood.compaction.kernels.key_hashes import signed_word
from cordwood.compaction.kernels.proof_batches import judge_batch, learn_batch
from cordwood.compaction.kernels.proof_keys import fill_slots, see_one, settle
from cordwood.compaction.kernels.proof_rows import judge_rows, learn_rows
from cordwood.compaction.kernels.scanned_batches import Scanned
from cordwood.compaction.key_hash import MASK, key_hash
from cordwood.compaction.plan.cleaning_plan import CleaningPlan
from cordwood.compaction.proof.batch_checks import SurvivingRecords
from cordwood.compaction.proof.batch_reader import BatchCursor, LocatedBatch
from cordwood.compaction.proof.index_checks import PlacedBatch
from cordwood.compaction.proof.input_walk import last_offsets_of
from cordwood.compaction.proof.key_checks import (
    ERASED,
    LOST,
    LOST_TOMBSTONE,
    OLDER,
    STAYS,
    STAYS_ERASED,
    TWICE,
    KeyScope,
    KeysFullError,
    LostRecord,
)
from cordwood.compaction.proof.record_checks import (
    BatchVerdict,
    PlainRecordVerifier,
    RecordCounts,
    RecordTally,
    StrideLimits,
    StrideResult,
)
from cordwood.compaction.proof.violations import KEPT, Violation, Violations
from cordwood.core.binary import INT64_MAX
from cordwood.core.types import NO_TIMESTAMP
from cordwood.records.batch_header import BatchHeader
from cordwood.records.batch_stream import AnyBatch
from cordwood.records.kernels import layout
from cordwood.records.kernels.arena import read_only
from cordwood.records.kernels.kernel_definition import Bytes, Words
from cordwood.records.record_batch import HEADER_SIZE, LOG_APPEND_TIME_BIT, MAGIC, RecordBatch

_FIRST_SLOTS: Final = 1024
_FEWEST_SLOTS: Final = 8
#: With less memory not even a minimal key class would fit.
_LEAST_BYTES: Final = 1024
_SLOT_BYTES: Final = 8
_WORDS: Final = {
    keys_at.RIGHT: None,
    keys_at.STAYS_ERASED: STAYS_ERASED,
    keys_at.STAYS: STAYS,
    keys_at.OLDER: OLDER,
    keys_at.LOST: LOST,
    keys_at.TWICE: TWICE,
}
_NOTHING: Final = read_only(b"")
_PLACED: Final = [
    layout.T_POSITION, layout.T_BASE_OFFSET, layout.T_LAST_DELTA, layout.T_MAX_TIMESTAMP
]  # fmt: skip


class KernelKeys:
    """The keys of one scope, in the kernels' stretches; see `Keys`."""

    __slots__ = ("_memory_bytes", "arena", "notes", "scope", "slots", "words")

    def __init__(self, plan: CleaningPlan, scope: KeyScope, *, memory_bytes: int) -> None:
        self.scope = scope
        self._memory_bytes = memory_bytes = max(memory_bytes, _LEAST_BYTES)
        self.words = np.zeros(rows_at.ROWS_WORDS, np.int64)
        self.words[keys_at.V_FIRST_DIRTY] = plan.first_dirty
        self.words[keys_at.V_UNIQUE_FROM] = INT64_MAX if scope.is_sample else plan.log_start
        self.words[at.V_SEED] = signed_word(scope.seed)
        self.words[at.V_CLASSES], self.words[at.V_CHOSEN] = scope.classes - 1, scope.chosen
        self.notes = np.zeros((at.NOTES, at.NOTE_WIDTH), np.int64)
        self.arena: Bytes = np.empty(memory_bytes, np.uint8)  # it is there once it is written
        self._take_slots(_first_slots(memory_bytes))
        for key in filter(scope.holds, plan.erased_keys):
            self.learn(key, ERASED)

    def learn(self, key: bytes, offset: int) -> None:
        """Remember that a record is left; see `Keys`."""
        self._see(keys_at.IS_LEARNT, key, offset)

    def see_left(self, key: bytes, offset: int) -> str | None:
        """Take a record that is left; see `Keys`."""
        return self._see(keys_at.IS_LEFT, key, offset)

    def see_gone(
        self, key: bytes, offset: int, *, is_tombstone: bool, is_expired: bool
    ) -> str | None:
        """Take a record that is gone; see `Keys`."""
        what = keys_at.IS_GONE_TOMBSTONE if is_tombstone else keys_at.IS_GONE
        return self._see(keys_at.IS_GONE_EXPIRED if is_expired else what, key, offset)

    @property
    def memory(self) -> tuple[Words, Words, Bytes]:
        """Return the memory that kernels write: notes, slots, arena."""
        return self.notes, self.slots, self.arena

    @property
    def dirty_keys(self) -> int:
        """How many keys dirty records have; see `Keys`."""
        return settle(self.words, self.arena, np.zeros(1, np.int64))

    @property
    def superseded(self) -> int:
        """How many records went because of a later one."""
        return int(self.words[keys_at.V_SUPERSEDED])

    @property
    def tombstones(self) -> int:
        """How many tombstones went in time, and nothing has followed them."""
        return int(self.words[keys_at.V_TOMBSTONES])

    def lost(self) -> Iterator[LostRecord]:
        """Yield the records without a reason, as many as are reported."""
        found = np.zeros(1 + KEPT, np.int64)
        settle(self.words, self.arena, found)
        for unexplained in found[1 : 1 + min(KEPT, int(found[0]))].tolist():
            yield LostRecord(unexplained >> 1, LOST_TOMBSTONE if unexplained & 1 else LOST)

    def make_room(self) -> None:
        """Have more slots, for one more key at least; KeysFullError if there is no memory."""
        slots = len(self.slots)
        is_short_of_slots = self.words[keys_at.V_KEYS] >= self.words[keys_at.V_MOST_KEYS]
        room = self._memory_bytes - 2 * slots * _SLOT_BYTES - int(self.words[keys_at.V_USED])
        if not is_short_of_slots or room < 0:
            raise KeysFullError(f"{self.words[keys_at.V_KEYS]} keys fill the memory that there is")
        self._take_slots(2 * slots)
        fill_slots(self.words, self.slots, self.arena)

    def _take_slots(self, count: int) -> None:
        self.slots: Words = np.zeros(count, np.int64)
        self.words[keys_at.V_MOST_KEYS] = count // 4 * 3
        most = max(0, self._memory_bytes - count * _SLOT_BYTES)
        self.words[keys_at.V_MOST_BYTES] = most

    def _see(self, what: int, key: bytes, offset: int) -> str | None:
        hashed = signed_word(key_hash(key, self.scope.seed))
        source = read_only(key)
        while True:
            found = see_one(what, source, hashed, offset, self.words, self.slots, self.arena)
            if found >= 0:
                return _WORDS[found]
            self.make_room()


def _first_slots(memory_bytes: int) -> int:
    """Return with how many slots to begin: a small part of little memory."""
    slots = _FIRST_SLOTS
    while slots > _FEWEST_SLOTS and 4 * _SLOT_BYTES * slots > memory_bytes:
        slots //= 2
    return slots


class _Rest(NamedTuple):
    """The surviving records of a batch: their range, their number, their base time."""

    source: Bytes
    start: int
    end: int
    records: int
    base_timestamp: int


_NO_REST: Final = _Rest(_NOTHING, 0, 0, 0, 0)


class KernelRecordVerifier:
    """Judges with the kernels; see `Judge`."""

    __slots__ = (
        "_before", "_lasts", "_left", "_left_rows", "_plain", "_plan", "_rows", "keys",
        "violations",
    )  # fmt: skip

    def __init__(  # tidy: allow[positional] as `Judges` are called
        self, plan: CleaningPlan, scope: KeyScope, violations: Violations, memory_bytes: int
    ) -> None:
        self.keys = KernelKeys(plan, scope, memory_bytes=memory_bytes)
        self.violations = violations
        self._plain = PlainRecordVerifier(self.keys, violations)
        self._before, self._left = _Side(), _Side()
        self._rows, self._left_rows = Scanned(), Scanned()
        self._plan = plan
        lasts = sorted(last_offsets_of(plan).items())
        self._lasts: Words = np.array(lasts, np.int64).reshape(-1, 2)

    @property
    def counts(self) -> RecordCounts:
        """Return the counts of the kernels and of the plain twin."""
        words, plain = self.keys.words, self._plain.counts
        return RecordCounts(
            read=plain.read + int(words[at.V_READ]),
            left=plain.left + int(words[at.V_LEFT]),
            tombstones_left=plain.tombstones_left + int(words[at.V_TOMBSTONES_LEFT]),
            aborted=plain.aborted + int(words[at.V_ABORTED]),
            unkeyed=plain.unkeyed + int(words[at.V_UNKEYED]),
            keyed_gone=plain.keyed_gone + int(words[at.V_KEYED_GONE]),
            stream=int(words[at.V_STREAM]) & MASK,
        )

    def learn(self, left: LocatedBatch) -> None:
        """Take a data batch of the cleaned log; see `Judge`."""
        keys = self.keys
        if left.header.magic != MAGIC:
            place = left.batch.place
            raise place.invalid("an old format", expected=MAGIC, found=left.header.magic)
        source, start, end = self._left.records_of(left)
        self._stand(left.header, start, end)
        while (ended := learn_batch(source, keys.words, *keys.memory)) == at.FULL:
            keys.make_room()
        if ended == at.WRONG:
            _refuse(left.batch)

    def learn_many(self, left: BatchCursor, *, lowest: int, highest: int) -> list[PlacedBatch]:
        """Take ordinary batches of the cleaned log; see `Judge`."""
        keys, rows, start = self.keys, self._left_rows.rows_of(left), left.start
        words, source = keys.words, self._left_rows.source
        words[rows_at.V_ROW] = words[rows_at.V_IS_BEGUN] = 0
        words[rows_at.V_LOWEST_OFFSET], words[rows_at.V_HIGHEST_OFFSET] = lowest, highest
        while learn_rows(source, rows, words, *keys.memory) == at.FULL:
            keys.make_room()
        learnt = rows[: words[rows_at.V_ROW]]
        left.go_over(_size_of(learnt))
        return [
            PlacedBatch(start + position, base + delta, latest)
            for position, base, delta, latest in learnt[:, _PLACED].tolist()
        ]

    def judge(
        self, before: LocatedBatch, after: LocatedBatch | None, *, ruling: BatchVerdict
    ) -> RecordTally:
        """Hold a data batch against what is left of it; see `Judge`."""
        header, rest = before.header, self._rest(before, after)
        if rest is None:
            return self._plain.judge(before, after, ruling=ruling)
        words, keys = self.keys.words, self.keys
        source, start, end = self._before.records_of(before)
        self._stand(header, start, end)
        words[at.V_LEFT_POSITION] = rest.start
        words[at.V_LEFT_COUNT : at.V_IS_EXPIRED + 1] = (
            *(rest.records, rest.end, rest.base_timestamp),
            *ruling,
        )
        words[at.V_KEPT : at.V_LATEST + 1] = 0, 0, NO_TIMESTAMP
        while (ended := judge_batch(source, rest.source, words, *keys.memory)) == at.FULL:
            keys.make_room()
        if ended == at.WRONG:
            return self._judge_plainly(before, after, ruling)
        kept, tombstones, latest = words[at.V_KEPT : at.V_LATEST + 1].tolist()
        return RecordTally(
            header.record_count, SurvivingRecords(kept, latest=latest), tombstones > 0
        )

    def judge_many(
        self, before: BatchCursor, left: BatchCursor, *, terms: StrideLimits
    ) -> StrideResult:
        """Hold ordinary batches against what is left of them; see `Judge`."""
        keys, words = self.keys, self.keys.words
        rows, left_rows = self._rows.rows_of(before), self._left_rows.rows_of(left)
        words[[rows_at.V_ROW, rows_at.V_LEFT_ROW, rows_at.V_IS_BEGUN, rows_at.V_COPIED]] = 0
        words[rows_at.V_PASS_END : rows_at.V_IS_OVER + 1] = (
            *(terms.end, self._plan.now_ms, not terms.is_alone, terms.may_match, terms.is_over),
        )
        sides = self._rows.source, rows, self._left_rows.source, left_rows, self._lasts
        while (ended := judge_rows(*sides, words, *keys.memory)) == at.FULL:
            keys.make_room()
        held = rows[: words[rows_at.V_ROW]]
        size = _size_of(held)
        before.go_over(size)
        left.go_over(_size_of(left_rows[: words[rows_at.V_LEFT_ROW]]))
        is_held_up = ended in (at.WRONG, rows_at.ANOTHER) or len(held) == 0
        copied = int(words[rows_at.V_COPIED])
        return StrideResult(len(held), size, copied, is_held_up, is_wrong=ended == at.WRONG)

    def _rest(self, before: LocatedBatch, after: LocatedBatch | None) -> _Rest | None:
        """Return what is left of a batch as kernels read it; None: it is for the plain judge."""
        if before.header.magic != MAGIC:
            return None
        if after is None:
            return _NO_REST
        header = after.header
        if header.magic != MAGIC or header.base_offset != before.header.base_offset:
            return None
        side = self._before if _are_packed_alike(before, after) else self._left
        found = before if side is self._before else after
        source, start, end = side.records_of(found)
        return _Rest(source, start, end, header.record_count, header.base_timestamp)

    def _stand(self, header: BatchHeader, start: int, end: int) -> None:
        """Let the kernels begin with a batch."""
        self.keys.words[[at.V_NOTED, at.V_DONE]] = 0
        self.keys.words[at.V_RECORD : at.V_STAMP + 1] = (
            *(0, start, 0, 0, 0),
            header.record_count,
            end,
            header.base_offset,
            header.last_offset - header.base_offset,
            header.base_timestamp,
            header.attributes & LOG_APPEND_TIME_BIT,
            header.max_timestamp,
        )

    def _judge_plainly(
        self, before: LocatedBatch, after: LocatedBatch | None, ruling: BatchVerdict
    ) -> RecordTally:
        """Find the words for what is wrong with a batch."""
        known = self.violations.count
        judged = self._plain.judge(before, after, ruling=ruling)
        if self.violations.count == known:
            what = "the kernels find something wrong, and the plain judge nothing"
            place = (before.header.base_offset, before.header.position)
            self.violations.add(Violation(what, before.file.name, *place))
        return judged


class _Side:
    """The input or the output as kernels read it: a window of a file, or a decompressed batch."""

    __slots__ = ("_packed", "_source", "_unpacked", "_window")

    def __init__(self) -> None:
        self._window = memoryview(b"")
        self._source = _NOTHING
        self._packed: LocatedBatch | None = None
        self._unpacked = _NOTHING

    def records_of(self, found: LocatedBatch) -> tuple[Bytes, int, int]:
        """Return where the records of a batch lie as they were before they were compressed."""
        if found.header.codec_id:
            if found is not self._packed:
                batch = found.batch
                assert isinstance(batch, RecordBatch), "only these are handed over"
                self._packed, self._unpacked = found, read_only(batch.uncompressed())
            return self._unpacked, 0, len(self._unpacked)
        if found.window is not self._window:
            self._window, self._source = found.window, read_only(found.window)
        return self._source, found.at + HEADER_SIZE, found.at + found.header.size


def _size_of(rows: Words) -> int:
    """Return how many bytes batches take that follow each other."""
    return int(rows[-1, layout.T_DATA_END] - rows[0, layout.T_POSITION]) if len(rows) else 0


def _are_packed_alike(before: LocatedBatch, after: LocatedBatch) -> bool:
    """Whether a batch need not be unpacked twice; memory compares bytes faster than views."""
    if not before.header.codec_id or before.header.size != after.header.size:
        return False
    return bytes(before.data) == bytes(after.data)


def _refuse(batch: AnyBatch) -> NoReturn:
    """Raise the error of a batch, worded by the plain reader."""
    for _ in batch.records():
        pass
    raise batch.place.invalid(
        "the kernel rejects a batch that the plain reader accepts",
        expected="sound records",
        found="others",
    )
