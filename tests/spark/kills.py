"""Jobs killed at seeded moments: run, killed at a change of the disk, run again, compared.

    undisturbed   the job runs once: what it leaves, and how many changes of the disk driver and
                  workers make
    each kill     the job runs in a new world; at a seeded change, in another stretch of them each
                  time, driver or worker dies, in turn, about to make it; half of a write has come
                  through. Of every other worker the driver dies too, when it would put things in
                  order. Some runs are killed again. Then the job runs to its end, and what it
                  leaves has to be the same

A worker dies of SIGKILL, and Spark gives the job up. A driver of ours would take the tests along:
its call never returns, and whatever its thread still does to the disk comes to nothing. Drivers
that are processes die in `driver_kills`.
"""

import os
import signal
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

from cordwood.core.binary import Buffer
from cordwood.core.errors import SparkError
from cordwood.core.system import SystemFile, SystemFiles

IS_SOAK: Final = os.environ.get("CORDWOOD_SOAK") == "1"
#: How often each job is killed, in CI and in soak; `test_kills` holds the sums to what is promised.
_KILLS: Final = {
    "compact": (2, 20),
    "compact, shared out": (3, 30),
    "convert": (4, 40),
    "export to parquet": (4, 40),
    "export to delta": (2, 20),
    "export to iceberg": (2, 20),
    "replay": (4, 40),
    "driver of compact": (1, 5),
    "driver of convert": (1, 5),
    "driver of export to parquet": (1, 5),
    "driver of export to delta": (1, 5),
    "driver of export to iceberg": (1, 5),
    "driver of replay": (1, 5),
}
KILLS: Final[Mapping[str, int]] = {name: kills[IS_SOAK] for name, kills in _KILLS.items()}
KILLED_AGAIN: Final = 0.25
NEVER: Final = 1 << 62
SEED: Final = int(os.environ.get("CORDWOOD_SEED", "20261122"))


class Killed(BaseException):
    """The driver has died; nothing that a program can catch."""


class Role(StrEnum):
    """Who makes a change."""

    DRIVER = "driver"
    WORKER = "worker"


class Doom(NamedTuple):
    """Who dies about to make which of its changes, and whether a worker's driver dies with it."""

    who: Role = Role.DRIVER
    at: int = NEVER
    is_shared: bool = False

    def __str__(self) -> str:
        return f"{self.who}'s change {self.at}"


class Fate(NamedTuple):
    """A doom, shared by all processes through a file a role, a byte a change."""

    path: str
    doom: Doom
    driver: int

    @classmethod
    def sealed(cls, folder: Path, doom: Doom = Doom()) -> "Fate":  # noqa: B008  # it never changes
        """Begin to count anew; a task that Spark has not ended yet still has the fate before."""
        path = folder / f"fate-{len(list(folder.glob('fate-*')))}"
        path.mkdir()
        for role in Role:
            (path / role).touch()
        return cls(str(path), doom, os.getpid())

    def comes(self) -> bool:
        """Count a change, and say whether it is the last one, or beyond that."""
        own = Role.DRIVER if os.getpid() == self.driver else Role.WORKER
        descriptor = os.open(f"{self.path}/{own}", os.O_WRONLY | os.O_APPEND)
        try:
            os.write(descriptor, b".")
        finally:
            os.close(descriptor)
        return (own is self.doom.who or self.doom.is_shared) and self.has_come

    def strike(self) -> None:
        """Die."""
        if os.getpid() == self.driver:
            raise Killed
        os.kill(os.getpid(), signal.SIGKILL)

    def tick(self) -> None:
        """Count a change that is whole or not at all, or die before it."""
        if self.comes():
            self.strike()

    def changes(self, role: Role) -> int:
        """How many changes a role made, or tried."""
        return Path(self.path, role).stat().st_size

    @property
    def has_come(self) -> bool:
        """Whether it is time."""
        return self.changes(self.doom.who) >= self.doom.at


class MortalFile(SystemFile):
    """A file whose writes may be the last thing that happens."""

    __slots__ = ("_fate",)

    def __init__(self, file: SystemFile, fate: Fate) -> None:
        super().__init__(file.path, file.descriptor)
        self._fate = fate

    def pwrite(self, data: Buffer, position: int) -> None:
        if self._fate.comes():
            view = memoryview(data)
            super().pwrite(view[: len(view) // 2], position)
            self._fate.strike()
        super().pwrite(data, position)

    def truncate(self, size: int) -> None:
        self._fate.tick()
        super().truncate(size)

    def sync(self) -> None:
        self._fate.tick()
        super().sync()


class MortalFiles(SystemFiles):
    """The file system, changes of which are counted by a fate. It goes to tasks as it is."""

    def __init__(self, fate: Fate) -> None:
        self.fate = fate

    def create(self, path: str) -> SystemFile:
        self.fate.tick()
        return MortalFile(super().create(path), self.fate)

    def open(self, path: str, *, writable: bool = False) -> SystemFile:
        file = super().open(path, writable=writable)
        return MortalFile(file, self.fate) if writable else file

    def rename(self, source: str, target: str) -> None:
        self.fate.tick()
        super().rename(source, target)

    def remove(self, path: str) -> None:
        self.fate.tick()
        super().remove(path)

    def make_directory(self, path: str) -> None:
        self.fate.tick()
        super().make_directory(path)

    def remove_directory(self, path: str) -> None:
        self.fate.tick()
        super().remove_directory(path)


class Kills(NamedTuple):
    """What was tried: how many runs were disturbed, and how often who died."""

    runs: int
    died: Counter[str]

    def __str__(self) -> str:
        died = ", ".join(f"{count} {who}" for who, count in sorted(self.died.items()))
        return f"{self.runs} runs, killed: {died}"


#: A job in a world; whatever it does to the disk goes through these files.
Job = Callable[[Path, MortalFiles], object]


def survive(
    job: Job,
    build: Callable[[Path], object],
    *,
    look: Callable[[Path], object],
    folder: Path,
    kills: int,
) -> Kills:
    """Kill a job that often, and hold what it leaves against what it leaves undisturbed.

    `build` makes a world in an empty folder, `look` returns what has to be the same in all of them:
    nothing in it may name the folder.
    """
    chance, died = Random(SEED), Counter[str]()
    fate = Fate.sealed(folder)
    expected = begun(folder / "undisturbed", build)
    job(expected, MortalFiles(fate))
    changes = {role: fate.changes(role) for role in Role if fate.changes(role)}
    for number, first in enumerate(_dooms(changes, kills, chance)):
        world, doom = begun(folder / f"killed-{number}", build), first
        who = _killed(job, world, Fate.sealed(folder, doom))
        assert who is not None, f"fewer changes than when it was undisturbed: {doom}, {changes}"
        while who is not None:
            died[who] += 1
            role = chance.choice(list(changes))
            at = chance.randint(1, changes[role]) if chance.random() < KILLED_AGAIN else NEVER
            doom = Doom(role, at)
            who = _killed(job, world, Fate.sealed(folder, doom))
        assert look(world) == look(expected), f"killed at {first}, of {changes}, seed {SEED}"
    return Kills(kills, died)


def begun(path: Path, build: Callable[[Path], object]) -> Path:
    """Return a new world."""
    path.mkdir()
    build(path)
    return path


def _dooms(changes: Mapping[Role, int], kills: int, chance: Random) -> Iterator[Doom]:
    """Yield roles in turn; the kills of each are spread over all of its changes."""
    each = -(-kills // len(changes))
    for number in range(kills):
        turn, place = divmod(number, len(changes))
        role, most = list(changes.items())[place]
        at = most * turn // each + chance.randint(1, max(1, most // each))
        yield Doom(role, at, is_shared=role is Role.WORKER and turn % 2 == 1)


def _killed(job: Job, world: Path, fate: Fate) -> str | None:
    """Run a job towards its fate, and say who has died; None if it came to its end before."""
    try:
        job(world, MortalFiles(fate))
    except Killed:
        return "worker and driver" if fate.doom.is_shared else "driver"
    except SparkError:
        if not fate.has_come:
            raise
        return "worker"
    return None
