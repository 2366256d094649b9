"""A reader reads a log whose owner acts between any two of the reader's calls.

Each batch that is read was in the log, bit for bit, at some time of the reading. Offsets only rise.
A batch that was in the log all the time is not missed.

The records make it hard: their values contain plausible next batches, at positions where another
batch may have begun before the owner truncated the file and wrote on.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import pytest

from cordwood.core.ports import FileStat
from cordwood.records.batch_header import BatchHeader
from cordwood.storage.files.directory_source import DirectorySource
from cordwood.storage.files.file_names import INDEX, LOG, TIME_INDEX
from cordwood.storage.log.log import Log
from cordwood.storage.log_config import LogConfig
from cordwood.storage.reader.partition_reader import PartitionReader
from cordwood.storage.reader.segment_listing import list_segments
from cordwood.testing.memory_files import MemoryFiles
from tests.unit.storage.log_samples import DIRECTORY, LogHarness, batch, headers_of, lead

BLOCK = 96
CONFIG = LogConfig(
    segment_bytes=10 * BLOCK,
    segment_index_bytes=1200,
    index_interval_bytes=2 * BLOCK,
    retention_bytes=8 * BLOCK,
)
COUNT = 10

#: The owner's actions, step by step.
Steps = Iterator[None]


class Known(NamedTuple):
    """The identity of a batch: a checksum over everything but the offset."""

    base_offset: int
    size: int
    crc: int


def known(header: BatchHeader) -> Known:
    return Known(header.base_offset, header.size, header.crc)


class WatchedSource:
    """A source that calls before each of its calls, with their number."""

    def __init__(self, source: DirectorySource, before: Callable[[int], object]) -> None:
        self.path = source.path
        self.calls = 0
        self._source = source
        self._before = before

    def list(self) -> list[str]:
        return self._after_the_owner().list()

    def changed_ms(self) -> int | None:
        return self._after_the_owner().changed_ms()

    def stat(self, name: str) -> FileStat:
        return self._after_the_owner().stat(name)

    def read(self, name: str, length: int, position: int) -> bytes:
        return self._after_the_owner().read(name, length, position)

    def read_into(self, name: str, buffer: bytearray | memoryview, position: int) -> int:
        return self._after_the_owner().read_into(name, buffer, position)

    def close(self) -> None:
        self._source.close()

    def _after_the_owner(self) -> DirectorySource:
        self.calls += 1
        self._before(self.calls)
        return self._source


def write(log: Log, first: int, count: int, *, salt: int = 0) -> None:
    """Append batches of some blocks, each of them but the first and the last a batch by itself."""
    for number in range(first, first + count):
        decoy = bytes(batch(value=bytes([65 + salt]) * 25, at=number + 2))
        value = bytes(24) + decoy * ((number * 5 + salt) % 3) + bytes(95)
        lead(log, batch(value=value))
        assert len(decoy) == BLOCK
        assert log.size % BLOCK == 0
    log.set_high_watermark(log.bounds.log_end)


def append(place: LogHarness, log: Log) -> Steps:
    for number in range(6):
        write(log, COUNT + number, 1)
        yield


def roll(place: LogHarness, log: Log) -> Steps:
    log.roll()
    yield
    write(log, COUNT, 2)
    yield


def retention(place: LogHarness, log: Log) -> Steps:
    log.delete_old_segments()
    yield
    yield from remove_deleted(place.files)


def truncation(place: LogHarness, log: Log) -> Steps:
    log.truncate_to(COUNT - 5)
    yield
    for number in range(12):
        write(log, COUNT - 5 + number, 1, salt=5)
        yield
    yield from remove_deleted(place.files)


def truncation_within_the_first(place: LogHarness, log: Log) -> Steps:
    log.truncate_to(3)
    yield
    for number in range(COUNT):
        write(log, 3 + number, 1, salt=7)
        yield
    yield from remove_deleted(place.files)


def beginning_anew(place: LogHarness, log: Log) -> Steps:
    log.truncate_fully(0)
    yield
    for number in range(12):
        write(log, number, 1, salt=3)
        yield
    yield from remove_deleted(place.files)


def cleaning(place: LogHarness, log: Log) -> Steps:
    """Rewrite the first three segments as one with every other batch, as a cleaner swaps it in."""
    files, bases = place.files, [segment.base_offset for segment in log.segments[:3]]
    data = b"".join(file_bytes(files, name_of(base, LOG)) for base in bases)
    kept = [data[each.position : each.end] for each in headers_of(data)][::2]
    for extension, content in ((LOG, b"".join(kept)), (INDEX, b""), (TIME_INDEX, b"")):
        files.create(f"{DIRECTORY}/{name_of(0, extension)}.cleaned").append(content)
        yield
    for extension in (LOG, INDEX, TIME_INDEX):
        name = f"{DIRECTORY}/{name_of(0, extension)}"
        files.rename(f"{name}.cleaned", f"{name}.swap")
        yield
    for base in bases:
        for extension in (LOG, INDEX, TIME_INDEX):
            name = f"{DIRECTORY}/{name_of(base, extension)}"
            files.rename(name, f"{name}.deleted")
            yield
    for extension in (LOG, INDEX, TIME_INDEX):
        name = f"{DIRECTORY}/{name_of(0, extension)}"
        files.rename(f"{name}.swap", name)
        yield
    yield from remove_deleted(files)


ACTIONS = (
    append,
    roll,
    retention,
    truncation,
    truncation_within_the_first,
    beginning_anew,
    cleaning,
)


def name_of(base_offset: int, extension: str) -> str:
    return f"{base_offset:020}{extension}"


def remove_deleted(files: MemoryFiles) -> Steps:
    for name in files.list(DIRECTORY):
        if name.endswith(".deleted"):
            files.remove(f"{DIRECTORY}/{name}")
            yield


def file_bytes(files: MemoryFiles, name: str) -> bytes:
    file = files.open(f"{DIRECTORY}/{name}")
    return file.pread(file.size, 0)


def batches_now(files: MemoryFiles) -> set[Known]:
    """Return the batches that the log has."""
    names = files.list(DIRECTORY)

    def next_offset(_: object) -> int:
        data = b"".join(file_bytes(files, name) for name in names if name.endswith(".log.swap"))
        return headers_of(data)[-1].next_offset

    found: set[Known] = set()
    for segment in list_segments(names, next_offset):
        found |= set(map(known, headers_of(file_bytes(files, segment.name(LOG)))))
    return found


class Reading:
    """One reading, with an owner that begins to act at one of its calls, a step at each call."""

    def __init__(self, action: Callable[[LogHarness, Log], Steps], *, is_at_once: bool) -> None:
        self.place = LogHarness()
        self.log = self.place.open(CONFIG)
        write(self.log, 0, COUNT)
        self.steps = action(self.place, self.log)
        self.is_at_once = is_at_once
        self.always = batches_now(self.place.files)
        self.ever = set(self.always)
        self.begins_at = -1
        self.is_done = False

    def source(self, capacity: int) -> WatchedSource:
        source = DirectorySource(self.place.files, DIRECTORY, capacity=capacity)
        return WatchedSource(source, self._act)

    def _act(self, call: int) -> None:
        if not 0 <= self.begins_at <= call or self.is_done:
            return
        for _ in self.steps:
            now = batches_now(self.place.files)
            self.ever |= now
            self.always &= now
            if not self.is_at_once:
                return
        self.is_done = True


def read(source: WatchedSource, *, by_headers: bool) -> list[Known]:
    """Return the batches that a reader gets."""
    reader = PartitionReader(source)
    if by_headers:
        return [known(each.header) for each in reader.batches()]
    runs = reader.buffers(max_bytes=4 * BLOCK)
    return [known(each) for run in runs for each in headers_of(bytes(run.data))]


@pytest.mark.parametrize("action", ACTIONS, ids=lambda action: action.__name__)
@pytest.mark.parametrize("by_headers", (False, True))
@pytest.mark.parametrize(("is_at_once", "capacity"), ((False, 8), (True, 1)))
def test_reader_reads_the_log_while_its_owner_works_between_the_calls(
    action: Callable[[LogHarness, Log], Steps], *, is_at_once: bool, capacity: int, by_headers: bool
) -> None:
    quiet = Reading(action, is_at_once=True)
    source = quiet.source(capacity)
    assert read(source, by_headers=by_headers) == sorted(quiet.always)

    for call in range(1, source.calls + 1):
        reading = Reading(action, is_at_once=is_at_once)
        reading.begins_at = call
        before = reading.log.bounds.log_end

        found = read(reading.source(capacity), by_headers=by_headers)

        offsets = [each.base_offset for each in found]
        assert offsets == sorted(set(offsets)), call
        assert set(found) <= reading.ever, call
        assert {each for each in reading.always if each.base_offset < before} <= set(found), call
