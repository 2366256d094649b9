"""The protocol of the exactly-once sink among failures, in a simulation.

Each seed runs a query with drivers, zombies, tasks and brokers against the steps that Spark runs.
A failure names its seed: `SinkSimulation(seed).run()` repeats it. The counts show that each fault
was injected, and that it had effects.
"""

import gc
import os
from collections import Counter
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

import pytest

from tests.crash.sink_brokers import Violation
from tests.crash.sink_mistakes import MISTAKES
from tests.crash.sink_simulation import SinkSimulation, simulated

SEEDS: Final = 20_000 if os.environ.get("CORDWOOD_SOAK") == "1" else 2_000
BLOCK: Final = 500
#: The seeds in which a planted mistake has to be found.
SEEDS_OF_A_MISTAKE: Final = 1_500

#: The smallest numbers of faults, and of effects, in a block of seeds.
FLOORS: Final[Mapping[str, int]] = MappingProxyType(
    {
        "driver killed": 500,
        "zombie driver": 250,
        "zombie task": 100,
        "worker killed": 80,
        "same session": 80,
        "stall": 500,
        "long pause": 250,
        "very long pause": 80,
        "id expired": 500,
        "forgotten: assume-done": 3,
        "forgotten: replay": 1,
        "timeout": 250,
        "speculated": 250,
        "stage repeated": 150,
        "task fails after its write": 80,
        "answer is lost": 500,
        "answer is lost for good": 120,
        "request is late": 50,
        "some ends": 50,
        "late request rejected": 3,
        "unstable record": 500,
        "end repeated": 500,
        "open transaction fenced": 10,
        "replay": 500,
        "replanned": 80,
        "abort": 100,
        "slot skipped": 150,
        "slot verified": 5,
        "wholly lost": 10,
        "partly lost": 4,
    }
)


@pytest.mark.parametrize("first", range(0, SEEDS, BLOCK))
def test_rows_are_visible_exactly_once_among_failures(
    first: int, report: Callable[[str], None]
) -> None:
    gc.disable()
    try:
        counts = simulated(range(first, first + BLOCK))
    finally:
        gc.enable()

    missing = {name: counts[name] for name, least in FLOORS.items() if counts[name] < least}
    assert not missing, f"seeds from {first}: too few of {missing}"
    report(f"exactly-once sink, seeds from {first}: {_shown(counts)}")


def _shown(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {counts[name]}" for name in sorted(FLOORS))


@pytest.mark.parametrize("name", MISTAKES)
def test_mistake_is_found(
    name: str, monkeypatch: pytest.MonkeyPatch, report: Callable[[str], None]
) -> None:
    mistake = MISTAKES[name]
    mistake.plant(monkeypatch)

    for seed in range(SEEDS_OF_A_MISTAKE):
        try:
            SinkSimulation(seed).run()
        except Violation as found:
            if found.invariant in mistake.invariants:
                report(f"exactly-once sink, {name}: found by seed {seed}: {found.invariant}")
                return
    pytest.fail(f"{name}: not found in {SEEDS_OF_A_MISTAKE} seeds")
