"""A pass in parts leaves what a pass in one leaves, byte for byte, and tells the same of it.

Logs grow at random, and are cleaned again and again, as where compaction is held against a
dictionary; each pass is made both ways, with the plain engine and with the kernels, in parts from
one batch to all of a group.
"""

from hypothesis import HealthCheck, settings

from cordwood.compaction.job import Cleaning, CleaningJob
from cordwood.compaction.kernels.kernel_engine import KERNELS
from cordwood.storage.leftovers import cleaned_names, remove_cleaned
from cordwood.storage.names import segment_name
from tests.properties.test_compaction_is_a_dictionary import CompactionMachine
from tests.unit.compaction.cleaning import CleanedLog, Watched
from tests.unit.compaction.in_parts import run_in_parts, told_alike


class LogInParts(CleanedLog):
    """Makes each pass twice, and goes on with what was made in parts."""

    def run_job(self, job: CleaningJob, control: Watched | None = None) -> Cleaning:
        part_bytes = (1, 700, 1 << 20)[job.plan.end % 3]
        whole = super().run_job(job, control)
        files = self._cleaned_files()
        remove_cleaned(self.place.files, job.directory)
        in_parts = run_in_parts(
            job,
            self.place.files,
            engine=self.engine,
            part_bytes=part_bytes,
            memory_bytes=job.memory_bytes,
        )
        assert told_alike(in_parts) == told_alike(whole)
        assert self._cleaned_files() == files
        return self.prove(job, in_parts)

    def _cleaned_files(self) -> dict[str, bytes]:
        """Return all files that a pass has made."""
        found = {}
        for each in cleaned_names(self.place.files, self.log.directory):
            name = segment_name(each.base_offset, each.extension, suffix=each.suffix)
            file = self.place.files.open(f"{self.log.directory}/{name}")
            found[name] = file.pread(file.size, 0)
            file.close()
        return found


class PlainMachine(CompactionMachine):
    """With the plain engine."""

    log_of = LogInParts


class KernelMachine(PlainMachine):
    """With the kernels."""

    engine = KERNELS


_SETTINGS = settings(
    stateful_step_count=40, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
TestPlain = PlainMachine.TestCase
TestPlain.settings = _SETTINGS
TestKernels = KernelMachine.TestCase
TestKernels.settings = _SETTINGS
