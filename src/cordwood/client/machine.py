"""This machine's time and chance, for a client on the running loop."""

import asyncio

from cordwood.client.surroundings import Surroundings
from cordwood.core.system import LoopScheduler, SystemClock, SystemRandom


def this_machine() -> Surroundings:
    """Return what clients use where nobody gives them something else."""
    clock = SystemClock()
    scheduler = LoopScheduler(asyncio.get_running_loop(), clock)
    return Surroundings(clock, scheduler, SystemRandom())
