"""Rebuild of the producer state from the log (Kafka: `UnifiedLog.rebuildProducerState`).

    reload           while a log is loaded
    ProducerReload   after a truncation, on a worker

The rebuild reads the batches from the end of a snapshot to the end of the log: only their headers,
and the records of markers. Every batch in the log has been accepted, so the rebuild rejects none. A
marker that cannot be read ends no transaction, and the rest of a segment after damage is skipped.
The producer state may then be incomplete, and a transaction whose marker was lost may stay open;
each such case is returned as a warning.
"""

from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from functools import partial
from typing import Final

from cordwood.core.errors import BadRecordsError, CorruptMessageError
from cordwood.core.ports import Files
from cordwood.records.batch_header import BatchHeader
from cordwood.storage.files.header_scan import headers
from cordwood.storage.files.open_file_cache import OpenFileCache
from cordwood.storage.log.log_state import LogState
from cordwood.storage.producers.producer_state_entry import ProducedBatch
from cordwood.storage.producers.producer_state_manager import ProducerStateManager
from cordwood.storage.segment.log_segment import LogSegment
from cordwood.storage.segment.log_segments import LogSegments

#: The log file and the offset index of one segment at a time.
_FILES_OPEN: Final = 2


def reload(state: LogState, *, now_ms: int) -> None:
    """Rebuild the producer state after loading a log.

    Batches that a snapshot or a recovery covers are not read again. Snapshots are taken on the way
    and at the end, so that the next start reads fewer batches.
    """
    bounds, producers = state.bounds, state.producers
    take = state.snapshots.take_if_space
    was_empty = producers.is_empty and producers.map_end_offset >= bounds.log_end
    state.snapshots.truncate_and_reload(
        producers,
        log_start_offset=bounds.log_start,
        log_end_offset=bounds.log_end,
        now_ms=now_ms,
    )
    if not was_empty:
        warnings = replay(
            state.segments,
            producers,
            log_start=bounds.log_start,
            log_end=bounds.log_end,
            snapshot_at=state.segments.base_offsets[-2:],
            take=take,
        )
        state.warn(*warnings)
    producers.advance(bounds.log_end)
    take(producers)


class ProducerReload:
    """The rebuild for a log that has been truncated, without a use of the log's own state.

        created   by the owner: notes the segments, and drops the snapshots outside the log
        run       on any thread: reads and writes through files of its own
        finish    by the owner: the log takes over the result

    The snapshots that it takes are left to the next flush. Between the first and the last step the
    owner takes no snapshot, and appends nothing.
    """

    __slots__ = (
        "_bounds",
        "_doomed",
        "_is_empty",
        "_now_ms",
        "_paths",
        "_producers",
        "_snapshots",
        "_state",
        "_warnings",
    )

    def __init__(self, state: LogState, *, now_ms: int) -> None:
        bounds, producers = state.bounds, state.producers
        self._state = state
        self._bounds = (bounds.log_start, bounds.log_end)
        self._now_ms = now_ms
        self._is_empty = producers.is_empty and producers.map_end_offset >= bounds.log_end
        self._doomed = state.snapshots.drop_outside(*self._bounds)
        self._paths = [(each.files.path, each.size) for each in state.segments]
        self._snapshots = state.snapshots.copy()
        self._producers = ProducerStateManager(producers.config)
        self._warnings: list[str] = []

    def run(self, files: Files) -> None:
        """Rebuild the state; for any thread."""
        for path in self._doomed:
            with suppress(FileNotFoundError):
                files.remove(path)
        log_start, log_end = self._bounds
        producers, snapshots = self._producers, self._snapshots
        snapshots.load_newest(producers, log_start_offset=log_start, now_ms=self._now_ms)
        take = partial(snapshots.take_if_space, sync=False)
        if not self._is_empty:
            table = OpenFileCache(files, _FILES_OPEN)
            try:
                segments = self._segments(table)
                self._warnings = replay(
                    segments,
                    producers,
                    log_start=log_start,
                    log_end=log_end,
                    snapshot_at=segments.base_offsets[-2:],
                    take=take,
                )
            finally:
                table.close()
        producers.advance(log_end)
        take(producers)

    def finish(self) -> None:
        """Let the log take over the result; for the owner."""
        state = self._state
        state.producers.take_over(self._producers)
        state.snapshots.take_over(self._snapshots)
        state.producers.on_high_watermark(state.bounds.high_watermark)
        state.unstable_from = None
        state.update_first_unstable()
        state.warn(*self._warnings)
        state.unsynced_paths += tuple(map(state.snapshots.path_of, state.snapshots.offsets[-3:]))
        state.unsynced_names = True

    def _segments(self, table: OpenFileCache) -> LogSegments:
        """Return the segments, over open files of this thread.

        An index that grows ends with zeros here. A lookup takes them for the first batch.
        """
        segments, config = LogSegments(), self._state.config
        for path, size in self._paths:
            segment = LogSegment.open(table, path, config=config, now_ms=self._now_ms)
            segment.size = size
            segments.add(segment)
        return segments


def replay(
    segments: LogSegments,
    producers: ProducerStateManager,
    *,
    log_start: int,
    log_end: int,
    snapshot_at: Collection[int] = (),
    take: Callable[[ProducerStateManager], object] = lambda _: None,
) -> list[str]:
    """Replay the batches from the end offset of `producers` to `log_end`; return warnings.

    A snapshot is taken with `take` at each segment base in `snapshot_at`.
    """
    warnings: list[str] = []
    for segment in segments.between(producers.map_end_offset, log_end):
        start = max(segment.base_offset, producers.map_end_offset, log_start)
        producers.advance(start)
        if segment.base_offset in snapshot_at:
            take(producers)

        def warn(*texts: str, path: str = segment.files.log_path) -> None:
            warnings.extend(f"{path}: {text}" for text in texts)

        try:
            _replay_segment(segment, producers, warn, start=start, end=log_end)
        except CorruptMessageError as error:
            warn(f"{error}; the producer state lacks the batches after it")
    producers.advance(log_end)
    return warnings


def _replay_segment(
    segment: LogSegment,
    producers: ProducerStateManager,
    warn: Callable[..., object],
    *,
    start: int,
    end: int,
) -> None:
    for header in _from(segment, start):
        if header.base_offset >= end:
            break
        producers.replay(_produced(segment, header, warn), warn)


def _from(segment: LogSegment, offset: int) -> Iterator[BatchHeader]:
    """Yield the headers of the batch that contains `offset` and of all that follow."""
    first = segment.translate(offset)
    if first is not None:
        yield from headers(segment.files.pread, first.position, segment.size)


def _produced(
    segment: LogSegment, header: BatchHeader, warn: Callable[..., object]
) -> ProducedBatch:
    """Return a batch for the replay, with its marker if it is a control batch."""
    if header.is_control:
        try:
            return ProducedBatch.of(header, segment.view.data_of(header))
        except BadRecordsError as error:
            warn(f"{error}; this marker ends no transaction")
    return ProducedBatch(header)
