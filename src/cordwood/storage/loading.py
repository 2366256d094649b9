"""From a partition's directory to a log, after a clean stop or after none.

    1. leftovers      of a dead process: finished or undone (`leftovers`)
    2. segments       opened, oldest first; one without its indexes is recovered at once
    3. recovery       after no clean stop: from the recovery point on, every batch is checked; the
                      first that is not whole ends the log, and later segments go; a log that says
                      it was stopped cleanly and does not end with a whole batch, or whose indexes
                      do not end with true entries, is checked there
    4. start          a log that ends before it starts begins anew at its start; one without a
                      segment gets an empty one
    5. epochs         cut to what is left
    6. producers      from the newest usable snapshot and the log behind it

The recovery point is not raised: nothing has been synced yet. The high watermark is the
checkpoint's, kept between start and end. What was removed on the way is gone for good when the log
is returned, for new records will take its offsets.

A log is refused (`DamagedFileError`) where going on could lose records that are there: when its
epochs cannot be read, and when a segment that is about to take the place of others cannot. What
else is wrong is put right, and told in the `RecoveryReport`.
"""

from dataclasses import dataclass, field

from cordwood.core.errors import CorruptMessageError, DamagedFileError
from cordwood.core.ports import Random
from cordwood.core.types import Offset, TopicPartition
from cordwood.records.stride import Striders, no_strider
from cordwood.storage.atomic import directory_of
from cordwood.storage.bounds import OffsetBounds
from cordwood.storage.deletions import Deletions
from cordwood.storage.epoch_file import EpochFile
from cordwood.storage.file_table import FileTable
from cordwood.storage.leftovers import clear_leftovers, remove_orphans, segment_bases
from cordwood.storage.log_config import LogConfig
from cordwood.storage.log_state import LogState
from cordwood.storage.names import SWAP
from cordwood.storage.producer_replay import reload
from cordwood.storage.producers import ProducerSettings, ProducerStates
from cordwood.storage.roll import draw_jitter_ms
from cordwood.storage.rolling import new_segment
from cordwood.storage.segment import Segment
from cordwood.storage.segment_files import SegmentPath
from cordwood.storage.segment_recovery import ends_whole, is_sane
from cordwood.storage.segments import Segments
from cordwood.storage.snapshot_files import SnapshotFiles
from cordwood.storage.tail_recovery import RecoveryReport, TailRecovery


@dataclass(frozen=True, slots=True, kw_only=True)
class LogPlace:
    """Which log it is and what checkpoints say of it; their numbers are not believed blindly."""

    partition: TopicPartition
    directory: str
    config: LogConfig
    is_clean: bool = False
    recovery_point: int = 0
    log_start: int = 0
    high_watermark: int = 0
    cleaned_to: Offset | None = None
    producers: ProducerSettings = field(default_factory=ProducerSettings)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogTools:
    """What a log works with.

    Without `is_cutting` a log is refused (`CorruptMessageError`) that has whole batches behind one
    that is not: who leads or follows cuts them off and fetches them again, others would lose them.
    """

    table: FileTable
    random: Random
    deletions: Deletions
    striders: Striders = no_strider
    is_cutting: bool = True


def load(place: LogPlace, tools: LogTools, *, now_ms: int) -> tuple[LogState, RecoveryReport]:
    """Return the log in a directory, which is made if there is none, and what was done to it."""
    state = _opened(place, tools, now_ms=now_ms)
    report = RecoveryReport()
    report.leftovers = _clear(state, now_ms=now_ms)
    report.warnings = state.warnings
    insane = _open_segments(state, now_ms)
    if place.is_clean:
        insane += _unended(state)
    recovery_point = None if place.is_clean else max(0, place.recovery_point)
    log_start = max(0, place.log_start)
    recovery = TailRecovery(
        state, report, log_start, now_ms, tools.striders, is_cutting=tools.is_cutting
    )
    recovery.recover_all(insane, recovery_point)
    log_end = state.segments.active.next_offset() if len(state.segments) else 0
    if len(state.segments) == 0 or log_end < log_start:
        _begin_anew(state, log_start, now_ms)
        log_end = log_start
    _settle(state, place, log_end=log_end)
    _load_producers(state, is_clean=place.is_clean, now_ms=now_ms)
    state.warn(*map(str, state.snapshots.troubles))
    if not place.is_clean or report.cut_bytes:
        tools.table.files.sync_directory(place.directory)
        state.unsynced_names = False
    return state, report


def _opened(place: LogPlace, tools: LogTools, *, now_ms: int) -> LogState:
    """Return a log that knows of nothing yet; its directory is made when it is missing."""
    files = tools.table.files
    if not tools.table.exists(place.directory):
        files.make_directory(place.directory)
        files.sync_directory(directory_of(place.directory))
    state = LogState(
        partition=place.partition,
        directory=place.directory,
        table=tools.table,
        random=tools.random,
        deletions=tools.deletions,
        config=place.config,
        segments=Segments(),
        bounds=OffsetBounds(log_start=0, log_end=0),
        epochs=EpochFile(files, place.directory),
        producers=ProducerStates(place.producers),
        snapshots=SnapshotFiles(files, place.directory),
        last_flush_ms=now_ms,
    )
    state.epochs.load()
    return state


def _clear(state: LogState, *, now_ms: int) -> tuple[str, ...]:
    """Put the directory in order; return the names of what was removed or renamed."""

    def next_offset(base_offset: int) -> int:
        swap = _open(state, base_offset, now_ms=now_ms, suffix=SWAP)
        try:
            return swap.next_offset()
        except CorruptMessageError as error:
            raise DamagedFileError(
                f"a segment that was to take the place of others cannot be read: {error}",
                path=swap.files.log_path,
                remedy="remove it if the segments of its offsets are still there, which are then "
                "used; else remove the suffix, and what is whole of it is used",
            ) from error

    files, directory = state.table.files, state.directory
    done = clear_leftovers(files, directory, swap_next_offset=next_offset)
    state.table.forget_under(directory)
    orphans = remove_orphans(files, directory)
    state.snapshots.find()
    return (*done.removed, *done.completed, *orphans)


def _open_segments(state: LogState, now_ms: int) -> list[Segment]:
    """Open every segment; return those that cannot be used as they are."""
    for base_offset in segment_bases(state.table.files, state.directory):
        state.segments.add(_open(state, base_offset, now_ms=now_ms))
    return [segment for segment in state.segments if not is_sane(segment)]


def _unended(state: LogState) -> list[Segment]:
    """Return the active segment unless it and its indexes end as a clean stop leaves them."""
    return [segment for segment in tuple(state.segments)[-1:] if not ends_whole(segment)]


def _open(state: LogState, base_offset: int, *, now_ms: int, suffix: str = "") -> Segment:
    return Segment.open(
        state.table,
        SegmentPath(state.directory, base_offset, suffix),
        config=state.config,
        now_ms=now_ms,
        jitter_ms=draw_jitter_ms(state.random, state.config),
    )


def _begin_anew(state: LogState, offset: int, now_ms: int) -> None:
    """Let the log be empty at an offset: what is on disk lies wholly before its start."""
    for segment in state.segments:
        state.segments.remove(segment)
        segment.delete()
        state.epochs.clear()
    state.snapshots.truncate_fully(state.producers, offset)
    new_segment(state, offset, now_ms=now_ms)


def _settle(state: LogState, place: LogPlace, *, log_end: int) -> None:
    """Set the bounds from what is there, and let epochs be no wider than they."""
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
    """Learn what producers did, unless recovery has learnt it already."""
    bounds, producers, snapshots = state.bounds, state.producers, state.snapshots
    bases = state.segments.base_offsets
    snapshots.remove_stray(bases)
    if is_clean and not snapshots.offsets:
        for offset in (*bases[-2:], bounds.log_end):
            producers.advance(offset)
            snapshots.take_if_room(producers)
    else:
        reload(state, now_ms=now_ms)
    producers.on_high_watermark(bounds.high_watermark)
    state.settle_unstable()
