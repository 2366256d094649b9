"""Rebuild of the producer state from the log (Kafka: `UnifiedLog.rebuildProducerState`).

The rebuild reads the batches from the end of a snapshot to the end of the log: only their headers,
and the records of markers. Every batch in the log has been accepted, so the rebuild rejects none. A
marker that cannot be read ends no transaction, and the rest of a segment after damage is skipped.
The producer state may then be incomplete, and a transaction whose marker was lost may stay open;
each such case is returned as a warning.
"""

from collections.abc import Callable, Collection, Iterator
from functools import partial

from cordwood.core.errors import BadRecordsError, CorruptMessageError
from cordwood.records.batch_header import BatchHeader
from cordwood.storage.files.header_scan import headers
from cordwood.storage.log.log_state import LogState
from cordwood.storage.producers.producer_state_entry import ProducedBatch
from cordwood.storage.producers.producer_state_manager import ProducerStateManager
from cordwood.storage.segment.log_segment import LogSegment
from cordwood.storage.segment.log_segments import LogSegments


def reload(state: LogState, *, now_ms: int, sync: bool = True) -> None:
    """Rebuild the producer state after loading or truncating a log.

    Batches that a snapshot or a recovery covers are not read again. Snapshots are taken on the way
    and at the end, so that the next start reads fewer batches. Without `sync` they are left to the
    next flush.
    """
    bounds, producers = state.bounds, state.producers
    take = partial(state.snapshots.take_if_space, sync=sync)
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
    if not sync:
        state.unsynced_paths += tuple(map(state.snapshots.path_of, state.snapshots.offsets[-3:]))
        state.unsynced_names = True


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
