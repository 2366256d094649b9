"""Swap of segments by others with the same offsets (Kafka: `UnifiedLog.replaceSegments`).

A cleaner or a split has written the new segments as .cleaned and synced them. A crash at any point
leaves either the new segments or the replaced ones:

    step                                               after a crash in this step
    1. decide     .cleaned is renamed to .swap,        all new segments are removed while one of
                  the first segment last               them is still .cleaned
    2. put in     readers use the new segments         (changes memory only)
    3. set aside  replaced files become .deleted       `crash_cleanup` finishes the swap
    4. complete   .swap is removed from the logs,      `crash_cleanup` finishes the swap
                  lowest first, then from indexes

The directory is synced between the steps, and between the renames of step 4, since a crash may keep
a later rename and lose an earlier one.

The first new segment keeps the base offset of the first replaced one, even if it contains no batch
there. So the range of the .swap files begins where the replaced range does, and the producer
snapshot at that offset stays valid. Snapshots at other replaced base offsets are removed.

After a crash the .swap files cover offsets only up to their last batch. Replaced segments after
that offset may then come back, uncleaned. The cleaner checkpoint must therefore not be advanced
before the swap is complete.

The steps are those of a `SteppedChange`.
"""

from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import NamedTuple

from cordwood.core.errors import CordwoodError
from cordwood.core.ports import Files
from cordwood.storage.files.file_names import CLEANED, DELETED, SWAP
from cordwood.storage.log.crash_cleanup import cleaned_names
from cordwood.storage.log.log_state import LogState
from cordwood.storage.log.stepped_change import SteppedChange, Steps
from cordwood.storage.segment.log_segment import LogSegment
from cordwood.storage.segment.roll_policy import draw_jitter_ms
from cordwood.storage.segment.segment_files import SegmentPath


class SwapRefusedError(CordwoodError):
    """The segments to be replaced have changed since they were read; nothing was swapped."""


class SegmentReplacement(NamedTuple):
    """The base offsets of adjacent segments, and of the .cleaned segments that replace them.

    `truncations` is the number of truncations of the log at the time when the segments were read.
    """

    replaced: tuple[int, ...]
    cleaned: tuple[int, ...]
    truncations: int


def begin(state: LogState, replacement: SegmentReplacement, *, now_ms: int) -> SteppedChange:
    """Return a swap that can start; SwapRefusedError if the log has changed in between."""
    replaced, cleaned, truncations = replacement
    assert replaced[0] == cleaned[0], f"{replacement} keeps the first base offset"
    present = tuple(each for each in state.segments.base_offsets if each in replaced)
    if present != replaced or truncations != state.bounds.truncations:
        raise SwapRefusedError(
            f"{state.partition}: the log was truncated, or segments of it were deleted"
        )
    return SteppedChange(state, _steps(state, replacement, now_ms=now_ms))


def _steps(state: LogState, replacement: SegmentReplacement, *, now_ms: int) -> Steps:
    """Yield the jobs, and change the state of the log between them."""
    files, directory = state.table.files, state.directory
    sync = partial(files.sync_directory, directory)
    old = [each for each in state.segments if each.base_offset in replacement.replaced]
    yield partial(_decide, files, directory, bases=replacement.cleaned)
    doomed = take_out(state, old, keeping=replacement.cleaned)
    new = [_put_in(state, base, now_ms=now_ms) for base in replacement.cleaned]
    yield partial(set_aside, files, doomed, directory=directory)
    for segment in new:
        segment.files.rename_log("")
        yield sync
    for segment in new:
        segment.files.rename_indexes()
    yield sync
    gone = [f"{path}{DELETED}" for path in doomed]
    state.deletions.remove_later(gone, delay_ms=state.config.file_delete_delay_ms)


def _decide(files: Files, directory: str, *, bases: Sequence[int]) -> None:
    """Rename the new segments to .swap; from here on even a crash completes the swap."""
    found = cleaned_names(files, directory)
    for step in (bases[:0:-1], bases[:1]):
        for name in [each for base in step for each in found if each.base_offset == base]:
            path = SegmentPath(directory, name.base_offset)
            final = path.of(name.extension)
            files.rename(f"{final}{CLEANED}", f"{final}{SWAP}")
        files.sync_directory(directory)


def take_out(
    state: LogState, old: Sequence[LogSegment], *, keeping: Sequence[int] = ()
) -> list[str]:
    """Remove segments from the log; return their files and the snapshots no longer needed."""
    doomed: list[str] = []
    for segment in old:
        state.segments.remove(segment)
        segment.files.forget()
        doomed += segment.possible_paths()
        if segment.base_offset not in keeping:
            snapshot = state.snapshots.detach(segment.base_offset)
            doomed += [] if snapshot is None else [snapshot]
    return doomed


def _put_in(state: LogState, base_offset: int, *, now_ms: int) -> LogSegment:
    segment = LogSegment.open(
        state.table,
        SegmentPath(state.directory, base_offset, SWAP),
        config=state.config,
        now_ms=now_ms,
        jitter_ms=draw_jitter_ms(state.random, state.config),
    )
    state.segments.add(segment)
    return segment


def set_aside(files: Files, doomed: Sequence[str], *, directory: str) -> None:
    """Rename files of former segments in this order, and sync their names."""
    mark_deleted(files, doomed)
    files.sync_directory(directory)


def mark_deleted(files: Files, doomed: Sequence[str]) -> None:
    """Rename files of former segments; an index or a snapshot may not exist."""
    for path in doomed:
        with suppress(FileNotFoundError):
            files.rename(path, f"{path}{DELETED}")
