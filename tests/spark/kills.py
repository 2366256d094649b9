"""Kill harness for jobs: run, kill at a seeded disk change, run again, compare.

    undisturbed   the job runs once; its result and the disk changes of driver and workers are
                  recorded
    each kill     the job runs in a new world. Driver and worker die in turn, before a seeded disk
                  change in another part of the run each time; half of a write is done. For every
                  second worker the driver dies too, before it cleans up. Some runs are killed
                  again. Then the job runs to its end, and its result must be the same

A worker dies of SIGKILL, and the Spark job fails. The driver is the test process, so it does not
die: its call raises `Killed`, and later disk changes of its threads are rejected. `driver_kills`
kills drivers that are processes.
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
#: Kills of each job, in CI and in soak; `test_kills` checks the sums.
_KILLS: Final = {
    "compact": (2, 20),
    "compact, distributed": (3, 30),
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
    """The driver has died; `except Exception` does not catch it."""


class Role(StrEnum):
    """The process that makes a disk change."""

    DRIVER = "driver"
    WORKER = "worker"


class KillPoint(NamedTuple):
    """The role and the number of the change before which it dies; `is_shared`: the driver too."""

    role: Role = Role.DRIVER
    at: int = NEVER
    is_shared: bool = False

    def __str__(self) -> str:
        return f"{self.role}'s change {self.at}"


class KillSwitch(NamedTuple):
    """A kill point that all processes share; each role has a file with a byte per change."""

    path: str
    point: KillPoint
    driver: int

    @classmethod
    def create(cls, folder: Path, point: KillPoint = KillPoint()) -> "KillSwitch":  # noqa: B008  # it never changes
        """Start counting at zero; a task that still runs uses the earlier switch."""
        path = folder / f"kill-{len(list(folder.glob('kill-*')))}"
        path.mkdir()
        for role in Role:
            (path / role).touch()
        return cls(str(path), point, os.getpid())

    def is_due(self) -> bool:
        """Count a change; return whether the kill point is reached or passed."""
        own = Role.DRIVER if os.getpid() == self.driver else Role.WORKER
        descriptor = os.open(f"{self.path}/{own}", os.O_WRONLY | os.O_APPEND)
        try:
            os.write(descriptor, b".")
        finally:
            os.close(descriptor)
        return (own is self.point.role or self.point.is_shared) and self.is_reached

    def kill(self) -> None:
        """Kill this process; the driver raises `Killed`."""
        if os.getpid() == self.driver:
            raise Killed
        os.kill(os.getpid(), signal.SIGKILL)

    def tick(self) -> None:
        """Count an atomic change; die before it if the kill point is reached."""
        if self.is_due():
            self.kill()

    def changes(self, role: Role) -> int:
        """Return the number of attempted changes of a role."""
        return Path(self.path, role).stat().st_size

    @property
    def is_reached(self) -> bool:
        """Whether the kill point is reached."""
        return self.changes(self.point.role) >= self.point.at


class KillableFile(SystemFile):
    """A file whose process may die in a write."""

    __slots__ = ("_switch",)

    def __init__(self, file: SystemFile, switch: KillSwitch) -> None:
        super().__init__(file.path, file.descriptor)
        self._switch = switch

    def pwrite(self, data: Buffer, position: int) -> None:
        if self._switch.is_due():
            view = memoryview(data)
            super().pwrite(view[: len(view) // 2], position)
            self._switch.kill()
        super().pwrite(data, position)

    def truncate(self, size: int) -> None:
        self._switch.tick()
        super().truncate(size)

    def sync(self) -> None:
        self._switch.tick()
        super().sync()


class KillableFiles(SystemFiles):
    """The file system with a kill switch; it is pickled to tasks."""

    def __init__(self, switch: KillSwitch) -> None:
        self.switch = switch

    def create(self, path: str, *, is_private: bool = False) -> SystemFile:
        self.switch.tick()
        return KillableFile(super().create(path, is_private=is_private), self.switch)

    def open(self, path: str, *, writable: bool = False) -> SystemFile:
        file = super().open(path, writable=writable)
        return KillableFile(file, self.switch) if writable else file

    def rename(self, source: str, target: str) -> None:
        self.switch.tick()
        super().rename(source, target)

    def remove(self, path: str) -> None:
        self.switch.tick()
        super().remove(path)

    def make_directory(self, path: str) -> None:
        self.switch.tick()
        super().make_directory(path)

    def remove_directory(self, path: str) -> None:
        self.switch.tick()
        super().remove_directory(path)


class Kills(NamedTuple):
    """The number of killed runs, and the kills by role."""

    runs: int
    died: Counter[str]

    def __str__(self) -> str:
        died = ", ".join(f"{count} {victim}" for victim, count in sorted(self.died.items()))
        return f"{self.runs} runs, killed: {died}"


#: A job in a world; all its disk changes use these files.
Job = Callable[[Path, KillableFiles], object]


def survive(
    job: Job,
    build: Callable[[Path], object],
    *,
    look: Callable[[Path], object],
    folder: Path,
    kills: int,
) -> Kills:
    """Kill a job `kills` times, and compare its results with those of an undisturbed run.

    `build` creates a world in an empty folder. `look` returns the result to compare; it must not
    contain the folder's name.
    """
    chance, died = Random(SEED), Counter[str]()
    switch = KillSwitch.create(folder)
    expected = begun(folder / "undisturbed", build)
    job(expected, KillableFiles(switch))
    changes = {role: switch.changes(role) for role in Role if switch.changes(role)}
    for number, first in enumerate(_kill_points(changes, kills, chance)):
        world, point = begun(folder / f"killed-{number}", build), first
        victim = _run_and_kill(job, world, KillSwitch.create(folder, point))
        assert victim is not None, f"fewer changes than undisturbed: {point}, {changes}"
        while victim is not None:
            died[victim] += 1
            role = chance.choice(list(changes))
            at = chance.randint(1, changes[role]) if chance.random() < KILLED_AGAIN else NEVER
            point = KillPoint(role, at)
            victim = _run_and_kill(job, world, KillSwitch.create(folder, point))
        assert look(world) == look(expected), f"killed at {first}, of {changes}, seed {SEED}"
    return Kills(kills, died)


def begun(path: Path, build: Callable[[Path], object]) -> Path:
    """Create a world."""
    path.mkdir()
    build(path)
    return path


def _kill_points(changes: Mapping[Role, int], kills: int, chance: Random) -> Iterator[KillPoint]:
    """Yield kill points of the roles in turn, spread over all changes of each role."""
    each = -(-kills // len(changes))
    for number in range(kills):
        turn, place = divmod(number, len(changes))
        role, most = list(changes.items())[place]
        at = most * turn // each + chance.randint(1, max(1, most // each))
        yield KillPoint(role, at, is_shared=role is Role.WORKER and turn % 2 == 1)


def _run_and_kill(job: Job, world: Path, switch: KillSwitch) -> str | None:
    """Run a job with a kill switch; return the victim, or None if the job ended before."""
    try:
        job(world, KillableFiles(switch))
    except Killed:
        return "worker and driver" if switch.point.is_shared else "driver"
    except SparkError:
        if not switch.is_reached:
            raise
        return "worker"
    return None
