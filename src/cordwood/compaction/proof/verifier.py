"""Verifier of a cleaning pass: the original log, the cleaned log, and the plan.

    files          the segments are those of the plan, and none at or above its end is touched
    transactions   the aborted ones, by markers alone
    output         valid, in order, in the right segments, with right indexes
    input          each batch and each record rightly survives, or was rightly removed
    certificate    equals the verifier's own counts

The verifier shares only the batch and index readers with the cleaner, and uses different
algorithms: it learns keys from the output and transactions from markers. If more keys survive than
fit the memory it checks them in several walks, one class of keys each. A sample checks one class,
and everything else in full.
"""

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from typing import Final, NamedTuple

from cordwood.compaction.certificate import Certificate, PassCounts
from cordwood.compaction.cleaning_job import CleaningResult
from cordwood.compaction.plan.cleaning_plan import CleaningPlan
from cordwood.compaction.proof.batch_reader import BatchCursor, ReadOptions
from cordwood.compaction.proof.certificate_checks import certificate_faults
from cordwood.compaction.proof.header_pass import HeaderPass
from cordwood.compaction.proof.input_walk import InputWalk, WalkCounts
from cordwood.compaction.proof.key_checks import KeyScope, KeysFullError
from cordwood.compaction.proof.output_log import OutputReader, OutputSummary
from cordwood.compaction.proof.record_checks import (
    RecordCounts,
    RecordVerifier,
    RecordVerifiers,
    plain_record_verifier,
)
from cordwood.compaction.proof.segment_checks import SegmentSets, files_as_they_are, files_of
from cordwood.compaction.proof.transaction_index_checks import (
    NO_DATA,
    aborted_before,
    aborted_faults,
)
from cordwood.compaction.proof.transaction_outcomes import TransactionOutcomes
from cordwood.compaction.proof.violations import Violation, Violations
from cordwood.core.errors import BadRecordsError

#: With more classes each would have at most one key.
_MOST_CLASSES: Final = 1 << 40


class VerificationResult(NamedTuple):
    """The first violations, and their total number.

    `seen` is the right certificate, if nothing else is wrong.
    """

    violations: tuple[Violation, ...]
    total: int
    scope: KeyScope
    seen: Certificate | None = None

    @property
    def how(self) -> str:
        """Return the certificate's words for the verification."""
        return self.scope.words


@dataclass(slots=True)
class _KeyTotals:
    """The sums over the walks of several key classes; all other results are the same in each."""

    keys: int = 0
    tombstones: int = 0


class _Verification(NamedTuple):
    """The inputs of a verification."""

    reading: ReadOptions
    plan: CleaningPlan
    end: int
    files: SegmentSets
    told: Callable[[], TransactionOutcomes]
    judges: RecordVerifiers
    memory_bytes: int
    is_alone: bool = False


class _WalkResult(NamedTuple):
    """The result of one walk, without its keys, whose memory the next walk needs."""

    left: OutputSummary
    records: RecordCounts
    batches: WalkCounts
    keys: int
    tombstones: int


def verify(
    reading: ReadOptions,
    cleaning: CleaningResult,
    *,
    plan: CleaningPlan,
    scope: KeyScope,
    memory_bytes: int,
    judges: RecordVerifiers = plain_record_verifier,
) -> VerificationResult:
    """Compare the `.cleaned` segments of a pass with its input.

    A pass that erases keys is checked in full, regardless of the scope.
    """
    violations, certificate = Violations(), None
    scope = KeyScope(scope.seed) if plan.erased_keys else scope
    files = files_of(reading.source, cleaning, plan=plan)
    for fault in files.faults:
        violations.add(fault)
    if not violations.count:
        told = _told(
            reading, files, end=cleaning.end, log_start=plan.log_start, violations=violations
        )
        case = _Verification(reading, plan, cleaning.end, files, told, judges, memory_bytes)
        seen, sums = _walk_all(case, scope, violations)
        if seen is not None and not violations.count:
            certificate = _certificate(case, seen, sums)
            said = cleaning.certificate
            for violation in certificate_faults(said, certificate, is_sample=scope.is_sample):
                violations.add(violation)
    return VerificationResult(tuple(violations.kept), violations.count, scope, certificate)


def verify_alone(
    reading: ReadOptions,
    plan: CleaningPlan,
    *,
    scope: KeyScope,
    memory_bytes: int,
    judges: RecordVerifiers = plain_record_verifier,
) -> VerificationResult:
    """Compare a cleaned log with itself; `plan` is one that would clean it again.

    Missing records are not found, so it proves less. `seen` counts what the log has now.
    """
    violations = Violations()
    files = files_as_they_are(plan)
    told = _told(reading, files, end=plan.end, log_start=plan.log_start, violations=violations)
    case = _Verification(reading, plan, plan.end, files, told, judges, memory_bytes, is_alone=True)
    seen, sums = _walk_all(case, scope, violations)
    certificate = None
    if seen is not None and not violations.count:
        certificate = _certificate(case, seen, sums)
    return VerificationResult(tuple(violations.kept), violations.count, scope, certificate)


def _told(
    reading: ReadOptions, files: SegmentSets, *, end: int, log_start: int, violations: Violations
) -> Callable[[], TransactionOutcomes]:
    """Return a lazy reader of transaction outcomes; most passes never need it."""

    @cache
    def told() -> TransactionOutcomes:
        read = HeaderPass(reading.source, violations=violations)
        read.read(files.before)
        read.read_beyond(end, log_start=log_start)
        return read.told

    return told


def _walk_all(
    case: _Verification, scope: KeyScope, violations: Violations
) -> tuple[_WalkResult | None, _KeyTotals]:
    """Walk until all keys of the scope were checked, or a fault was found."""
    scopes, sums, seen = [scope], _KeyTotals(), None
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


def _walk(case: _Verification, scope: KeyScope, violations: Violations) -> _WalkResult:
    """Learn the output, then check the input; an unordered output is not walked."""
    plan, reading = case.plan, case.reading
    judge = case.judges(plan, scope, violations, case.memory_bytes)
    reader = OutputReader(reading, violations, config=plan.config, end=case.end)
    for file in case.files.after:
        reader.read(file, judge)
    left, before = BatchCursor(reading, case.files.after), BatchCursor(reading, case.files.before)
    walk = InputWalk(plan, case.told, judge, left=left, end=case.end, is_alone=case.is_alone)
    if not violations.count:
        with closing(left), closing(before):
            _finish(case, walk, judge, before=before)
    if not violations.count:
        entries = aborted_before(reading.source, case.files.before) if walk.needed else {}
        for violation in aborted_faults(walk.needed, reader.seen.aborted, before=entries):
            if not (case.is_alone and violation.what == NO_DATA):
                violations.add(violation)
    keys = judge.keys
    return _WalkResult(reader.seen, judge.counts, walk.counts, keys.dirty_keys, keys.tombstones)


def _finish(
    case: _Verification, walk: InputWalk, judge: RecordVerifier, *, before: BatchCursor
) -> None:
    """Walk to the end of the input, and report lost records."""
    violations = judge.violations
    try:
        walk.see_all(before)
    except BadRecordsError as error:
        violations.add(Violation(f"a batch was damaged: {error}", before.file.name))
        return
    walk.finish()
    for lost in judge.keys.lost():
        violations.add(Violation(lost.what, _file_with(case, lost.offset), lost.offset))


def _file_with(case: _Verification, offset: int) -> str:
    """Return the name of the segment that had an offset."""
    return [file.name for file in case.files.before if file.base_offset <= offset][-1]


def _certificate(case: _Verification, seen: _WalkResult, sums: _KeyTotals) -> Certificate:
    """Return the right certificate."""
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
        counts=PassCounts(
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
