"""The records of one batch as they were and as they are left: each looked at, in plain Python.

    aborted    all have to be gone
    no key     likewise
    the others, if the scope holds their key: `verify_keys` says what has to be gone
    left       each is one that was there, and says the same

It is what faster judges are held to, and it finds the words where one of them stumbles.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol, TypeAlias

from cordwood.compaction.key_hash import record_hash, stream_with
from cordwood.compaction.plan import CleaningPlan
from cordwood.compaction.verify_batches import Left, record_differences
from cordwood.compaction.verify_indexes import Placed
from cordwood.compaction.verify_keys import Keys, KeysLeft, Scope
from cordwood.compaction.verify_reading import Batches, Found
from cordwood.compaction.violations import Violation, Violations
from cordwood.core.binary import read_varint
from cordwood.core.types import NO_TIMESTAMP
from cordwood.records.record import Record
from cordwood.records.v2_record import append_v2_record


class Ruling(NamedTuple):
    """What counts for all records of a batch."""

    is_aborted: bool = False
    is_expired: bool = False


class Judged(NamedTuple):
    """How many records a batch had, and what is left of them."""

    was: int
    left: Left
    has_tombstone: bool


class Terms(NamedTuple):
    """What counts for a stride: where the pass ends, and whether a log is held against itself.

    `may_match`: what is left lies where it belongs. `is_over`: nothing more is left.
    """

    end: int
    is_alone: bool
    may_match: bool
    is_over: bool


class Strode(NamedTuple):
    """Over how many batches a stride went, their bytes, and how many of them are left whole.

    `is_held_up`: the next batch has to be looked at by itself. `is_wrong`: something is.
    """

    batches: int = 0
    bytes: int = 0
    copied: int = 0
    is_held_up: bool = True
    is_wrong: bool = False


_ABORTED: Final = "a record of an aborted transaction is left"
_UNKEYED: Final = "a record without a key is left"
#: Attributes and two deltas of 0, in front of the key's length.
_FIXED: Final = 3


@dataclass(slots=True)
class RecordCounts:
    """Sums over all batches; `keyed_gone` are gone for another reason than the two before it."""

    read: int = 0
    left: int = 0
    tombstones_left: int = 0
    aborted: int = 0
    unkeyed: int = 0
    keyed_gone: int = 0
    stream: int = 0


class Judge(Protocol):
    """Learns what is left, then looks at what was there; batches come in the order of the log.

    It may stride over ordinary batches, of which it is known in advance that they are right but for
    their records, and none of which `Walk` or `LeftReader` would treat in a way of its own.
    """

    violations: Violations

    @property
    def counts(self) -> RecordCounts:
        """What was counted so far."""

    @property
    def keys(self) -> Keys:
        """What was found of keys, once all batches have come by."""

    def learn(self, left: Found) -> None:
        """Take a data batch of the cleaned log."""

    def learn_many(self, left: Batches, *, lowest: int, highest: int) -> Sequence[Placed]:
        """Take ordinary batches from where a reader stands on, as many as there are; or none.

        Their offsets increase, within bounds.
        """

    def judge(self, before: Found, after: Found | None, *, ruling: Ruling) -> Judged:
        """Hold a data batch against what is left of it, and report what is wrong."""

    def judge_many(self, before: Batches, left: Batches, *, terms: Terms) -> Strode:
        """Hold ordinary batches against what is left of them, as many as there are; or none."""


#: Makes a judge of a plan and a scope, which reports to what is given, and may take some memory.
Judges: TypeAlias = Callable[[CleaningPlan, Scope, Violations, int], Judge]


class PlainJudge:
    """Looks at record after record."""

    __slots__ = ("counts", "keys", "violations")

    def __init__(self, keys: Keys, violations: Violations) -> None:
        self.counts = RecordCounts()
        self.keys = keys
        self.violations = violations

    def learn(self, left: Found) -> None:
        """Take a data batch of the cleaned log; see `Judge`."""
        counts, keys = self.counts, self.keys
        for record in left.batch.records():
            counts.left += 1
            counts.tombstones_left += record.key is not None and record.value is None
            hashed = record_hash(body_of(record), offset=record.offset, timestamp=record.timestamp)
            counts.stream = stream_with(counts.stream, hashed)
            if record.key is not None and keys.scope.holds(record.key):
                keys.learn(record.key, record.offset)

    def learn_many(
        self,
        left: Batches,  # noqa: ARG002 - as the port has it
        *,
        lowest: int,  # noqa: ARG002 - as the port has it
        highest: int,  # noqa: ARG002 - as the port has it
    ) -> Sequence[Placed]:
        """Take none: each is learnt by itself."""
        return ()

    def judge_many(
        self,
        before: Batches,  # noqa: ARG002 - as the port has it
        left: Batches,  # noqa: ARG002 - as the port has it
        *,
        terms: Terms,  # noqa: ARG002 - as the port has it
    ) -> Strode:
        """Take none: each is judged by itself."""
        return Strode()

    def judge(self, before: Found, after: Found | None, *, ruling: Ruling) -> Judged:
        """Hold a data batch against what is left of it; see `Judge`."""
        rest = {record.offset: record for record in after.batch.records()} if after else {}
        was, kept_offsets, has_tombstone = 0, [], False
        latest: int = NO_TIMESTAMP
        for record in before.batch.records():
            was += 1
            kept = rest.pop(record.offset, None)
            self._see(before, record, is_left=kept is not None, ruling=ruling)
            if kept is not None and after is not None:
                self._compare(record, kept, after)
                latest = max(latest, kept.timestamp)
                kept_offsets.append(record.offset)
                has_tombstone |= kept.value is None
            self.counts.read += 1
        for offset in rest:
            self._report(after or before, "a record that was not there", offset)
        left = Left()
        if kept_offsets:
            left = Left(len(kept_offsets), kept_offsets[0], kept_offsets[-1], latest)
        return Judged(was, left, has_tombstone)

    def _see(self, before: Found, record: Record, *, is_left: bool, ruling: Ruling) -> None:
        """Say what is wrong with a record's being left, or gone."""
        wrong = None
        if ruling.is_aborted or record.key is None:
            if is_left:
                wrong = _ABORTED if ruling.is_aborted else _UNKEYED
            elif ruling.is_aborted:
                self.counts.aborted += 1
            else:
                self.counts.unkeyed += 1
        elif is_left:
            wrong = self._see_left(record, ruling)
        else:
            wrong = self._see_gone(record, ruling)
        if wrong is not None:
            self._report(before, wrong, record.offset)

    def _see_left(self, record: Record, ruling: Ruling) -> str | None:
        assert record.key is not None, "only keys are looked at"
        if record.value is None and ruling.is_expired:
            return "a tombstone is left after its time"
        if not self.keys.scope.holds(record.key):
            return None
        return self.keys.see_left(record.key, record.offset)

    def _see_gone(self, record: Record, ruling: Ruling) -> str | None:
        assert record.key is not None, "only keys are looked at"
        self.counts.keyed_gone += 1
        if not self.keys.scope.holds(record.key):
            return None
        is_tombstone = record.value is None
        return self.keys.see_gone(
            record.key,
            record.offset,
            is_tombstone=is_tombstone,
            is_expired=is_tombstone and ruling.is_expired,
        )

    def _compare(self, record: Record, kept: Record, after: Found) -> None:
        for difference in record_differences(record, kept):
            self.violations.add(
                Violation(
                    difference.what,
                    after.file.name,
                    record.offset,
                    after.header.position,
                    difference.expected,
                    difference.found,
                )
            )

    def _report(self, found: Found, what: str, offset: int) -> None:
        self.violations.add(Violation(what, found.file.name, offset, found.header.position))


def plain_judge(  # tidy: allow[positional] as `Judges` are called
    plan: CleaningPlan, scope: Scope, violations: Violations, memory_bytes: int
) -> PlainJudge:
    """Return a judge over a dictionary of keys."""
    keys = KeysLeft(
        scope,
        first_dirty=plan.first_dirty,
        erased=plan.erased_keys,
        memory_bytes=memory_bytes,
    )
    return PlainJudge(keys, violations)


def body_of(record: Record) -> bytes:
    """Return what a v2 record holds from its key's length to its end, as it is written today."""
    whole = bytearray()
    append_v2_record(
        whole,
        timestamp_delta=0,
        offset_delta=0,
        key=record.key,
        value=record.value,
        headers=record.headers,
    )
    _, start = read_varint(whole, 0, len(whole))
    return bytes(whole[start + _FIXED :])
