"""A pass is proven right before it counts: what is wrong fails it, and nothing has been changed.

    always   all keys        sample   one class of keys in sixteen, by chance        never   none

Everything else is looked at all the same. The certificate says how.
"""

from contextlib import closing
from dataclasses import replace
from typing import Final

from cordwood.compaction.job import (
    Cleaning,
    CleaningFailedError,
    CleaningJob,
    CleaningStoppedError,
    PassControl,
    Verify,
)
from cordwood.compaction.verify import Verified, verify
from cordwood.compaction.verify_keys import SAMPLE, Scope
from cordwood.compaction.verify_reading import Ahead, Reading
from cordwood.compaction.verify_records import Judges
from cordwood.core.ports import Files, Worker
from cordwood.storage.source import DirectorySource

#: So many violations are told of.
_TOLD: Final = 3


def prove(
    job: CleaningJob,
    cleaning: Cleaning,
    *,
    files: Files,
    judges: Judges,
    control: PassControl,
    worker: Worker | None = None,
) -> Cleaning:
    """Return what was made, as it was verified; CleaningFailedError if it is not right.

    With a worker, of one thread, it reads ahead.
    """
    if job.verify is Verify.NEVER:
        return cleaning

    def on_bytes(count: int) -> None:
        if control.is_stopped():
            raise CleaningStoppedError(f"{job.directory}: cleaning was stopped")
        control.on_bytes(count)

    with (
        closing(DirectorySource(files, job.directory)) as source,
        closing(DirectorySource(files, job.directory)) as its_own,
    ):
        ahead = None if worker is None else Ahead(worker, its_own)
        verified = verify(
            Reading(source, job.io_buffer_bytes, on_bytes, ahead),
            cleaning,
            plan=job.plan,
            scope=_scope(job),
            memory_bytes=job.memory_bytes,
            judges=judges,
        )
    if verified.total:
        raise CleaningFailedError(_words(job, verified))
    return cleaning._replace(certificate=replace(cleaning.certificate, verified=verified.how))


def _scope(job: CleaningJob) -> Scope:
    if job.verify is Verify.ALWAYS:
        return Scope(job.seed)
    return Scope(job.seed, SAMPLE, job.seed % SAMPLE)


def _words(job: CleaningJob, verified: Verified) -> str:
    told = "; ".join(map(str, verified.violations[:_TOLD]))
    more = verified.total - min(_TOLD, len(verified.violations))
    rest = f"; and {more} more" if more else ""
    return f"{job.directory}: what the pass has made is not right, by {verified.how}: {told}{rest}"
