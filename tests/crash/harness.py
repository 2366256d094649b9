"""Stops a workload after each of its writes, loses what was not synced, opens the logs again.

For each write point k the workload runs until k writes are done. Of the operations that are then
not on the medium every subset survives, up to EXHAUSTIVE of them; beyond that every prefix and some
seeded samples. With some of those the last write is cut short, or any one ends in zeros. After each
the logs are opened, now and then with another crash on the way, and `check` holds them to the
ledger.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain, combinations
from random import Random

from cordwood.testing.faults import PowerLoss
from cordwood.testing.files import MemoryFiles
from tests.crash.checks import check
from tests.crash.ledger import Ledger
from tests.crash.world import Workload, World


@dataclass(frozen=True)
class Effort:
    """How much is tried: all subsets up to so many operations, so many samples beyond."""

    exhaustive: int = 8
    samples: int = 64
    every: int = 1


@dataclass
class Outcome:
    """What was done, for people, and to know that something was done."""

    write_points: int = 0
    crashes: int = 0
    torn: int = 0
    twice: int = 0
    failures: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return (
            f"{self.write_points} write points, {self.crashes} crashes, {self.torn} torn writes, "
            f"{self.twice} crashes in recovery, {len(self.failures)} broken promises"
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
        for keep, torn in _choices(len(files.pending()), effort, chance):
            _try(files, ledger, keep=keep, torn=torn, outcome=outcome, chance=chance)
        outcome.write_points += effort.every
    return outcome


def _run_until(workload: Workload, files: MemoryFiles, ledger: Ledger, *, writes: int) -> bool:
    """Run until the power goes out; say whether the workload came to its end before."""
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
    torn: dict[int, int],
    outcome: Outcome,
    chance: Random,
) -> None:
    """Crash, perhaps once more while the logs are opened, and check what is left."""
    outcome.crashes += 1
    outcome.torn += len(torn)
    left = files.after_crash(keep, torn=torn)
    story = [files.pending()[index] for index in keep]
    if chance.random() < 0.1:
        outcome.twice += 1
        left = _crash_again(left, chance)
    try:
        check(World(left, Ledger()), ledger)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is what we look for
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


def _choices(
    count: int, effort: Effort, chance: Random
) -> Iterator[tuple[tuple[int, ...], dict[int, int]]]:
    """Yield which operations survive, and of which write how much."""
    operations = range(count)
    if count <= effort.exhaustive:
        chosen = chain.from_iterable(combinations(operations, size) for size in range(count + 1))
    else:
        prefixes = (tuple(operations[:size]) for size in range(count + 1))
        samples = (
            tuple(index for index in operations if chance.random() < 0.5)
            for _ in range(effort.samples)
        )
        chosen = chain(prefixes, samples)
    for keep in chosen:
        yield keep, {}
        if keep and chance.random() < 0.25:
            yield keep, {keep[-1]: chance.randrange(1, 80)}
            yield keep, {chance.choice(keep): -chance.randrange(1, 80)}
