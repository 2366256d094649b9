"""What is wanted of a job that compacts, and how much of it one task takes.

A log is shared out among tasks when it is larger than what one of them is to take: then keys have
to cross from task to task, which costs more than it gives as long as there are other logs to do.
"""

from dataclasses import dataclass
from typing import Final

from cordwood.workbench.compact import CompactOrder

#: With it a task stays below 300 MB, its libraries included.
MEMORY_BYTES: Final = 44 << 20
WHOLE_BYTES: Final = 2 << 30
PART_BYTES: Final = 256 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactJobOrder(CompactOrder):
    """A log of more than `whole_bytes` is shared out.

    `memory_bytes` is what keys and marks of one task take, `part_bytes` how much of such a log is
    one task's.
    """

    memory_bytes: int = MEMORY_BYTES
    whole_bytes: int = WHOLE_BYTES
    part_bytes: int = PART_BYTES
