"""The three indexes find, refuse and cut as Kafka's do, whoever holds the entries."""

from struct import pack

import pytest

from cordwood.core.binary import INT32_MAX, Buffer
from cordwood.core.errors import DamagedFileError
from cordwood.storage.index import (
    ABORTED_ENTRY_SIZE,
    OFFSET_ENTRY_SIZE,
    TIME_ENTRY_SIZE,
    AbortedEntry,
    HeldEntries,
    IndexOrderError,
    OffsetEntry,
    OffsetIndex,
    SegmentOverflowError,
    TimeEntry,
    TimeIndex,
    TransactionIndex,
    used_count,
)

PATH = "/t-0/00000000000000000045.index"


class FiledEntries:
    """Entries that are read block by block, as those of a file are."""

    path = PATH
    held = None

    def __init__(self, data: bytes, entry_size: int) -> None:
        self.size = len(data)
        self.count = len(data) // entry_size
        self.reads: list[int] = []
        self._data = data
        self._entry_size = entry_size

    def read(self, first: int, count: int) -> Buffer:
        self.reads.append(count)
        return self._data[first * self._entry_size : (first + count) * self._entry_size]


def offset_index(*entries: tuple[int, int], base: int = 0) -> OffsetIndex:
    data = b"".join(pack(">ii", offset - base, position) for offset, position in entries)
    return OffsetIndex(base, HeldEntries(data, OFFSET_ENTRY_SIZE, path=PATH))


def time_index(*entries: tuple[int, int], base: int = 0) -> TimeIndex:
    data = b"".join(pack(">qi", timestamp, offset - base) for timestamp, offset in entries)
    return TimeIndex(base, HeldEntries(data, TIME_ENTRY_SIZE, path=PATH))


def transaction_index(*entries: tuple[int, int, int, int], base: int = 0) -> TransactionIndex:
    data = b"".join(pack(">hqqqq", 0, *entry) for entry in entries)
    return TransactionIndex(base, HeldEntries(data, ABORTED_ENTRY_SIZE, path=PATH))


TENS = tuple((10 * step, 45 + 10 * step) for step in range(1, 8))
ABORTED = ((0, 0, 10, 11), (1, 5, 15, 13), (2, 18, 35, 25), (3, 32, 50, 40))


# -- offsets


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


@pytest.mark.parametrize("count", (1, 511, 512, 513, 1024, 5000))
def test_offset_lookup_in_a_file_finds_what_it_finds_in_memory(count: int) -> None:
    data = b"".join(pack(">ii", 3 * number, 7 * number) for number in range(1, count + 1))
    held = OffsetIndex(0, HeldEntries(data, OFFSET_ENTRY_SIZE))
    filed = OffsetIndex(0, FiledEntries(data, OFFSET_ENTRY_SIZE))

    for target in (0, 2, 3, 4, 1535, 1536, 1537, 1539, 3 * count - 1, 3 * count, 3 * count + 9):
        assert filed.lookup(target) == held.lookup(target), target
        assert filed.lookup(target).offset <= target


def test_offset_lookup_in_a_file_reads_whole_blocks() -> None:
    entries = FiledEntries(bytes(OFFSET_ENTRY_SIZE) * 700, OFFSET_ENTRY_SIZE)

    OffsetIndex(0, entries).lookup(5)

    assert entries.reads == [700 - 512, 1]


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
def test_offset_upper_bound_is_the_first_entry_so_far_behind(
    entry: int, size: int, found: int | None
) -> None:
    index = offset_index((1, 0), (2, 10), (3, 23), (4, 37))

    bound = index.upper_bound(index.entry(entry), size)

    assert bound == (None if found is None else index.entry(found))


@pytest.mark.parametrize(("position", "offset"), ((0, 45), (10, 45), (11, 50), (24, 57), (99, 57)))
def test_offset_entry_below_a_position_is_the_last_one(position: int, offset: int) -> None:
    index = offset_index((50, 10), (57, 23), base=45)

    assert index.below_position(position).offset == offset


def test_offset_upper_bound_is_none_without_entries() -> None:
    assert offset_index().upper_bound(OffsetEntry(0, 0), 5) is None


@pytest.mark.parametrize(("offset", "kept"), ((12, 9), (10, 9), (9, 8), (5, 4), (1, 0), (0, 0)))
def test_offset_index_is_cut_before_an_offset(offset: int, kept: int) -> None:
    index = offset_index(*((number, number) for number in range(1, 10)))

    assert index.count_below(offset) == kept


def test_offset_index_knows_its_last_entry() -> None:
    assert offset_index((50, 3), (57, 9), base=45).last == OffsetEntry(57, 9)
    assert offset_index(base=45).last == OffsetEntry(45, 0)


@pytest.mark.parametrize("offset", (51, 50))
def test_offset_index_refuses_an_entry_that_does_not_follow(offset: int) -> None:
    with pytest.raises(IndexOrderError, match=f"offset {offset} cannot follow 51"):
        offset_index((51, 0), base=45).encode(offset, 90)

    with pytest.raises(IndexOrderError, match="cannot follow 52"):
        offset_index((51, 0), base=45).encode(offset, 90, after=OffsetEntry(52, 80))


@pytest.mark.parametrize("offset", (44, 45 + INT32_MAX + 1))
def test_offset_index_refuses_an_offset_without_place(offset: int) -> None:
    with pytest.raises(SegmentOverflowError, match=f"offset {offset} has no place"):
        offset_index(base=45).encode(offset, 90)


@pytest.mark.parametrize("position", (-1, INT32_MAX + 1))
def test_offset_index_refuses_a_position_without_place(position: int) -> None:
    with pytest.raises(SegmentOverflowError, match="2 GiB"):
        offset_index().encode(1, position)


def test_offset_index_accepts_a_last_offset_at_its_base() -> None:
    offset_index((45, 90), base=45).check()
    offset_index(base=45).check()


def test_offset_index_finds_damage_in_its_last_entry_and_its_size() -> None:
    early = offset_index((50, 3), (40, 9), base=45)
    odd = OffsetIndex(45, HeldEntries(bytes(17), OFFSET_ENTRY_SIZE, path=PATH))

    with pytest.raises(DamagedFileError, match="position 8, expected offset 45 or above, found 40"):
        early.check()
    with pytest.raises(DamagedFileError, match=r"a part of an entry .position 16"):
        odd.check()


# -- times


def test_time_entry_has_the_bytes_that_kafka_writes() -> None:
    data = time_index(base=45).encode(1503229838908, 57)

    assert data is not None
    assert data.hex() == "0000015dff7b063c0000000c"


@pytest.mark.parametrize(
    ("timestamp", "found"), ((9, (-1, 45)), (25, (20, 65)), (30, (30, 75)), (900, (70, 115)))
)
def test_time_lookup_finds_the_entry_at_or_before(timestamp: int, found: tuple[int, int]) -> None:
    assert time_index(*TENS, base=45).lookup(timestamp) == found


def test_time_lookup_is_no_time_at_the_beginning_without_entries() -> None:
    assert time_index(base=45).lookup(100) == time_index(base=45).last == TimeEntry(-1, 45)


@pytest.mark.parametrize(
    ("times", "offsets", "timestamp", "position"),
    (
        (
            ((1526384718283, 28), (1526384718500, 40)),
            ((26, 838), (30, 1000)),
            1526384718288,
            838,
        ),
        (
            ((1609087040112, 5146), (1609087040900, 5300)),
            ((5046, 3111375), (5200, 3200000)),
            1609087040523,
            3111375,
        ),
    ),
)
def test_time_lookup_leads_through_the_offset_index_to_a_position(
    times: tuple[tuple[int, int], ...],
    offsets: tuple[tuple[int, int], ...],
    timestamp: int,
    position: int,
) -> None:
    found = time_index(*times).lookup(timestamp)

    assert found == times[0]
    assert offset_index(*offsets).lookup(found.offset) == (offsets[0][0], position)


@pytest.mark.parametrize(("offset", "kept"), ((200, 7), (65, 1), (66, 2), (55, 0), (45, 0)))
def test_time_index_is_cut_before_an_offset(offset: int, kept: int) -> None:
    assert time_index(*TENS, base=45).count_below(offset) == kept


@pytest.mark.parametrize(("timestamp", "offset"), ((69, 120), (80, 114)))
def test_time_index_refuses_an_entry_that_goes_back(timestamp: int, offset: int) -> None:
    with pytest.raises(IndexOrderError, match="cannot follow 70 at 115"):
        time_index(*TENS, base=45).encode(timestamp, offset)


def test_time_index_keeps_only_what_is_later() -> None:
    index = time_index(*TENS, base=45)

    assert index.encode(70, 120) is None
    assert index.encode(71, 115) == pack(">qi", 71, 70)
    assert index.encode(75, 120, after=TimeEntry(75, 119)) is None
    assert time_index(base=45).encode(-1, 45) is None


def test_time_index_finds_damage_in_its_ends_and_its_size() -> None:
    time_index(*TENS, base=45).check()
    time_index(base=45).check()

    with pytest.raises(DamagedFileError, match=r"before the first .*at least 20, found 10"):
        time_index((20, 50), (10, 60), base=45).check()
    with pytest.raises(DamagedFileError, match=r"offset 45 or above, found 44"):
        time_index((20, 50), (30, 44), base=45).check()
    with pytest.raises(DamagedFileError, match="a part of an entry"):
        TimeIndex(0, HeldEntries(bytes(13), TIME_ENTRY_SIZE)).check()


# -- aborted transactions


def test_aborted_entry_has_the_bytes_that_kafka_writes() -> None:
    data = transaction_index().encode(AbortedEntry(7, 42, 43, 44))

    assert data.hex() == ("00000000000000000007000000000000002a000000000000002b000000000000002c")


@pytest.mark.parametrize(
    ("first", "end", "found", "is_complete"),
    (
        (0, 100, (0, 1, 2, 3), False),
        (0, 32, (0, 1, 2), True),
        (0, 35, (0, 1, 2, 3), True),
        (10, 35, (0, 1, 2, 3), True),
        (11, 35, (1, 2, 3), True),
        (20, 41, (2, 3), False),
        (51, 60, (), False),
    ),
)
def test_aborted_transactions_are_collected_for_a_range(
    first: int, end: int, *, found: tuple[int, ...], is_complete: bool
) -> None:
    collected = transaction_index(*ABORTED).collect(first, end)

    assert tuple(entry.producer_id for entry in collected.entries) == found
    assert collected.is_complete is is_complete


def test_aborted_transactions_are_read_over_many_blocks() -> None:
    index = transaction_index(*((number, number, number, number) for number in range(500)))

    assert [entry.producer_id for entry in index.read(130)] == list(range(130, 500))
    assert index.last == AbortedEntry(499, 499, 499, 499)


@pytest.mark.parametrize(("offset", "kept"), ((51, 4), (50, 3), (0, 0)))
def test_aborted_transactions_are_cut_before_a_marker(offset: int, kept: int) -> None:
    assert transaction_index(*ABORTED).count_below(offset) == kept


@pytest.mark.parametrize("marker", (50, 49))
def test_aborted_transactions_refuse_a_marker_that_does_not_follow(marker: int) -> None:
    with pytest.raises(IndexOrderError, match=f"marker {marker} cannot follow 50"):
        transaction_index(*ABORTED).encode(AbortedEntry(9, 40, marker, 60))


def test_aborted_transactions_find_markers_of_another_segment() -> None:
    transaction_index(*ABORTED).check()

    with pytest.raises(DamagedFileError, match=r"position 0, expected offset 100 or above"):
        transaction_index(*ABORTED, base=100).check()


def test_aborted_transactions_find_parts_of_entries_and_unknown_versions() -> None:
    entry = pack(">hqqqq", 0, 1, 2, 3, 4)
    torn = TransactionIndex(0, HeldEntries(entry + bytes(5), ABORTED_ENTRY_SIZE))
    newer = TransactionIndex(0, HeldEntries(entry + b"\x01" + entry[1:], ABORTED_ENTRY_SIZE))

    with pytest.raises(DamagedFileError, match=r"a part of an entry .position 34"):
        torn.check()
    with pytest.raises(DamagedFileError, match=r"version .* .position 34, expected 0, found 1"):
        list(newer.read())


# -- zeros at the end


@pytest.mark.parametrize("used", (0, 1, 2, 511, 512, 513, 700))
def test_used_count_ends_where_the_zeros_of_a_preallocated_file_begin(used: int) -> None:
    data = b"".join(pack(">ii", number + 1, 0) for number in range(used))
    entries = HeldEntries(data + bytes(8 * (800 - used)), OFFSET_ENTRY_SIZE)

    assert used_count(entries, OFFSET_ENTRY_SIZE) == max(1, used)


def test_used_count_is_not_misled_by_zeros_across_entries() -> None:
    data = pack(">ii", 1, 0) + pack(">ii", 256, 256) + pack(">qq", 1 << 56, 1)

    assert used_count(HeldEntries(data, OFFSET_ENTRY_SIZE), OFFSET_ENTRY_SIZE) == 4
