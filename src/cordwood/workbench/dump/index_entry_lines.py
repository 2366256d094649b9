"""Entries of indexes and snapshots, as Kafka's dump tool prints and checks them.

    .index       offset: 10 position: 4194                        8 bytes: i32 delta, i32 position
    .timeindex   timestamp: 1000 offset: 10                       12 bytes: i64, i32 delta
    .txnindex    version: 0 producerId: 1 firstOffset: 0 ...      34 bytes (`transaction_index`)
    .snapshot    producerId: 7 producerEpoch: 1 ...               (`producer_snapshot`)

Offset and time index end at the first entry, apart from entry 0, whose offset is the base offset:
the preallocated rest of a file reads as zeros. A lookup reads these zeros as entries, in the tool
and here, since its steps decide which batch a time index entry is compared with.
"""

from collections.abc import Callable, Iterator
from struct import Struct, error
from typing import Final, NamedTuple, TypeVar

from cordwood.core.binary import INT32_MAX, Buffer, bytes_view, crc32c
from cordwood.core.errors import DamagedFileError
from cordwood.storage.segment.offset_index import OffsetEntry
from cordwood.storage.segment.time_index import TimeEntry
from cordwood.workbench.file_window import FileWindow

OFFSET_ENTRY: Final = Struct(">ii")
TIME_ENTRY: Final = Struct(">qi")
#: Kafka 4.3 reads only the first of the two bytes of the version.
ABORTED_ENTRY: Final = Struct(">bxqqqq")

_WARM_BYTES: Final = 8192
_SNAPSHOT_ENTRY: Final = Struct(">qhiqiqiq")
_SNAPSHOT_HEADER: Final = Struct(">hIi")
_CRC_START: Final = 6
_REMEDY: Final = "stop the broker and remove the file: the broker rebuilds it at startup"


class DumpedAbortedTxn(NamedTuple):
    """An entry of a transaction index, with its version."""

    version: int
    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


class DumpedProducer(NamedTuple):
    """The entry of one producer in a snapshot."""

    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp: int
    coordinator_epoch: int
    transaction_first_offset: int


Entry = TypeVar("Entry", OffsetEntry, TimeEntry)


class SnapshotError(Exception):
    """A snapshot cannot be parsed; the messages are Kafka's."""


class DumpedEntries:
    """All entries of an index file, preallocated zeros included."""

    __slots__ = ("_layout", "_window", "base_offset", "count", "path")

    def __init__(self, path: str, window: FileWindow, layout: Struct, *, base_offset: int) -> None:
        self.path = path
        self.base_offset = base_offset
        self.count = window.end // layout.size
        self._window = window
        self._layout = layout

    def raw(self, number: int) -> tuple[int, ...]:
        """Return the stored fields of an entry."""
        size = self._layout.size
        return self._layout.unpack(self._window.view(number * size, size))

    def ensure_whole(self) -> None:
        """Raise DamagedFileError if the file ends within an entry."""
        if self._window.end % self._layout.size:
            raise self.damage_error(
                "the index ends within an entry",
                expected=f"a multiple of {self._layout.size} bytes",
                found=self._window.end,
            )

    def damage_error(self, what: str, *, expected: int | str, found: int | str) -> DamagedFileError:
        return DamagedFileError(
            what, path=self.path, expected=expected, found=found, remedy=_REMEDY
        )


def index_entry(entries: DumpedEntries, number: int) -> OffsetEntry:
    """Return an entry of an offset index."""
    delta, position = entries.raw(number)
    return OffsetEntry(entries.base_offset + delta, position)


def time_entry(entries: DumpedEntries, number: int) -> TimeEntry:
    """Return an entry of a time index."""
    timestamp, delta = entries.raw(number)
    return TimeEntry(timestamp, entries.base_offset + delta)


def used_entries(
    entries: DumpedEntries, read: Callable[[DumpedEntries, int], Entry]
) -> Iterator[Entry]:
    """Yield the entries up to the preallocated ones."""
    for number in range(entries.count):
        entry = read(entries, number)
        if number and entry.offset == entries.base_offset:
            return
        yield entry


def lookup_position(entries: DumpedEntries, offset: int) -> int:
    """Return the position where Kafka starts to search for an offset; zeros count as entries."""
    if entries.count == 0:
        return 0
    low, high = 0, entries.count - 1
    hot = max(0, high - _WARM_BYTES // OFFSET_ENTRY.size)
    if index_entry(entries, hot).offset < offset:
        low = hot
    elif index_entry(entries, 0).offset > offset:
        return 0
    else:
        high = hot
    while low < high:
        middle = (low + high + 1) // 2
        found = index_entry(entries, middle)
        if found.offset == offset:
            return found.position
        if found.offset > offset:
            high = middle - 1
        else:
            low = middle
    return index_entry(entries, low).position


def ensure_sane_index(entries: DumpedEntries) -> None:
    """Raise DamagedFileError for an offset index that a broker would rebuild at startup."""
    _ensure_last_offset(entries, index_entry(entries, entries.count - 1).offset)
    entries.ensure_whole()


def ensure_sane_time_index(entries: DumpedEntries) -> None:
    """Raise DamagedFileError for a time index that a broker would rebuild at startup."""
    if entries.count:
        first, last = time_entry(entries, 0), time_entry(entries, entries.count - 1)
        if last.timestamp < first.timestamp:
            raise entries.damage_error(
                "the last timestamp is below the first",
                expected=f"at least {first.timestamp}",
                found=last.timestamp,
            )
        _ensure_last_offset(entries, last.offset)
    entries.ensure_whole()


def _ensure_last_offset(entries: DumpedEntries, offset: int) -> None:
    if offset < entries.base_offset:
        raise entries.damage_error(
            "the last offset is below the base offset",
            expected=f"at least {entries.base_offset}",
            found=offset,
        )


def aborted_entries(entries: DumpedEntries) -> Iterator[DumpedAbortedTxn]:
    """Yield the entries of a transaction index; raise before the first if a version is unknown."""
    for number in range(entries.count):
        version = entries.raw(number)[0]
        if version > 0:
            raise entries.damage_error("an unknown version", expected=0, found=version)
    for number in range(entries.count):
        yield DumpedAbortedTxn(*entries.raw(number))


def producer_entries(data: Buffer) -> list[DumpedProducer]:
    """Return the entries of a snapshot; raise SnapshotError with Kafka's message."""
    view = bytes_view(data)
    try:
        _ensure_version(view)
        _, crc, count = _SNAPSHOT_HEADER.unpack_from(view)
        _ensure_count(count, len(view) - _SNAPSHOT_HEADER.size)
        start = _SNAPSHOT_HEADER.size
        rows = [
            DumpedProducer(*_SNAPSHOT_ENTRY.unpack_from(view, start + at * _SNAPSHOT_ENTRY.size))
            for at in range(count)
        ]
    except error as truncated:
        raise SnapshotError("Snapshot failed schema validation: null") from truncated
    computed = crc32c(view[_CRC_START:])
    if crc != computed:
        raise SnapshotError(
            f"Snapshot is corrupt (CRC is no longer valid). Stored crc: {crc}."
            f" Computed crc: {computed}"
        )
    return rows


def _ensure_version(view: memoryview) -> None:
    version: int = Struct(">h").unpack_from(view)[0]
    if version != 1:
        raise SnapshotError(
            "Snapshot failed schema validation: Snapshot contained an unknown file version"
            f" {version}"
        )


def _ensure_count(count: int, room: int) -> None:
    if count < 0:
        raise SnapshotError(
            "Snapshot failed schema validation: non-nullable field producerEntries was serialized"
            " as null"
        )
    if count > room:
        raise SnapshotError(
            f"Snapshot failed schema validation: Tried to allocate a collection of size {count},"
            f" but there are only {room} bytes remaining."
        )


def index_line(entry: OffsetEntry) -> str:
    """Return the line of an offset index entry."""
    return f"offset: {entry.offset} position: {entry.position}\n"


def time_line(entry: TimeEntry) -> str:
    """Return the line of a time index entry."""
    return f"timestamp: {entry.timestamp} offset: {entry.offset}\n"


def aborted_line(entry: DumpedAbortedTxn) -> str:
    """Return the line of a transaction index entry."""
    return (
        f"version: {entry.version} producerId: {entry.producer_id}"
        f" firstOffset: {entry.first_offset} lastOffset: {entry.last_offset}"
        f" lastStableOffset: {entry.last_stable_offset}\n"
    )


def producer_line(entry: DumpedProducer) -> str:
    """Return the line of a snapshot entry; it is shorter for a producer without a batch."""
    first = entry.transaction_first_offset
    line = (
        f"producerId: {entry.producer_id} producerEpoch: {entry.producer_epoch}"
        f" coordinatorEpoch: {entry.coordinator_epoch}"
        f" currentTxnFirstOffset: {f'OptionalLong[{first}]' if first >= 0 else _NO_LONG}"
        f" lastTimestamp: {entry.timestamp}"
    )
    if entry.last_offset < 0:
        return f"{line}\n"
    return (
        f"{line} firstSequence: {first_sequence(entry)} lastSequence: {entry.last_sequence}"
        f" lastOffset: {entry.last_offset} offsetDelta: {entry.offset_delta}"
        f" timestamp: {entry.timestamp}\n"
    )


_NO_LONG: Final = "OptionalLong.empty"


def first_sequence(entry: DumpedProducer) -> int:
    """Return the first sequence of the last batch; it may be from before the wrap-around."""
    last, delta = entry.last_sequence, entry.offset_delta
    return INT32_MAX - (delta - last) + 1 if last < delta else last - delta
