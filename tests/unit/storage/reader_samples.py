"""Directories for readers: memory files of chosen bytes, and logs that a test may damage."""

from collections.abc import Iterable

from cordwood.records.batch_header import BatchHeader
from cordwood.storage.files.directory_source import DirectorySource
from cordwood.storage.log.log import Log
from cordwood.storage.log_config import LogConfig
from cordwood.storage.reader.partition_reader import PartitionCheckpoints, PartitionReader
from cordwood.storage.reader.reader_segment import ReaderSegment, open_segment
from cordwood.storage.reader.segment_listing import ListedSegment
from cordwood.storage.segment.abstract_index import InMemoryEntries
from cordwood.storage.segment.offset_index import OFFSET_ENTRY_SIZE, OffsetIndex
from cordwood.testing.memory_files import MemoryFiles
from tests.unit.storage.log_samples import DIRECTORY, LogHarness

#: Three single records a segment.
THREES = LogConfig(segment_bytes=230, segment_index_bytes=1200, index_interval_bytes=0)


def name(base_offset: int, ending: str = ".log") -> str:
    return f"{base_offset:020}{ending}"


def directory(**contents: bytes) -> MemoryFiles:
    """Return files of one directory; `log_5` is the log file of base offset 5."""
    files = MemoryFiles()
    files.make_directory("/d")
    files.make_directory(DIRECTORY)
    for key, data in contents.items():
        extension, _, base_offset = key.partition("_")
        put(files, name(int(base_offset or 0), f".{extension}"), data)
    return files


def put(files: MemoryFiles, file_name: str, data: bytes) -> None:
    """Write or replace a file."""
    path = f"{DIRECTORY}/{file_name}"
    if file_name in files.list(DIRECTORY):
        files.remove(path)
    files.create(path).append(data)


def got(files: MemoryFiles, file_name: str) -> bytes:
    file = files.open(f"{DIRECTORY}/{file_name}")
    return file.pread(file.size, 0)


def harm(files: MemoryFiles, file_name: str, position: int, data: bytes = b"\xee") -> None:
    """Overwrite bytes of a file."""
    files.open(f"{DIRECTORY}/{file_name}", writable=True).pwrite(data, position)


def source(files: MemoryFiles) -> DirectorySource:
    return DirectorySource(files, DIRECTORY)


NO_CHECKPOINTS = PartitionCheckpoints()


def reader(
    files: MemoryFiles, checkpoints: PartitionCheckpoints = NO_CHECKPOINTS
) -> PartitionReader:
    return PartitionReader(source(files), lambda: checkpoints)


def segment(files: MemoryFiles, base_offset: int = 0, *, is_last: bool = False) -> ReaderSegment:
    return open_segment(source(files), ListedSegment(base_offset), is_last=is_last)


def logged(config: LogConfig = THREES) -> tuple[LogHarness, Log]:
    """Return a place and its log."""
    place = LogHarness()
    return place, place.open(config)


def offset_entries(base_offset: int, *entries: tuple[int, int]) -> bytes:
    index = OffsetIndex(base_offset, InMemoryEntries(b"", OFFSET_ENTRY_SIZE))
    return b"".join(index.encode(*entry) for entry in entries)


def time_entries(base_offset: int, *entries: tuple[int, int]) -> bytes:
    return b"".join(
        timestamp.to_bytes(8, signed=True) + (offset - base_offset).to_bytes(4)
        for timestamp, offset in entries
    )


def spans(headers: Iterable[BatchHeader]) -> list[tuple[int, int]]:
    """Return the first and the last offset of each header."""
    return [(each.base_offset, each.last_offset) for each in headers]
