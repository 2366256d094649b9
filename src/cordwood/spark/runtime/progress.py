"""The progress of a job, as a callback of its driver."""

from typing import Final, Protocol


class Progress(Protocol):
    """A receiver of progress. Calls do not overlap, and come from any thread."""

    def begin(self, phase: str, total: int) -> None:
        """Begin the next phase, of `total` bytes; the previous phase is finished."""

    def advance(self, size: int) -> None:
        """Add `size` finished bytes; a retried task may report bytes twice."""


class _NoProgress:
    """Ignores progress."""

    def begin(self, phase: str, total: int) -> None:
        pass

    def advance(self, size: int) -> None:
        pass


NO_PROGRESS: Final[Progress] = _NoProgress()
