"""Check of the records of one batch before and after the pass, each in plain Python.

    aborted    no record survives
    no key     no record survives
    others     if the scope holds their key: `key_checks` decides which have to be removed
    surviving  each equals an original record

It is the oracle of the faster verifiers, and it words the error when one of them fails.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol, TypeAlias

from cordwood.compaction.key_hash import record_hash, stream_with
from cordwood.compaction.plan.cleaning_plan import CleaningPlan
from cordwood.compaction.proof.batch_checks import SurvivingRecords, record_differences
from cordwood.compaction.proof.batch_reader import BatchCursor, LocatedBatch
from cordwood.compaction.proof.index_checks import PlacedBatch
from cordwood.compaction.proof.key_checks import KeyCheck, KeyScope, PlainKeyCheck
from cordwood.compaction.proof.violations import Violation, Violations
from cordwood.core.binary import read_varint
from cordwood.core.types import NO_TIMESTAMP
from cordwood.records.batch_stream import AnyBatch
from cordwood.records.record import Record
from cordwood.records.record_batch import RecordBatch
from cordwood.records.v2_record import append_v2_record, body_position


class BatchVerdict(NamedTuple):
    """The decisions that hold for all records of a batch."""

    is_aborted: bool = False
    is_expired: bool = False


class RecordTally(NamedTuple):
    """The number of records of a batch, and the surviving ones."""

    was: int
    left: SurvivingRecords
    has_tombstone: bool


class StrideLimits(NamedTuple):
    """The limits of a stride: the end of the pass, and whether a log is compared with itself.

    `may_match`: the output is positioned at the right batch. `is_over`: the output has ended.
    """

    end: int
    is_alone: bool
    may_match: bool
    is_over: bool


class StrideResult(NamedTuple):
    """The number of batches of a stride, their bytes, and the number of unchanged ones.

    `is_held_up`: the next batch needs a single check. `is_wrong`: it has a fault.
    """

    batches: int = 0
    bytes: int = 0
    copied: int = 0
    is_held_up: bool = True
    is_wrong: bool = False


_ABORTED: Final = "a record of an aborted transaction survives"
_UNKEYED: Final = "a record without a key survives"
#: Attributes and two deltas of 0, in front of the key's length.
_FIXED: Final = 3


@dataclass(slots=True)
class RecordCounts:
    """Sums over all batches; `keyed_gone` are removed for another reason than the two before it."""

    read: int = 0
    left: int = 0
    tombstones_left: int = 0
    aborted: int = 0
    unkeyed: int = 0
    keyed_gone: int = 0
    stream: int = 0


class RecordVerifier(Protocol):
    """A verifier that learns the output, then checks the input; batches come in log order.

    It may stride over ordinary batches: valid except for their records, and without a special case
    in `InputWalk` or `OutputReader`.
    """

    violations: Violations

    @property
    def counts(self) -> RecordCounts:
        """Return the counts so far."""

    @property
    def keys(self) -> KeyCheck:
        """Return the key check, complete after the last batch."""

    def learn(self, left: LocatedBatch) -> None:
        """Learn a data batch of the cleaned log."""

    def learn_many(self, left: BatchCursor, *, lowest: int, highest: int) -> Sequence[PlacedBatch]:
        """Learn consecutive ordinary batches from the cursor on; possibly none.

        Their offsets increase, within bounds.
        """

    def judge(
        self, before: LocatedBatch, after: LocatedBatch | None, *, ruling: BatchVerdict
    ) -> RecordTally:
        """Compare a data batch with its copy, and report faults."""

    def judge_many(
        self, before: BatchCursor, left: BatchCursor, *, terms: StrideLimits
    ) -> StrideResult:
        """Compare consecutive ordinary batches with their copies; possibly none."""


#: A factory of verifiers, from a plan, a scope, the collected violations and a memory limit.
RecordVerifiers: TypeAlias = Callable[[CleaningPlan, KeyScope, Violations, int], RecordVerifier]


class PlainRecordVerifier:
    """A verifier that works record by record."""

    __slots__ = ("counts", "keys", "violations")

    def __init__(self, keys: KeyCheck, violations: Violations) -> None:
        self.counts = RecordCounts()
        self.keys = keys
        self.violations = violations

    def learn(self, left: LocatedBatch) -> None:
        """Learn a data batch of the cleaned log; see `RecordVerifier`."""
        counts, keys = self.counts, self.keys
        for record, body in _bodies(left.batch):
            counts.left += 1
            counts.tombstones_left += record.key is not None and record.value is None
            hashed = record_hash(body, offset=record.offset, timestamp=record.timestamp)
            counts.stream = stream_with(counts.stream, hashed)
            if record.key is not None and keys.scope.holds(record.key):
                keys.learn(record.key, record.offset)

    def learn_many(
        self,
        left: BatchCursor,  # noqa: ARG002 - as the port has it
        *,
        lowest: int,  # noqa: ARG002 - as the port has it
        highest: int,  # noqa: ARG002 - as the port has it
    ) -> Sequence[PlacedBatch]:
        """Learn none: each batch is learnt singly."""
        return ()

    def judge_many(
        self,
        before: BatchCursor,  # noqa: ARG002 - as the port has it
        left: BatchCursor,  # noqa: ARG002 - as the port has it
        *,
        terms: StrideLimits,  # noqa: ARG002 - as the port has it
    ) -> StrideResult:
        """Compare none: each batch is compared singly."""
        return StrideResult()

    def judge(
        self, before: LocatedBatch, after: LocatedBatch | None, *, ruling: BatchVerdict
    ) -> RecordTally:
        """Compare a data batch with its copy; see `RecordVerifier`."""
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
            self._report(after or before, "a record without an original", offset)
        left = SurvivingRecords()
        if kept_offsets:
            left = SurvivingRecords(len(kept_offsets), kept_offsets[0], kept_offsets[-1], latest)
        return RecordTally(was, left, has_tombstone)

    def _see(
        self, before: LocatedBatch, record: Record, *, is_left: bool, ruling: BatchVerdict
    ) -> None:
        """Report a record that wrongly survives, or was wrongly removed."""
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

    def _see_left(self, record: Record, ruling: BatchVerdict) -> str | None:
        assert record.key is not None, "only records with a key are checked"
        if record.value is None and ruling.is_expired:
            return "a tombstone survives after its horizon"
        if not self.keys.scope.holds(record.key):
            return None
        return self.keys.see_left(record.key, record.offset)

    def _see_gone(self, record: Record, ruling: BatchVerdict) -> str | None:
        assert record.key is not None, "only records with a key are checked"
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

    def _compare(self, record: Record, kept: Record, after: LocatedBatch) -> None:
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

    def _report(self, found: LocatedBatch, what: str, offset: int) -> None:
        self.violations.add(Violation(what, found.file.name, offset, found.header.position))


def plain_record_verifier(  # tidy: allow[positional] as `RecordVerifiers` are called
    plan: CleaningPlan, scope: KeyScope, violations: Violations, memory_bytes: int
) -> PlainRecordVerifier:
    """Return a verifier with a dictionary of keys."""
    keys = PlainKeyCheck(
        scope,
        first_dirty=plan.first_dirty,
        erased=plan.erased_keys,
        memory_bytes=memory_bytes,
        log_start=plan.log_start,
    )
    return PlainRecordVerifier(keys, violations)


def _bodies(batch: AnyBatch) -> Iterator[tuple[Record, bytes]]:
    """Yield records, each with its bytes from its key's length to its end.

    A v2 record is not encoded again: a header key that is not UTF-8, or a number in more bytes than
    it needs, would change.
    """
    if not isinstance(batch, RecordBatch):
        for record in batch.records():
            yield record, body_of(record)
        return
    data = batch.uncompressed()
    start = 0
    for record, raw in zip(batch.records(), batch.raw_records(data), strict=True):
        yield record, bytes(data[body_position(data, start, raw.end) : raw.end])
        start = raw.end


def body_of(record: Record) -> bytes:
    """Return the bytes of a record of an older format from its key's length on, as version 2."""
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
