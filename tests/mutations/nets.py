"""Whether a mutant is noticed: by the verification of what it leaves, or by its module's tests.

A mutant takes the place of its module in this process, everywhere it was imported to; so each has a
process of its own, forked from one that has imported everything, and killed when it never ends.

    verified   a pass fails, by itself or by its verification, in one of the lives of logs
    tested     the module's own unit tests fail, of those that no verification notices
"""

import ast
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from copy import copy
from dataclasses import fields
from enum import Enum
from io import StringIO
from pathlib import Path
from types import ModuleType
from typing import Final

import pytest

from cordwood.compaction import plain
from cordwood.compaction.engine import Engine
from tests.mutations.lives import LoggedLife
from tests.mutations.mutants import Mutant

PACKAGE: Final = "cordwood.compaction"
LIVES: Final = 12
#: Of the processor, and on the clock: who takes more never ends, or waits for what never comes.
SECONDS: Final = 20
CLOCK_SECONDS: Final = 200
_TESTS: Final = Path(__file__).parents[1] / "unit" / "compaction"


class Noticed(Enum):
    """How a mutant was noticed."""

    VERIFIED = 1
    TESTED = 2
    NEVER = 0


def how_noticed(mutants: Sequence[Mutant], *, at_once: int) -> Iterator[tuple[Mutant, Noticed]]:
    """Yield for each mutant how it was noticed, in any order."""
    waiting, running = list(reversed(mutants)), dict[int, Mutant]()
    while waiting or running:
        while waiting and len(running) < at_once:
            mutant = waiting.pop()
            running[_forked(mutant)] = mutant
        child, status = os.wait()
        is_over = os.WIFEXITED(status)
        yield running.pop(child), Noticed(os.WEXITSTATUS(status)) if is_over else Noticed.VERIFIED


def _forked(mutant: Mutant) -> int:
    """Begin to test a mutant in a process of its own, which says by its status how that ended."""
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(CLOCK_SECONDS)
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        noticed = Noticed.VERIFIED
        try:
            put_in_place(mutant)
            for seed in range(LIVES):
                LoggedLife(seed, plain.PLAIN).live()
            noticed = Noticed.TESTED if _fails_tests(mutant) else Noticed.NEVER
        except BaseException:  # noqa: BLE001 - a mutant may fail in any way
            pass
        os._exit(noticed.value)
    return child


def _fails_tests(mutant: Mutant) -> bool:
    options = ["-x", "-q", "--assert=plain", "-p", "no:cacheprovider", "-p", "no:randomly"]
    with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        return bool(pytest.main([*options, str(_TESTS / f"test_{mutant.module}.py")]))


def put_in_place(mutant: Mutant) -> None:
    """Let a mutant be its module, for all who have imported from that."""
    module = sys.modules[f"{PACKAGE}.{mutant.module}"]
    changed = _made_of(mutant.tree(), module)
    instead = {
        id(was): changed[name]
        for name, was in vars(module).items()
        if getattr(was, "__module__", None) == module.__name__ and name in changed
    }
    ours = [
        each
        for each in list(sys.modules.values())
        if each.__name__.partition(".")[0] in {"cordwood", "tests"}
    ]
    for each in ours:
        vars(each).update(
            {name: instead[id(was)] for name, was in vars(each).items() if id(was) in instead}
        )
    vars(plain)["PLAIN"] = _engine_of(plain.PLAIN, instead)


def _made_of(tree: ast.Module, module: ModuleType) -> dict[str, object]:
    """Return what a module's text makes, when it is another."""
    made = {name: value for name, value in vars(module).items() if name.startswith("__")}
    exec(compile(tree, str(module.__file__), "exec"), made)
    return made


def _engine_of(engine: Engine, instead: dict[int, object]) -> Engine:
    changed = copy(engine)
    for field in fields(engine):
        part = getattr(engine, field.name)
        object.__setattr__(changed, field.name, instead.get(id(part), part))
    return changed
