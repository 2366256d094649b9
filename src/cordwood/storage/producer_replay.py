"""What producers did, read from the log itself: from where a snapshot ends to where the log does.

Only headers are read, and the records of markers. What is in the log has been let in, so nothing
here refuses it: a marker that cannot be read ends no transaction, and behind damage the rest of the
segment is passed over. What is known of producers may then be less than it could be, a transaction
may stay open whose marker was lost, and readers get every record; whoever opens the log is told.
"""

from collections.abc import Callable, Collection, Iterator

from cordwood.core.errors import BadRecordsError, CorruptMessageError
from cordwood.records.header import BatchHeader
from cordwood.storage.log_state import LogState
from cordwood.storage.producer_state import ProducedBatch
from cordwood.storage.producers import ProducerStates
from cordwood.storage.scan import headers
from cordwood.storage.segment import Segment
from cordwood.storage.segments import Segments
from cordwood.storage.snapshot_files import SnapshotFiles


def reload(state: LogState, *, now_ms: int) -> None:
    """Know what producers did up to the end of a log that is another one than before.

    What a snapshot or a recovery has told already is not read again. On the way, and at the end,
    snapshots are taken, so that the next start has less to read.
    """
    bounds, producers = state.bounds, state.producers
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
            snapshots=state.snapshots,
            snapshot_at=state.segments.base_offsets[-2:],
        )
        state.warn(*warnings)
    producers.advance(bounds.log_end)
    state.snapshots.take_if_room(producers)


def replay(
    segments: Segments,
    producers: ProducerStates,
    *,
    log_start: int,
    log_end: int,
    snapshots: SnapshotFiles | None = None,
    snapshot_at: Collection[int] = (),
) -> list[str]:
    """Bring `producers` from their end offset to `log_end`, and return what was strange.

    On the way a snapshot is taken at those segment bases that are in `snapshot_at`.
    """
    warnings: list[str] = []
    for segment in segments.between(producers.map_end_offset, log_end):
        start = max(segment.base_offset, producers.map_end_offset, log_start)
        producers.advance(start)
        if snapshots is not None and segment.base_offset in snapshot_at:
            snapshots.take_if_room(producers)

        def warn(*texts: str, path: str = segment.files.log_path) -> None:
            warnings.extend(f"{path}: {text}" for text in texts)

        try:
            _replay_segment(segment, producers, warn, start=start, end=log_end)
        except CorruptMessageError as error:
            warn(f"{error}; what producers did behind it is not known")
    producers.advance(log_end)
    return warnings


def _replay_segment(
    segment: Segment,
    producers: ProducerStates,
    warn: Callable[..., object],
    *,
    start: int,
    end: int,
) -> None:
    for header in _from(segment, start):
        if header.base_offset >= end:
            break
        producers.replay(_produced(segment, header, warn), warn)


def _from(segment: Segment, offset: int) -> Iterator[BatchHeader]:
    """Yield the headers of the batches that hold `offset` and what follows."""
    first = segment.translate(offset)
    if first is not None:
        yield from headers(segment.files.pread, first.position, segment.size)


def _produced(segment: Segment, header: BatchHeader, warn: Callable[..., object]) -> ProducedBatch:
    """Read the marker where there is one."""
    if header.is_control:
        try:
            return ProducedBatch.of(header, segment.view.data_of(header))
        except BadRecordsError as error:
            warn(f"{error}; this marker ends no transaction")
    return ProducedBatch(header)
