"""A read of a 1 GB segment needs its indexes and a few windows."""

import tracemalloc
from collections.abc import Callable, Iterator
from struct import Struct
from typing import Final

import pytest

from cordwood.core.binary import crc32c
from cordwood.core.ports import FileKind, FileStat
from cordwood.core.types import TimestampMs
from cordwood.records.record_batch import RecordBatch
from cordwood.storage.files.header_scan import WINDOW_SIZE
from cordwood.storage.reader.partition_reader import RUN_BYTES, PartitionReader, ReaderOffsets
from cordwood.storage.segment.offset_index import OFFSET_ENTRY_SIZE
from cordwood.storage.segment.time_index import TIME_ENTRY_SIZE
from tests.unit.storage.reader_samples import name
from tests.unit.storage.segment_samples import v2

BATCH_BYTES: Final = 1 << 14
BATCHES: Final = 1 << 16
PART: Final = BATCHES // 8
PREALLOCATED: Final = 10 << 20
INDEX_BYTES: Final = BATCHES * (OFFSET_ENTRY_SIZE + TIME_ENTRY_SIZE)
FEW_WINDOWS: Final = 16 * WINDOW_SIZE + 2 * BATCH_BYTES

_TIMES: Final = Struct(">qq")
_OFFSET_ENTRY: Final = Struct(">ii")
_TIME_ENTRY: Final = Struct(">qi")


class EndlessPattern:
    """A partition of one 1 GB segment, generated at each read; it counts the requested bytes."""

    path = "/d/t-0"

    def __init__(self, index_bytes: int | None = None) -> None:
        self.asked = 0
        self._batch = v2(0, timestamp=0, size=BATCH_BYTES - 2)
        assert len(self._batch) == BATCH_BYTES, "positions follow from numbers"
        self._files: dict[str, tuple[int, int, Callable[[int], bytes]]] = {
            name(0): (BATCHES * BATCH_BYTES, BATCH_BYTES, self._numbered)
        }
        for ending, size, entry in (
            (".index", OFFSET_ENTRY_SIZE, _offset_entry),
            (".timeindex", TIME_ENTRY_SIZE, _time_entry),
        ):
            whole = BATCHES * size if index_bytes is None else index_bytes // size * size
            self._files[name(0, ending)] = (whole, size, entry)

    def list(self) -> list[str]:
        return sorted(self._files)

    def changed_ms(self) -> int | None:
        return None

    def stat(self, name: str) -> FileStat:
        return FileStat(self._files[name][0], TimestampMs(0), FileKind.FILE)

    def read(self, name: str, length: int, position: int) -> bytes:
        data = bytearray(length)
        return bytes(memoryview(data)[: self.read_into(name, data, position)])

    def read_into(self, name: str, buffer: bytearray | memoryview, position: int) -> int:
        size, step, make = self._files[name]
        length = max(0, min(len(buffer), size - position))
        self.asked += len(buffer)
        at = 0
        while at < length:
            number, skipped = divmod(position + at, step)
            part = make(number)[skipped : skipped + length - at]
            buffer[at : at + len(part)] = part
            at += len(part)
        return length

    def close(self) -> None:
        """No file is open."""

    def _numbered(self, number: int) -> bytes:
        """Return the batch of one record that has the number for its offset and its time."""
        data = bytearray(self._batch)
        data[:8] = number.to_bytes(8)
        _TIMES.pack_into(data, 27, number, number)
        data[17:21] = crc32c(memoryview(data)[21:]).to_bytes(4)
        return bytes(data)


def _offset_entry(number: int) -> bytes:
    is_used = number < BATCHES
    return _OFFSET_ENTRY.pack(number, number * BATCH_BYTES) if is_used else bytes(8)


def _time_entry(number: int) -> bytes:
    return _TIME_ENTRY.pack(number, number) if number < BATCHES else bytes(12)


def by_offset(reader: PartitionReader) -> None:
    for offset in (0, 54_321, BATCHES - 1):
        found = reader.find(offset)
        assert found is not None
        assert found.header.base_offset == offset


def by_timestamp(reader: PartitionReader) -> None:
    for timestamp in (0, 12_345, BATCHES - 1):
        found = reader.offset_for_timestamp(timestamp)
        assert found is not None
        assert found.offset == timestamp


def its_bounds(reader: PartitionReader) -> None:
    for _ in range(3):
        assert reader.offsets() == ReaderOffsets(0, BATCHES)


def its_segments(reader: PartitionReader) -> None:
    for _ in range(3):
        assert [each.next_offset for each in reader.open_segments()] == [BATCHES]


#: Each asks three times.
LOOKS: Final = (by_offset, by_timestamp, its_bounds, its_segments)


def test_pattern_is_a_log_of_1_gb() -> None:
    source = EndlessPattern()
    found = PartitionReader(source).find(BATCHES - 1)

    assert found is not None
    RecordBatch(found.data()).ensure_valid()
    assert found.header.end == 1 << 30


@pytest.mark.parametrize("look", LOOKS)
def test_lookup_in_1_gb_reads_few_windows(look: Callable[[PartitionReader], None]) -> None:
    source = EndlessPattern()

    look(PartitionReader(source))

    assert 0 < source.asked <= 3 * 5 * FEW_WINDOWS


@pytest.mark.parametrize("look", LOOKS)
def test_lookup_in_a_growing_1_gb_reads_only_its_indexes(
    look: Callable[[PartitionReader], None],
) -> None:
    source = EndlessPattern(PREALLOCATED)

    look(PartitionReader(source))

    assert 0 < source.asked <= 3 * (INDEX_BYTES + 5 * FEW_WINDOWS)


def headers_alone(reader: PartitionReader) -> Iterator[int]:
    for found in reader.batches(end=PART):
        yield found.header.size


def bytes_in_one_window(reader: PartitionReader) -> Iterator[int]:
    for run in reader.buffers(end=PART):
        yield len(run.data)


def bytes_to_keep(reader: PartitionReader) -> Iterator[int]:
    for run in reader.buffers(end=PART, is_kept=True):
        yield len(run.data)


@pytest.mark.parametrize("reading", (headers_alone, bytes_in_one_window, bytes_to_keep))
def test_reading_a_part_of_1_gb_keeps_few_windows(
    reading: Callable[[PartitionReader], Iterator[int]],
) -> None:
    reader = PartitionReader(EndlessPattern())

    tracemalloc.start()
    read = sum(reading(reader))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert read == PART * BATCH_BYTES
    assert peak < 4 * RUN_BYTES
