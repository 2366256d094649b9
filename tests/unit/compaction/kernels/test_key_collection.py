"""Keys are noted by their positions in rows, and copied in the order of the notes."""

import numpy as np

from cordwood.compaction.kernels import key_learning as at
from cordwood.compaction.kernels.batch_runs import BatchRun, BatchRuns
from cordwood.compaction.kernels.key_collection import gather, note_rows
from cordwood.compaction.kernels.key_entries import SLOT_SIZE
from cordwood.core.binary import INT64_MAX
from cordwood.records.kernels.kernel_definition import Words
from tests.unit.compaction.compaction_samples import batch, chunk


def run_of(data: bytes, records: int) -> BatchRun:
    (run,) = BatchRuns().of(chunk(data), records)
    return run


def words_from(first_offset: int) -> Words:
    """Return the words for all hashes and for offsets from one on."""
    words = np.zeros(at.LEARNING_WORDS, np.int64)
    words[[at.K_WIDTH, at.K_POSITION]] = -1
    words[[at.K_LOW, at.K_HIGH]] = first_offset, INT64_MAX
    return words


def test_records_with_keys_are_noted_from_the_given_offset() -> None:
    run, words, notes = (
        run_of(batch(5, "a1 b- -3 c4"), 4),
        words_from(6),
        np.zeros((9, 4), np.int64),
    )

    ended = note_rows(run.source, run.rows, words, notes, np.zeros(SLOT_SIZE, np.uint8))

    noted = notes[: words[at.K_NOTED]]
    assert ended == at.DONE
    assert noted[:, at.N_NUMBER].tolist() == [1, 3]
    assert noted[:, at.N_SIZE].tolist() == [3, 2]


def test_noting_continues_after_the_notes_were_full() -> None:
    run, words, notes = run_of(batch(0, "a1 b2 c3"), 3), words_from(0), np.zeros((2, 4), np.int64)
    slots = np.zeros(SLOT_SIZE, np.uint8)

    ended = [note_rows(run.source, run.rows, words, notes, slots) for _ in range(2)]

    assert ended == [at.FULL, at.DONE]
    assert (words[at.K_NOTED], notes[0, at.N_NUMBER]) == (1, 2)


def test_keys_are_gathered_in_the_order_of_the_notes() -> None:
    source = np.frombuffer(b"onetwothree", np.uint8)
    notes = np.zeros((2, at.NOTE_WIDTH), np.int64)
    notes[:, at.N_KEY], notes[:, at.N_SIZE] = (6, 0), (5 << 1 | 1, 3 << 1)
    out = np.zeros(8, np.uint8)

    gather(source, notes, out)

    assert out.tobytes() == b"threeone"
