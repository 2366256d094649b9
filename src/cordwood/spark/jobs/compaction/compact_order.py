"""Options of the job `compact`, with the limits of one task.

A log that exceeds the limit of one task is distributed over several tasks. Then keys are shuffled
between tasks, which pays only if there are no other logs for these tasks.
"""

from dataclasses import dataclass
from typing import Final

from cordwood.workbench.compact import CompactOrder

#: With this default a task uses less than 300 MB, libraries included.
MEMORY_BYTES: Final = 44 << 20
WHOLE_BYTES: Final = 2 << 30
PART_BYTES: Final = 256 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactJobOrder(CompactOrder):
    """A log larger than `whole_bytes` is distributed over several tasks.

    `memory_bytes` limits the keys and marks of a task. `part_bytes` is the part of a distributed
    log for one task.
    """

    memory_bytes: int = MEMORY_BYTES
    whole_bytes: int = WHOLE_BYTES
    part_bytes: int = PART_BYTES
