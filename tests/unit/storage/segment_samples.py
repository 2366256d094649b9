"""Segments for tests: batches of chosen offsets, timestamps and sizes in memory files."""

from collections.abc import Iterable

from cordwood.records.batch_builder import BatchBuilder, BatchFields
from cordwood.records.batch_header import BatchHeader
from cordwood.records.control_records import EndTransaction, control_batch
from cordwood.records.legacy_builder import LegacyBuilder, LegacyMagic
from cordwood.storage.files.header_scan import headers
from cordwood.storage.files.open_file_cache import OpenFileCache
from cordwood.storage.log_config import LogConfig
from cordwood.storage.segment.log_segment import LogSegment
from cordwood.storage.segment.segment_files import SegmentPath
from cordwood.testing.memory_files import MemoryFiles

DIRECTORY = "/t-0"
NOW_MS = 5_000
SMALL_INDEX = LogConfig(segment_index_bytes=1200, index_interval_bytes=0)


def table(files: MemoryFiles | None = None, *, capacity: int = 8) -> OpenFileCache:
    """Return a cache over memory files in which the partition directory exists."""
    files = files or MemoryFiles()
    if DIRECTORY.removeprefix("/") not in files.list("/"):
        files.make_directory(DIRECTORY)
    return OpenFileCache(files, capacity)


def path(base_offset: int = 0, suffix: str = "") -> SegmentPath:
    return SegmentPath(DIRECTORY, base_offset, suffix)


def created(
    base_offset: int = 0, *, config: LogConfig = SMALL_INDEX, over: OpenFileCache | None = None
) -> LogSegment:
    """Return a new segment."""
    return LogSegment.create(over or table(), path(base_offset), config=config, now_ms=NOW_MS)


def reopened(segment: LogSegment, *, config: LogConfig = SMALL_INDEX) -> LogSegment:
    """Return the same files opened again, through the same cache."""
    files = segment.files
    return LogSegment.open(files.open_files, files.path, config=config, now_ms=NOW_MS)


def v2(first: int, last: int | None = None, *, timestamp: int = 1000, size: int = 0) -> bytes:
    """Return a batch of these offsets with one timestamp; one record has the given size."""
    builder = BatchBuilder(BatchFields(base_offset=first, partition_leader_epoch=4))
    lengths = 2 if size < 120 else 4
    for _ in range(first, (first if last is None else last) + 1):
        builder.append(None, bytes(max(0, size - 66 - lengths)), timestamp=timestamp)
    return bytes(builder.build())


def times(first: int, *timestamps: int) -> bytes:
    """Return a batch whose records have these timestamps."""
    builder = BatchBuilder(BatchFields(base_offset=first))
    for timestamp in timestamps:
        builder.append(None, b"v", timestamp=timestamp)
    return bytes(builder.build())


def message(offset: int, *, timestamp: int = 1000, magic: LegacyMagic = 1) -> bytes:
    """Return a message of the old formats."""
    builder = LegacyBuilder(magic, base_offset=offset)
    builder.append(None, b"value", timestamp=timestamp if magic else -1)
    return bytes(builder.build())


def produced(first: int, last: int, *, producer_id: int) -> bytes:
    """Return a batch of a transaction."""
    fields = BatchFields(
        base_offset=first,
        producer_id=producer_id,
        producer_epoch=0,
        base_sequence=0,
        is_transactional=True,
    )
    builder = BatchBuilder(fields)
    for _ in range(first, last + 1):
        builder.append(None, b"v", timestamp=1000)
    return bytes(builder.build())


def marker(offset: int, *, producer_id: int, is_commit: bool) -> bytes:
    """Return the batch that ends a transaction."""
    fields = BatchFields(base_offset=offset, producer_id=producer_id, producer_epoch=0)
    return bytes(control_batch(EndTransaction(is_commit, 0), fields, timestamp=1000))


def headers_of(data: bytes) -> list[BatchHeader]:
    """Return the headers of whole batches."""
    return list(headers(lambda length, at: data[at : at + length], 0, len(data)))


def append(segment: LogSegment, *batches: bytes) -> int:
    """Append batches in one call, and return their position."""
    data = b"".join(batches)
    return segment.append(data, headers_of(data))


def filled(segment: LogSegment, batches: Iterable[bytes]) -> LogSegment:
    """Append each batch in its own call, and return the segment."""
    for data in batches:
        append(segment, data)
    return segment


def read(segment: LogSegment, offset: int, max_size: int = 1 << 20) -> bytes | None:
    """Return the bytes of a read; None if there are no batches from the offset on."""
    found = segment.read(offset, max_size)
    if found is None:
        return None
    return bytes(found.slice.read()) if found.slice is not None else b""


def offsets(data: bytes | None) -> list[tuple[int, int]]:
    """Return the first and the last offset of each batch."""
    return [(each.base_offset, each.last_offset) for each in headers_of(data or b"")]
