"""Jobs killed at seeded moments: run, killed at a change of the disk, run again, compared.

    undisturbed   the job runs once: what it leaves, and how many changes of the disk it makes
    each kill     the job runs in a new world; at a seeded change, in another stretch of them each
                  time, the process that is about to make it dies, be it a worker or the driver;
                  half of a write has come through. Some runs are killed again. Then the job runs to
                  its end, and what it leaves has to be the same

A worker dies of SIGKILL, and Spark gives the job up. A driver of ours would take the tests along:
its call never returns, and whatever its thread still does to the disk comes to nothing.
"""

import os
import signal
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

from cordwood.core.binary import Buffer
from cordwood.core.errors import SparkError
from cordwood.core.system import SystemFile, SystemFiles

#: Kills of each job; five jobs come to 20, and to 200 in the long run.
KILLS: Final = 40 if os.environ.get("CORDWOOD_SOAK") == "1" else 4
KILLED_AGAIN: Final = 0.25
NEVER: Final = 1 << 62
SEED: Final = int(os.environ.get("CORDWOOD_SEED", "20261122"))


class Killed(BaseException):
    """The driver has died; nothing that a program can catch."""


class Fate(NamedTuple):
    """When whoever comes next dies; shared by all processes through a file, a byte a change."""

    path: str
    at: int
    driver: int

    @classmethod
    def sealed(cls, folder: Path, at: int = NEVER) -> "Fate":
        """Begin to count anew; a task that Spark has not ended yet still has the fate before."""
        path = folder / f"fate-{len(list(folder.glob('fate-*')))}"
        path.touch()
        return cls(str(path), at, os.getpid())

    def comes(self) -> bool:
        """Count a change, and say whether it is the last one, or beyond that."""
        descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND)
        try:
            os.write(descriptor, b".")
            return os.lseek(descriptor, 0, os.SEEK_CUR) >= self.at
        finally:
            os.close(descriptor)

    def strike(self) -> None:
        """Die."""
        if os.getpid() == self.driver:
            raise Killed
        os.kill(os.getpid(), signal.SIGKILL)

    def tick(self) -> None:
        """Count a change that is whole or not at all, or die before it."""
        if self.comes():
            self.strike()

    @property
    def changes(self) -> int:
        """How many changes were made, or tried."""
        return Path(self.path).stat().st_size


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
    kills: int = KILLS,
) -> Kills:
    """Kill a job that often, and hold what it leaves against what it leaves undisturbed.

    `build` makes a world in an empty folder, `look` returns what has to be the same in all of them:
    nothing in it may name the folder.
    """
    chance, died = Random(SEED), Counter[str]()
    fate = Fate.sealed(folder)
    expected = _world(folder / "undisturbed", build)
    job(expected, MortalFiles(fate))
    changes = fate.changes
    for number in range(kills):
        world = _world(folder / f"killed-{number}", build)
        at = changes * number // kills + chance.randint(1, changes // kills)
        who = _killed(job, world, Fate.sealed(folder, at))
        assert who is not None, "the job makes fewer changes than when it was undisturbed"
        while who is not None:
            died[who] += 1
            at = chance.randint(1, changes) if chance.random() < KILLED_AGAIN else NEVER
            who = _killed(job, world, Fate.sealed(folder, at))
        assert look(world) == look(expected), f"killed at change {at} of {changes}, seed {SEED}"
    return Kills(kills, died)


def _world(path: Path, build: Callable[[Path], object]) -> Path:
    path.mkdir()
    build(path)
    return path


def _killed(job: Job, world: Path, fate: Fate) -> str | None:
    """Run a job towards its fate, and say who has died; None if it came to its end before."""
    try:
        job(world, MortalFiles(fate))
    except Killed:
        return "driver"
    except SparkError:
        if fate.changes < fate.at:
            raise
        return "worker"
    return None
