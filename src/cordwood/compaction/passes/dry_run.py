"""A dry run of a pass: everything but the writing, so its certificate is exact.

A dry run writes, locks and removes no file, and the directory may be in use. It fails if the owner
deletes or replaces a segment that is being read.
"""

from cordwood.compaction.certificate import Certificate
from cordwood.compaction.cleaning_job import CleaningJob, PassControl
from cordwood.compaction.engine.engine import Engine
from cordwood.compaction.passes.cleaning_pass import (
    CleaningPass,
    cleaning_errors,
    ensure_no_swap_files,
)
from cordwood.core.ports import Files


def dry_run(job: CleaningJob, files: Files, *, engine: Engine, control: PassControl) -> Certificate:
    """Return the certificate that a pass would have.

    Raise CleaningStoppedError or CleaningFailedError if there is none.
    """
    ensure_no_swap_files(files, job.directory)
    with cleaning_errors(job):
        cleaning_pass = CleaningPass(
            job=job, files=files, engine=engine, control=control, output=None
        )
        return cleaning_pass.run().certificate
