"""A segment's file walked through, past what is damaged."""

import pytest

from cordwood.records.sweep import PlainSweeper
from cordwood.storage.reader_listing import SegmentChangedError
from cordwood.testing.files import MemoryFiles
from cordwood.workbench.segment_walk import Break, SegmentFile, header_at, walk
from tests.unit.storage.reader_samples import directory, name, source
from tests.unit.storage.segment_samples import message, v2

ONE = len(v2(0))


def file_of(files: MemoryFiles, size: int) -> SegmentFile:
    return SegmentFile(source(files), name(0), size, lambda _size: None)


def walked(data: bytes) -> list[tuple[str, int, int]]:
    """Return what comes by: the kind, where it begins and where it ends."""
    parts = walk(file_of(directory(log=data), len(data)), PlainSweeper().check)
    return [(type(part).__name__, part.position, part.end) for part in parts]


def flipped(data: bytes) -> bytes:
    return data[:-3] + bytes([data[-3] ^ 1]) + data[-2:]


def test_walk_of_sound_batches_is_one_stretch() -> None:
    assert walked(v2(0) + v2(1)) == [("Stretch", 0, 2 * ONE)]
    assert walked(b"") == []


def test_walk_goes_on_where_a_broken_batch_ends() -> None:
    assert walked(v2(0) + flipped(v2(1)) + v2(2)) == [
        ("Stretch", 0, ONE),
        ("Break", ONE, 2 * ONE),
        ("Stretch", 2 * ONE, 3 * ONE),
    ]


def test_walk_searches_for_the_next_whole_batch() -> None:
    garbage = b"\x02\xee" * 50

    assert walked(garbage + v2(0)) == [("Break", 0, 100), ("Stretch", 100, 100 + ONE)]
    assert walked(garbage) == [("Break", 0, 100)]


def test_search_goes_from_window_to_window(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cordwood.workbench.segment_walk.SEARCH_BYTES", 70)

    assert walked(b"\xee" * 333 + v2(0))[0] == ("Break", 0, 333)


def test_walk_goes_on_behind_a_broken_message() -> None:
    one = len(message(0))

    assert walked(flipped(message(0)) + message(1)) == [
        ("Break", 0, one),
        ("Stretch", one, 2 * one),
    ]


def test_batch_that_is_no_batch_is_not_taken_for_one() -> None:
    short = bytearray(v2(0))
    short[8:12] = (20).to_bytes(4)

    assert walked(bytes(short))[0] == ("Break", 0, ONE)


def test_break_that_is_cut_off_has_no_fault() -> None:
    (part,) = walk(file_of(directory(log=v2(0)[:-1]), ONE - 1), PlainSweeper().check)

    assert isinstance(part, Break)
    assert (part.fault, part.header is not None) == (None, True)


def test_file_that_was_cut_has_changed() -> None:
    with pytest.raises(SegmentChangedError):
        list(walk(file_of(directory(log=v2(0)), 999), PlainSweeper().check))


def test_header_is_none_where_none_can_be() -> None:
    assert header_at(file_of(directory(log=bytes(99)), 99), 0) is None
