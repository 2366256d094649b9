"""Verification kernels: rejected batches, and the stop before a full table."""

import numpy as np
import pytest

from cordwood.compaction.kernels import proof_batches as at
from cordwood.compaction.kernels import proof_keys as keys_at
from cordwood.records.kernels.arena import read_only
from cordwood.records.kernels.kernel_definition import Bytes, Words
from cordwood.records.record_batch import HEADER_SIZE, RecordBatch
from tests.unit.compaction.both_sides import without
from tests.unit.compaction.compaction_samples import batch

WAS = batch(0, "a1 b1 a2 c1")
LEFT = without(WAS, 0)
ARENA = 1000


def standing(before: bytes, after: bytes = b"", *, keys: int = 8) -> Words:
    """Return the words before a batch and its surviving records."""
    words = np.zeros(at.PROOF_WORDS, np.int64)
    words[keys_at.V_MOST_KEYS], words[keys_at.V_MOST_BYTES] = keys, ARENA
    was = RecordBatch(before)
    words[at.V_COUNT], words[at.V_END] = was.count, len(before)
    words[at.V_LAST_DELTA], words[at.V_BASE_TIME] = was.last_offset_delta, was.base_timestamp
    words[at.V_POSITION] = words[at.V_LEFT_POSITION] = HEADER_SIZE
    if after:
        left = RecordBatch(after)
        words[at.V_LEFT_COUNT], words[at.V_LEFT_END] = left.count, len(after)
        words[at.V_LEFT_BASE_TIME] = left.base_timestamp
    return words


def memory(notes: int = at.NOTES) -> tuple[Words, Words, Bytes]:
    """Return notes, slots and arena."""
    noted = np.zeros((notes, at.NOTE_WIDTH), np.int64)
    return noted, np.zeros(8, np.int64), np.empty(ARENA, np.uint8)


def learnt(data: bytes, words: Words) -> int:
    return at.learn_batch(read_only(data), words, *memory())


def judged(before: bytes, after: bytes, words: Words) -> int:
    held = memory()
    at.learn_batch(read_only(after), standing(after), *held)
    return at.judge_batch(read_only(before), read_only(after), words, *held)


def test_keys_of_a_valid_batch_are_added() -> None:
    words = standing(WAS)

    assert learnt(WAS, words) == at.DONE
    assert (words[at.V_LEFT], words[keys_at.V_KEYS]) == (4, 3)


def test_adding_stops_before_a_key_that_does_not_fit() -> None:
    words = standing(WAS, keys=2)

    assert learnt(WAS, words) == at.FULL
    assert (words[at.V_DONE], words[at.V_NOTED], words[at.V_LEFT]) == (3, 4, 4)


@pytest.mark.parametrize(
    ("word", "value"),
    ((at.V_COUNT, 3), (at.V_COUNT, 5), (at.V_COUNT, -1), (at.V_LAST_DELTA, 2), (at.V_END, 100)),
)
def test_batch_that_contradicts_its_header_is_rejected(word: int, value: int) -> None:
    words = standing(WAS)
    words[word] = value

    assert learnt(WAS, words) == at.WRONG


def test_surviving_records_are_found_among_the_originals() -> None:
    words = standing(WAS, LEFT)

    learning, held = standing(LEFT), memory()
    at.learn_batch(read_only(LEFT), learning, *held)
    words[: keys_at.V_MOST_KEYS] = learning[: keys_at.V_MOST_KEYS]

    assert at.judge_batch(read_only(WAS), read_only(LEFT), words, *held) == at.DONE
    assert (words[at.V_KEPT], words[at.V_READ], words[at.V_KEYED_GONE]) == (3, 4, 1)


@pytest.mark.parametrize(
    "after", (batch(0, "a1 b1 a2 c1", time=5), batch(0, "a1 b1 a2 d1"), batch(0, "a1 b1 a2 c12"))
)
def test_surviving_record_with_changed_content_is_a_violation(after: bytes) -> None:
    assert judged(WAS, after, standing(WAS, after)) == at.WRONG


def test_surviving_record_without_an_original_is_a_violation() -> None:
    assert judged(LEFT, WAS, standing(LEFT, WAS)) == at.WRONG


@pytest.mark.parametrize("notes", (1, 3))
def test_records_are_read_in_parts_when_notes_are_few(notes: int) -> None:
    learning, words, held = standing(LEFT), standing(WAS, LEFT), memory(notes)

    assert at.learn_batch(read_only(LEFT), learning, *held) == at.DONE
    words[: keys_at.V_MOST_KEYS] = learning[: keys_at.V_MOST_KEYS]

    assert at.judge_batch(read_only(WAS), read_only(LEFT), words, *held) == at.DONE
    assert (words[at.V_KEPT], words[at.V_KEYED_GONE], words[keys_at.V_SUPERSEDED]) == (3, 1, 1)
