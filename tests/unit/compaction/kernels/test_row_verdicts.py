"""Verdicts on batches by marks and retentions, and their counts."""

import numpy as np
import pytest

from cordwood.compaction.engine.batch_retention import BatchRetention
from cordwood.compaction.engine.segment_chunk import SegmentChunk
from cordwood.compaction.kernels.batch_runs import T_RETENTION, BatchRuns, bits_of
from cordwood.compaction.kernels.row_verdicts import (
    COPIED,
    COUNT_WORDS,
    DATED,
    FILTERED,
    GONE,
    NAMES,
    PLAIN,
    T_KEPT,
    judge_rows,
)
from tests.unit.compaction.compaction_samples import (
    HORIZON,
    NOW,
    batch,
    chunk,
    marker,
    marks,
    with_horizon,
)

DATA = batch(0, "a1 b- c3")


def judged(
    data: SegmentChunk, letters: str, *, now_ms: int = NOW
) -> tuple[list[int], dict[str, int]]:
    """Return the verdicts, and the counts other than 0."""
    counts = np.zeros(COUNT_WORDS, np.int64)
    (run,) = BatchRuns().of(data, len(letters))
    judge_rows(run.rows, bits_of(marks(letters)), now_ms, counts)
    counted = {name: int(count) for name, count in zip(NAMES, counts, strict=True) if count}
    return run.rows[:, T_RETENTION].tolist(), counted


@pytest.mark.parametrize(
    ("letters", "judgement"),
    (("ooo", COPIED), ("oxo", FILTERED), ("oto", DATED), ("xtx", DATED), ("xxx", GONE)),
)
def test_verdict_on_a_batch_follows_its_marks(letters: str, judgement: int) -> None:
    assert judged(chunk(DATA), letters)[0] == [judgement]


@pytest.mark.parametrize(
    ("now_ms", "letters", "judgement"),
    (
        (HORIZON - 1, "oto", COPIED),
        (HORIZON - 1, "xto", FILTERED),
        (HORIZON, "oto", FILTERED),
        (HORIZON, "xtx", GONE),
    ),
)
def test_tombstones_stay_until_the_horizon(now_ms: int, letters: str, judgement: int) -> None:
    assert judged(chunk(with_horizon(DATA)), letters, now_ms=now_ms)[0] == [judgement]


def test_deleted_batch_is_removed_regardless_of_its_marks() -> None:
    found, counted = judged(chunk(DATA, retentions={0: BatchRetention.DELETE}), "ooo")

    assert found == [GONE]
    assert counted == {
        "batches_read": 1,
        "bytes_read": len(DATA),
        "records_read": 3,
        "aborted": 3,
    }


def test_marker_is_copied_removed_or_left_to_the_plain_path() -> None:
    commit = marker(0, is_commit=True)
    retentions = {
        0: BatchRetention.CONTROL,
        1: BatchRetention.CONTROL | BatchRetention.DELETE,
        2: BatchRetention.CONTROL | BatchRetention.DELETE | BatchRetention.RETAIN_EMPTY,
        3: BatchRetention.CONTROL | BatchRetention.NEEDS_HORIZON,
    }

    found, counted = judged(chunk(*[commit] * 4, retentions=retentions), "")

    assert found == [COPIED, GONE, PLAIN, PLAIN]
    assert (counted["markers_kept"], counted["markers_dropped"]) == (1, 1)
    assert counted["batches_read"] == 2


def test_batch_retained_empty_is_left_to_the_plain_path_when_no_record_survives() -> None:
    data = chunk(
        DATA, DATA, retentions={0: BatchRetention.RETAIN_EMPTY, 1: BatchRetention.RETAIN_EMPTY}
    )

    found, counted = judged(data, "xxxxox")

    assert found == [PLAIN, FILTERED]
    assert counted["records_read"] == 3


def test_records_are_counted_by_their_verdict() -> None:
    early = judged(chunk(DATA, DATA), "otxxxo")[1]
    late = judged(chunk(with_horizon(DATA)), "oto", now_ms=HORIZON)[1]

    assert early == {
        "batches_read": 2,
        "bytes_read": 2 * len(DATA),
        "batches_kept": 2,
        "records_read": 6,
        "records_kept": 3,
        "superseded": 3,
        "tombstones_kept": 1,
    }
    assert (late["tombstones_dropped"], late["records_kept"]) == (1, 2)


def test_rows_have_the_number_of_surviving_records() -> None:
    (run,) = BatchRuns().of(chunk(DATA, DATA), 6)

    judge_rows(run.rows, bits_of(marks("oxxoto")), NOW, np.zeros(COUNT_WORDS, np.int64))

    assert run.rows[:, T_KEPT].tolist() == [1, 3]
