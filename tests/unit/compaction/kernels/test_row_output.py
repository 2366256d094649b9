"""Written rows: up to a full buffer, a batch for the plain path, or an invalid batch."""

import numpy as np
import pytest

from cordwood.compaction.engine.batch_retention import BatchRetention
from cordwood.compaction.kernels.batch_runs import T_RETENTION, BatchRun, BatchRuns, bits_of
from cordwood.compaction.kernels.row_output import (
    BAD,
    DONE,
    LEFT,
    NO_ROOM,
    W_ENDED,
    W_HORIZON,
    W_NEEDED,
    W_NOW,
    W_USED,
    WRITING_WORDS,
    write_rows,
)
from cordwood.compaction.kernels.row_verdicts import COUNT_WORDS, GONE, judge_rows
from cordwood.records.kernels import layout as at
from cordwood.records.kernels.crc32c import seal
from cordwood.records.kernels.kernel_definition import Bytes, TwoSlabs, Words
from tests.unit.compaction.compaction_samples import (
    HORIZON,
    NOW,
    batch,
    chunk,
    marks,
    only,
    texts,
)
from tests.unit.records.inspected import UNSOUND

DATA = batch(0, "a1 b- c3")
#: Faults that are rejected before any record is read.
BEFORE = {"no gzip", "unknown codec", "negative count", "more records than bytes"}
BAD_RECORDS = {name: data for name, data in UNSOUND.items() if name not in BEFORE}


def judged(
    data: bytes, letters: str, retentions: dict[int, BatchRetention] | None = None
) -> tuple[BatchRun, TwoSlabs]:
    """Return a run that has been judged, and the marks it was judged by."""
    bits = bits_of(marks(letters))
    (run,) = BatchRuns().of(chunk(data, retentions=retentions), len(letters))
    judge_rows(run.rows, bits, NOW, np.zeros(COUNT_WORDS, np.int64))
    return run, bits


def written(run: BatchRun, bits: TwoSlabs, room: int = 1 << 16) -> tuple[int, Words, Bytes]:
    """Return how many rows were dealt with, the words, and the bytes."""
    words, slab = np.zeros(WRITING_WORDS, np.int64), np.zeros(room, np.uint8)
    words[W_NOW], words[W_HORIZON] = NOW, HORIZON
    done = write_rows(run.source, run.source, run.rows, bits, words, slab)
    return done, words, slab[: words[W_USED]]


def test_batch_that_stays_whole_is_written_as_it_is() -> None:
    run, bits = judged(DATA + DATA, "oooxxx")

    done, words, slab = written(run, bits)

    assert (done, words[W_ENDED], slab.tobytes()) == (2, DONE, DATA)
    assert run.rows[:, T_RETENTION].tolist() == [GONE, GONE]


@pytest.mark.parametrize(
    ("letters", "left"),
    (("oxo", ["0:a1", "2:c3"]), ("xto", ["1:b-", "2:c3"]), ("xxo", ["2:c3"]), ("oxx", ["0:a1"])),
)
def test_records_that_stay_are_written_once_sealed(letters: str, left: list[str]) -> None:
    run, bits = judged(DATA, letters)

    _, _, slab = written(run, bits)
    seal(slab, run.rows, 1)

    assert texts(slab.tobytes()) == left
    assert only(slab.tobytes()).last_offset == 2


def test_writing_stops_when_the_buffer_is_full_and_reports_the_needed_size() -> None:
    run, bits = judged(DATA + DATA, "oxoooo")

    done, words, slab = written(run, bits, room=2 * len(DATA) - 9)

    assert (done, words[W_ENDED]) == (1, NO_ROOM)
    assert words[W_NEEDED] == len(slab) + len(DATA)


def test_writing_stops_before_a_batch_for_the_plain_path() -> None:
    run, bits = judged(DATA + DATA, "oooxxx", {0: BatchRetention.RETAIN_EMPTY})
    run.rows[1, T_RETENTION] = 4

    done, words, slab = written(run, bits)

    assert (done, words[W_ENDED], len(slab)) == (1, LEFT, len(DATA))


@pytest.mark.parametrize("data", BAD_RECORDS.values(), ids=BAD_RECORDS.keys())
def test_writing_stops_at_an_invalid_batch(data: bytes) -> None:
    (run,) = BatchRuns().of(chunk(DATA + data), 1 << 20)
    count = 3 + int(run.rows[1, at.T_COUNT])
    run, bits = judged(DATA + data, "o" * count)

    done, words, slab = written(run, bits)

    assert (done, words[W_ENDED], len(slab)) == (1, BAD, len(DATA))
