"""Coordinators among crashes, and clients among all faults of a network, in a simulation.

Each seed runs a group and transactional producers against the real coordinators; the invariants
are those of `tests.simulation`. A failure prints its seed and its history: `run_seed(seed)` repeats
it. The counts show that faults were injected, and that they had effects.
"""

import os
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

import pytest

from tests.simulation.mistakes import MISTAKES, Mistake
from tests.simulation.seed_blocks import (
    below_floors,
    run_block,
    shown,
    without_garbage_collection,
)
from tests.simulation.simulation import Simulation, SimulationFailed, run_seed

#: Seeds other than those of CI begin there.
FIRST: Final = int(os.environ.get("CORDWOOD_FIRST_SEED", "0"))
SEEDS: Final = 20_000 if os.environ.get("CORDWOOD_SOAK") == "1" else 1_000
BLOCK: Final = 100
#: The seeds in which a planted mistake has to be found.
SEEDS_OF_A_MISTAKE: Final = 500
#: Simulations between two collections of garbage.
_PER_COLLECTION: Final = 50

#: The smallest numbers of faults, and of effects, in a block of seeds.
FLOORS: Final[Mapping[str, int]] = MappingProxyType(
    {
        "crashes of the broker": 60,
        "moves of coordinators": 45,
        "deaths of clients": 45,
        "deaths of producers at an end": 3,
        "pauses of clients": 60,
        "zombies": 45,
        "leaves": 15,
        "partitions added": 15,
        "long events": 120,
        "requests delayed": 120,
        "requests repeated": 90,
        "requests lost": 60,
        "responses delayed": 120,
        "responses lost": 60,
        "duplicate batches": 15,
        "appends rejected": 24,
        "appends failed late": 12,
        "markers rejected": 45,
        "markers of commits": 450,
        "markers of aborts": 180,
        "transactions committed": 210,
        "transactions aborted by clients": 60,
        "producers fenced": 15,
        "members fenced": 15,
        "sessions expired": 15,
        "transactions timed out": 3,
        "partitions assigned": 300,
        "partitions revoked": 75,
        "partitions lost": 4,
    }
)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("first", range(FIRST, FIRST + SEEDS, BLOCK))
def test_invariants_hold_with_every_seed(first: int, report: Callable[[str], None]) -> None:
    counts = run_block(range(first, first + BLOCK), run_seed, per_collection=_PER_COLLECTION)

    report(f"simulation, seeds {first} to {first + BLOCK - 1}: {shown(counts)}")
    assert below_floors(counts, FLOORS) == {}


def test_seed_repeats_its_history() -> None:
    assert run_seed(7) == run_seed(7)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", MISTAKES)
def test_planted_mistake_is_found(
    name: str, monkeypatch: pytest.MonkeyPatch, report: Callable[[str], None]
) -> None:
    mistake = MISTAKES[name]
    mistake.plant(monkeypatch)

    with without_garbage_collection():
        failure = first_failure(mistake)

    assert failure is not None, f"not found by {SEEDS_OF_A_MISTAKE} seeds"
    report(f"planted: {name}: found by seed {failure.seed}, {failure.invariant!r}")
    assert failure.invariant in mistake.invariants, str(failure)


def first_failure(mistake: Mistake) -> SimulationFailed | None:
    """Return the failure of the first seed that has one; scenes without the step are left out."""
    for seed in range(SEEDS_OF_A_MISTAKE):
        try:
            if mistake.is_in(Simulation(seed)):
                run_seed(seed)
        except SimulationFailed as failure:
            return failure
    return None
