"""Damage in a segment and its offsets, as opposed to a torn tail."""

import pytest

from cordwood.records.record_batch import HEADER_SIZE
from cordwood.testing.memory_files import MemoryFiles
from tests.unit.records.segments import changed
from tests.unit.storage.log_samples import batch
from tests.unit.storage.reader_samples import directory, got, harm, name, put
from tests.unit.storage.segment_samples import message, v2
from tests.unit.workbench.verified import damages, healthy, notes, verified

CHECKSUM = "the checksum is wrong"


def three(*, last: bytes = b"") -> MemoryFiles:
    return directory(log=v2(0, 3) + v2(4, 9) + (last or v2(10, 11)), log_12=v2(12))


def test_healthy_log_has_no_finding() -> None:
    found = verified(healthy())

    assert (found.is_damaged, found.findings) == (False, ())
    assert (found.log_start, found.log_end, found.segments, found.batches) == (0, 110, 8, 39)
    assert str(found).startswith("good: /d/t-0: offsets 0 to 109, 8 segments, 39 batches")


def test_wrong_checksum_is_reported_with_position_and_offsets() -> None:
    files = three()
    harm(files, name(0), len(v2(0, 3)) + 70)

    (found,) = verified(files).findings

    assert (found.cause, found.position) == (CHECKSUM, len(v2(0, 3)))
    assert (found.first_offset, found.end_offset) == (4, 10)
    assert "offsets 4 to 9" in str(found)


@pytest.mark.parametrize("at", (8, 16))
def test_invalid_size_or_magic_hides_one_batch(at: int) -> None:
    files = three()
    harm(files, name(0), len(v2(0, 3)) + at, b"\x7f")

    (found,) = verified(files).findings

    assert (found.first_offset, found.end_offset) == (4, 10)
    assert verified(files).batches == 3


def test_batch_at_the_end_of_an_inactive_segment_is_damage() -> None:
    files = directory(log=v2(0, 3) + v2(4, 9)[:-5], log_10=v2(10))

    (found,) = verified(files).findings

    assert (found.cause, found.end_offset) == ("a truncated batch", 10)


def test_header_at_the_end_of_an_inactive_segment_is_damage() -> None:
    files = directory(log=v2(0, 3) + v2(4, 9)[:12], log_10=v2(10))

    assert damages(files) == [(".log", "a truncated batch")]


@pytest.mark.parametrize("tail", (v2(4, 9)[:-5], v2(4, 9)[:9], bytes(5000)))
def test_tail_of_the_last_segment_is_a_note(tail: bytes) -> None:
    found = verified(directory(log=v2(0, 3) + tail))

    assert (found.is_damaged, found.tail_bytes, found.log_end) == (False, len(tail), 4)
    assert "a tail of" in found.findings[0].cause


def test_tail_whose_last_block_was_not_written_is_a_note() -> None:
    data = v2(0, 3) + batch(at=4, value=b"x" * 9000)

    assert notes(directory(log=data[:8192] + bytes(len(data) - 8192)))[0][0] == ".log"


def test_torn_end_with_a_batch_in_a_value_is_a_note() -> None:
    inner = v2(7, size=200)
    outer = bytes(batch(value=inner + inner))
    size = outer.index(inner) + len(inner) + 2

    files = directory(log=outer[:size])

    assert damages(files) == []
    assert [cause.partition(" bytes")[0] for _, cause in notes(files)] == [f"a tail of {size}"]


def test_damaged_last_batch_of_full_size_is_not_a_torn_tail() -> None:
    files = directory(log=v2(0, 3) + v2(4, 9))
    harm(files, name(0), len(v2(0, 3)) + 70)

    (found,) = verified(files).findings

    assert (found.cause, found.first_offset, found.end_offset) == (CHECKSUM, 4, 10)


def test_garbage_at_the_end_is_not_a_tail() -> None:
    (found,) = verified(directory(log=v2(0, 3) + b"\xee" * 200)).findings

    assert (found.first_offset, found.end_offset) == (4, None)


def test_damage_in_the_first_batch_begins_where_the_segment_does() -> None:
    files = directory(log=b"\xee" * 100 + v2(2))

    assert (verified(files).findings[0].first_offset, verified(files).log_end) == (0, 3)


def test_adjacent_damage_is_one_range() -> None:
    files = three()
    harm(files, name(0), len(v2(0, 3)) + 70)
    harm(files, name(0), HEADER_SIZE + 1)

    assert [(each.first_offset, each.end_offset) for each in verified(files).findings] == [(0, 10)]


def test_batch_that_is_larger_than_a_window_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cordwood.workbench.segment_walk.WINDOW_BYTES", 100)

    assert damages(directory(log=v2(0, size=500) + v2(1))) == []


def test_old_messages_are_checked() -> None:
    files = directory(log=message(0) + message(1, magic=0) + message(2))
    assert damages(files) == []

    harm(files, name(0), len(message(0)) + 20)

    assert damages(files) == [(".log", CHECKSUM)]


def test_offsets_beyond_the_reach_of_indexes_are_damage() -> None:
    causes = [cause for _, cause in damages(directory(log=v2(0) + v2(1 << 40)))]

    assert causes[0].startswith("offsets exceed the range")


def test_file_changed_during_verification_is_verified_again() -> None:
    files = three()
    harm(files, name(0), 70)
    data = got(files, name(0))
    put(files, name(0), data)

    assert damages(files) == [(".log", CHECKSUM)]


def test_invalid_records_after_damage_are_distinguished() -> None:
    unsound = changed(v2(4, 9), 57, (7).to_bytes(4))
    files = directory(log=b"\xee" * 99 + unsound + v2(10))

    found = verified(files).findings

    assert [(each.first_offset, each.end_offset) for each in found] == [(0, 4), (4, 10)]


def test_invalid_records_after_damage_start_at_the_offset_of_their_header() -> None:
    files = directory(log=b"\xee" * 99 + changed(v2(4, 9), 57, (7).to_bytes(4)))

    assert [each.first_offset for each in verified(files).findings] == [0, 4]
