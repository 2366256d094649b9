"""Less log: at its end when a leader says so, at its start when nobody needs it any more.

    truncate_to             records from an offset on go; those in other segments with their files
    truncate_fully          everything goes, and writing goes on at a new offset
    delete_segments         the oldest segments go, and the start offset rises before they do
    raise_start             records count as deleted, and stay where they are for a while

Whole segments are renamed first and removed later. Epochs and producers are told last, from what is
left of the log.

What goes at the end is synced before anything is written there again: after a crash, records that
were cut off must not come back behind new ones.
"""

from collections.abc import Sequence

from cordwood.storage.log_state import LogState
from cordwood.storage.names import DELETED
from cordwood.storage.producer_replay import reload
from cordwood.storage.rolling import new_segment
from cordwood.storage.segment import Segment


def truncate_to(state: LogState, offset: int, *, now_ms: int) -> bool:
    """Let the log end at `offset`; say whether there was something to cut off.

    An epoch that would begin at the end, with no record of it there, goes too.
    """
    bounds = state.bounds
    if offset < 0:
        raise ValueError(f"{state.partition} cannot be cut to offset {offset}")
    if offset >= bounds.log_end:
        state.epochs.truncate_from_end(bounds.log_end)
        return False
    if offset < state.segments.first.base_offset:
        truncate_fully(state, offset, now_ms=now_ms)
        return True
    gone = [segment for segment in state.segments if segment.base_offset > offset]
    with state.as_a_whole():
        if gone:
            _remove(state, gone[::-1])
            state.table.files.sync_directory(state.directory)
        active = state.segments.active
        if active.truncate_to(offset, now_ms=now_ms):
            active.files.log(writable=True).sync()
        bounds.truncated(offset)
        state.epochs.truncate_from_end(offset)
        _reload_producers(state, now_ms)
    return True


def truncate_fully(
    state: LogState, offset: int, *, now_ms: int, log_start: int | None = None
) -> None:
    """Remove every record; the next one is written at `offset`."""
    with state.as_a_whole():
        _remove(state, tuple(state.segments)[::-1])
        new_segment(state, offset, now_ms=now_ms)
        state.table.files.sync_directory(state.directory)
        state.epochs.clear()
        state.snapshots.truncate_fully(state.producers, offset)
        state.snapshots.on_log_start(state.producers, offset)
        state.bounds.restarted_at(offset, log_start=log_start)


def raise_start(state: LogState, offset: int) -> bool:
    """Let the log start at `offset`, which is not above the high watermark; say if it moved."""
    if not state.bounds.started_at(offset):
        return False
    state.snapshots.on_log_start(state.producers, offset)
    state.settle_unstable()
    state.epochs.truncate_from_start(offset)
    return True


def delete_segments(state: LogState, segments: Sequence[Segment], *, log_start: int) -> None:
    """Remove the oldest segments, of which there are fewer than the log has."""
    raise_start(state, log_start)
    with state.as_a_whole():
        _remove(state, segments)


def _remove(state: LogState, segments: Sequence[Segment]) -> None:
    """Set files aside under another name, to be removed later.

    They are closed, for what is open keeps its space on the disk.
    """
    doomed: list[str] = []
    for segment in segments:
        state.segments.remove(segment)
        segment.change_suffix(DELETED)
        segment.files.forget()
        doomed += segment.paths()
        snapshot = state.snapshots.set_aside(segment.base_offset)
        doomed += [] if snapshot is None else [snapshot]
    state.unsynced_names = state.unsynced_names or bool(segments)
    state.deletions.remove_later(doomed, delay_ms=state.config.file_delete_delay_ms)


def _reload_producers(state: LogState, now_ms: int) -> None:
    """Learn from snapshots, and from the log behind them, what is left of the producers."""
    reload(state, now_ms=now_ms)
    state.producers.on_high_watermark(state.bounds.high_watermark)
    state.settle_unstable()
