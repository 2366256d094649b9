"""Batch retention follows from headers, markers, the plan's time and its last records."""

from collections.abc import Iterable

import pytest

from cordwood.compaction.engine.batch_retention import BatchRetention, SegmentSurvey
from cordwood.compaction.engine.header_survey import HeaderSurvey, PlainSurveyor
from cordwood.compaction.plan.cleaning_plan import CleaningPlan, LastRecord
from cordwood.core.errors import BadRecordsError, CorruptMessageError
from cordwood.records.compression import Codec
from cordwood.storage.segment.transaction_index import AbortedTxn
from tests.unit.compaction.compaction_samples import (
    HORIZON,
    batch,
    empty,
    marker,
    old,
    plan,
    sent,
    with_horizon,
)
from tests.unit.storage.produced import patched

PLAIN = batch(0, "a1 b2 c3")
COMMIT = marker(3, is_commit=True)
ABORT = marker(3, is_commit=False)
ABORTED = AbortedTxn(1, 0, 3, 4)


def surveyed(
    *parts: bytes, given: CleaningPlan | None = None, aborted: Iterable[AbortedTxn] = ()
) -> SegmentSurvey:
    survey = HeaderSurvey(given or plan(), lambda: aborted)
    survey.begin(0)
    data = b"".join(parts)
    survey.add(data, PlainSurveyor(survey.last_offsets).summarize(data))
    return survey.segments[0]


def retentions(found: SegmentSurvey) -> list[BatchRetention]:
    return [BatchRetention(retention) for retention in found.retentions]


def test_aborted_data_is_dropped_and_its_entry_stays_with_the_marker() -> None:
    found = surveyed(sent(0, "a1"), ABORT, aborted=[ABORTED])

    assert retentions(found) == [BatchRetention.DELETE, BatchRetention.CONTROL]
    assert found.aborted == [ABORTED]


def test_committed_data_has_the_default_retention() -> None:
    found = surveyed(sent(0, "a1"), COMMIT)

    assert (list(found.positions), retentions(found)) == (
        [len(sent(0, "a1"))],
        [BatchRetention.CONTROL],
    )


def test_idle_marker_needs_a_horizon_first() -> None:
    assert retentions(surveyed(COMMIT)) == [BatchRetention.CONTROL | BatchRetention.NEEDS_HORIZON]


def test_discardable_marker_is_deleted_at_its_delete_horizon() -> None:
    waiting = with_horizon(COMMIT)

    before = surveyed(waiting, given=plan(now_ms=HORIZON - 1))
    at = surveyed(waiting, given=plan(now_ms=HORIZON))

    assert retentions(before) == [BatchRetention.CONTROL]
    assert retentions(at) == [BatchRetention.CONTROL | BatchRetention.DELETE]


def test_marker_with_a_delete_horizon_is_retained_while_its_data_remains() -> None:
    found = surveyed(sent(0, "a1"), with_horizon(COMMIT), given=plan(now_ms=HORIZON))

    assert retentions(found) == [BatchRetention.CONTROL]


def test_empty_marker_is_deleted() -> None:
    assert retentions(surveyed(empty(COMMIT))) == [BatchRetention.CONTROL | BatchRetention.DELETE]


def test_last_batch_of_a_producer_is_retained_when_empty() -> None:
    last = {1: LastRecord(0, 1)}
    first, second = (sent(at, "a1", is_transactional=False) for at in (0, 1))

    found = surveyed(first, second, given=plan(last_records=last))

    assert (list(found.positions), retentions(found)) == (
        [len(first)],
        [BatchRetention.RETAIN_EMPTY],
    )


def test_batch_after_the_last_record_of_its_producer_has_the_default_retention() -> None:
    last = {1: LastRecord(0, 1)}

    assert retentions(surveyed(sent(2, "a1"), given=plan(last_records=last))) == []


def test_batch_with_the_last_offset_of_another_producer_has_the_default_retention() -> None:
    last = {1: LastRecord(0, 1)}

    found = surveyed(sent(1, "a1", producer=2), given=plan(last_records=last))

    assert retentions(found) == []


def test_marker_of_the_last_epoch_is_retained_when_empty_for_a_producer_without_data() -> None:
    last = {1: LastRecord(4, None)}
    markers = (marker(at, is_commit=True, epoch=at) for at in (3, 4, 5))

    found = surveyed(*markers, given=plan(last_records=last))

    assert [bool(retention & BatchRetention.RETAIN_EMPTY) for retention in retentions(found)] == [
        False,
        True,
        False,
    ]


def test_last_batch_of_the_pass_is_retained_when_empty() -> None:
    found = surveyed(batch(0, "a1"), batch(1, "a2"), given=plan(end=2))

    assert retentions(found) == [BatchRetention.RETAIN_EMPTY]


def test_aborted_transactions_are_not_read_without_transactional_batches() -> None:
    asked = []

    def aborted() -> list[AbortedTxn]:
        asked.append("once")
        return []

    survey = HeaderSurvey(plan(), aborted)
    survey.begin(0)

    survey.add(batch(0, "a1"), PlainSurveyor().summarize(batch(0, "a1")))

    assert not asked


def test_survey_is_unconfirmed_when_a_marker_contradicts_the_aborted_transactions() -> None:
    sure, doubtful = HeaderSurvey(plan(), list), HeaderSurvey(plan(), lambda: [ABORTED])
    for survey in (sure, doubtful):
        assert survey.unconfirmed_from is None
        survey.begin(0)
        survey.add(COMMIT, PlainSurveyor().summarize(COMMIT))

    assert [sure.unconfirmed_from, doubtful.unconfirmed_from] == [None, ABORTED.first_offset]


def test_damaged_marker_is_rejected() -> None:
    damaged = COMMIT[:-1] + bytes([COMMIT[-1] ^ 1])

    with pytest.raises(CorruptMessageError):
        surveyed(damaged)


def test_record_numbers_continue_across_segments_and_chunks() -> None:
    survey = HeaderSurvey(plan(), list)
    for base in (0, 4):
        survey.begin(base)
        for at in (base, base + 2):
            data = batch(at, "a1 b2")
            survey.add(data, PlainSurveyor().summarize(data))

    first, second = survey.segments

    assert (second.first_number, second.records, survey.records) == (4, 4, 8)
    assert list(second.chunk_numbers) == [4, 6]
    assert list(first.chunk_positions) == [0, first.size // 2]


# -- the plain surveyor


def test_surveyor_counts_records_and_flags_no_ordinary_batch() -> None:
    seen = PlainSurveyor().summarize(PLAIN + batch(3, "a4"))

    assert (seen.batches, seen.records, list(seen.flagged)) == (2, 4, [])


def test_surveyor_flags_transactional_batches_and_markers_and_counts_no_marker() -> None:
    data = sent(3, "a4")

    seen = PlainSurveyor().summarize(PLAIN + data + marker(4, is_commit=True))

    assert list(seen.flagged) == [len(PLAIN), len(PLAIN) + len(data)]
    assert seen.records == 4


def test_surveyor_flags_batches_that_end_at_a_given_offset() -> None:
    seen = PlainSurveyor({2}).summarize(PLAIN + batch(3, "a4"))

    assert list(seen.flagged) == [0]


def test_surveyor_stops_before_an_incomplete_batch() -> None:
    seen = PlainSurveyor().summarize(PLAIN + batch(3, "a4")[:-1])

    assert (seen.size, seen.batches) == (len(PLAIN), 1)


def test_surveyor_counts_inside_wrappers() -> None:
    seen = PlainSurveyor().summarize(old(0, "a1 b2 c3", codec=Codec.GZIP) + old(3, "d4"))

    assert seen.records == 4


def test_surveyor_rejects_a_negative_record_count() -> None:
    forged = patched(PLAIN, 57, (-1).to_bytes(4, signed=True))

    with pytest.raises(BadRecordsError, match="record count"):
        PlainSurveyor().summarize(forged)
