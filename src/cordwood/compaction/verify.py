"""The proof that a pass did right: the log as it was, the log as it is left, and the plan.

    files          the segments are those of the plan, and nothing at or above its end is touched
    transactions   which were aborted, by markers alone
    what is left   sound, in order, in its places, its indexes right
    what was       each batch and each record of it: rightly left, or rightly gone
    certificate    says the same as what was seen here

Nothing is shared with what plans, maps and rewrites but the reading of batches and of indexes, and
nothing is done as it is done there: keys are learnt of what is left, transactions of the markers.
Where more keys are left than memory takes they are looked at in several walks, a class of keys
each. A sample looks at one class, and at everything else.
"""

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from typing import Final, NamedTuple

from cordwood.compaction.certificate import Certificate
from cordwood.compaction.engine import Counts
from cordwood.compaction.job import Cleaning
from cordwood.compaction.plan import CleaningPlan
from cordwood.compaction.verify_aborted import NO_DATA, aborted_before, aborted_faults
from cordwood.compaction.verify_certificate import certificate_faults
from cordwood.compaction.verify_keys import ALL, KeysFullError, Scope
from cordwood.compaction.verify_left import LeftLog, LeftReader
from cordwood.compaction.verify_reading import Batches, Reading
from cordwood.compaction.verify_records import Judge, Judges, RecordCounts, plain_judge
from cordwood.compaction.verify_segments import FilesSeen, files_as_they_are, files_of
from cordwood.compaction.verify_told import HeadersRead
from cordwood.compaction.verify_transactions import TransactionsTold
from cordwood.compaction.verify_walk import Walk, WalkCounts
from cordwood.compaction.violations import Violation, Violations
from cordwood.core.errors import BadRecordsError

#: With more classes each would have a key or none.
_MOST_CLASSES: Final = 1 << 40


class Verified(NamedTuple):
    """What is wrong, if anything: the first violations, and how many there are in all.

    `seen` is the certificate as it has to be, where nothing but the certificate is wrong.
    """

    violations: tuple[Violation, ...]
    total: int
    scope: Scope
    seen: Certificate | None = None

    @property
    def how(self) -> str:
        """What a certificate says of it."""
        return self.scope.words


@dataclass(slots=True)
class _Sums:
    """What walks over classes of keys have found together; the rest each of them finds alike."""

    keys: int = 0
    tombstones: int = 0


class _Case(NamedTuple):
    """What is verified, and by whom."""

    reading: Reading
    plan: CleaningPlan
    end: int
    files: FilesSeen
    told: Callable[[], TransactionsTold]
    judges: Judges
    memory_bytes: int
    is_alone: bool = False


class _Seen(NamedTuple):
    """What one walk has come to; the keys themselves are gone, to make room for the next one's."""

    left: LeftLog
    records: RecordCounts
    batches: WalkCounts
    keys: int
    tombstones: int


def verify(
    reading: Reading,
    cleaning: Cleaning,
    *,
    plan: CleaningPlan,
    scope: Scope,
    memory_bytes: int,
    judges: Judges = plain_judge,
) -> Verified:
    """Hold what a pass has made, as `.cleaned` segments, against what it was made of.

    A pass that erases keys is looked at whole, whatever the scope.
    """
    violations, certificate = Violations(), None
    scope = Scope(scope.seed) if plan.erased_keys else scope
    files = files_of(reading.source, cleaning, plan=plan)
    for fault in files.faults:
        violations.add(fault)
    if not violations.count:
        told = _told(reading, files, end=cleaning.end, violations=violations)
        case = _Case(reading, plan, cleaning.end, files, told, judges, memory_bytes)
        seen, sums = _walk_all(case, scope, violations)
        if seen is not None and not violations.count:
            certificate = _certificate(case, seen, sums)
            said, is_sample = cleaning.certificate, scope.classes > ALL
            for violation in certificate_faults(said, certificate, is_sample=is_sample):
                violations.add(violation)
    return Verified(tuple(violations.kept), violations.count, scope, certificate)


def verify_alone(
    reading: Reading,
    plan: CleaningPlan,
    *,
    scope: Scope,
    memory_bytes: int,
    judges: Judges = plain_judge,
) -> Verified:
    """Hold a cleaned log against itself; `plan` is one that would clean it again.

    What is not there is not missed, so it proves less.
    """
    violations = Violations()
    files = files_as_they_are(plan)
    told = _told(reading, files, end=plan.end, violations=violations)
    case = _Case(reading, plan, plan.end, files, told, judges, memory_bytes, is_alone=True)
    _walk_all(case, scope, violations)
    return Verified(tuple(violations.kept), violations.count, scope)


def _told(
    reading: Reading, files: FilesSeen, *, end: int, violations: Violations
) -> Callable[[], TransactionsTold]:
    """Return what reads which transactions were aborted, once it is asked: mostly nobody does."""

    @cache
    def told() -> TransactionsTold:
        read = HeadersRead(reading.source, violations=violations)
        read.read(files.before)
        read.read_beyond(end)
        return read.told

    return told


def _walk_all(case: _Case, scope: Scope, violations: Violations) -> tuple[_Seen | None, _Sums]:
    """Walk until all keys of the scope have been looked at, or something is wrong."""
    scopes, sums, seen = [scope], _Sums(), None
    while scopes and not violations.count:
        now = scopes.pop()
        try:
            seen = _walk(case, now, violations)
        except KeysFullError:
            if now.classes >= _MOST_CLASSES:
                raise
            scopes += now.halves()
            continue
        sums.keys += seen.keys
        sums.tombstones += seen.tombstones
    return seen, sums


def _walk(case: _Case, scope: Scope, violations: Violations) -> _Seen:
    """Learn what is left, then look at what was there; what is out of order is not walked."""
    plan, reading = case.plan, case.reading
    judge = case.judges(plan, scope, violations, case.memory_bytes)
    reader = LeftReader(reading, violations, config=plan.config, end=case.end)
    for file in case.files.after:
        reader.read(file, judge)
    left, before = Batches(reading, case.files.after), Batches(reading, case.files.before)
    walk = Walk(plan, case.told, judge, left=left, end=case.end, is_alone=case.is_alone)
    if not violations.count:
        with closing(left), closing(before):
            _finish(case, walk, judge, before=before)
    if not violations.count:
        entries = aborted_before(reading.source, case.files.before) if walk.needed else {}
        for violation in aborted_faults(walk.needed, reader.seen.aborted, before=entries):
            if not (case.is_alone and violation.what == NO_DATA):
                violations.add(violation)
    keys = judge.keys
    return _Seen(reader.seen, judge.counts, walk.counts, keys.dirty_keys, keys.tombstones)


def _finish(case: _Case, walk: Walk, judge: Judge, *, before: Batches) -> None:
    """Walk to the end of what was there, and say what is lost."""
    violations = judge.violations
    try:
        walk.see_all(before)
    except BadRecordsError as error:
        violations.add(Violation(f"a batch was damaged: {error}", before.file.name))
        return
    walk.finish()
    for lost in judge.keys.lost():
        violations.add(Violation(lost.what, _file_with(case, lost.offset), lost.offset))


def _file_with(case: _Case, offset: int) -> str:
    """Return the name of the segment that had an offset."""
    return [file.name for file in case.files.before if file.base_offset <= offset][-1]


def _certificate(case: _Case, seen: _Seen, sums: _Sums) -> Certificate:
    """Return what a certificate has to say, as it was seen."""
    plan, walked, records = case.plan, seen.batches, seen.records
    tombstones = sums.tombstones
    return Certificate(
        partition=str(plan.partition),
        first_dirty=plan.first_dirty,
        end=case.end,
        now_ms=plan.now_ms,
        segments_before=len(case.files.before),
        segments_after=len(case.files.after),
        keys=sums.keys,
        ranges=0,
        counts=Counts(
            batches_read=walked.batches,
            batches_kept=seen.left.batches,
            batches_copied=walked.copied,
            batches_emptied=walked.emptied,
            bytes_read=walked.bytes,
            bytes_kept=seen.left.bytes,
            records_read=records.read,
            records_kept=records.left,
            superseded=records.keyed_gone - tombstones,
            unkeyed=records.unkeyed,
            tombstones_kept=records.tombstones_left,
            tombstones_dropped=tombstones,
            aborted=records.aborted,
            markers_kept=walked.markers_left,
            markers_dropped=walked.markers_gone,
            stream=records.stream,
        ),
    )
