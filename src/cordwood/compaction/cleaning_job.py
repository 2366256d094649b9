"""The job of one pass, as a runner receives it, and its result.

A runner reads segments and writes fsynced `.cleaned` segments next to them. It changes no other
file: the log's owner does the swap. A pass that was stopped, or failed, leaves no file.
"""

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple, Protocol

from cordwood.compaction.plan.cleaning_plan import CleaningPlan
from cordwood.core.errors import CordwoodError

if TYPE_CHECKING:
    from cordwood.compaction.certificate import Certificate  # importing it would import the engine


class CleaningStoppedError(CordwoodError):
    """The pass was stopped by its control; the log is unchanged."""


class CleaningFailedError(CordwoodError):
    """The pass failed for the reason in the message; the log is unchanged."""


class Verify(Enum):
    """Whether the result is verified before it counts: all keys, a sample of the keys, or none."""

    ALWAYS = "always"
    SAMPLE = "sample"
    NEVER = "never"


@dataclass(frozen=True, slots=True, kw_only=True)
class CleaningJob:
    """A plan, the directory of its segments, and the resources of the pass.

    `memory_bytes` bounds marks and key map together. `seed` is random, so that key hashes and the
    sample are unpredictable. The retained records do not depend on it.
    """

    directory: str
    plan: CleaningPlan
    memory_bytes: int
    io_buffer_bytes: int
    verify: Verify = Verify.NEVER
    seed: int = 0

    def expected_io_bytes(self, kept: int) -> int:
        """Return the bytes that a pass reads and writes if it keeps `kept`, with one key range.

        Survey, key map and rewrite each read everything, and the rewrite writes the kept bytes. The
        proof reads everything again, and the kept bytes twice.
        """
        size = self.plan.size
        proof = 0 if self.verify is Verify.NEVER else size + 2 * kept
        return 3 * size + kept + proof


class CleanedSegment(NamedTuple):
    """A new `.cleaned` segment, and its size."""

    base_offset: int
    size: int


class CleanedGroup(NamedTuple):
    """The new segments, at least one, that replace `replaced`."""

    replaced: tuple[int, ...]
    cleaned: tuple[CleanedSegment, ...]


class CleaningResult(NamedTuple):
    """The output of a pass; `end` is the first dirty offset after the swap."""

    groups: tuple[CleanedGroup, ...]
    end: int
    certificate: "Certificate"


class PassControl(Protocol):
    """The caller's control over a running pass."""

    def is_stopped(self) -> bool:
        """Whether the pass must end at once."""

    def expect(self, count: int) -> None:
        """Add to the expected number of bytes; `count` may be negative."""

    def on_bytes(self, count: int) -> None:
        """Report bytes read or written; it may block, to throttle the pass."""


class CleanerRunner(Protocol):
    """A runner of passes, each in one blocking call: in another process, or in this one."""

    def run(self, job: CleaningJob, control: PassControl) -> CleaningResult:
        """Run a job; raise CleaningStoppedError or CleaningFailedError if it has no result."""

    def limit(self, bytes_per_second: float) -> None:
        """Limit the rate of all passes together; a runner in the caller's thread ignores it."""

    def close(self) -> None:
        """Release the runner's resources."""
