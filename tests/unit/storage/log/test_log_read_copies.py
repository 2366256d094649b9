"""A slice that is held never shows records of two leaderships, not even after a truncation."""

import pytest

from cordwood.storage.files.bytes_slice import BytesSlice
from cordwood.storage.log.log import Log
from cordwood.testing.memory_files import MemorySlice
from tests.unit.storage.log_samples import (
    LogHarness,
    batch,
    bytes_of,
    follow,
    headers_of,
    lead,
    offsets,
    opened,
    read,
)


def replicated(log: Log, high_watermark: int) -> Log:
    """Return the log with eight records up to which replicas have followed to an offset."""
    for _ in range(8):
        lead(log, batch())
    log.set_high_watermark(high_watermark)
    return log


def test_held_slice_keeps_the_records_of_one_leadership() -> None:
    log = replicated(opened(), 3)
    held = read(log, 3)
    before = bytes_of(held)

    log.truncate_to(4)
    for offset in range(4, 8):
        follow(log, batch(at=offset, epoch=7, value=b"other"), epoch=7)

    assert {each.partition_leader_epoch for each in headers_of(before)} == {0}
    assert bytes_of(held) == before


def test_held_slice_keeps_its_length_after_a_truncation() -> None:
    log = replicated(opened(), 3)
    held = read(log, 3)

    log.truncate_to(3)

    assert offsets(held) == [(each, each) for each in range(3, 8)]


def test_read_to_the_log_end_stops_at_the_high_watermark_first() -> None:
    log = replicated(opened(), 3)

    below, above = read(log, 0), read(log, 3)

    assert [len(offsets(each)) for each in (below, above)] == [3, 5]
    assert [each.has_more for each in (below, above)] == [True, False]
    assert [isinstance(each.slice, BytesSlice) for each in (below, above)] == [False, True]


def test_replicated_log_is_read_as_a_range_of_the_file() -> None:
    found = read(replicated(opened(), 8), 2)

    assert (len(offsets(found)), found.has_more) == (6, False)
    assert not isinstance(found.slice, BytesSlice)


def test_read_above_the_high_watermark_needs_one_cached_batch_only() -> None:
    """A part of the range that is not cached is left to the next read."""
    harness = LogHarness()
    log = replicated(harness.open(), 3)

    def only_one(part: MemorySlice, start: int, length: int) -> memoryview:
        return part.read(start, min(length, len(batch())))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MemorySlice, "read_cached", only_one)
        found = read(log, 4)

    assert offsets(found) == [(4, 4)]


def test_read_above_the_high_watermark_reads_the_file_when_nothing_is_cached() -> None:
    harness = LogHarness()
    log = replicated(harness.open(), 3)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MemorySlice, "read_cached", lambda *_: memoryview(b""))
        found = read(log, 4)

    assert len(offsets(found)) == 4
