"""A pass in parts writes the output of an undivided pass, byte for byte, and reports the same.

Logs grow at random, and are cleaned repeatedly, as in the comparison with a dictionary. Each pass
runs both ways, with the plain engine and with the kernels, in parts from one batch to a whole
group.
"""

from hypothesis import HealthCheck, settings

from cordwood.compaction.cleaning_job import CleaningJob, CleaningResult
from cordwood.compaction.kernels.kernel_engine import KERNELS
from cordwood.storage.files.file_names import segment_name
from cordwood.storage.log.crash_cleanup import cleaned_names, remove_cleaned
from tests.properties.test_compaction_is_a_dictionary import CompactionMachine
from tests.unit.compaction.cleaned_log import CleanedLog, Watched
from tests.unit.compaction.distributed_run import comparable_result, run_in_parts


class LogInParts(CleanedLog):
    """Makes each pass twice, and goes on with what was made in parts."""

    def run_job(self, job: CleaningJob, control: Watched | None = None) -> CleaningResult:
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
        assert comparable_result(in_parts) == comparable_result(whole)
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
