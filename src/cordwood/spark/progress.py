"""How far a job has come, as its driver tells it."""

from typing import Final, Protocol


class Progress(Protocol):
    """Who is told how far a job has come. Calls come one at a time, from any thread."""

    def begin(self, what: str, total: int) -> None:
        """The next part of the job begins, with so many bytes to do; the one before is done."""

    def advance(self, size: int) -> None:
        """So many more bytes of it are done; of a task that is tried again some may come twice."""


class _Unseen:
    """Nobody looks."""

    def begin(self, what: str, total: int) -> None:
        pass

    def advance(self, size: int) -> None:
        pass


UNSEEN: Final[Progress] = _Unseen()
