"""Offset indexes find, reject and truncate entries as Kafka's do."""

from struct import pack

import pytest

from cordwood.core.binary import INT32_MAX
from cordwood.core.errors import DamagedFileError
from cordwood.storage.segment.abstract_index import (
    IndexOrderError,
    InMemoryEntries,
    SegmentOverflowError,
)
from cordwood.storage.segment.offset_index import OFFSET_ENTRY_SIZE, OffsetEntry, OffsetIndex

PATH = "/t-0/00000000000000000045.index"


def offset_index(*entries: tuple[int, int], base: int = 0) -> OffsetIndex:
    data = b"".join(pack(">ii", offset - base, position) for offset, position in entries)
    return OffsetIndex(base, InMemoryEntries(data, OFFSET_ENTRY_SIZE, path=PATH))


def test_offset_entry_has_the_bytes_that_kafka_writes() -> None:
    assert offset_index(base=45).encode(57, 1234).hex() == "0000000c000004d2"


@pytest.mark.parametrize(
    ("base", "entries", "offset", "found"),
    (
        (0, ((20, 580), (22, 656), (24, 731)), 23, (22, 656)),
        (251, ((251 + 15, 900), (251 + 20, 1100)), 268, (266, 900)),
        (217, ((217 + 7, 220), (217 + 12, 456), (217 + 20, 800)), 230, (229, 456)),
        (0, ((3440, 2200000), (3528, 2310272), (3660, 2400000)), 3550, (3528, 2310272)),
        (100, ((120, 50), (150, 99)), 150, (150, 99)),
    ),
)
def test_offset_lookup_finds_the_entry_at_or_below(
    base: int, entries: tuple[tuple[int, int], ...], offset: int, found: tuple[int, int]
) -> None:
    assert offset_index(*entries, base=base).lookup(offset) == found


@pytest.mark.parametrize("entries", ((), ((60, 7),)))
def test_offset_lookup_is_the_beginning_below_the_first_entry(
    entries: tuple[tuple[int, int], ...],
) -> None:
    index = offset_index(*entries, base=45)

    assert index.lookup(59) == index.lookup(1) == OffsetEntry(45, 0)


@pytest.mark.parametrize(
    ("entry", "size", "found"),
    (
        (0, 5, 1),
        (0, 10, 1),
        (0, 22, 2),
        (0, 23, 2),
        (1, 24, 3),
        (3, 1, None),
        (0, 200, None),
        (1, 200, None),
    ),
)
def test_offset_upper_bound_is_the_first_entry_at_least_a_size_after(
    entry: int, size: int, found: int | None
) -> None:
    index = offset_index((1, 0), (2, 10), (3, 23), (4, 37))

    bound = index.find_upper_bound(index.entry(entry), size)

    assert bound == (None if found is None else index.entry(found))


@pytest.mark.parametrize(("position", "offset"), ((0, 45), (10, 45), (11, 50), (24, 57), (99, 57)))
def test_offset_entry_below_a_position_is_the_last_one(position: int, offset: int) -> None:
    index = offset_index((50, 10), (57, 23), base=45)

    assert index.lookup_below_position(position).offset == offset


def test_offset_upper_bound_is_none_without_entries() -> None:
    assert offset_index().find_upper_bound(OffsetEntry(0, 0), 5) is None


@pytest.mark.parametrize(("offset", "kept"), ((12, 9), (10, 9), (9, 8), (5, 4), (1, 0), (0, 0)))
def test_offset_index_is_truncated_to_an_offset(offset: int, kept: int) -> None:
    index = offset_index(*((number, number) for number in range(1, 10)))

    assert index.count_below(offset) == kept


def test_offset_index_has_a_last_entry() -> None:
    assert offset_index((50, 3), (57, 9), base=45).last == OffsetEntry(57, 9)
    assert offset_index(base=45).last == OffsetEntry(45, 0)


@pytest.mark.parametrize("offset", (51, 50))
def test_offset_index_rejects_an_entry_that_does_not_follow(offset: int) -> None:
    with pytest.raises(IndexOrderError, match=f"offset {offset} cannot follow 51"):
        offset_index((51, 0), base=45).encode(offset, 90)

    with pytest.raises(IndexOrderError, match="cannot follow 52"):
        offset_index((51, 0), base=45).encode(offset, 90, after=OffsetEntry(52, 80))


@pytest.mark.parametrize("offset", (44, 45 + INT32_MAX + 1))
def test_offset_index_rejects_an_offset_out_of_range(offset: int) -> None:
    with pytest.raises(SegmentOverflowError, match=f"offset {offset} is out of range"):
        offset_index(base=45).encode(offset, 90)


@pytest.mark.parametrize("position", (-1, INT32_MAX + 1))
def test_offset_index_rejects_a_position_out_of_range(position: int) -> None:
    with pytest.raises(SegmentOverflowError, match="2 GiB"):
        offset_index().encode(1, position)


def test_offset_index_accepts_a_last_offset_at_its_base() -> None:
    offset_index((45, 90), base=45).sanity_check()
    offset_index(base=45).sanity_check()


def test_offset_index_finds_damage_in_its_last_entry_and_its_size() -> None:
    early = offset_index((50, 3), (40, 9), base=45)
    odd = OffsetIndex(45, InMemoryEntries(bytes(17), OFFSET_ENTRY_SIZE, path=PATH))

    with pytest.raises(DamagedFileError, match="position 8, expected offset 45 or above, found 40"):
        early.sanity_check()
    with pytest.raises(DamagedFileError, match=r"a partial entry at the end .position 16"):
        odd.sanity_check()
