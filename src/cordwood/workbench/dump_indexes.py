"""The entries of the files beside a log, as Kafka's dump tool prints and checks them.

    .index       offset: 10 position: 4194                        8 bytes: i32 delta, i32 position
    .timeindex   timestamp: 1000 offset: 10                       12 bytes: i64, i32 delta
    .txnindex    version: 0 producerId: 1 firstOffset: 0 ...      34 bytes, drawn in storage.index
    .snapshot    producerId: 7 producerEpoch: 1 ...               drawn in storage.producer_snapshot

Both indexes end at the first entry but the very first whose offset is the base offset: what has
been preallocated reads as zeros. A lookup does not know that and takes zeros for entries, in the
tool as here, for its steps decide which batch an entry of the time index is compared with.
"""

from collections.abc import Callable, Iterator
from struct import Struct, error
from typing import Final, NamedTuple, TypeVar

from cordwood.core.binary import INT32_MAX, Buffer, bytes_view, crc32c
from cordwood.core.errors import DamagedFileError
from cordwood.storage.index import OffsetEntry, TimeEntry
from cordwood.workbench.windows import Window

OFFSET_ENTRY: Final = Struct(">ii")
TIME_ENTRY: Final = Struct(">qi")
#: Kafka 4.3 reads the first byte alone of the version's two.
ABORTED_ENTRY: Final = Struct(">bxqqqq")

_WARM_BYTES: Final = 8192
_SNAPSHOT_ENTRY: Final = Struct(">qhiqiqiq")
_SNAPSHOT_HEADER: Final = Struct(">hIi")
_CRC_START: Final = 6
_REMEDY: Final = "remove it while the broker is down, which builds it anew"


class AbortedEntry(NamedTuple):
    """A transaction that was aborted."""

    version: int
    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


class ProducerEntry(NamedTuple):
    """What a snapshot holds of one producer."""

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
    """A snapshot is not one; the words are Kafka's."""


class Entries:
    """The entries of a file, all of them: those that are zeros too."""

    __slots__ = ("_layout", "_window", "base_offset", "count", "path")

    def __init__(self, path: str, window: Window, layout: Struct, *, base_offset: int) -> None:
        self.path = path
        self.base_offset = base_offset
        self.count = window.end // layout.size
        self._window = window
        self._layout = layout

    def raw(self, number: int) -> tuple[int, ...]:
        """Return the fields of an entry as they are stored."""
        size = self._layout.size
        return self._layout.unpack(self._window.view(number * size, size))

    def ensure_whole(self) -> None:
        """Refuse a file that ends within an entry."""
        if self._window.end % self._layout.size:
            raise self.damaged(
                "an index that ends within an entry",
                expected=f"a multiple of {self._layout.size} bytes",
                found=self._window.end,
            )

    def damaged(self, what: str, *, expected: int | str, found: int | str) -> DamagedFileError:
        return DamagedFileError(
            what, path=self.path, expected=expected, found=found, remedy=_REMEDY
        )


def index_entry(entries: Entries, number: int) -> OffsetEntry:
    """Return an entry of an offset index."""
    delta, position = entries.raw(number)
    return OffsetEntry(entries.base_offset + delta, position)


def time_entry(entries: Entries, number: int) -> TimeEntry:
    """Return an entry of a time index."""
    timestamp, delta = entries.raw(number)
    return TimeEntry(timestamp, entries.base_offset + delta)


def used_entries(entries: Entries, read: Callable[[Entries, int], Entry]) -> Iterator[Entry]:
    """Yield the entries up to the preallocated ones."""
    for number in range(entries.count):
        entry = read(entries, number)
        if number and entry.offset == entries.base_offset:
            return
        yield entry


def position_of(entries: Entries, offset: int) -> int:
    """Return where Kafka begins to look for an offset, zeros being entries like any other."""
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


def ensure_sane_index(entries: Entries) -> None:
    """Refuse an offset index that a broker would build anew at its start."""
    last = index_entry(entries, entries.count - 1)
    if last.offset < entries.base_offset:
        raise entries.damaged(
            "the last offset is below the base offset",
            expected=f"at least {entries.base_offset}",
            found=last.offset,
        )
    entries.ensure_whole()


def ensure_sane_time_index(entries: Entries) -> None:
    """Refuse a time index that a broker would build anew at its start."""
    if entries.count:
        first, last = time_entry(entries, 0), time_entry(entries, entries.count - 1)
        if last.timestamp < first.timestamp:
            raise entries.damaged(
                "the last timestamp is below the first",
                expected=f"at least {first.timestamp}",
                found=last.timestamp,
            )
        if last.offset < entries.base_offset:
            raise entries.damaged(
                "the last offset is below the base offset",
                expected=f"at least {entries.base_offset}",
                found=last.offset,
            )
    entries.ensure_whole()


def aborted_entries(entries: Entries) -> Iterator[AbortedEntry]:
    """Yield the entries of a transaction index, none of them when one has an unknown version."""
    for number in range(entries.count):
        version = entries.raw(number)[0]
        if version > 0:
            raise entries.damaged("an unknown version", expected=0, found=version)
    for number in range(entries.count):
        yield AbortedEntry(*entries.raw(number))


def producer_entries(data: Buffer) -> list[ProducerEntry]:
    """Return the entries of a snapshot, or say in Kafka's words what is wrong with it."""
    view = bytes_view(data)
    try:
        _ensure_version(view)
        _, crc, count = _SNAPSHOT_HEADER.unpack_from(view)
        _ensure_count(count, len(view) - _SNAPSHOT_HEADER.size)
        start = _SNAPSHOT_HEADER.size
        rows = [
            ProducerEntry(*_SNAPSHOT_ENTRY.unpack_from(view, start + at * _SNAPSHOT_ENTRY.size))
            for at in range(count)
        ]
    except error as cut_off:
        raise SnapshotError("Snapshot failed schema validation: null") from cut_off
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
    """Return the line of an offset index's entry."""
    return f"offset: {entry.offset} position: {entry.position}\n"


def time_line(entry: TimeEntry) -> str:
    """Return the line of a time index's entry."""
    return f"timestamp: {entry.timestamp} offset: {entry.offset}\n"


def aborted_line(entry: AbortedEntry) -> str:
    """Return the line of a transaction index's entry."""
    return (
        f"version: {entry.version} producerId: {entry.producer_id}"
        f" firstOffset: {entry.first_offset} lastOffset: {entry.last_offset}"
        f" lastStableOffset: {entry.last_stable_offset}\n"
    )


def producer_line(entry: ProducerEntry) -> str:
    """Return the line of a snapshot's entry; a producer without a batch has a shorter one."""
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


def first_sequence(entry: ProducerEntry) -> int:
    """Return the sequence that the last batch began with, which may lie before the wrap."""
    last, delta = entry.last_sequence, entry.offset_delta
    return INT32_MAX - (delta - last) + 1 if last < delta else last - delta
