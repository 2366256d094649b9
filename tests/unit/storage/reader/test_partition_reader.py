"""A partition reader finds bounds, segments, batches and gaps while the owner changes files."""

from collections.abc import Callable

import pytest

from cordwood.core.errors import CorruptMessageError, LogDirectoryError
from cordwood.core.ports import FileStat
from cordwood.storage.files.directory_source import DirectorySource
from cordwood.storage.reader.partition_reader import (
    MAX_ATTEMPTS,
    PartitionCheckpoints,
    PartitionReader,
    ReaderOffsets,
)
from cordwood.testing.memory_files import MemoryFiles
from tests.unit.storage.log_samples import DIRECTORY, NOW, filled
from tests.unit.storage.reader_samples import (
    directory,
    got,
    harm,
    logged,
    name,
    put,
    reader,
    source,
    spans,
)
from tests.unit.storage.segment_samples import headers_of, times, v2


def written(count: int) -> MemoryFiles:
    """Return files of a log with three batches of one record per segment."""
    place, log = logged()
    filled(log, count)
    return place.files


def numbers(found: PartitionReader, start: int = 0, end: int | None = None) -> list[int]:
    return [each.header.base_offset for each in found.batches(start, end)]


def test_offsets_are_those_of_the_log() -> None:
    assert reader(written(8)).offsets() == ReaderOffsets(0, 8)


def test_offsets_begin_at_the_checkpoint() -> None:
    files = written(8)

    assert reader(files, PartitionCheckpoints(log_start=4)).offsets() == ReaderOffsets(4, 8)
    assert reader(files, PartitionCheckpoints(log_start=9)).offsets() == ReaderOffsets(9, 9)
    assert reader(files, PartitionCheckpoints(log_start=4)).log_start() == 4


def test_offsets_of_an_empty_directory_are_its_start() -> None:
    assert reader(directory()).offsets() == ReaderOffsets(0, 0)
    assert reader(directory(log_5=b"")).offsets() == ReaderOffsets(5, 5)


def test_offsets_leave_out_a_torn_tail() -> None:
    files = directory(log=v2(0, 3) + v2(4, 9)[:-5])

    assert reader(files).offsets() == ReaderOffsets(0, 4, len(v2(4, 9)) - 5)


def test_segments_have_range_size_and_time() -> None:
    files = written(7)

    found = reader(files).segments()

    assert [each[:4] for each in found] == [
        (0, 3, 228, NOW),
        (3, 6, 228, NOW),
        (6, 7, 76, NOW),
    ]
    assert found[1].path == f"{DIRECTORY}/{name(3)}"


def test_opened_segments_can_be_searched() -> None:
    found = reader(written(7)).open_segments()

    assert [each.next_offset for each in found] == [None, None, 7]
    assert [each.base_offset for each in reader(written(7)).list_segments()] == [0, 3, 6]


def test_batches_are_read_across_segments() -> None:
    files = written(8)

    assert numbers(reader(files)) == list(range(8))
    assert numbers(reader(files), 2, 7) == [2, 3, 4, 5, 6]
    assert numbers(reader(files), 8) == []
    assert numbers(reader(files, PartitionCheckpoints(log_start=5))) == [5, 6, 7]


def test_batches_end_at_the_log_end_of_the_beginning() -> None:
    place, log = logged()
    filled(log, 4)
    reading = reader(place.files).batches()
    first = next(reading)

    filled(log, 4)

    assert [first.header.base_offset, *spans(each.header for each in reading)] == [
        0,
        (1, 1),
        (2, 2),
        (3, 3),
    ]


@pytest.mark.parametrize("is_kept", (False, True))
def test_buffers_hold_the_bytes_of_the_batches(*, is_kept: bool) -> None:
    files = written(7)

    found = [
        (run.segment_base, spans(headers_of(bytes(run.data))))
        for run in reader(files).buffers(1, 6, max_bytes=160, is_kept=is_kept)
    ]

    assert found == [(0, [(1, 1), (2, 2)]), (3, [(3, 3), (4, 4)]), (3, [(5, 5)])]


def test_kept_buffers_do_not_change() -> None:
    files = written(7)

    found = list(reader(files).buffers(max_bytes=1, is_kept=True))

    assert [spans(headers_of(bytes(run.data))) for run in found] == [[(at, at)] for at in range(7)]


def test_reading_ends_at_a_gap_that_reaches_its_end() -> None:
    found = reader(directory(log=v2(0, 3), log_7=v2(8, 9)))

    assert numbers(found, 0, 7) == [0]
    assert numbers(found, 5, 7) == []


def test_reading_ends_where_the_log_is_truncated() -> None:
    files = written(7)
    reading = reader(files).buffers(max_bytes=76)
    first = next(reading).next_offset

    for base_offset, size in ((0, 2 * 76), (3, 0), (6, 0)):
        files.open(f"{DIRECTORY}/{name(base_offset)}", writable=True).truncate(size)

    assert [first, *(run.next_offset for run in reading)] == [1, 2]


def test_reading_continues_in_the_replacement_of_a_segment() -> None:
    files = directory(log=v2(0) + v2(1) + v2(2))
    reading = reader(files).buffers(max_bytes=61)
    first = next(reading).next_offset

    file = files.open(f"{DIRECTORY}/{name(0)}", writable=True)
    file.truncate(0)
    file.append(v2(0, 1, size=200) + v2(2, timestamp=7))

    found = [spans(headers_of(bytes(run.data))) for run in reading]
    assert first == 1
    assert found == [[(0, 1)], [(2, 2)]]


class CountingSource(DirectorySource):
    """A source that counts its listings, and has a time of the last change."""

    def __init__(self, files: MemoryFiles, changed_ms: int | None) -> None:
        super().__init__(files, DIRECTORY)
        self.changed = changed_ms
        self.listings = 0

    def list(self) -> list[str]:
        self.listings += 1
        return super().list()

    def changed_ms(self) -> int | None:
        return self.changed


def with_gaps() -> MemoryFiles:
    return directory(log=v2(0, 3), log_5=v2(6, 7), log_9=v2(9), log_12=v2(14))


@pytest.mark.parametrize(
    ("files", "changed_ms", "listings"),
    ((written(30), None, 2), (with_gaps(), 5, 2), (with_gaps(), None, 5)),
)
def test_directory_is_listed_once_for_a_walk(
    files: MemoryFiles, changed_ms: int | None, listings: int
) -> None:
    counting = CountingSource(files, changed_ms)
    walked = PartitionReader(counting)

    found = numbers(walked)

    assert found == numbers(reader(files))
    assert counting.listings == listings, "one is for the log end"


def test_segment_that_appears_in_a_gap_is_read() -> None:
    files = with_gaps()
    counting = CountingSource(files, 5)
    reading = PartitionReader(counting).batches()
    first = next(reading).header.base_offset

    put(files, name(4), v2(4))
    counting.changed = 6

    assert [first, *(found.header.base_offset for found in reading)] == [0, 4, 6, 9, 14]


def test_reads_of_one_walk_share_a_listing() -> None:
    counting = CountingSource(written(30), None)
    walk = PartitionReader(counting).walk()

    found = [[each.header.base_offset for each in walk.batches(at, at + 2)] for at in (3, 9, 1)]

    assert found == [[3, 4], [9, 10], [1, 2]]
    assert counting.listings == 2


def test_find_returns_the_batch_with_the_offset_or_the_next_one() -> None:
    found = reader(directory(log=v2(0, 3), log_7=v2(8, 9)))

    at = [found.find(offset) for offset in (2, 5, 9, 10)]

    assert [each and each.header.base_offset for each in at] == [0, 8, 8, None]


def test_find_skips_an_empty_segment() -> None:
    found = reader(directory(log=v2(0, 3), log_4=b"", log_6=v2(6))).find(4)

    assert found is not None
    assert found.header.base_offset == 6


def test_timestamp_is_looked_up_in_all_segments() -> None:
    files = directory(log=times(0, 10, 20), log_2=times(2, 15, 40), log_4=times(4, 30))

    found = [reader(files).offset_for_timestamp(timestamp) for timestamp in (-1, 20, 21, 41)]

    assert [each and each.offset for each in found] == [0, 1, 3, None]
    later = reader(files, PartitionCheckpoints(log_start=2)).offset_for_timestamp(5)
    assert later is not None
    assert later.offset == 2


def test_gaps_have_their_cause() -> None:
    files = directory(log=v2(2, 3) + v2(6), log_8=v2(9))

    found = list(reader(files, PartitionCheckpoints(cleaned_to=6)).gaps())
    from_four = list(reader(files).gaps(4, 7))

    assert found == [(0, 2, True), (4, 6, True), (7, 9, False)]
    assert from_four == [(4, 6, False)]


@pytest.mark.parametrize("ending", (".swap", ""))
def test_reader_uses_a_swap_segment_for_its_range(ending: str) -> None:
    files = written(7)
    data = got(files, name(0)) + got(files, name(3))
    put(files, name(0, f".log{ending}"), data)
    if not ending:
        files.rename(f"{DIRECTORY}/{name(3)}", f"{DIRECTORY}/{name(3)}.deleted")

    assert numbers(reader(files)) == list(range(7))
    assert [each.base_offset for each in reader(files).segments()] == [0, 6]


def test_damage_in_the_middle_is_raised_after_the_earlier_batches() -> None:
    files = written(7)
    harm(files, name(3), 76 + 16)
    reading = reader(files).batches()

    assert [next(reading).header.base_offset for _ in range(4)] == [0, 1, 2, 3]
    with pytest.raises(CorruptMessageError, match=rf"{name(3)}: unknown magic.*position 76"):
        next(reading)
    assert numbers(reader(files), 0, 4) == [0, 1, 2, 3]
    assert numbers(reader(files), 6) == [6]
    with pytest.raises(CorruptMessageError, match="unknown magic"):
        reader(files).find(4)


def test_segment_that_ends_inside_a_batch_is_damage_when_another_follows() -> None:
    files = written(7)
    put(files, name(3), got(files, name(3))[:-1])

    with pytest.raises(CorruptMessageError, match="runs past the end"):
        numbers(reader(files))


def test_reader_raises_when_the_directory_does_not_exist() -> None:
    place, log = logged()
    filled(log, 2)
    found = reader(place.files)
    reading = found.batches()
    next(reading)
    place.files.rename(DIRECTORY, "/d/t-0.x-delete")

    with pytest.raises(LogDirectoryError, match="was deleted or moved"):
        found.offsets()


class ChangingSource(DirectorySource):
    """A source whose files disappear before every look-up."""

    lookups = 0

    def stat(self, name: str) -> FileStat:
        self.lookups += 1
        raise FileNotFoundError(name)


@pytest.mark.parametrize("look", (PartitionReader.offsets, lambda found: list(found.batches())))
def test_reader_stops_when_the_directory_keeps_changing(
    look: Callable[[PartitionReader], object],
) -> None:
    changing = ChangingSource(written(2), DIRECTORY)

    with pytest.raises(LogDirectoryError, match="changes faster than it can be read"):
        look(PartitionReader(changing))

    assert changing.lookups == MAX_ATTEMPTS


def test_reader_closes_its_files() -> None:
    opened = source(written(2))
    found = PartitionReader(opened)
    numbers(found)

    found.close()

    assert opened.open_count == 0
    assert repr(found) == f"PartitionReader({DIRECTORY})"
    assert found.checkpoints() == PartitionCheckpoints()
