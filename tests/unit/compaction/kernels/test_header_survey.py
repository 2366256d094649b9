"""Header scan of the kernels: counts, flags, and the end before unsupported batches."""

import numpy as np

from cordwood.compaction.kernels.header_survey import (
    L_BATCHES,
    L_FLAGGED,
    L_POSITION,
    L_RECORDS,
    SURVEY_WORDS,
    scan_headers,
)
from tests.unit.compaction.compaction_samples import batch, marker, old, sent
from tests.unit.records.kernels.words import source_of

PLAIN = batch(0, "a1 b2 c3")


def looked(data: bytes, *last_offsets: int, room: int = 8) -> tuple[list[int], list[int]]:
    """Return the counts and the flagged positions."""
    words = np.zeros(SURVEY_WORDS, np.int64)
    flagged = np.zeros(room, np.int64)
    scan_headers(source_of(data), np.array(last_offsets, np.int64), words, flagged)
    counted = words[[L_POSITION, L_BATCHES, L_RECORDS]].tolist()
    return counted, flagged[: words[L_FLAGGED]].tolist()


def test_scan_counts_ordinary_batches() -> None:
    data = PLAIN + batch(3, "d4")

    assert looked(data) == ([len(data), 2, 4], [])


def test_scan_flags_transactional_batches_and_markers_and_counts_no_marker() -> None:
    data = PLAIN + sent(3, "a4") + marker(4, is_commit=True)
    second = len(PLAIN)

    counted, flagged = looked(data)

    assert counted == [len(data), 3, 4]
    assert flagged == [second, second + len(sent(3, "a4"))]


def test_scan_flags_batches_that_end_at_a_given_offset() -> None:
    for number in range(6):
        offsets = sorted({1, 2, 4, 5, 7} - {number})
        assert looked(PLAIN, *offsets)[1] == ([] if number == 2 else [0])


def test_scan_ends_before_an_old_message_or_invalid_bytes() -> None:
    for other in (old(3, "a1"), b"", bytes(100), PLAIN[:-1], PLAIN[:20]):
        assert looked(PLAIN + other)[0] == [len(PLAIN), 1, 3]


def test_scan_ends_when_the_flag_table_is_full() -> None:
    counted, flagged = looked(sent(0, "a1") * 3, room=2)

    assert (counted[1], len(flagged)) == (2, 2)
