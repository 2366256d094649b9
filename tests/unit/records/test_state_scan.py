"""The transactions, producers and markers of a run of batches, in plain Python."""

import struct

import pytest

from cordwood.core.binary import INT64_MAX
from cordwood.core.errors import InvalidRecordError
from cordwood.records.batch_builder import BatchFields
from cordwood.records.control_records import LeaderChange, control_batch
from cordwood.records.state_scan import PlainStateScanner, ScanBounds, StateScan
from tests.unit.compaction.compaction_samples import batch, empty, marker, old, sent
from tests.unit.records.segments import changed

ALL = ScanBounds(0, INT64_MAX, 0)
LOG = (
    old(0, "a1")
    + batch(1, "b1 c1")
    + sent(3, "d1 e1", producer=7)
    + sent(5, "f1", producer=8)
    + marker(6, producer=7, is_commit=True, epoch=3)
    + sent(7, "g1", producer=8)
    + sent(8, "h1", producer=7, is_transactional=False)
    + sent(9, "i1", producer=9)
    + marker(10, producer=9, is_commit=False)
)
COMMIT = struct.pack("<qqhhi", 6, 7, 3, 1, 0)
ABORT = struct.pack("<qqhhi", 10, 9, 0, 0, 0)


def scan(log: bytes, bounds: ScanBounds = ALL) -> StateScan:
    return PlainStateScanner().scan(log, bounds)


def flags(found: StateScan, *offsets: int) -> bytes:
    return bytes(found.flags.take(memoryview(struct.pack(f"{len(offsets)}q", *offsets))))


def test_scan_returns_markers_and_producers() -> None:
    found = scan(LOG)

    assert (found.markers, found.next_offset) == (COMMIT + ABORT, 11)
    assert (found.opened, found.ended) == ({8}, {7, 9})


def test_flags_are_those_of_the_batches_of_the_next_records() -> None:
    found = scan(LOG)

    assert flags(found, 0, 1, 2, 3, 4) == bytes((0, 0, 0, 1, 1))
    assert flags(found, 5) == b"\1"
    assert flags(found, 7, 8, 9) == bytes((1, 0, 1))


def test_flags_of_a_run_without_transactions_are_zero() -> None:
    assert flags(scan(batch(0, "a1 b1")), 0, 1) == bytes(2)


@pytest.mark.parametrize(
    ("bounds", "markers"),
    (
        (ScanBounds(7, INT64_MAX, 0), ABORT),
        (ScanBounds(0, 10, 0), COMMIT),
        (ScanBounds(0, INT64_MAX, 7), ABORT),
        (ScanBounds(0, INT64_MAX, 11), b""),
    ),
)
def test_markers_outside_the_bounds_do_not_count(bounds: ScanBounds, markers: bytes) -> None:
    assert scan(LOG, bounds).markers == markers


def test_producers_that_were_scanned_before_do_not_count() -> None:
    found = scan(LOG, ScanBounds(0, INT64_MAX, 9))

    assert (found.opened, found.ended) == (set(), {9})


def test_old_message_between_transactions_is_in_none() -> None:
    found = scan(sent(0, "a1") + old(1, "b1") + sent(2, "c1"))

    assert flags(found, 0, 1, 2) == bytes((1, 0, 1))


def test_batches_without_records_have_no_effect() -> None:
    found = scan(empty(sent(0, "a1", producer=7)) + empty(marker(1, producer=8, is_commit=True)))

    assert (found.markers, found.opened, found.ended) == (b"", set(), set())


def test_control_record_of_a_quorum_ends_no_transaction() -> None:
    fields = BatchFields(base_offset=1, producer_id=7, producer_epoch=0)
    change = bytes(control_batch(LeaderChange(1, (), ()), fields, timestamp=0))

    found = scan(sent(0, "a1", producer=7) + change)

    assert found.markers == struct.pack("<qqhhi", 1, 7, 0, 2, -1)
    assert (found.opened, found.ended) == ({7}, set())


def test_control_record_that_cannot_be_read_is_an_error() -> None:
    bad = changed(marker(1, producer=7, is_commit=True), 66, b"\xff\xff")

    with pytest.raises(InvalidRecordError, match="version"):
        scan(batch(0, "a1") + bad)
