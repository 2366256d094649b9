"""Deletion of the segments that retention releases (Kafka: `UnifiedLog.deleteOldSegments`).

    1. job     reads timestamps of segments that are only on disk (`SegmentTimestamps`)
    2. owner   `retention` decides, from facts about the segments; the log start is raised, and the
               log has the segments no more
    3. job     their files and snapshots are renamed to `.deleted`
    4. owner   the files are removed after a delay

Steps 2 to 4 are a `SteppedChange`, for some of the segments at a time: the owner would need 50 us
for each. A crash before the names are synced may leave segments below the
log start, and the next pass deletes them again.
"""

from functools import partial
from typing import Final

from cordwood.core.ports import Files
from cordwood.storage.files.file_names import DELETED, LOG
from cordwood.storage.files.open_file_cache import OpenFileCache
from cordwood.storage.log import truncation
from cordwood.storage.log.log_state import LogState
from cordwood.storage.log.retention import RetentionPlan, SegmentFacts, plan_retention
from cordwood.storage.log.segment_swap import mark_deleted, take_out
from cordwood.storage.log.stepped_change import SteppedChange, Steps
from cordwood.storage.segment.log_segment import LogSegment
from cordwood.storage.segment.segment_files import SegmentFiles, SegmentPath
from cordwood.storage.segment.time_index import TimeEntry

#: A time index and a log file are read one after the other.
_FILES_OPEN: Final = 1
#: Segments that one turn takes out of a log, in about 5 ms.
SEGMENTS_PER_TURN: Final = 100


class SegmentTimestamps:
    """The largest timestamps of a log's segments, for retention by age.

    Those that the owner has in memory are taken from there. A segment that is not among the others,
    because the log has changed since, counts as new.
    """

    __slots__ = ("_missing", "_now_ms", "_read", "_times")

    def __init__(self, state: LogState, *, now_ms: int) -> None:
        self._now_ms = now_ms
        self._times = dict[LogSegment, int]()
        self._missing = list[tuple[LogSegment, SegmentPath]]()
        self._read = list[tuple[LogSegment, TimeEntry]]()
        config = state.config
        if not config.is_deleted or config.retention_ms < 0:
            return
        for segment in state.segments:
            # The file of a growing index ends with zeros.
            latest = segment.latest if segment.files.is_growing else segment.known_latest
            if latest is not None and (latest.timestamp >= 0 or not segment.size):
                self._times[segment] = latest.timestamp
            else:
                self._missing.append((segment, segment.files.path))

    @property
    def is_complete(self) -> bool:
        """Whether there is nothing to read."""
        return not self._missing

    def run(self, files: Files) -> None:
        """Read the missing timestamps; for any thread."""
        table = OpenFileCache(files, _FILES_OPEN)
        try:
            for segment, path in self._missing:
                self._read_one(segment, path, table)
        finally:
            table.close()

    def _read_one(self, segment: LogSegment, path: SegmentPath, table: OpenFileCache) -> None:
        latest = segment.known_latest
        try:
            if latest is None:
                latest = SegmentFiles(table, path, index_bytes=0).time_index.last
                self._read.append((segment, latest))
            if latest.timestamp < 0:
                self._times[segment] = table.files.stat(path.of(LOG)).modified_ms
            else:
                self._times[segment] = latest.timestamp
        except FileNotFoundError:
            return

    def finish(self) -> None:
        """Keep what was read, for the next pass; for the owner."""
        for segment, latest in self._read:
            segment.remember_latest(latest)

    def of(self, segment: LogSegment) -> int:
        """Return the largest timestamp of a segment; without one, the time of its last change."""
        return self._times.get(segment, self._now_ms)


def facts_of(
    state: LogState, timestamps: SegmentTimestamps | None = None
) -> tuple[SegmentFacts, ...]:
    """Return the facts about each segment, oldest first; timestamps are read if not given."""
    segments, log_end = state.segments, state.bounds.log_end
    return tuple(
        SegmentFacts(
            segment.base_offset,
            segments.end_of(segment, log_end),
            segment.size,
            segment.largest_timestamp() if timestamps is None else timestamps.of(segment),
        )
        for segment in segments
    )


def plan(
    state: LogState,
    *,
    now_ms: int,
    timestamps: SegmentTimestamps | None = None,
    explains: bool = True,
) -> RetentionPlan:
    """Return the segments that retention deletes now, and the reasons that keep the others."""
    bounds = state.bounds
    return plan_retention(
        facts_of(state, timestamps),
        log_start_offset=bounds.log_start,
        high_watermark=bounds.high_watermark,
        config=state.config,
        now_ms=now_ms,
        explains=explains,
    )


def begin(state: LogState, found: RetentionPlan) -> SteppedChange:
    """Return the deletion of the segments of a plan; a plan that rolls needs a roll before."""
    return SteppedChange(state, _steps(state, found), undoes_errors=True)


def _steps(state: LogState, found: RetentionPlan) -> Steps:
    """Yield the job of a deletion, and change the log around it."""
    gone = {deletion.segment.base_offset for deletion in found.deletions}
    if not gone:
        return
    between = state.segments.between(min(gone), max(gone) + 1)
    old = [each for each in between if each.base_offset in gone]
    if not old:
        return
    truncation.raise_start(state, found.log_start_offset)
    doomed = take_out(state, old)
    try:
        yield partial(mark_deleted, state.table.files, doomed)
    except Exception:
        state.is_torn = True
        raise
    state.unsynced_names = True
    deleted = [f"{path}{DELETED}" for path in doomed]
    state.deletions.remove_later(deleted, delay_ms=state.config.file_delete_delay_ms)
