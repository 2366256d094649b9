"""The proof of a pass before its result counts; a violation fails the pass, without any change.

    always   all keys        sample   a random class of keys, one of sixteen         never   none

The rest of the proof is the same for `always` and `sample`. The certificate states the extent.
"""

from contextlib import closing
from dataclasses import replace
from typing import Final

from cordwood.compaction.cleaning_job import (
    CleaningFailedError,
    CleaningJob,
    CleaningResult,
    CleaningStoppedError,
    PassControl,
    Verify,
)
from cordwood.compaction.proof.batch_reader import ReadAheadThread, ReadOptions
from cordwood.compaction.proof.key_checks import SAMPLE, KeyScope
from cordwood.compaction.proof.record_checks import RecordVerifiers
from cordwood.compaction.proof.verifier import VerificationResult, verify
from cordwood.core.ports import Files, Worker
from cordwood.storage.files.directory_source import DirectorySource

#: The number of violations in an error.
_SHOWN: Final = 3


def verify_pass(
    job: CleaningJob,
    cleaning: CleaningResult,
    *,
    files: Files,
    judges: RecordVerifiers,
    control: PassControl,
    worker: Worker | None = None,
) -> CleaningResult:
    """Return the verified result; raise CleaningFailedError if the proof finds a violation.

    A worker, of one thread, reads ahead.
    """
    if job.verify is Verify.NEVER:
        return cleaning

    def on_bytes(count: int) -> None:
        if control.is_stopped():
            raise CleaningStoppedError(f"{job.directory}: cleaning was stopped")
        control.on_bytes(count)

    with (
        closing(DirectorySource(files, job.directory)) as source,
        closing(DirectorySource(files, job.directory)) as ahead_source,
    ):
        ahead = None if worker is None else ReadAheadThread(worker, ahead_source)
        verified = verify(
            ReadOptions(source, job.io_buffer_bytes, on_bytes, ahead),
            cleaning,
            plan=job.plan,
            scope=_scope(job),
            memory_bytes=job.memory_bytes,
            judges=judges,
        )
    if verified.total:
        raise CleaningFailedError(_failure_text(job, verified))
    return cleaning._replace(certificate=replace(cleaning.certificate, verified=verified.how))


def _scope(job: CleaningJob) -> KeyScope:
    if job.verify is Verify.ALWAYS:
        return KeyScope(job.seed)
    return KeyScope(job.seed, SAMPLE, job.seed % SAMPLE, is_sample=True)


def _failure_text(job: CleaningJob, verified: VerificationResult) -> str:
    shown = "; ".join(map(str, verified.violations[:_SHOWN]))
    more = verified.total - min(_SHOWN, len(verified.violations))
    rest = f"; and {more} more" if more else ""
    return f"{job.directory}: the result of the pass is wrong, by {verified.how}: {shown}{rest}"
