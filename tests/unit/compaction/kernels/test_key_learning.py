"""Records added to slots and arena: up to the capacity, or up to an invalid record."""

import numpy as np
import pytest

from cordwood.compaction.engine.batch_retention import BatchRetention
from cordwood.compaction.engine.record_marks import Marks
from cordwood.compaction.kernels import key_learning as at
from cordwood.compaction.kernels.batch_runs import BatchRun, BatchRuns, bits_of
from cordwood.compaction.kernels.key_learning import BAD, DONE, FULL, go_over, is_in_range, mark
from cordwood.core.binary import INT64_MAX
from cordwood.records.kernels.kernel_definition import Bytes, Words, inlined
from tests.unit.compaction.compaction_samples import batch, chunk, marked
from tests.unit.records.inspected import UNSOUND

DATA = batch(0, "a1 b2 a-") + batch(3, "-1 c4")
#: Faults that are rejected before any record is read.
BEFORE = {"no gzip", "unknown codec", "negative count", "more records than bytes"}
BAD_RECORDS = {name: data for name, data in UNSOUND.items() if name not in BEFORE}


@inlined
def in_range(key_hash: int, below: int, width: int) -> bool:
    return is_in_range(key_hash, below, width)


@inlined
def mark_one(bits: Bytes, number: int) -> None:
    mark(bits, number)


def words_for(*, keys: int = 6, low: int = 0, is_learning: bool = True) -> Words:
    """Return the words before the first row, for a map of N keys."""
    words: Words = np.zeros(at.LEARNING_WORDS, np.int64)
    words[at.K_POSITION], words[at.K_WIDTH] = -1, -1
    words[at.K_IS_LEARNING], words[at.K_LOW], words[at.K_HIGH] = is_learning, low, INT64_MAX
    words[at.K_MOST_KEYS], words[at.K_MOST_BYTES] = keys, 1000
    return words


def gone_over(run: BatchRun, words: Words, marks: Marks, notes: int = at.NOTES) -> int:
    """Go over a run with memory that is empty."""
    memory = np.zeros(64, np.uint8), np.zeros(1000, np.uint8)
    noted = np.zeros((notes, at.NOTE_WIDTH), np.int64)
    return go_over(run.source, run.rows, words, noted, memory, bits_of(marks))


def run_of(
    data: bytes, count: int = 5, retentions: dict[int, BatchRetention] | None = None
) -> BatchRun:
    (run,) = BatchRuns().of(chunk(data, retentions=retentions), count)
    return run


@pytest.mark.parametrize("notes", (1, 2, 5, 1000))
def test_added_keys_do_not_depend_on_the_number_of_notes(notes: int) -> None:
    words, marks = words_for(), Marks(5)

    assert gone_over(run_of(DATA), words, marks, notes) == DONE

    assert (words[at.K_KEYS], words[at.K_UNKEYED]) == (3, 1)
    assert words[at.K_USED] == 3 * (12 + 1)
    assert marked(marks) == "xxdxx"


def test_keys_missing_from_the_map_are_marked_at_lookup() -> None:
    words, marks = words_for(is_learning=False, low=1), Marks(5)

    assert gone_over(run_of(DATA), words, marks) == DONE

    assert marked(marks) == "xotxo"


def test_deleted_batches_add_no_keys() -> None:
    words = words_for()

    gone_over(run_of(DATA, retentions={0: BatchRetention.DELETE}), words, Marks(5))

    assert words[at.K_KEYS] == 1


def test_adding_stops_at_a_key_that_does_not_fit() -> None:
    words = words_for(keys=2)

    assert gone_over(run_of(DATA), words, Marks(5)) == FULL

    assert (words[at.K_KEYS], words[at.K_DONE]) == (2, 3)


@pytest.mark.parametrize("data", BAD_RECORDS.values(), ids=BAD_RECORDS.keys())
def test_adding_stops_at_an_invalid_batch(data: bytes) -> None:
    words = words_for()

    assert gone_over(run_of(DATA + data, 1 << 20), words, Marks(1 << 20)) == BAD

    assert words[at.K_ROW] == 2


@pytest.mark.parametrize(
    ("key_hash", "first", "span", "is_in"),
    (
        (5, 5, 1, True),
        (6, 5, 1, False),
        (4, 5, 1, False),
        (-1, 0, 1 << 64, True),
        (-1, 1 << 63, 1 << 63, True),
        (INT64_MAX, 1 << 63, 1 << 63, False),
    ),
)
def test_range_is_of_hashes_without_sign(
    key_hash: int, first: int, span: int, *, is_in: bool
) -> None:
    below, width = np.array([-first % (1 << 64), span - 1], np.uint64).astype(np.int64).tolist()

    assert in_range(key_hash, below, width) is is_in


def test_mark_sets_one_bit() -> None:
    bits = np.zeros(2, np.uint8)

    for number in (0, 7, 9):
        mark_one(bits, number)

    assert bits.tolist() == [0b10000001, 0b10]
