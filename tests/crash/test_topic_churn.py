"""Topics that are deleted and created again among the faults of a cluster, in a simulation.

The invariants are those of `tests.simulation.cluster.topic_churn`. A failure prints its history.
"""

import os
from collections.abc import Callable
from typing import Final

import pytest

from tests.simulation.cluster.topic_churn import run_topic_churn
from tests.simulation.seed_blocks import below_floors, run_block, shown

IS_SOAK: Final = os.environ.get("CORDWOOD_SOAK") == "1"
SEEDS: Final = 5_000 if IS_SOAK else 100
_PER_COLLECTION: Final = 10

#: The smallest numbers of changes and of their faults.
FLOORS: Final = {
    "topics to create": 100,
    "topics to delete": 200,
    "records acknowledged": 500,
    "requests handled although they were lost": 50,
    "requests fenced: StaleControllerEpochError": 20,
}


@pytest.mark.timeout(7200 if IS_SOAK else 900)
def test_invariants_of_topics_hold_with_every_seed(report: Callable[[str], None]) -> None:
    counts = run_block(
        range(SEEDS), lambda seed: run_topic_churn(seed).counts, per_collection=_PER_COLLECTION
    )

    report(f"simulation of topics, seeds 0 to {SEEDS - 1}: {shown(counts)}")
    assert below_floors(counts, FLOORS) == {}
