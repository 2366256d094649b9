"""Lookup of a record by timestamp, off the loop (Kafka: `UnifiedLog.fetchOffsetByTimestamp`).

    created    by the owner of the log: notes the segments, and the end of the active one
    run        on any thread: finds segment, batch and record, through files of its own
    visible    by the owner, if `is_current`: the result for a reader

The timestamp `MAX_TIMESTAMP` stands for the largest one of the log.

An append does not disturb a lookup, because it writes behind the noted end. Every other change
may rename the files, or put other records in their place: truncation, retention, a swap, a move.
`is_current` is False afterwards. The outcome of `run`, even an error, is then meaningless, and the
caller has to begin again.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from cordwood.core.ports import Files
from cordwood.records.record_lookup import RecordFinders, plain_record_finder
from cordwood.storage.files.file_names import LOG
from cordwood.storage.files.open_file_cache import OpenFileCache
from cordwood.storage.log.log_read import (
    MAX_TIMESTAMP,
    FetchIsolation,
    limit_of,
    needs_lookup,
    special_offset,
)
from cordwood.storage.log.log_state import LogState
from cordwood.storage.segment.log_segment import LogSegment
from cordwood.storage.segment.segment_files import SegmentFiles, SegmentPath
from cordwood.storage.segment.segment_view import SegmentView, TimestampAndOffset
from cordwood.storage.segment.time_index import TimeEntry

#: One segment is read at a time: its log file and two indexes.
_FILES_OPEN: Final = 3


class _NotedSegment(NamedTuple):
    """A segment as a lookup found it.

    `begin` is the position where the search begins. Only the owner can read the indexes of the
    active segment, because they grow, so it is set there.
    """

    segment: LogSegment
    path: SegmentPath
    size: int
    latest: TimeEntry | None
    begin: int | None = None


class _LogVersion(NamedTuple):
    """A value that differs after every change of a log but an append and a move."""

    truncations: int
    removals: int
    log_start: int


class TimestampLookup:
    """One lookup in one log."""

    __slots__ = (
        "_active",
        "_others",
        "_read_entries",
        "_state",
        "_timestamp",
        "_used",
        "_version",
    )

    def __init__(self, state: LogState, timestamp: int) -> None:
        self._state = state
        self._timestamp = timestamp
        self._version = _version_of(state)
        *self._others, active = state.segments
        self._active = self._note_active(active)
        self._used = list[_NotedSegment]()
        self._read_entries = list[tuple[LogSegment, TimeEntry]]()

    # -- on any thread

    def run(self, files: Files, finders: RecordFinders) -> TimestampAndOffset | None:
        """Return the first record at or after the timestamp; None without one."""
        table = OpenFileCache(files, _FILES_OPEN)
        try:
            if self._timestamp == MAX_TIMESTAMP:
                return self._find_largest(table, finders)
            return self._find(table, finders)
        finally:
            table.close()

    # -- by the owner

    @property
    def is_current(self) -> bool:
        """Whether the log still has the records that were read, in the same files."""
        return _version_of(self._state) == self._version and all(
            each.segment.files.path is each.path for each in self._used
        )

    def visible(
        self, found: TimestampAndOffset | None, isolation: FetchIsolation
    ) -> TimestampAndOffset | None:
        """Return the result of `run` if the reader may see it, else None."""
        for segment, entry in self._read_entries:
            segment.remember_latest(entry)
        if found is None or found.offset >= limit_of(self._state, isolation):
            return None
        return found

    # -- implementation

    def _note_active(self, active: LogSegment) -> _NotedSegment:
        latest, is_largest = active.latest, self._timestamp == MAX_TIMESTAMP
        begin = active.view.position_by_timestamp(
            latest.timestamp if is_largest else self._timestamp,
            0 if is_largest else self._version.log_start,
        )
        return _NotedSegment(active, active.files.path, active.size, latest, begin)

    def _find(self, table: OpenFileCache, finders: RecordFinders) -> TimestampAndOffset | None:
        wanted, first_offset = self._timestamp, self._version.log_start
        for each in self._segments():
            if self._largest_timestamp(each, table) >= wanted:
                view = self._view(each, table)
                begin = each.begin
                if begin is None:
                    begin = view.position_by_timestamp(wanted, first_offset)
                found = view.search_from(begin, wanted, first_offset=first_offset, finders=finders)
                if found is not None:
                    return found
        return None

    def _find_largest(
        self, table: OpenFileCache, finders: RecordFinders
    ) -> TimestampAndOffset | None:
        newest = max(self._segments(), key=lambda each: self._latest(each, table).timestamp)
        largest = self._latest(newest, table).timestamp
        if largest < 0:
            return None
        view = self._view(newest, table)
        begin = view.position_by_timestamp(largest, 0) if newest.begin is None else newest.begin
        return view.search_from(begin, largest, first_offset=0, finders=finders)

    def _segments(self) -> Iterator[_NotedSegment]:
        """Yield the segments, oldest first.

        Those that are not active are read here: the owner changes them only with a new version.
        """
        for each in self._others:
            yield _NotedSegment(each, each.files.path, each.size, each.known_latest)
        yield self._active

    def _view(self, noted: _NotedSegment, table: OpenFileCache) -> SegmentView:
        """Return a segment as it is on disk."""
        self._used.append(noted)
        files = SegmentFiles(table, noted.path, index_bytes=0)
        return SegmentView(
            noted.path.base_offset, noted.size, files.pread, files.offset_index, files.time_index
        )

    def _largest_timestamp(self, noted: _NotedSegment, table: OpenFileCache) -> int:
        """Return the largest timestamp; without one, the time of the file's last change."""
        timestamp = self._latest(noted, table).timestamp
        if timestamp >= 0:
            return timestamp
        self._used.append(noted)
        return table.files.stat(noted.path.of(LOG)).modified_ms

    def _latest(self, noted: _NotedSegment, table: OpenFileCache) -> TimeEntry:
        if noted.latest is not None:
            return noted.latest
        entry = self._view(noted, table).time_index.last
        self._read_entries.append((noted.segment, entry))
        return entry


def find(
    state: LogState, timestamp: int, *, isolation: FetchIsolation
) -> TimestampAndOffset | None:
    """Return the first record at or after a timestamp, or the offset of a special timestamp.

    None if the reader sees no such record. An event loop calls this only for timestamps that need
    no lookup, because a lookup reads and decodes batches.
    """
    if not needs_lookup(timestamp):
        return special_offset(state, timestamp, isolation=isolation)
    lookup = TimestampLookup(state, timestamp)
    return lookup.visible(lookup.run(state.table.files, plain_record_finder), isolation)


def _version_of(state: LogState) -> _LogVersion:
    bounds = state.bounds
    return _LogVersion(bounds.truncations, state.segments.removals, bounds.log_start)
