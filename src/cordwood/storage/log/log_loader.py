"""Loader of one log, after a clean or an unclean shutdown (Kafka: `LogLoader`).

    1. crash cleanup  interrupted swaps and deletions are finished or undone (`crash_cleanup`)
    2. segments       are opened, oldest first; a segment without usable indexes is recovered
    3. recovery       after an unclean shutdown, every batch from the recovery point on is checked
                      (`tail_recovery`); the first invalid batch ends the log
    4. log start      a log that ends below its start is restarted, empty, at its start; a log
                      without segments gets an empty one
    5. epochs         are truncated to the remaining offsets
    6. producers      are loaded from the newest usable snapshot and the records after it

After a clean shutdown the active segment is still checked if the log does not end with a whole
batch, or its indexes do not end with correct entries.

The recovery point is not advanced, because the loader has not synced the records. The high
watermark is the checkpointed one, limited to log start and end. All removals are durable before the
log is returned, since new records will take the removed offsets.

DamagedFileError is raised where continuing could lose records: when the leader epochs cannot be
read, and when a .swap segment cannot be read. Every other problem is repaired and listed in the
`RecoveryReport`.
"""

from dataclasses import dataclass, field

from cordwood.core.errors import CorruptMessageError, DamagedFileError
from cordwood.core.ports import Ports, Random
from cordwood.core.types import Offset, TopicPartition
from cordwood.records.tail_scan import TailScanners, no_tail_scanner
from cordwood.storage.checkpoints.leader_epoch_checkpoint_file import LeaderEpochCheckpointFile
from cordwood.storage.files.atomic_write import directory_of
from cordwood.storage.files.delayed_deletions import DelayedDeletions
from cordwood.storage.files.file_names import SWAP
from cordwood.storage.files.open_file_cache import OpenFileCache
from cordwood.storage.log.crash_cleanup import clean_up_crash, remove_orphans, segment_bases
from cordwood.storage.log.log_state import LogState
from cordwood.storage.log.offset_bounds import OffsetBounds
from cordwood.storage.log.producer_state_rebuild import reload
from cordwood.storage.log.segment_recovery import has_clean_end, is_usable
from cordwood.storage.log.segment_roll import new_segment
from cordwood.storage.log.tail_recovery import RecoveryReport, TailRecovery
from cordwood.storage.log_config import LogConfig
from cordwood.storage.producers.producer_state_manager import (
    ProducerStateManager,
    ProducerStateManagerConfig,
)
from cordwood.storage.producers.snapshot_files import SnapshotFiles
from cordwood.storage.segment.log_segment import LogSegment
from cordwood.storage.segment.log_segments import LogSegments
from cordwood.storage.segment.roll_policy import draw_jitter_ms
from cordwood.storage.segment.segment_files import SegmentPath


@dataclass(frozen=True, slots=True, kw_only=True)
class LogPlace:
    """A log to open, its config, and its checkpointed offsets, which the loader verifies.

    `is_clean` is set after a clean shutdown of the log directory.
    """

    partition: TopicPartition
    directory: str
    config: LogConfig
    is_clean: bool = False
    recovery_point: int = 0
    log_start: int = 0
    high_watermark: int = 0
    cleaned_to: Offset | None = None
    producers: ProducerStateManagerConfig = field(default_factory=ProducerStateManagerConfig)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoveryOptions:
    """Options for the recovery of a log that was not closed.

    `striders` let recovery pass many batches at once. With `is_strict` a corrupt batch that is
    followed by valid ones raises CorruptMessageError instead of truncating the log. A broker does
    truncate, since a replica fetches the records again; a tool without replicas would lose them.
    """

    striders: TailScanners = no_tail_scanner
    is_strict: bool = False


def load(
    place: LogPlace,
    ports: Ports,
    *,
    table: OpenFileCache,
    deletions: DelayedDeletions,
    recovery: RecoveryOptions,
) -> tuple[LogState, RecoveryReport]:
    """Load the log in a directory, which is created if necessary; return it with a report."""
    now_ms = ports.clock.now_ms()
    state = _initial(place, ports.random, table=table, deletions=deletions, now_ms=now_ms)
    report = RecoveryReport()
    report.cleaned_up = _clear(state, now_ms=now_ms)
    report.warnings = state.warnings
    unusable = _open_segments(state, now_ms)
    if place.is_clean:
        unusable += _without_clean_end(state)
    recovery_point = None if place.is_clean else max(0, place.recovery_point)
    log_start = max(0, place.log_start)
    tail = TailRecovery(
        state, report, log_start, now_ms, recovery.striders, is_strict=recovery.is_strict
    )
    tail.recover_all(unusable, recovery_point)
    log_end = state.segments.active.next_offset() if len(state.segments) else 0
    if len(state.segments) == 0 or log_end < log_start:
        _restart(state, log_start, now_ms)
        log_end = log_start
    _set_bounds(state, place, log_end=log_end)
    _load_producers(state, is_clean=place.is_clean, now_ms=now_ms)
    state.warn(*map(str, state.snapshots.errors))
    if not place.is_clean or report.truncated_bytes:
        table.files.sync_directory(place.directory)
        state.unsynced_names = False
    return state, report


def _initial(
    place: LogPlace,
    random: Random,
    *,
    table: OpenFileCache,
    deletions: DelayedDeletions,
    now_ms: int,
) -> LogState:
    """Return a log without segments; its directory is created if it is missing."""
    files = table.files
    if not table.exists(place.directory):
        files.make_directory(place.directory)
        files.sync_directory(directory_of(place.directory))
    state = LogState(
        partition=place.partition,
        directory=place.directory,
        table=table,
        random=random,
        deletions=deletions,
        config=place.config,
        segments=LogSegments(),
        bounds=OffsetBounds(log_start=0, log_end=0),
        epochs=LeaderEpochCheckpointFile(files, place.directory),
        producers=ProducerStateManager(place.producers),
        snapshots=SnapshotFiles(files, place.directory),
        last_flush_ms=now_ms,
    )
    state.epochs.load()
    return state


def _clear(state: LogState, *, now_ms: int) -> tuple[str, ...]:
    """Clean the directory up after a crash; return the names of removed and renamed files."""

    def next_offset(base_offset: int) -> int:
        swap = _open(state, base_offset, now_ms=now_ms, suffix=SWAP)
        try:
            return swap.next_offset()
        except CorruptMessageError as error:
            raise DamagedFileError(
                f"a segment that replaces others cannot be read: {error}",
                path=swap.files.log_path,
                remedy="if the replaced segments still exist, remove this file to use them; else "
                "remove the suffix .swap to use the valid batches of this file",
            ) from error

    files, directory = state.table.files, state.directory
    done = clean_up_crash(files, directory, swap_next_offset=next_offset)
    state.table.forget_under(directory)
    orphans = remove_orphans(files, directory)
    state.snapshots.scan()
    return (*done.removed, *done.completed, *orphans)


def _open_segments(state: LogState, now_ms: int) -> list[LogSegment]:
    """Open every segment; return those that need recovery."""
    for base_offset in segment_bases(state.table.files, state.directory):
        state.segments.add(_open(state, base_offset, now_ms=now_ms))
    return [segment for segment in state.segments if not is_usable(segment)]


def _without_clean_end(state: LogState) -> list[LogSegment]:
    """Return the active segment unless it and its indexes end as after a clean shutdown."""
    return [segment for segment in tuple(state.segments)[-1:] if not has_clean_end(segment)]


def _open(state: LogState, base_offset: int, *, now_ms: int, suffix: str = "") -> LogSegment:
    return LogSegment.open(
        state.table,
        SegmentPath(state.directory, base_offset, suffix),
        config=state.config,
        now_ms=now_ms,
        jitter_ms=draw_jitter_ms(state.random, state.config),
    )


def _restart(state: LogState, offset: int, now_ms: int) -> None:
    """Make the log empty at its start offset: all records on disk are below it."""
    for segment in state.segments:
        state.segments.remove(segment)
        segment.delete()
        state.epochs.clear()
    state.snapshots.truncate_fully(state.producers, offset)
    new_segment(state, offset, now_ms=now_ms)


def _set_bounds(state: LogState, place: LogPlace, *, log_end: int) -> None:
    """Set the bounds from segments and checkpoints, and truncate the epochs to them."""
    log_start = max(0, place.log_start, state.segments.first.base_offset)
    recovery_point = log_end if place.is_clean else max(0, place.recovery_point)
    state.bounds = OffsetBounds(
        log_start=log_start,
        log_end=log_end,
        high_watermark=place.high_watermark,
        recovery_point=recovery_point,
    )
    state.bounds.cleaned_to = place.cleaned_to
    state.epochs.truncate_from_end(log_end)
    state.epochs.truncate_from_start(max(0, place.log_start))


def _load_producers(state: LogState, *, is_clean: bool, now_ms: int) -> None:
    """Load the producer state, unless recovery has replayed it already."""
    bounds, producers, snapshots = state.bounds, state.producers, state.snapshots
    bases = state.segments.base_offsets
    snapshots.remove_stray(bases)
    if is_clean and not snapshots.offsets:
        for offset in (*bases[-2:], bounds.log_end):
            producers.advance(offset)
            snapshots.take_if_space(producers)
    else:
        reload(state, now_ms=now_ms)
    producers.on_high_watermark(bounds.high_watermark)
    state.update_first_unstable()
