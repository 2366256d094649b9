"""What a broker's settings say of its cleaner, and what one pass may use of it.

Memory and buffers are those of all passes that run at a time: each has its share, of the memory for
keys no more than the load factor lets be filled.
"""

import sys
from dataclasses import dataclass
from typing import Final

from cordwood.compaction.job import CleaningJob, Verify
from cordwood.compaction.plan import CleaningPlan

#: What Kafka calls no limit.
UNLIMITED: Final = sys.float_info.max
_LEAST_BUFFER_BYTES: Final = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanerSettings:
    """Kafka's by default. `threads` passes run at a time; 0: none."""

    is_enabled: bool = True
    threads: int = 1
    backoff_ms: int = 15_000
    dedupe_buffer_bytes: int = 134_217_728
    io_buffer_bytes: int = 524_288
    load_factor: float = 0.9
    bytes_per_second: float = UNLIMITED
    verify: Verify = Verify.SAMPLE

    def job(self, directory: str, plan: CleaningPlan, *, seed: int) -> CleaningJob:
        """Return a pass with its share; it is one of at least one."""
        passes = max(1, self.threads)
        return CleaningJob(
            directory=directory,
            plan=plan,
            memory_bytes=int(self.dedupe_buffer_bytes * self.load_factor) // passes,
            io_buffer_bytes=max(self.io_buffer_bytes // passes, _LEAST_BUFFER_BYTES),
            verify=self.verify,
            seed=seed,
        )
