"""What has been deleted goes a while later, so that those who still read it can come to an end.

What waits has a name that says so: should the process end before its time, whoever opens the
directory next removes it.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Protocol

from cordwood.core.ports import Files, Pending, Scheduler, Timer, Worker


class Deletions(Protocol):
    """Takes files and directories that are to go."""

    def remove_later(self, paths: Iterable[str], *, delay_ms: int) -> None:
        """Remove files, in their order, after a while; what is gone already does not matter."""


class GatheredDeletions:
    """Keeps what is to go, on a thread that has no scheduler, until its owner takes it over."""

    def __init__(self) -> None:
        self._gathered: list[tuple[tuple[str, ...], int]] = []

    def remove_later(self, paths: Iterable[str], *, delay_ms: int) -> None:
        self._gathered.append((tuple(paths), delay_ms))

    def hand_over(self, deletions: Deletions) -> None:
        """Let others do it; their delay begins now."""
        gathered, self._gathered = self._gathered, []
        for paths, delay_ms in gathered:
            deletions.remove_later(paths, delay_ms=delay_ms)


class ScheduledDeletions:
    """Removes on the worker what the clock says is due; `on_error` hears of what could not go."""

    def __init__(
        self,
        files: Files,
        scheduler: Scheduler,
        worker: Worker,
        *,
        now_ms: Callable[[], float],
        on_error: Callable[[str, OSError], object],
    ) -> None:
        self._files = files
        self._scheduler = scheduler
        self._worker = worker
        self._now_ms = now_ms
        self._on_error = on_error
        self._timers: set[Timer] = set()
        self._running: set[Pending[None]] = set()

    def remove_later(self, paths: Iterable[str], *, delay_ms: int) -> None:
        doomed = tuple(paths)
        if doomed:
            self._call_later(lambda: self._remove(doomed), delay_ms)

    def remove_tree_later(self, path: str, *, delay_ms: int) -> None:
        """Remove a directory and all that is in it after a while."""
        self._call_later(lambda: self._remove_tree(path), delay_ms)

    def close(self) -> None:
        """Remove nothing any more: what is under way is waited for, the rest keeps its name."""
        for timer in self._timers:
            timer.cancel()
        self._timers.clear()
        for pending in tuple(self._running):
            pending.exception()

    def _call_later(self, call: Callable[[], None], delay_ms: int) -> None:
        def submit() -> None:
            self._timers.discard(timer)
            self._running = {each for each in self._running if not each.done()}
            self._running.add(self._worker.submit(call))

        timer = self._scheduler.call_at(self._now_ms() + delay_ms, submit)
        self._timers.add(timer)

    def _remove(self, paths: Iterable[str]) -> None:
        for path in paths:
            try:
                self._files.remove(path)
            except FileNotFoundError:
                continue
            except OSError as error:
                self._on_error(path, error)

    def _remove_tree(self, path: str) -> None:
        try:
            remove_tree(self._files, path)
        except OSError as error:
            self._on_error(path, error)


def remove_tree(files: Files, path: str) -> None:
    """Remove a directory and all that is in it; what is gone already does not matter.

    A link is removed, and what it leads to stays.
    """
    with suppress(FileNotFoundError):
        try:
            files.remove(path)
        except (IsADirectoryError, PermissionError):  # the second is what a Mac says
            if not files.stat(path).is_directory:
                raise
            _remove_directory(files, path)


def _remove_directory(files: Files, path: str) -> None:
    for name in files.list(path):
        remove_tree(files, f"{path}/{name}")
    files.remove_directory(path)
