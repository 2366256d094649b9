"""What has been deleted goes a while later, so that those who still read it can come to an end.

Files that wait have a name that says so: should the process die before their time, whoever opens
the directory next removes them.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Protocol

from cordwood.core.ports import Files, Scheduler, Worker


class Deletions(Protocol):
    """Takes files and directories that are to go."""

    def remove_later(self, paths: Iterable[str], *, delay_ms: int) -> None:
        """Remove files, in their order, after a while; what is gone already does not matter."""


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

    def remove_later(self, paths: Iterable[str], *, delay_ms: int) -> None:
        doomed = tuple(paths)
        if doomed:
            when_ms = self._now_ms() + delay_ms
            self._scheduler.call_at(
                when_ms, lambda: self._worker.submit(lambda: self._remove(doomed))
            )

    def _remove(self, paths: Iterable[str]) -> None:
        for path in paths:
            try:
                self._files.remove(path)
            except FileNotFoundError:
                continue
            except OSError as error:
                self._on_error(path, error)


def remove_tree(files: Files, path: str) -> None:
    """Remove a directory and all that is in it; what is gone already does not matter."""
    with suppress(FileNotFoundError):
        for name in files.list(path):
            _remove_any(files, f"{path}/{name}")
        files.remove_directory(path)


def _remove_any(files: Files, path: str) -> None:
    with suppress(FileNotFoundError):
        if files.stat(path).is_directory:
            remove_tree(files, path)
        else:
            files.remove(path)
