"""Clusters among crashes, partitions, pauses and losses of their session, in a simulation.

Each seed runs three to five whole nodes with ZooKeeper in memory, and the real clients; the
invariants are those of `tests.simulation.cluster`. A failure prints its seed and its history:
`run_cluster_seed(seed)` repeats it. The counts show that faults were injected, and that they had
effects.
"""

import gc
import os
from collections import Counter
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

import pytest

from tests.simulation.cluster.cluster_simulation import run_cluster_seed

#: Seeds other than those of CI begin there.
FIRST: Final = int(os.environ.get("CORDWOOD_FIRST_SEED", "0"))
SEEDS: Final = 20_000 if os.environ.get("CORDWOOD_SOAK") == "1" else 100
BLOCK: Final = 25
#: Simulations between two collections of garbage.
_PER_COLLECTION: Final = 10

#: The smallest numbers of faults, and of effects, in a block of seeds.
FLOORS: Final[Mapping[str, int]] = MappingProxyType(
    {
        "kills": 10,
        "crashes": 1,
        "pauses": 8,
        "partitions": 20,
        "frames held by partitions": 10,
        "frames delayed": 300,
        "cuts from ZooKeeper": 10,
        "connections to ZooKeeper broken": 10,
        "stops of ZooKeeper": 5,
        "sessions expired in pauses": 1,
        "controlled shutdowns": 4,
        "requests lost": 20,
        "requests handled although they were lost": 10,
        "responses lost": 20,
        "controllers elected": 30,
        "leaders elected": 15,
        "in-sync sets shrunk": 30,
        "in-sync sets expanded": 30,
        "logs truncated": 5,
        "requests fenced: FencedLeaderEpochError": 50,
        "requests fenced: UnknownLeaderEpochError": 5,
        "records acknowledged": 5_000,
        "records consumed": 10_000,
    }
)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("first", range(FIRST, FIRST + SEEDS, BLOCK))
def test_invariants_of_a_cluster_hold_with_every_seed(
    first: int, report: Callable[[str], None]
) -> None:
    counts = Counter[str]()

    for seed in range(first, first + BLOCK):
        counts += run_cluster_seed(seed)
        if seed % _PER_COLLECTION == 0:
            gc.collect()

    shown = ", ".join(f"{count:,} {kind}" for kind, count in sorted(counts.items()))
    report(f"simulation of clusters, seeds {first} to {first + BLOCK - 1}: {shown}")
    assert {kind: counts[kind] for kind, floor in FLOORS.items() if counts[kind] < floor} == {}


def test_controller_elected_before_the_event_of_its_expired_session_stays() -> None:
    """Seed 33: that event ended the role of the next session, which kept `/controller`."""
    run_cluster_seed(33)


def test_batch_that_a_restarted_leader_has_forgotten_is_written_once() -> None:
    """Seed 9: the leader knew only the last batch of the producer after its restart."""
    run_cluster_seed(9)


def test_seed_of_a_cluster_repeats_its_history() -> None:
    assert run_cluster_seed(7) == run_cluster_seed(7)
