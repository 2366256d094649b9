"""Runs a reader over damaged input and counts what came of it.

Three promises are held for every case: nothing but our own error escapes, no case outlasts its
time, and none allocates more than a small multiple of its input. The counts are printed, and a
harness that never got past a first check, or never saw a refusal, fails: it would prove nothing.
"""

import os
import random
import re
import signal
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType

from cordwood.core.errors import CordwoodError
from tests.fuzz.mutations import damaged

Reader = Callable[[bytearray], object]
Damage = Callable[[random.Random, Sequence[bytes]], bytearray]

SEED = int(os.environ.get("CORDWOOD_FUZZ_SEED", "20"))
CASES = int(
    os.environ.get(
        "CORDWOOD_FUZZ_CASES", "1000000" if os.environ.get("CORDWOOD_SOAK") == "1" else "50000"
    )
)
#: Bound of the test of one reader, which takes half a minute for 50,000 cases.
TIMEOUT_S = 900 if CASES <= 50_000 else 3600
LIMIT = 1 << 20
SECONDS_A_CASE = 5
MEASURED_EVERY = 64
ALLOWED_GROWTH = 4 * LIMIT


class BrokenPromiseError(AssertionError):
    """A reader did what no reader may do; the message names the case that shows it."""


@dataclass(kw_only=True)
class Outcome:
    """The results of a reader over its cases."""

    accepted: int = 0
    refused: Counter[str] = field(default_factory=Counter)

    def __str__(self) -> str:
        kinds = ", ".join(f"{name} {count}" for name, count in self.refused.most_common(6))
        total, different = self.refused.total(), len(self.refused)
        return f"accepted {self.accepted}, refused {total} for {different} reasons: {kinds}"


def fuzz(
    reader: Reader, samples: Sequence[bytes], *, cases: int = CASES, damage: Damage = damaged
) -> Outcome:
    """Run `reader` over `cases` damaged inputs made of `samples`."""
    outcome = Outcome()
    with _deadline():
        for case in range(cases):
            data = damage(random.Random(SEED * 1_000_003 + case), samples)
            signal.setitimer(signal.ITIMER_REAL, SECONDS_A_CASE)
            run = _run_measured if case % MEASURED_EVERY == 0 else _run
            run(reader, data, outcome, case)
    return outcome


def _run(reader: Reader, data: bytearray, outcome: Outcome, case: int) -> None:
    given = bytes(data)
    try:
        reader(data)
    except CordwoodError as error:
        outcome.refused[_kind(error)] += 1
    except BaseException as error:
        name = type(error).__name__
        raise BrokenPromiseError(f"seed {SEED} case {case}: {name} on {given.hex()}") from error
    else:
        outcome.accepted += 1


def _run_measured(reader: Reader, data: bytearray, outcome: Outcome, case: int) -> None:
    tracemalloc.start()
    try:
        _run(reader, data, outcome, case)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    if peak > ALLOWED_GROWTH:
        raise BrokenPromiseError(f"seed {SEED} case {case}: {peak} bytes for {len(data)} of input")


def _kind(error: CordwoodError) -> str:
    """Return what was refused, with numbers folded, so that equal refusals count together."""
    message = str(error.args[0]) if error.args else ""
    return f"{type(error).__name__}({re.sub('[0-9]+', 'N', message)})"


@contextmanager
def _deadline() -> Iterator[None]:
    def give_up(_number: int, _frame: FrameType | None) -> None:
        raise TimeoutError(f"a case took longer than {SECONDS_A_CASE} s")

    before = signal.signal(signal.SIGALRM, give_up)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
