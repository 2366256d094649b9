"""Commands whose drivers are killed at seeded moments, as whatever runs them may be.

undisturbed   the command runs in the session of the tests, and what it makes is counted
each kill     the command is a process, in a new world. When a seeded part of what it makes is
              there, it is killed by SIGKILL. The JVM notices that, and ends its workers; every
              other time it is stopped first and notices nothing, so that tasks go on, orphans.
              The command runs again, to its end, beside whoever is left; what that leaves has
              to be the same, and everybody has to be gone then
"""

import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random
from threading import Event, Thread
from typing import Final

from tests.spark.kills import SEED, Kills, begun
from tests.spark.workers import below

SOURCES: Final = Path(__file__).parents[2] / "src"
#: A command that is not killed for so long has come to nothing; nobody ends for longer.
PATIENCE_S: Final = 120
_LOOK_S: Final = 0.002
_SMALL: Final = ("--master", "local[2]", "--conf", "spark.driver.memory=512m")

#: Counts what a job has made of a world; it never counts down.
Gauge = Callable[[], int]


class Names:
    """Counts the names that have come up below a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._before = frozenset(self._there())
        self._seen: set[str] = set()

    def __call__(self) -> int:
        """Look."""
        self._seen.update(name for name in self._there() if name not in self._before)
        return len(self._seen)

    def _there(self) -> Iterator[str]:
        for folder, folders, names in os.walk(self._folder):
            yield from (f"{folder}/{name}" for name in (*folders, *names))


def _never(_world: Path) -> bool:
    """Say that a command which has done its work may be run again, too."""
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Drill:
    """A command in a world, as `kills.survive` has a job; `run` gives it in this process.

    `is_done` says of a world that the command has done its work there, and would refuse to do it
    again, though its process may take a while to end.
    """

    words: Callable[[Path], tuple[str, ...]]
    build: Callable[[Path], object]
    look: Callable[[Path], object]
    run: Callable[[tuple[str, ...]], object]
    gauge: Callable[[Path], Gauge] = Names
    is_done: Callable[[Path], bool] = _never


def survive_without_driver(drill: Drill, *, folder: Path, kills: int) -> Kills:
    """Kill the command that often, and hold what it leaves against what it leaves undisturbed."""
    chance, died = Random(SEED), Counter[str]()
    expected = begun(folder / "undisturbed", drill.build)
    made = _made(drill, expected)
    for number in range(kills):
        at = made * number // kills + chance.randint(1, max(1, made // kills))
        is_stopped = number % 2 == 0
        world, family = _killed(drill, folder / f"killed-{number}", at, is_stopped=is_stopped)
        with _ended(family):
            drill.run(drill.words(world))
        seen = f"driver killed at {at} of {made}, seed {SEED}, JVM stopped: {is_stopped}"
        assert drill.look(world) == drill.look(expected), seen
        died["driver, its JVM stopped" if is_stopped else "driver"] += 1
    return Kills(kills, died)


def _made(drill: Drill, world: Path) -> int:
    """Run a command to its end, and return how much could be seen of what it makes."""
    gauge, is_over = drill.gauge(world), Event()

    def watch() -> None:
        while not is_over.wait(_LOOK_S):
            gauge()

    watcher = Thread(target=watch)
    watcher.start()
    try:
        drill.run(drill.words(world))
    finally:
        is_over.set()
        watcher.join()
    return gauge()


def _killed(drill: Drill, path: Path, at: int, *, is_stopped: bool) -> tuple[Path, list[int]]:
    """Run a command until it has made so much, and return its world, and who is left.

    One that has come to its end before, faster than it could be looked at, is killed earlier in
    another world.
    """
    world = begun(path, drill.build)
    gauge = drill.gauge(world)
    family = killed_once(lambda _driver: gauge() >= at, drill.words(world), is_stopped=is_stopped)
    if family is not None:
        if not drill.is_done(world):
            return world, family
        with _ended(family):
            pass  # it was on its way out
    assert at > 1, "the command has made nothing that could be seen"
    return _killed(drill, Path(f"{path}-earlier"), at // 2, is_stopped=is_stopped)


def killed_once(
    is_time: Callable[[int], bool], words: Sequence[str], *, is_stopped: bool = False
) -> list[int] | None:
    """Run a command until it is time, and return the processes that it leaves; None: it has ended.

    Whether it is time is asked with the number of its process. The first one of those
    that are left is the JVM, which can be stopped before.
    """
    command = [sys.executable, "-m", "cordwood", *words, *_SMALL]
    environment = os.environ | {"PYTHONPATH": str(SOURCES)}
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as driver:
        waiting = Event()
        while not is_time(driver.pid):
            if driver.poll() is not None:
                assert driver.returncode == 0, f"{words} failed"
                return None
            waiting.wait(_LOOK_S)
        family = list(below(driver.pid))
        if is_stopped:
            os.kill(family[0], signal.SIGSTOP)
        driver.kill()
    return family


@contextmanager
def _ended(family: Sequence[int]) -> Iterator[None]:
    """Let something happen beside processes, and see to it that they end, by themselves."""
    try:
        yield
        if family:
            _signal(family[0], signal.SIGCONT)
        ensure_gone(family)
    finally:
        for process in family:
            _signal(process, signal.SIGKILL)


def ensure_gone(family: Sequence[int]) -> None:
    """Wait until processes have ended."""
    waiting, tries = Event(), 0
    while left := [process for process in family if is_there(process)]:
        assert tries < PATIENCE_S * 100, f"{len(left)} processes outlive their driver"
        tries += 1
        waiting.wait(0.01)


def is_there(process: int) -> bool:
    """Whether a process has not ended; nobody may have asked yet how it did."""
    try:
        words = Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return words[0] not in "ZX"


def _signal(process: int, what: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.kill(process, what)
