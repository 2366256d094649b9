"""Time indexes find, reject and truncate entries as Kafka's do."""

from struct import pack

import pytest

from cordwood.core.errors import DamagedFileError
from cordwood.storage.segment.abstract_index import (
    IndexOrderError,
    InMemoryEntries,
)
from cordwood.storage.segment.offset_index import OFFSET_ENTRY_SIZE, OffsetIndex
from cordwood.storage.segment.time_index import TIME_ENTRY_SIZE, TimeEntry, TimeIndex

PATH = "/t-0/00000000000000000045.timeindex"
TENS = tuple((10 * step, 45 + 10 * step) for step in range(1, 8))


def time_index(*entries: tuple[int, int], base: int = 0) -> TimeIndex:
    data = b"".join(pack(">qi", timestamp, offset - base) for timestamp, offset in entries)
    return TimeIndex(base, InMemoryEntries(data, TIME_ENTRY_SIZE, path=PATH))


def offset_index(*entries: tuple[int, int], base: int = 0) -> OffsetIndex:
    data = b"".join(pack(">ii", offset - base, position) for offset, position in entries)
    return OffsetIndex(base, InMemoryEntries(data, OFFSET_ENTRY_SIZE, path=PATH))


def test_time_entry_has_the_bytes_that_kafka_writes() -> None:
    data = time_index(base=45).encode(1503229838908, 57)

    assert data is not None
    assert data.hex() == "0000015dff7b063c0000000c"


@pytest.mark.parametrize(
    ("timestamp", "found"), ((9, (-1, 45)), (25, (20, 65)), (30, (30, 75)), (900, (70, 115)))
)
def test_time_lookup_finds_the_entry_at_or_before(timestamp: int, found: tuple[int, int]) -> None:
    assert time_index(*TENS, base=45).lookup(timestamp) == found


def test_time_lookup_is_timestamp_minus_1_at_the_beginning_without_entries() -> None:
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
def test_time_index_is_truncated_to_an_offset(offset: int, kept: int) -> None:
    assert time_index(*TENS, base=45).count_below(offset) == kept


@pytest.mark.parametrize(("timestamp", "offset"), ((69, 120), (80, 114)))
def test_time_index_rejects_a_decreasing_entry(timestamp: int, offset: int) -> None:
    with pytest.raises(IndexOrderError, match="cannot follow 70 at 115"):
        time_index(*TENS, base=45).encode(timestamp, offset)


def test_time_index_keeps_only_later_timestamps() -> None:
    index = time_index(*TENS, base=45)

    assert index.encode(70, 120) is None
    assert index.encode(71, 115) == pack(">qi", 71, 70)
    assert index.encode(75, 120, after=TimeEntry(75, 119)) is None
    assert time_index(base=45).encode(-1, 45) is None


def test_time_index_finds_damage_in_its_ends_and_its_size() -> None:
    time_index(*TENS, base=45).sanity_check()
    time_index(base=45).sanity_check()

    with pytest.raises(DamagedFileError, match=r"before the first .*at least 20, found 10"):
        time_index((20, 50), (10, 60), base=45).sanity_check()
    with pytest.raises(DamagedFileError, match=r"offset 45 or above, found 44"):
        time_index((20, 50), (30, 44), base=45).sanity_check()
    with pytest.raises(DamagedFileError, match="a partial entry"):
        TimeIndex(0, InMemoryEntries(bytes(13), TIME_ENTRY_SIZE)).sanity_check()
