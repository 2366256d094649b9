"""What a pass would come to: all of it is done but the writing, so what it says is exact.

Nothing is written, locked or removed, and the directory may be in use: where its owner gets in the
way, by deleting or replacing what is being read, the count fails.
"""

from collections.abc import Iterable

from cordwood.compaction.certificate import Certificate
from cordwood.compaction.engine import Engine
from cordwood.compaction.job import CleanedSegment, CleaningJob, PassControl
from cordwood.compaction.passes import Pass, ensure_settled, failing
from cordwood.core.binary import Buffer
from cordwood.core.ports import Files
from cordwood.storage.index import AbortedEntry


def count_pass(
    job: CleaningJob, files: Files, *, engine: Engine, control: PassControl
) -> Certificate:
    """Return what a pass would certify; CleaningStoppedError or CleaningFailedError without one."""
    ensure_settled(files, job.directory)
    with failing(job):
        counted = Pass(
            job=job,
            files=files,
            engine=engine,
            control=control,
            writer=lambda _: UnwrittenGroups(),
        )
        return counted.run().certificate


class UnwrittenGroups:
    """Counts the bytes of each group, as if one segment had room for them."""

    __slots__ = ("_base_offset", "_size")

    def begin(self, base_offset: int) -> None:
        self._base_offset, self._size = base_offset, 0

    def append(self, data: Buffer) -> None:
        self._size += len(data)

    def finish(
        self,
        aborted: Iterable[AbortedEntry],  # noqa: ARG002 - as the port has it
        *,
        modified_ms: int,  # noqa: ARG002 - as the port has it
    ) -> tuple[CleanedSegment, ...]:
        return (CleanedSegment(self._base_offset, self._size),)

    def close(self) -> None:
        """Do nothing: nothing is held."""
