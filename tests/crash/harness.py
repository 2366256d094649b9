"""Stops a workload after each of its writes, loses what was not synced, opens the logs again.

For each write point k the workload runs until k writes are done. Of the operations that are then
not on the medium every subset survives, up to EXHAUSTIVE of them; beyond that every prefix and some
seeded samples. With some of those one of the writes arrives in part (`losses`). After each the logs
are opened, now and then with another crash on the way, and `check` holds them to the ledger.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations
from random import Random

from cordwood.testing.disk_model import TornWrite
from cordwood.testing.file_faults import PowerLoss
from cordwood.testing.memory_files import MemoryFiles
from tests.crash.checks import check
from tests.crash.ledger import Ledger
from tests.crash.losses import KINDS, draw_losses
from tests.crash.world import Workload, World


@dataclass(frozen=True)
class Effort:
    """The effort: all subsets up to N operations, N samples beyond."""

    exhaustive: int = 8
    samples: int = 64
    every: int = 1


@dataclass
class Outcome:
    """The number of runs and losses, which must not be zero."""

    write_points: int = 0
    crashes: int = 0
    torn: Counter[str] = field(default_factory=Counter)
    twice: int = 0
    failures: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        torn = ", ".join(f"{self.torn[kind]} {kind}" for kind in KINDS)
        return (
            f"{self.write_points} write points, {self.crashes} crashes, {self.torn.total()} torn "
            f"writes ({torn}), {self.twice} crashes in recovery, "
            f"{len(self.failures)} broken promises"
        )


def run(
    workload: Workload, effort: Effort, *, seed: int = 1, at_most: int | None = None
) -> Outcome:
    """Try a workload; stop early after `at_most` failures."""
    outcome = Outcome()
    chance = Random(seed)
    is_over = False
    while not is_over and (at_most is None or len(outcome.failures) < at_most):
        files, ledger = MemoryFiles(), Ledger()
        is_over = _run_until(workload, files, ledger, writes=outcome.write_points)
        for keep in _choices(len(files.pending()), effort, chance):
            for torn in _tears(files, keep, outcome=outcome, chance=chance):
                _try(files, ledger, keep=keep, torn=torn, outcome=outcome, chance=chance)
        outcome.write_points += effort.every
    return outcome


def _run_until(workload: Workload, files: MemoryFiles, ledger: Ledger, *, writes: int) -> bool:
    """Run until the power loss; return whether the workload was complete before."""
    files.script.stop_after(writes)
    try:
        workload(World(files, ledger))
    except PowerLoss:
        return False
    finally:
        files.script.reset()
    return True


def _try(
    files: MemoryFiles,
    ledger: Ledger,
    *,
    keep: tuple[int, ...],
    torn: dict[int, TornWrite],
    outcome: Outcome,
    chance: Random,
) -> None:
    """Crash, perhaps once more while the logs are opened, and check the remaining records."""
    outcome.crashes += 1
    left = files.after_crash(keep, torn=torn)
    story = [files.pending()[index] for index in keep]
    if chance.random() < 0.1:
        outcome.twice += 1
        left = _crash_again(left, chance)
    try:
        check(World(left, Ledger()), ledger)
    except Exception as error:  # noqa: BLE001 - every error is a finding
        kept = "; ".join(story) or "nothing"
        outcome.failures.append(
            f"after {outcome.write_points} writes, with {kept}, torn {torn}: "
            f"{type(error).__name__}: {error}"
        )


def _crash_again(files: MemoryFiles, chance: Random) -> MemoryFiles:
    """Open the logs, stop somewhere on the way, and lose a part of what was done."""
    files.script.stop_after(chance.randrange(12))
    try:
        World(files, Ledger())
    except PowerLoss:
        pass
    finally:
        files.script.reset()
    pending = range(len(files.pending()))
    return files.after_crash([index for index in pending if chance.random() < 0.5])


def _choices(count: int, effort: Effort, chance: Random) -> Iterator[tuple[int, ...]]:
    """Yield which operations survive."""
    operations = range(count)
    if count <= effort.exhaustive:
        for size in range(count + 1):
            yield from combinations(operations, size)
    else:
        for size in range(count + 1):
            yield tuple(operations[:size])
        for _ in range(effort.samples):
            yield tuple(index for index in operations if chance.random() < 0.5)


def _tears(
    files: MemoryFiles, keep: tuple[int, ...], *, outcome: Outcome, chance: Random
) -> Iterator[dict[int, TornWrite]]:
    """Yield what is lost of the writes that survive: nothing first, and then some of one."""
    yield {}
    writes = {index: where for index, where in files.pending_writes().items() if index in keep}
    if writes and chance.random() < 0.5:
        for kind, torn in draw_losses(writes, chance):
            outcome.torn[kind] += 1
            yield torn
