"""Entries of one index file, whether in memory or on disk (Kafka: `AbstractIndex`).

Entries have a fixed size. Their keys (offsets, positions, timestamps) increase strictly from entry
to entry, so a lookup is a binary search. In a file it first searches the first entries of whole
4 KiB blocks, which a disk reads anyway, and then inside one block.
"""

from bisect import bisect_right
from collections.abc import Iterator
from struct import Struct
from typing import Final, NamedTuple, Protocol

from cordwood.core.binary import INT32_MAX, Buffer
from cordwood.core.errors import CordwoodError, DamagedFileError

BLOCK_SIZE: Final = 4096

REMEDY: Final = "remove it: indexes are rebuilt from the log when it is next opened"


class UnfitEntryError(CordwoodError):
    """An entry cannot be added to its index: the log and its indexes contradict each other."""


class IndexOrderError(UnfitEntryError):
    """An entry does not follow the one before it: the log's offsets or timestamps go back."""


class SegmentOverflowError(UnfitEntryError):
    """An offset or a position is out of range for its segment: relative offsets have 31 bits.

    Kafka: `LogSegmentOffsetOverflowException`.
    """


class IndexEntries(Protocol):
    """The entries of one index file, in memory or on disk. All reads see the same entries."""

    @property
    def path(self) -> str:
        """The file, for errors."""

    @property
    def count(self) -> int:
        """The number of whole entries that can be read."""

    @property
    def size(self) -> int:
        """The bytes that the entries come from; more than the whole entries need is damage."""

    @property
    def in_memory(self) -> Buffer | None:
        """All bytes, if they are in memory; valid during the call that reads them."""

    def read(self, first: int, count: int) -> Buffer:
        """Return the bytes of `count` entries. Requires: all of them are below `self.count`."""


class InMemoryEntries:
    """Entries whose bytes are in memory."""

    __slots__ = ("_entry_size", "count", "in_memory", "path", "size")

    def __init__(self, data: Buffer, entry_size: int, *, path: str = "") -> None:
        self.path = path
        self.size = len(data)
        self.count = len(data) // entry_size
        self.in_memory = memoryview(data)
        self._entry_size = entry_size

    def read(self, first: int, count: int) -> Buffer:
        return self.in_memory[first * self._entry_size : (first + count) * self._entry_size]


class IndexKey(NamedTuple):
    """A field that increases from entry to entry: its type, its place and the size of an entry."""

    field: Struct
    at: int
    entry_size: int


def relative_offset(offset: int, base_offset: int) -> int:
    """Return an offset as a segment's indexes store it: relative to the base offset."""
    if not is_in_offset_range(offset, base_offset):
        raise SegmentOverflowError(
            f"offset {offset} is out of range for the segment with base offset {base_offset}"
        )
    return offset - base_offset


def is_in_offset_range(offset: int, base_offset: int) -> bool:
    """Return whether a segment's indexes can store an offset."""
    return 0 <= offset - base_offset <= INT32_MAX


def find_last_at_most(entries: IndexEntries, key: IndexKey, *, target: int) -> int:
    """Return the number of the last entry whose key is at most `target`; -1 without one."""
    in_memory = entries.in_memory
    if in_memory is not None:
        return _find_in_buffer(in_memory, entries.count, key=key, target=target)
    unpack, count, step = key.field.unpack_from, entries.count, BLOCK_SIZE // key.entry_size
    low, high = 0, -(-count // step)
    block: Buffer = b""
    while low < high:
        middle = (low + high) // 2
        data = entries.read(middle * step, min(step, count - middle * step))
        if unpack(data, key.at)[0] <= target:
            low, block = middle + 1, data
        else:
            high = middle
    inside = _find_in_buffer(block, len(block) // key.entry_size, key=key, target=target)
    return max(0, low - 1) * step + inside


def read_blocks(
    entries: IndexEntries, entry_size: int, *, first: int
) -> Iterator[tuple[int, Buffer]]:
    """Yield the entries from number `first` on in blocks of at most `BLOCK_SIZE` bytes.

    Each block comes with the number of its first entry.
    """
    step = BLOCK_SIZE // entry_size
    for number in range(first, entries.count, step):
        yield number, entries.read(number, min(step, entries.count - number))


def count_used(entries: IndexEntries, entry_size: int) -> int:
    """Return the number of entries before the zeros at the end of a preallocated file."""
    zeros = bytes(entry_size)
    # The first entry may be all zeros; a later one has a larger key, so it never is.
    for number, data in read_blocks(entries, entry_size, first=1):
        block = bytes(data)
        at = block.find(zeros)
        while at >= 0:
            # Zeros across two entries, the end of one and the beginning of the next, do not count.
            if at % entry_size == 0:
                return number + at // entry_size
            at = block.find(zeros, at + 1)
    return entries.count


def check_size(entries: IndexEntries, entry_size: int) -> None:
    """Raise DamagedFileError if the file does not consist of whole entries."""
    if entries.size % entry_size:
        raise DamagedFileError(
            "a partial entry at the end",
            path=entries.path,
            position=entries.size - entries.size % entry_size,
            expected=f"a multiple of {entry_size} bytes",
            found=entries.size,
            remedy=REMEDY,
        )


def check_offset(entries: IndexEntries, offset: int, *, base_offset: int, position: int) -> None:
    """Raise DamagedFileError if the entry at `position` has an offset below the segment's base."""
    if offset < base_offset:
        raise DamagedFileError(
            "an entry has an offset below the segment's base offset",
            path=entries.path,
            position=position,
            expected=f"offset {base_offset} or above",
            found=offset,
            remedy=REMEDY,
        )


def _find_in_buffer(data: Buffer, count: int, *, key: IndexKey, target: int) -> int:
    """Return the number of the last of `count` entries in `data` whose key is at most `target`."""
    unpack, at, entry_size = key.field.unpack_from, key.at, key.entry_size
    above = bisect_right(
        range(count), target, key=lambda number: unpack(data, number * entry_size + at)[0]
    )
    return above - 1
