"""A walk over a segment file, past damage."""

from typing import TYPE_CHECKING, cast

import pytest

from cordwood.records.batch_checks import PlainBatchChecker
from cordwood.storage.reader.segment_listing import SegmentChangedError
from cordwood.testing.memory_files import MemoryFiles
from cordwood.workbench.segment_walk import BrokenRange, SegmentLogFile, header_at, walk_segment
from tests.unit.storage.reader_samples import directory, name, source
from tests.unit.storage.segment_samples import message, v2

if TYPE_CHECKING:
    from cordwood.core.ports import SegmentSource

ONE = len(v2(0))


def file_of(files: MemoryFiles, size: int) -> SegmentLogFile:
    return SegmentLogFile(source(files), name(0), size, lambda _size: None)


def walked(data: bytes) -> list[tuple[str, int, int]]:
    """Return the type, start and end of each range."""
    parts = walk_segment(file_of(directory(log=data), len(data)), PlainBatchChecker().check)
    return [(type(part).__name__, part.position, part.end) for part in parts]


def flipped(data: bytes) -> bytes:
    return data[:-3] + bytes([data[-3] ^ 1]) + data[-2:]


def test_walk_of_valid_batches_is_one_range() -> None:
    assert walked(v2(0) + v2(1)) == [("SweptRange", 0, 2 * ONE)]
    assert walked(b"") == []


def test_walk_continues_at_the_end_of_a_broken_batch() -> None:
    assert walked(v2(0) + flipped(v2(1)) + v2(2)) == [
        ("SweptRange", 0, ONE),
        ("BrokenRange", ONE, 2 * ONE),
        ("SweptRange", 2 * ONE, 3 * ONE),
    ]


def test_walk_searches_for_the_next_whole_batch() -> None:
    garbage = b"\x02\xee" * 50

    assert walked(garbage + v2(0)) == [("BrokenRange", 0, 100), ("SweptRange", 100, 100 + ONE)]
    assert walked(garbage) == [("BrokenRange", 0, 100)]


def test_search_continues_across_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cordwood.workbench.segment_walk.SEARCH_BYTES", 70)

    assert walked(b"\xee" * 333 + v2(0))[0] == ("BrokenRange", 0, 333)


def test_walk_continues_after_a_broken_message() -> None:
    one = len(message(0))

    assert walked(flipped(message(0)) + message(1)) == [
        ("BrokenRange", 0, one),
        ("SweptRange", one, 2 * one),
    ]


def test_bytes_that_resemble_a_batch_are_not_a_batch() -> None:
    short = bytearray(v2(0))
    short[8:12] = (20).to_bytes(4)

    assert walked(bytes(short))[0] == ("BrokenRange", 0, ONE)


def test_incomplete_last_batch_has_no_fault() -> None:
    (part,) = walk_segment(file_of(directory(log=v2(0)[:-1]), ONE - 1), PlainBatchChecker().check)

    assert isinstance(part, BrokenRange)
    assert (part.fault, part.header is not None) == (None, True)


def claim(size: int, *, magic: int = 2) -> bytes:
    """Return a header that claims a batch of some size, whose checksum is wrong."""
    header = bytearray(v2(0)[:61])
    header[8:12] = (size - 12).to_bytes(4)
    header[16] = magic
    return bytes(header)


def bytes_walked(data: bytes) -> int:
    """Return the number of bytes that a walk reads from the file, and passes to the checker."""
    files, counts = directory(log=data), list[int]()
    file = file_of(files, len(data))
    inner = file.source

    class CountingSource:
        path = inner.path

        def read(self, name: str, length: int, position: int) -> bytes:
            counts.append(length)
            return inner.read(name, length, position)

        def read_into(self, name: str, buffer: memoryview, position: int) -> int:
            counts.append(len(buffer))
            return inner.read_into(name, buffer, position)

    counting = file._replace(source=cast("SegmentSource", CountingSource()))
    list(walk_segment(counting, PlainBatchChecker().check))
    return sum(counts)


@pytest.mark.parametrize("magic", (2, 1, 7))
@pytest.mark.parametrize("between", (b"", v2(0)), ids=["claims alone", "batches between"])
def test_walk_reads_linearly_many_bytes_of_claimed_batches(between: bytes, magic: int) -> None:
    def data(claims: int) -> bytes:
        size = (len(between) + 61) * claims
        step = len(between) + 61
        parts = [between + claim(size - at * step, magic=magic) for at in range(claims)]
        return flipped(v2(0)) + b"\xee" + b"".join(parts)

    few, many = bytes_walked(data(200)), bytes_walked(data(1600))

    assert many < 10 * few, f"{few} bytes for 200 claims, {many} for 1600"


def test_long_batch_behind_damage_is_found() -> None:
    data = b"\xee" * 99 + v2(0, size=99_999)

    assert walked(data) == [("BrokenRange", 0, 99), ("SweptRange", 99, len(data))]


def test_long_claim_with_a_wrong_checksum_has_the_fault_of_the_checker() -> None:
    parts = [flipped(v2(0)), v2(1), flipped(v2(2, size=99_999)), v2(3)]
    data = b"".join(parts)

    broken = [
        part
        for part in walk_segment(file_of(directory(log=data), len(data)), PlainBatchChecker().check)
        if isinstance(part, BrokenRange)
    ]

    (direct,) = walk_segment(
        file_of(directory(log=parts[2]), len(parts[2])), PlainBatchChecker().check
    )
    assert isinstance(direct, BrokenRange)
    assert broken[1].fault is not None
    assert direct.fault is not None
    assert (
        broken[1].end,
        broken[1].fault.expected,
        broken[1].fault.found,
        broken[1].fault.args,
    ) == (
        len(data) - ONE,
        direct.fault.expected,
        direct.fault.found,
        direct.fault.args,
    )


def test_truncated_file_is_reported_as_changed() -> None:
    with pytest.raises(SegmentChangedError):
        list(walk_segment(file_of(directory(log=v2(0)), 999), PlainBatchChecker().check))


def test_header_is_none_where_none_can_be() -> None:
    assert header_at(file_of(directory(log=bytes(99)), 99), 0) is None
