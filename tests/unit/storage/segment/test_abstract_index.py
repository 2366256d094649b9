"""Index entries are found the same way in memory and in a file."""

from struct import pack

import pytest

from cordwood.core.binary import INT32_MAX, Buffer
from cordwood.core.errors import DamagedFileError
from cordwood.storage.segment.abstract_index import (
    InMemoryEntries,
    SegmentOverflowError,
    check_offset,
    check_size,
    count_used,
    is_in_offset_range,
    relative_offset,
)
from cordwood.storage.segment.offset_index import OFFSET_ENTRY_SIZE, OffsetIndex

PATH = "/t-0/00000000000000000045.index"


class FileEntries:
    """Entries that are read block by block, as those of a file are."""

    path = PATH
    in_memory = None

    def __init__(self, data: bytes, entry_size: int) -> None:
        self.size = len(data)
        self.count = len(data) // entry_size
        self.reads: list[int] = []
        self._data = data
        self._entry_size = entry_size

    def read(self, first: int, count: int) -> Buffer:
        self.reads.append(count)
        return self._data[first * self._entry_size : (first + count) * self._entry_size]


@pytest.mark.parametrize("count", (1, 511, 512, 513, 1024, 5000))
def test_offset_lookup_in_a_file_equals_that_in_memory(count: int) -> None:
    data = b"".join(pack(">ii", 3 * number, 7 * number) for number in range(1, count + 1))
    in_memory = OffsetIndex(0, InMemoryEntries(data, OFFSET_ENTRY_SIZE))
    from_file = OffsetIndex(0, FileEntries(data, OFFSET_ENTRY_SIZE))

    for target in (0, 2, 3, 4, 1535, 1536, 1537, 1539, 3 * count - 1, 3 * count, 3 * count + 9):
        assert from_file.lookup(target) == in_memory.lookup(target), target
        assert from_file.lookup(target).offset <= target


def test_offset_lookup_in_a_file_reads_whole_blocks() -> None:
    entries = FileEntries(bytes(OFFSET_ENTRY_SIZE) * 700, OFFSET_ENTRY_SIZE)

    OffsetIndex(0, entries).lookup(5)

    assert entries.reads == [700 - 512, 1]


@pytest.mark.parametrize("used", (0, 1, 2, 511, 512, 513, 700))
def test_count_used_ends_where_the_zeros_of_a_preallocated_file_begin(used: int) -> None:
    data = b"".join(pack(">ii", number + 1, 0) for number in range(used))
    entries = InMemoryEntries(data + bytes(8 * (800 - used)), OFFSET_ENTRY_SIZE)

    assert count_used(entries, OFFSET_ENTRY_SIZE) == max(1, used)


def test_zeros_across_entries_do_not_end_the_count_of_used_entries() -> None:
    data = pack(">ii", 1, 0) + pack(">ii", 256, 256) + pack(">qq", 1 << 56, 1)

    assert count_used(InMemoryEntries(data, OFFSET_ENTRY_SIZE), OFFSET_ENTRY_SIZE) == 4


@pytest.mark.parametrize("offset", (45, 46, 45 + INT32_MAX))
def test_relative_offset_counts_from_the_base_offset(offset: int) -> None:
    assert is_in_offset_range(offset, 45)
    assert relative_offset(offset, 45) == offset - 45


@pytest.mark.parametrize("offset", (44, 45 + INT32_MAX + 1))
def test_relative_offset_has_31_bits(offset: int) -> None:
    assert not is_in_offset_range(offset, 45)
    with pytest.raises(SegmentOverflowError, match=f"offset {offset} is out of range"):
        relative_offset(offset, 45)


def test_check_size_accepts_whole_entries_only() -> None:
    check_size(InMemoryEntries(bytes(16), OFFSET_ENTRY_SIZE), OFFSET_ENTRY_SIZE)

    with pytest.raises(DamagedFileError, match=r"a partial entry at the end .position 16"):
        check_size(InMemoryEntries(bytes(17), OFFSET_ENTRY_SIZE), OFFSET_ENTRY_SIZE)


def test_check_offset_rejects_an_offset_below_the_base_offset() -> None:
    entries = InMemoryEntries(bytes(8), OFFSET_ENTRY_SIZE, path=PATH)
    check_offset(entries, 45, base_offset=45, position=0)

    with pytest.raises(DamagedFileError, match="expected offset 45 or above, found 44"):
        check_offset(entries, 44, base_offset=45, position=0)
