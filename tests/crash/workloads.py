"""Scripted lives of logs, short enough to be stopped at each of their writes."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from tests.crash.world import Workload, World

#: An offset that no segment of these logs reaches.
BEYOND: Final = 1 << 32


def appends(world: World) -> None:
    """Write and flush, over two rolls, with a new leader on the way."""
    for number in range(9):
        world.append(0, epoch=number // 5)
        if number in (2, 6):
            world.flush(0)
    world.checkpoint()
    world.append(0, epoch=2)
    world.flush(0)


def transactions(world: World) -> None:
    """Two producers, one aborts and one commits, over a roll."""
    world.append_of(0, 7, 0)
    world.append_of(0, 8, 0)
    world.end(0, 7, is_commit=False)
    world.flush(0)
    world.append(0, 6)
    world.append_of(0, 8, 1)
    world.end(0, 8, is_commit=True)
    world.append_of(0, 7, 1)
    world.end(0, 7, is_commit=False)
    world.flush(0)


def truncation(world: World) -> None:
    """A leader reports another end."""
    for _ in range(7):
        world.append(0)
    world.flush(0)
    world.checkpoint()
    world.truncate(0, 6)
    world.checkpoint()
    for _ in range(3):
        world.append(0, 3, epoch=1)
    world.flush(0)


def refusals(world: World) -> None:
    """Appends find no space, in this segment and in a new one behind a gap; others do."""
    world.append(0)
    for at in (2, BEYOND):
        world.flush(0)
        world.refuse(0, at)
        world.append(0)
    world.restart()


def retention(world: World) -> None:
    """Old segments go, by request and by age; more is written."""
    for _ in range(8):
        world.append(0)
    world.flush(0)
    world.delete_records(0, 5)
    world.checkpoint()
    world.expire(0)
    world.checkpoint()
    world.append(0)
    world.flush(0)
    world.let_removals_pass()


def deletion(world: World) -> None:
    """One of two partitions goes, and its name is used again."""
    for number in (0, 1):
        world.append(number)
        world.flush(number)
    world.delete(0)
    world.checkpoint()
    world.append(0, epoch=3)
    world.flush(0)
    world.let_removals_pass()


def cleaning(world: World) -> None:
    """A cleaner takes some batches, and parts of others; more is written, and cleaned again."""
    for number in range(7):
        world.append(0, 3, first_key=number // 2)
    world.flush(0)
    world.clean(0)
    world.append(0, 3, first_key=3)
    world.checkpoint()
    world.append(0, 3, first_key=4)
    world.flush(0)
    world.clean(0)
    world.append(0)
    world.let_removals_pass()


def cleaning_transactions(world: World) -> None:
    """Aborted data are removed, and positions of producers are kept."""
    world.append_of(0, 7, 0)
    world.append_of(0, 8, 0)
    world.end(0, 7, is_commit=False)
    world.append(0, 6)
    world.append_of(0, 8, 1)
    world.end(0, 8, is_commit=True)
    for _ in range(3):
        world.append(0, 3)
    world.flush(0)
    world.clean(0)
    world.append_of(0, 7, 1)
    world.end(0, 7, is_commit=True)
    world.flush(0)


def restarts(world: World) -> None:
    """Stopped in order, with something in the log, something new, and nothing new."""
    for _ in range(4):
        world.append(0)
    world.restart()
    world.append(0)
    world.restart()
    world.restart()


WORKLOADS: Mapping[str, Workload] = MappingProxyType(
    {
        each.__name__: each
        for each in (
            *(appends, transactions, truncation, refusals),
            *(retention, deletion, restarts),
        )
    }
)
CLEANING_WORKLOADS: Mapping[str, Workload] = MappingProxyType(
    {each.__name__: each for each in (cleaning, cleaning_transactions)}
)
