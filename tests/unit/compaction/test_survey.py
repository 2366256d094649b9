"""Fates follow from headers, markers, the plan's clock and its last batches."""

from collections.abc import Iterable

import pytest

from cordwood.compaction.fates import Fate, SegmentSurvey
from cordwood.compaction.plan import CleaningPlan, LastBatch
from cordwood.compaction.sighting import PlainSurveyor
from cordwood.compaction.survey import Survey
from cordwood.core.errors import CorruptMessageError
from cordwood.storage.index import AbortedEntry
from tests.unit.compaction.compaction_samples import (
    HORIZON,
    batch,
    empty,
    marker,
    plan,
    sent,
    with_horizon,
)

COMMIT = marker(3, is_commit=True)
ABORT = marker(3, is_commit=False)
ABORTED = AbortedEntry(1, 0, 3, 4)


def surveyed(
    *parts: bytes, given: CleaningPlan | None = None, aborted: Iterable[AbortedEntry] = ()
) -> SegmentSurvey:
    survey = Survey(given or plan(), lambda: aborted)
    survey.begin(0)
    data = b"".join(parts)
    survey.add(data, PlainSurveyor(survey.last_offsets).look(data))
    return survey.segments[0]


def fates(found: SegmentSurvey) -> list[Fate]:
    return [Fate(fate) for fate in found.fates]


def test_aborted_data_is_dropped_and_its_entry_stays_with_the_marker() -> None:
    found = surveyed(sent(0, "a1"), ABORT, aborted=[ABORTED])

    assert fates(found) == [Fate.DROPPED, Fate.CONTROL]
    assert found.aborted == [ABORTED]


def test_committed_data_has_no_fate() -> None:
    found = surveyed(sent(0, "a1"), COMMIT)

    assert (list(found.positions), fates(found)) == ([len(sent(0, "a1"))], [Fate.CONTROL])


def test_idle_marker_needs_a_horizon_first() -> None:
    assert fates(surveyed(COMMIT)) == [Fate.CONTROL | Fate.NEEDS_HORIZON]


def test_idle_marker_goes_when_its_horizon_is_reached() -> None:
    waiting = with_horizon(COMMIT)

    before = surveyed(waiting, given=plan(now_ms=HORIZON - 1))
    at = surveyed(waiting, given=plan(now_ms=HORIZON))

    assert fates(before) == [Fate.CONTROL]
    assert fates(at) == [Fate.CONTROL | Fate.DROPPED]


def test_marker_with_a_horizon_stays_while_its_transaction_is_met() -> None:
    found = surveyed(sent(0, "a1"), with_horizon(COMMIT), given=plan(now_ms=HORIZON))

    assert fates(found) == [Fate.CONTROL]


def test_emptied_marker_goes() -> None:
    assert fates(surveyed(empty(COMMIT))) == [Fate.CONTROL | Fate.DROPPED]


def test_last_batch_of_a_producer_is_kept_if_empty() -> None:
    last = {1: LastBatch(0, 1)}
    first, second = (sent(at, "a1", is_transactional=False) for at in (0, 1))

    found = surveyed(first, second, given=plan(last_batches=last))

    assert (list(found.positions), fates(found)) == ([len(first)], [Fate.KEPT_IF_EMPTY])


def test_batch_behind_what_a_producer_is_known_by_has_no_fate() -> None:
    last = {1: LastBatch(0, 1)}

    assert fates(surveyed(sent(2, "a1"), given=plan(last_batches=last))) == []


def test_batch_that_ends_like_another_producers_last_one_has_no_fate() -> None:
    last = {1: LastBatch(0, 1)}

    found = surveyed(sent(1, "a1", producer=2), given=plan(last_batches=last))

    assert fates(found) == []


def test_marker_of_the_last_epoch_is_kept_if_empty_for_a_producer_without_data() -> None:
    last = {1: LastBatch(4, None)}
    markers = (marker(at, is_commit=True, epoch=at) for at in (3, 4, 5))

    found = surveyed(*markers, given=plan(last_batches=last))

    assert [bool(fate & Fate.KEPT_IF_EMPTY) for fate in fates(found)] == [False, True, False]


def test_batch_that_ends_the_pass_is_kept_if_empty() -> None:
    found = surveyed(batch(0, "a1"), batch(1, "a2"), given=plan(end=2))

    assert fates(found) == [Fate.KEPT_IF_EMPTY]


def test_transactions_are_not_asked_for_where_there_are_none() -> None:
    asked = []

    def aborted() -> list[AbortedEntry]:
        asked.append("once")
        return []

    survey = Survey(plan(), aborted)
    survey.begin(0)

    survey.add(batch(0, "a1"), PlainSurveyor().look(batch(0, "a1")))

    assert not asked


def test_survey_doubts_what_its_markers_do_not_bear_out() -> None:
    sure, doubtful = Survey(plan(), list), Survey(plan(), lambda: [ABORTED])
    for survey in (sure, doubtful):
        assert survey.doubtful_from is None
        survey.begin(0)
        survey.add(COMMIT, PlainSurveyor().look(COMMIT))

    assert [sure.doubtful_from, doubtful.doubtful_from] == [None, ABORTED.first_offset]


def test_marker_that_is_damaged_is_refused() -> None:
    damaged = COMMIT[:-1] + bytes([COMMIT[-1] ^ 1])

    with pytest.raises(CorruptMessageError):
        surveyed(damaged)


def test_numbers_go_on_from_segment_to_segment_and_from_chunk_to_chunk() -> None:
    survey = Survey(plan(), list)
    for base in (0, 4):
        survey.begin(base)
        for at in (base, base + 2):
            data = batch(at, "a1 b2")
            survey.add(data, PlainSurveyor().look(data))

    first, second = survey.segments

    assert (second.first_number, second.records, survey.records) == (4, 4, 8)
    assert list(second.chunk_numbers) == [4, 6]
    assert list(first.chunk_positions) == [0, first.size // 2]
