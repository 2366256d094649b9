"""Segments as a cleaner writes them: chosen batches in memory files, synced, with .cleaned."""

from collections.abc import Collection

from cordwood.storage.files.file_names import CLEANED
from cordwood.storage.files.open_file_cache import OpenFileCache
from cordwood.storage.log.log import Log
from cordwood.storage.log.log_read import FetchIsolation
from cordwood.storage.log.segment_swap import SegmentReplacement
from cordwood.storage.log_config import LogConfig
from cordwood.storage.segment.log_segment import LogSegment
from cordwood.storage.segment.segment_files import SegmentPath
from cordwood.testing.memory_files import MemoryFiles
from tests.unit.storage.log_samples import headers_of

CONFIG = LogConfig(segment_index_bytes=1200, index_interval_bytes=0)


def batches_of(log: Log) -> dict[int, bytes]:
    """Return the batches that a follower reads from the log start on, by base offset."""
    found: dict[int, bytes] = {}
    offset: int = log.bounds.log_start
    while offset < log.bounds.log_end:
        part = log.read(offset, max_bytes=1, isolation=FetchIsolation.LOG_END, min_one=True)
        if part.slice is None:
            break
        data = bytes(part.slice.read())
        part.slice.release()
        found[part.base_offset] = data
        offset = part.base_offset + int.from_bytes(data[23:27]) + 1
    return found


def write_cleaned(files: MemoryFiles, directory: str, base_offset: int, *batches: bytes) -> None:
    """Write a segment, durably."""
    table = OpenFileCache(files, 8)
    path = SegmentPath(directory, base_offset, CLEANED)
    segment = LogSegment.create(table, path, config=CONFIG, now_ms=0)
    for data in batches:
        segment.append(data, headers_of(data))
    segment.ensure_index_files()
    segment.become_inactive()
    for each in segment.paths():
        table.open(each, writable=True).sync()
    table.close()
    files.sync_directory(directory)


def cleaned(
    files: MemoryFiles, log: Log, replaced: tuple[int, ...], *, without: Collection[int]
) -> SegmentReplacement:
    """Write one segment that replaces these, with all their batches except some."""
    end = next((each for each in log.base_offsets if each > replaced[-1]), log.bounds.log_end)
    kept = [
        data
        for base, data in batches_of(log).items()
        if replaced[0] <= base < end and base not in without
    ]
    write_cleaned(files, log.directory, replaced[0], *kept)
    return SegmentReplacement(replaced, (replaced[0],), log.bounds.truncations)
