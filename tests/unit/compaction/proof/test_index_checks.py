"""Comparison of indexes with batches: each entry is correct, and none is missing."""

import pytest

from cordwood.compaction.proof.batch_reader import SegmentFile
from cordwood.compaction.proof.index_checks import CleanedIndexCheck, IndexFault, aborted_entries
from cordwood.core.errors import DamagedFileError
from cordwood.records.batch_header import BatchHeader
from cordwood.storage.files.file_names import CLEANED, INDEX, TIME_INDEX, TXN_INDEX
from cordwood.storage.files.header_scan import headers
from cordwood.storage.log_config import LogConfig
from cordwood.storage.segment.transaction_index import AbortedTxn
from tests.unit.compaction.both_sides import BothSides
from tests.unit.compaction.compaction_samples import NOW, batch, marker

BATCHES = [batch(0, "a1 b1", time=NOW + 50), batch(2, "c1"), batch(3, "d1", time=NOW + 60)]
SIZES = [len(each) for each in BATCHES]
ABORTED = AbortedTxn(1, 0, 4, 5)


def offset_entry(relative: int, position: int) -> bytes:
    return relative.to_bytes(4) + position.to_bytes(4)


def time_entry(timestamp: int, relative: int) -> bytes:
    return timestamp.to_bytes(8) + relative.to_bytes(4)


GOOD_OFFSETS = offset_entry(2, SIZES[0]) + offset_entry(3, sum(SIZES[:2]))
GOOD_TIMES = time_entry(NOW + 51, 1) + time_entry(NOW + 60, 3)


def faults(
    offsets: bytes = GOOD_OFFSETS, times: bytes = GOOD_TIMES, *, interval: int = 0, room: int = 99
) -> list[IndexFault]:
    """Return the violations in indexes of these batches."""
    log = BothSides({0: []}, {0: BATCHES}, end=10)
    log.put(0, INDEX, offsets)
    log.put(0, TIME_INDEX, times)
    config = LogConfig(index_interval_bytes=interval, segment_index_bytes=8 * room)
    seen = CleanedIndexCheck(log.reading.source, SegmentFile(0, CLEANED, 0, 0, 0), config=config)
    for header in found(b"".join(BATCHES)):
        seen.see(header)
    return seen.finish()


def found(data: bytes) -> list[BatchHeader]:
    return list(headers(lambda length, at: data[at : at + length], 0, len(data)))


def test_indexes_written_by_a_log_are_correct() -> None:
    assert faults() == []


def test_an_index_may_be_as_sparse_as_its_interval() -> None:
    assert faults(b"", time_entry(NOW + 60, 3), interval=sum(SIZES)) == []


def test_full_index_needs_no_more_entries() -> None:
    assert faults(GOOD_OFFSETS[:8], room=1) == []


@pytest.mark.parametrize(
    "entries",
    (
        offset_entry(1, SIZES[0]) + GOOD_OFFSETS[8:],
        offset_entry(2, SIZES[0] - 1) + GOOD_OFFSETS[8:],
        GOOD_OFFSETS + offset_entry(9, 999),
    ),
)
def test_offset_entry_without_a_batch_is_a_violation(entries: bytes) -> None:
    assert {(fault.extension, fault.what) for fault in faults(entries)} == {
        (INDEX, "an entry that no batch has")
    }


def test_missing_offset_entry_is_a_violation() -> None:
    assert [fault.what for fault in faults(GOOD_OFFSETS[8:])] == ["a batch has no entry"]


def test_partial_entry_is_a_violation() -> None:
    assert [fault.what for fault in faults(GOOD_OFFSETS + b"\0")] == ["a part of an entry"]


@pytest.mark.parametrize(
    "entries",
    (
        time_entry(NOW + 51, 2) + GOOD_TIMES[12:],
        time_entry(NOW + 50, 1) + GOOD_TIMES[12:],
        time_entry(NOW + 51, 0) + GOOD_TIMES[12:],
        GOOD_TIMES[:12] + time_entry(NOW, 2) + GOOD_TIMES[12:],
        GOOD_TIMES + time_entry(NOW + 60, 9),
    ),
)
def test_time_entry_without_a_batch_is_a_violation(entries: bytes) -> None:
    assert {(fault.extension, fault.what) for fault in faults(times=entries)} == {
        (TIME_INDEX, "an entry that no batch has")
    }


@pytest.mark.parametrize("entries", (b"", GOOD_TIMES[:12]))
def test_a_time_index_has_to_end_with_the_latest_time(entries: bytes) -> None:
    assert [fault.what for fault in faults(times=entries)] == [
        "the last entry is not the latest time"
    ]


def test_indexes_that_are_not_there_have_no_entries() -> None:
    log = BothSides({0: []}, {}, end=10)
    file = SegmentFile(7, CLEANED, 0, 0, 0)

    assert CleanedIndexCheck(log.reading.source, file, config=LogConfig()).finish() == []
    assert list(aborted_entries(log.reading.source, file)) == []


def test_aborted_entries_are_read() -> None:
    log = BothSides({0: []}, {0: [marker(4, is_commit=False)]}, end=10, aborted=[ABORTED])

    assert list(aborted_entries(log.reading.source, SegmentFile(0, CLEANED, 0, 0, 0))) == [ABORTED]


def test_torn_transaction_index_is_rejected() -> None:
    log = BothSides({0: []}, {0: []}, end=10)
    log.put(0, TXN_INDEX, b"\0")

    with pytest.raises(DamagedFileError):
        list(aborted_entries(log.reading.source, SegmentFile(0, CLEANED, 0, 0, 0)))
