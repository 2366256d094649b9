"""Segments of a log take the place of others with the same offsets: split ones, cleaned ones.

Somebody has written them as .cleaned, synced. A crash at any point leaves those or what they
replace:

    1. decide     they become .swap, the first one last  a crash: while one is .cleaned all go
    2. put in     readers get them from here on          nothing is on disk of that
    3. set aside  what they replace becomes .deleted     a crash: all are .swap, `leftovers` goes on
    4. complete   .swap is taken off, logs one after     a crash: the same
                  the other, lowest first, then indexes

The directory is synced between the steps, and between the renames of the last one, since a crash
may keep a later rename and lose an earlier one. The first one keeps the base offset of the first
that it replaces, even if no batch has a place in it: so what is .swap begins where that does, and
its snapshot stays true. Snapshots at bases that no segment has any more go. After a crash what is
.swap covers offsets up to its last batch: of a cleaner's, whole segments behind that may come back,
and are to be cleaned again. So nobody says how far the log is clean before all of this is done.

What waits for the disk is handed out as jobs, which run anywhere. What the log knows changes
between them, on the thread of its owner, and only there are files renamed that readers open.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import NamedTuple, TypeAlias

from cordwood.core.errors import CordwoodError
from cordwood.core.ports import Files, Pending
from cordwood.storage.leftovers import cleaned_names
from cordwood.storage.log_state import LogState
from cordwood.storage.names import CLEANED, DELETED, SWAP
from cordwood.storage.roll import draw_jitter_ms
from cordwood.storage.segment import Segment
from cordwood.storage.segment_files import SegmentPath

Job: TypeAlias = Callable[[], None]
Submit: TypeAlias = Callable[[Job], Pending[None]]


class SwapRefusedError(CordwoodError):
    """What was to be replaced is not there any more as it was; nothing has been changed."""


class Replacement(NamedTuple):
    """The bases of segments that follow each other, and of the .cleaned ones for their offsets.

    `cuts` says how often the log had been cut when they were read.
    """

    replaced: tuple[int, ...]
    cleaned: tuple[int, ...]
    cuts: int


class Swap:
    """A replacement under way. Its owner calls, and whoever changes the log otherwise ends it."""

    __slots__ = ("_running", "_state", "_steps")

    def __init__(self, state: LogState, steps: Iterator[Job]) -> None:
        self._state = state
        self._steps = steps
        self._running: Pending[None] | None = None

    def go_on(self, submit: Submit) -> Pending[None] | None:
        """Have the next job run, once the one before has ended; return None when all is done.

        After an error the log is torn.
        """
        with self._state.as_a_whole():
            if self._running is not None:
                self._running.result()
            job = next(self._steps, None)
            self._running = None if job is None else submit(job)
        return self._running

    def finish(self) -> None:
        """Do all that is left of it, here and now."""
        with self._state.as_a_whole():
            if self._running is not None:
                self._running.result()
                self._running = None
            for job in self._steps:
                job()


def begin(state: LogState, replacement: Replacement, *, now_ms: int) -> Swap:
    """Return a replacement that can begin: SwapRefusedError if the log is not as it has to be."""
    replaced, cleaned, cuts = replacement
    assert replaced[0] == cleaned[0], f"{replacement} begins where it replaces"
    present = tuple(each for each in state.segments.base_offsets if each in replaced)
    if present != replaced or cuts != state.bounds.cuts:
        raise SwapRefusedError(f"{state.partition} has been cut, or segments of it have gone")
    return Swap(state, _steps(state, replacement, now_ms=now_ms))


def _steps(state: LogState, replacement: Replacement, *, now_ms: int) -> Iterator[Job]:
    """Yield what has to be done on disk, and change the log in between."""
    files, directory = state.table.files, state.directory
    sync = partial(files.sync_directory, directory)
    old = [each for each in state.segments if each.base_offset in replacement.replaced]
    yield partial(_decide, files, directory, bases=replacement.cleaned)
    doomed = _take_out(state, old, keeping=replacement.cleaned)
    new = [_put_in(state, base, now_ms=now_ms) for base in replacement.cleaned]
    yield partial(_set_aside, files, doomed, directory=directory)
    for segment in new:
        segment.files.rename_log("")
        yield sync
    for segment in new:
        segment.files.rename_indexes()
    yield sync
    gone = [f"{path}{DELETED}" for path in doomed]
    state.deletions.remove_later(gone, delay_ms=state.config.file_delete_delay_ms)


def _decide(files: Files, directory: str, *, bases: Sequence[int]) -> None:
    """Let the new segments replace the others, whatever happens from here on."""
    found = cleaned_names(files, directory)
    for step in (bases[:0:-1], bases[:1]):
        for name in [each for base in step for each in found if each.base_offset == base]:
            path = SegmentPath(directory, name.base_offset)
            final = path.of(name.extension)
            files.rename(f"{final}{CLEANED}", f"{final}{SWAP}")
        files.sync_directory(directory)


def _take_out(state: LogState, old: Sequence[Segment], *, keeping: Sequence[int]) -> list[str]:
    """Know of segments no more; return their files, and the snapshots that are of no use now."""
    doomed: list[str] = []
    for segment in old:
        state.segments.remove(segment)
        segment.files.forget()
        doomed += segment.paths()
        if segment.base_offset not in keeping:
            snapshot = state.snapshots.release(segment.base_offset)
            doomed += [] if snapshot is None else [snapshot]
    return doomed


def _put_in(state: LogState, base_offset: int, *, now_ms: int) -> Segment:
    segment = Segment.open(
        state.table,
        SegmentPath(state.directory, base_offset, SWAP),
        config=state.config,
        now_ms=now_ms,
        jitter_ms=draw_jitter_ms(state.random, state.config),
    )
    state.segments.add(segment)
    return segment


def _set_aside(files: Files, doomed: Sequence[str], *, directory: str) -> None:
    """Rename what has been replaced; an index or a snapshot may be gone already."""
    for path in doomed:
        with suppress(FileNotFoundError):
            files.rename(path, f"{path}{DELETED}")
    files.sync_directory(directory)
