"""Stops a broker's life after each of its writes, and goes on through further lives and crashes.

For each write point k the first life runs until k writes are done: several leader epochs, kills,
clean restarts, a topic that is deleted and created again. Of the operations that are not on the
medium then, all survive (a kill), none, a prefix, or some, perhaps torn. Each result goes on: lives
that are stopped at a write of their own, in order, or killed, and at last two that are not. The
history goes on with it, and finds every contradiction.
"""

from collections import Counter
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Final

from cordwood.testing.file_faults import PowerLoss
from cordwood.testing.memory_files import MemoryFiles
from tests.crash.broker_life import BrokerLife, History
from tests.crash.losses import draw_losses

if TYPE_CHECKING:
    from cordwood.testing.disk_model import TornWrite

#: Each of these happens in every run of the harness.
KINDS: Final = (
    "crashes",
    "crashes in a start",
    "kills",
    "nothing kept",
    "torn writes",
    "clean stops",
    "epochs raised",
    "offsets written again",
    "readers truncated",
    "topics deleted",
)
#: A life makes about this number of writes.
_LIFE_WRITES: Final = 130


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """One of `every` write points, each with `samples` crashes and `lives` more lives."""

    every: int = 1
    samples: int = 12
    lives: int = 4


@dataclass
class Outcome:
    """Counts of events, and the contradictions that were found."""

    write_points: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        counts = ", ".join(f"{self.counts[kind]} {kind}" for kind in KINDS)
        return f"{self.write_points} write points, {counts}, {len(self.failures)} contradictions"


def first_life(files: MemoryFiles, history: History) -> None:
    """Four leader epochs, two kills, a clean restart, and a topic that is created twice."""
    life = BrokerLife(files, history)
    life.create("a")
    life.append()
    for _ in range(2):
        files.end_process()
        history.counts["kills"] += 1
        life = BrokerLife(files, history)
        life.append(records=2)
        life.follow()
    life.stop()
    life = BrokerLife(files, history)
    life.append()
    life.follow()
    life.recreate("a")
    life.append()
    life.follow()
    files.end_process()
    history.counts["kills"] += 1
    life = BrokerLife(files, history)
    life.grow("a")
    life.append()
    life.follow()


def run(effort: Effort, *, seed: int = 1, at_most: int | None = None) -> Outcome:
    """Try every write point; stop early after `at_most` failures."""
    outcome, chance, is_over = Outcome(), Random(seed), False
    while not is_over and (at_most is None or len(outcome.failures) < at_most):
        files, history = MemoryFiles(), History()
        files.script.stop_after(outcome.write_points)
        try:
            first_life(files, history)
            is_over = True
        except PowerLoss:
            pass
        files.script.reset()
        for number in range(effort.samples):
            _try(files, history.copy(), outcome, lives=effort.lives, kind=number, chance=chance)
        outcome.write_points += effort.every
    return outcome


def _try(
    files: MemoryFiles,
    history: History,
    outcome: Outcome,
    *,
    lives: int,
    kind: int,
    chance: Random,
) -> None:
    """Crash, and live on to the end."""
    story = [f"after {outcome.write_points} writes"]
    before = Counter(history.counts)
    try:
        left = _crash(files, history, kind=kind, story=story, chance=chance)
        for _ in range(lives - 2):
            left = _live(left, history, story=story, chance=chance)
        for _ in range(2):
            life = BrokerLife(left, history)
            life.append()
            life.follow()
            life.stop()
    except Exception as error:  # noqa: BLE001 - every error is a finding
        outcome.failures.append(f"{'; '.join(story)}: {type(error).__name__}: {error}")
    outcome.counts += history.counts - before


def _crash(
    files: MemoryFiles, history: History, *, kind: int, story: list[str], chance: Random
) -> MemoryFiles:
    """Return what a crash of this kind leaves: all, nothing, a prefix, or some operations."""
    count = len(files.pending())
    keep = [
        range(count),
        (),
        range(chance.randrange(count + 1)),
        [index for index in range(count) if chance.random() < 0.5],
    ][kind % 4]
    torn: dict[int, TornWrite] = {}
    writes = {index: where for index, where in files.pending_writes().items() if index in keep}
    if kind % 4 > 1 and writes and chance.random() < 0.5:
        torn = next((lost for _, lost in draw_losses(writes, chance)), {})
    history.counts["crashes"] += 1
    history.counts["kills"] += kind % 4 == 0
    history.counts["nothing kept"] += kind % 4 == 1 and count > 0
    history.counts["torn writes"] += len(torn)
    pending = files.pending()
    story.append(f"kept {[pending[index] for index in keep]}, torn {torn}")
    return files.after_crash(keep, torn=torn)


def _live(files: MemoryFiles, history: History, *, story: list[str], chance: Random) -> MemoryFiles:
    """Live a life that ends at one of its writes, or in order; return what is left."""
    writes = chance.randrange(_LIFE_WRITES)
    files.script.stop_after(writes)
    story.append(f"a life of {writes} writes")
    before = history.counts["starts"]
    try:
        life = BrokerLife(files, history)
        history.counts["starts"] += 1
        life.create("a")
        life.append(records=chance.randrange(1, 4))
        life.follow()
        if chance.random() < 0.3:
            life.recreate("a")
            life.append()
        if chance.random() < 0.5:
            life.stop()
            life = BrokerLife(files, history)
            life.append()
            life.follow()
    except PowerLoss:
        history.counts["crashes in a start"] += history.counts["starts"] == before
    files.script.reset()
    return _crash(files, history, kind=chance.randrange(4), story=story, chance=chance)
