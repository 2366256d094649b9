"""Kill harness for commands whose driver is a process.

undisturbed   the command runs in the session of the tests, and its output is counted
each kill     the command is a process in a new world. It is killed by SIGKILL when a seeded part
              of its output exists. The JVM detects this and ends its workers. Every second time
              the JVM is stopped first, so that orphaned tasks continue. The command runs again
              to its end, next to the remaining processes. The result must be the same, and all
              processes must end
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
from tests.spark_session import SITE

SOURCES: Final = Path(__file__).parents[2] / "src"
#: Time limit for a command to reach its kill point, and for its processes to end.
PATIENCE_S: Final = 120
_LOOK_S: Final = 0.002
_SMALL: Final = ("--master", "local[2]", "--conf", "spark.driver.memory=512m")

#: Counts the output of a job in a world; it never decreases.
Gauge = Callable[[], int]


class NameCounter:
    """Counts the new names under a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._before = frozenset(self._there())
        self._seen: set[str] = set()

    def __call__(self) -> int:
        """Return the number of new names seen so far."""
        self._seen.update(name for name in self._there() if name not in self._before)
        return len(self._seen)

    def _there(self) -> Iterator[str]:
        for folder, folders, names in os.walk(self._folder):
            yield from (f"{folder}/{name}" for name in (*folders, *names))


def _never(_world: Path) -> bool:
    """Return False: a finished command can be run again."""
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandDrill:
    """A command to kill, as `kills.survive` has a job; `run` runs it in this process.

    `is_done` returns whether the command has finished in a world and would reject another run,
    although its process may not have ended yet.
    """

    words: Callable[[Path], tuple[str, ...]]
    build: Callable[[Path], object]
    look: Callable[[Path], object]
    run: Callable[[tuple[str, ...]], object]
    gauge: Callable[[Path], Gauge] = NameCounter
    is_done: Callable[[Path], bool] = _never


def survive_without_driver(drill: CommandDrill, *, folder: Path, kills: int) -> Kills:
    """Kill the command `kills` times, and compare its results with an undisturbed run."""
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


def _made(drill: CommandDrill, world: Path) -> int:
    """Run a command to its end, and return its observed output count."""
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


def _killed(
    drill: CommandDrill, path: Path, at: int, *, is_stopped: bool
) -> tuple[Path, list[int]]:
    """Run a command until its output reaches a count; return its world and remaining processes.

    A command that ends before is killed earlier, in another world.
    """
    world = begun(path, drill.build)
    gauge = drill.gauge(world)
    family = killed_once(lambda _driver: gauge() >= at, drill.words(world), is_stopped=is_stopped)
    if family is not None:
        if not drill.is_done(world):
            return world, family
        with _ended(family):
            pass  # it had finished its work
    assert at > 1, "the command has no observed output"
    return _killed(drill, Path(f"{path}-earlier"), at // 2, is_stopped=is_stopped)


def killed_once(
    is_time: Callable[[int], bool], words: Sequence[str], *, is_stopped: bool = False
) -> list[int] | None:
    """Run a command until `is_time`, kill it, and return its remaining processes.

    `is_time` receives the process id. None is returned if the command has ended before. The first
    remaining process is the JVM, which is stopped before the kill with `is_stopped`.
    """
    command = [sys.executable, "-m", "cordwood", *words, *_SMALL]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join((SITE, str(SOURCES)))}
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
    """Run the block while processes remain, then check that they end by themselves."""
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
    """Return whether a process runs; a zombie does not."""
    try:
        words = Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return words[0] not in "ZX"


def _signal(process: int, what: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.kill(process, what)
