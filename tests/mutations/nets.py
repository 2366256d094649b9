"""Detection of a mutant: by the verification of its output, or by its module's tests.

A mutant replaces its module in this process, in every importing module. So each has a process of
its own, forked from one with all imports, and killed after a time limit.

    verified   a pass fails, by itself or by its verification, in one of the lives of logs
    tested     the module's own unit tests fail, for mutants that no verification detects
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

from cordwood.compaction.engine import plain_engine
from cordwood.compaction.engine.engine import Engine
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
    """Test a mutant in a process of its own, whose exit status is the result."""
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
                LoggedLife(seed, plain_engine.PLAIN).live()
            noticed = Noticed.TESTED if _fails_tests(mutant) else Noticed.NEVER
        except BaseException:  # noqa: BLE001 - a mutant may fail in any way
            pass
        os._exit(noticed.value)
    return child


def _fails_tests(mutant: Mutant) -> bool:
    options = ["-x", "-q", "--assert=plain", "-p", "no:cacheprovider", "-p", "no:randomly"]
    folder, _, name = mutant.module.rpartition(".")
    with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        return bool(pytest.main([*options, str(_TESTS / folder / f"test_{name}.py")]))


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
    vars(plain_engine)["PLAIN"] = _engine_of(plain_engine.PLAIN, instead)


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
