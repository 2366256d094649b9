"""A pass as it is given to somebody else, and what comes back.

Whoever runs it reads segments and writes `.cleaned` ones beside them, synced, and changes nothing
that was there: the swap is the owner's. A pass that was stopped, or has failed, leaves no file.
"""

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple, Protocol

from cordwood.compaction.plan import CleaningPlan
from cordwood.core.errors import CordwoodError

if TYPE_CHECKING:
    from cordwood.compaction.certificate import Certificate  # it brings the engine along


class CleaningStoppedError(CordwoodError):
    """The pass was asked to stop, and nothing has been changed."""


class CleaningFailedError(CordwoodError):
    """The pass has come to nothing; the words say why, and nothing has been changed."""


class Verify(Enum):
    """Whether what was made is proven right before it counts; a sample is one of the keys."""

    ALWAYS = "always"
    SAMPLE = "sample"
    NEVER = "never"


@dataclass(frozen=True, slots=True, kw_only=True)
class CleaningJob:
    """A plan, where its segments are, and what the pass may use.

    `memory_bytes` bounds marks and key map together. `seed` is chance: nobody can foresee how keys
    are hashed by it, nor which of them a sample has. What is left does not depend on it.
    """

    directory: str
    plan: CleaningPlan
    memory_bytes: int
    io_buffer_bytes: int
    verify: Verify = Verify.NEVER
    seed: int = 0

    def bytes_told(self, kept: int) -> int:
        """Return of how many bytes a pass tells that keeps so many, if one range has all keys.

        All are surveyed, gone over for their keys, and rewritten; the proof reads them again, and
        what is kept twice.
        """
        size = self.plan.size
        proof = 0 if self.verify is Verify.NEVER else size + 2 * kept
        return 3 * size + kept + proof


class CleanedSegment(NamedTuple):
    """A new segment, under `.cleaned`, and how large it is."""

    base_offset: int
    size: int


class CleanedGroup(NamedTuple):
    """The segments, of which there is at least one, that take the place of `replaced`."""

    replaced: tuple[int, ...]
    cleaned: tuple[CleanedSegment, ...]


class Cleaning(NamedTuple):
    """What a pass has made; `end` is the first dirty offset once it is swapped in."""

    groups: tuple[CleanedGroup, ...]
    end: int
    certificate: "Certificate"


class PassControl(Protocol):
    """How the one who asked for a pass goes along with it."""

    def is_stopped(self) -> bool:
        """Whether it is to end at once."""

    def expect(self, count: int) -> None:
        """So many bytes more will be told of than it seemed so far; fewer, if it is below 0."""

    def on_bytes(self, count: int) -> None:
        """So many bytes were read or written: may wait, so that there are not too many a second."""


class CleanerRunner(Protocol):
    """Runs passes, each in one blocking call: in another process, or here."""

    def run(self, job: CleaningJob, control: PassControl) -> Cleaning:
        """Return what was made; CleaningStoppedError or CleaningFailedError if nothing was."""

    def limit(self, bytes_per_second: float) -> None:
        """Read and write no more than that from now on, all passes together, where time is real."""

    def close(self) -> None:
        """End what it runs in."""
