"""The cleaner's configuration, and each pass's share of it (Kafka: `CleanerConfig`).

Memory and buffers are for all concurrent passes together; each pass has an equal share. The load
factor is the part of the memory that keys may fill.
"""

import sys
from dataclasses import dataclass
from typing import Final

from cordwood.compaction.cleaning_job import CleaningJob, Verify
from cordwood.compaction.plan.cleaning_plan import CleaningPlan

#: Kafka's default of `log.cleaner.io.max.bytes.per.second`: no limit.
UNLIMITED: Final = sys.float_info.max
_LEAST_BUFFER_BYTES: Final = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanerConfig:
    """The settings of a cleaner, with Kafka's defaults.

    `threads` is the number of concurrent passes; with 0 there are none.
    """

    is_enabled: bool = True
    threads: int = 1
    backoff_ms: int = 15_000
    dedupe_buffer_bytes: int = 134_217_728
    io_buffer_bytes: int = 524_288
    load_factor: float = 0.9
    bytes_per_second: float = UNLIMITED
    verify: Verify = Verify.SAMPLE

    def job(self, directory: str, plan: CleaningPlan, *, seed: int) -> CleaningJob:
        """Return a pass with its share of memory and buffers."""
        passes = max(1, self.threads)
        return CleaningJob(
            directory=directory,
            plan=plan,
            memory_bytes=int(self.dedupe_buffer_bytes * self.load_factor) // passes,
            io_buffer_bytes=max(self.io_buffer_bytes // passes, _LEAST_BUFFER_BYTES),
            verify=self.verify,
            seed=seed,
        )
