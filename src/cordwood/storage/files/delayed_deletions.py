"""Deletion of files after a delay (Kafka: `file.delete.delay.ms`).

The delay lets readers of a deleted file finish. A file that waits has a suffix such as `.deleted`:
if the process ends first, the next start removes it.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Protocol

from cordwood.core.ports import Files, Lane, Pending, Scheduler, Timer, Worker


class DelayedDeletions(Protocol):
    """A queue of files to remove."""

    def remove_later(self, paths: Iterable[str], *, delay_ms: int) -> None:
        """Remove files in their order after a delay; missing files are ignored."""


class QueuedDeletions:
    """Deletions that were requested on a thread without a scheduler, to be moved to one with it."""

    def __init__(self) -> None:
        self._queue: list[tuple[tuple[str, ...], int]] = []

    def remove_later(self, paths: Iterable[str], *, delay_ms: int) -> None:
        self._queue.append((tuple(paths), delay_ms))

    def move_to(self, deletions: DelayedDeletions) -> None:
        """Move all deletions to another queue; their delays start now."""
        queue, self._queue = self._queue, []
        for paths, delay_ms in queue:
            deletions.remove_later(paths, delay_ms=delay_ms)


class ScheduledDeletions:
    """Deletions that the worker makes when they are due; `on_error` receives the failures."""

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
        due = tuple(paths)
        if due:
            self._call_later(lambda: self._remove(due), delay_ms)

    def remove_trees_later(self, paths: Iterable[str], *, delay_ms: int) -> None:
        """Remove directories with their contents after a delay, by one call of the worker."""
        due = tuple(paths)
        self._call_later(lambda: self._remove_trees(due), delay_ms)

    def close(self) -> None:
        """Cancel the deletions that are not due, and wait for those that are running.

        The files of a cancelled deletion keep their suffix.
        """
        for timer in self._timers:
            timer.cancel()
        self._timers.clear()
        for pending in tuple(self._running):
            pending.exception()

    def _call_later(self, call: Callable[[], None], delay_ms: int) -> None:
        def submit() -> None:
            self._timers.discard(timer)
            self._running = {each for each in self._running if not each.done()}
            self._running.add(self._worker.submit(call, lane=Lane.BACKGROUND))

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

    def _remove_trees(self, paths: Iterable[str]) -> None:
        for path in paths:
            try:
                remove_tree(self._files, path)
            except OSError as error:
                self._on_error(path, error)


def remove_tree(files: Files, path: str) -> None:
    """Remove a directory with its content; missing files are ignored.

    A symbolic link is removed; its target stays.
    """
    with suppress(FileNotFoundError):
        try:
            files.remove(path)
        except (IsADirectoryError, PermissionError):  # macOS raises the second
            if not files.stat(path).is_directory:
                raise
            _remove_directory(files, path)


def _remove_directory(files: Files, path: str) -> None:
    for name in files.list(path):
        remove_tree(files, f"{path}/{name}")
    files.remove_directory(path)
