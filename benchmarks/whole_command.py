"""The cost of whole commands in processes of their own, start and end included."""

import resource
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import NamedTuple


class CommandCost(NamedTuple):
    """Seconds on the wall, and of the processor."""

    wall: float
    processor: float


def cordwood_command(*arguments: str) -> list[str]:
    """Return the command that runs `cordwood` of this environment."""
    return [str(Path(sys.executable).parent / "cordwood"), *arguments]


def cost_of(command: Sequence[str]) -> CommandCost:
    """Run a command, whose output is thrown away."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    wall = perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return CommandCost(wall, used)
