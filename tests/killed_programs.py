"""Programs in processes of their own, killed before a chosen statement runs.

A program is a module with a function `run(bootstrap)`, whose polls give `orders`. It needs no hook:
its process traces the lines of the module and ends itself with SIGKILL. The processes come from a
fork server that has imported the clients, so that one starts within milliseconds.
"""

import ast
import importlib
import multiprocessing
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType, ModuleType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from _typeshed import TraceFunction

PATIENCE_S: Final = 50

_PROCESSES: Final = multiprocessing.get_context("forkserver")
_PROCESSES.set_forkserver_preload(["cordwood.client.blocking", "tests.killed_programs"])


@dataclass(frozen=True)
class Step:
    """A statement; `passes` is the number of times that it runs before the kill.

    Passes count from the first poll on that has returned records.
    """

    text: str
    line: int
    passes: int = 0


def steps(program: ModuleType, *functions: str) -> list[Step]:
    """Return the statements of functions of a program, in the order of its text."""
    source = _source(program).read_text()
    lines = source.splitlines()
    return [
        Step(lines[each.lineno - 1].partition("  #")[0].strip(), each.lineno)
        for function in ast.parse(source).body
        if isinstance(function, ast.FunctionDef) and function.name in functions
        for statement in function.body[1:]
        for each in ast.walk(statement)
        if isinstance(each, ast.stmt)
    ]


def kill_before(step: Step, program: ModuleType, bootstrap: str) -> None:
    """Run a program until a step, where it is killed."""
    process = _PROCESSES.Process(target=_run, args=(program.__name__, bootstrap, step))
    process.start()
    process.join(PATIENCE_S)
    code = process.exitcode
    process.kill()
    process.join()
    assert code == -signal.SIGKILL, f"{program.__name__}, {step.text!r}: exit code {code}"


@contextmanager
def running(program: ModuleType, bootstrap: str) -> Iterator[None]:
    """Run a program while the block runs, then kill it."""
    process = _PROCESSES.Process(target=_run, args=(program.__name__, bootstrap, None))
    process.start()
    try:
        yield
        assert process.is_alive(), f"{program.__name__} ended by itself"
    finally:
        process.kill()
        process.join()


def _run(name: str, bootstrap: str, step: Step | None) -> None:
    program = importlib.import_module(name)
    if step is not None:
        sys.settrace(_killer(str(_source(program)), step))
    program.run(bootstrap)


def _killer(path: str, step: Step) -> "TraceFunction":
    """Return a trace function that kills its process before a step."""
    has_begun, passes = False, 0

    def on_line(frame: FrameType, event: str, _: object) -> "TraceFunction":
        nonlocal has_begun, passes
        if event == "line":
            has_begun |= bool(frame.f_locals.get("orders"))
            if has_begun and frame.f_lineno == step.line:
                if passes == step.passes:
                    os.kill(os.getpid(), signal.SIGKILL)
                passes += 1
        return on_line

    def on_call(frame: FrameType, _event: str, _: object) -> "TraceFunction | None":
        return on_line if frame.f_code.co_filename == path else None

    return on_call


def _source(program: ModuleType) -> Path:
    assert program.__file__ is not None, "a program is a file"
    return Path(program.__file__)
