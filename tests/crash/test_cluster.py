"""Clusters among crashes, partitions, pauses and losses of their session, in a simulation.

Each seed runs three to five whole nodes with ZooKeeper in memory, and the real clients; the
invariants are those of `tests.simulation.cluster`. A failure prints its history, its script, and
the script reduced to the steps that it needs. A script in `tests/crash/cluster_scripts/` is a test.
The counts show that faults were injected, and that they had effects.
"""

import os
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

import pytest

from tests.simulation.cluster.cluster_faults import COUNTS
from tests.simulation.cluster.cluster_script import parse_script
from tests.simulation.cluster.cluster_simulation import (
    ClusterFailed,
    run_cluster_script,
    run_cluster_seed,
)
from tests.simulation.cluster.script_reduction import reduced
from tests.simulation.seed_blocks import below_floors, run_block, shown

#: Seeds other than those of CI begin there.
FIRST: Final = int(os.environ.get("CORDWOOD_FIRST_SEED", "0"))
SEEDS: Final = 20_000 if os.environ.get("CORDWOOD_SOAK") == "1" else 1_000
BLOCK: Final = 200
#: Later seeds that have found a defect.
LATER_SEEDS: Final = (3678, 10950, 19888)
SCRIPTS: Final = Path(__file__).parent / "cluster_scripts"
_PER_COLLECTION: Final = 10

#: The smallest numbers of faults, and of effects, in a block of seeds.
FLOORS: Final[Mapping[str, int]] = MappingProxyType(
    {
        "kills": 80,
        "crashes": 15,
        "disks lost": 15,
        "pauses": 60,
        "partitions": 200,
        "frames held by partitions": 150,
        "connections broken by partitions": 60,
        "frames delayed": 800,
        "cuts from ZooKeeper": 50,
        "connections to ZooKeeper broken": 30,
        "stops of ZooKeeper": 30,
        "sessions expired": 50,
        "sessions expired in pauses": 2,
        "controlled shutdowns": 30,
        "requests lost": 150,
        "requests handled although they were lost": 100,
        "responses lost": 150,
        "controllers elected": 250,
        "leaders elected": 150,
        "in-sync sets shrunk": 200,
        "in-sync sets expanded": 200,
        "logs truncated": 40,
        "requests fenced: FencedLeaderEpochError": 300,
        "requests fenced: UnknownLeaderEpochError": 200,
        "requests fenced: StaleBrokerEpochError": 2,
        "requests fenced: StaleControllerEpochError": 1,
        "retries of AlterPartition": 100,
        "retries of controllers": 200,
        "retries of followers": 500,
        "retries of producers": 2_000,
        "producers without failures": 80,
        "records acknowledged": 8_000,
        "records consumed": 20_000,
    }
)


def _counts_of(seed: int) -> Counter[str]:
    try:
        return run_cluster_seed(seed).counts
    except ClusterFailed as failure:
        raise AssertionError(f"{failure}\n\nReduced:\n{reduced(failure)}") from failure


@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("first", range(FIRST, FIRST + SEEDS, BLOCK))
def test_invariants_of_a_cluster_hold_with_every_seed(
    first: int, report: Callable[[str], None]
) -> None:
    counts = run_block(range(first, first + BLOCK), _counts_of, per_collection=_PER_COLLECTION)

    report(f"simulation of clusters, seeds {first} to {first + BLOCK - 1}: {shown(counts)}")
    assert below_floors(counts, FLOORS) == {}


@pytest.mark.timeout(300)
@pytest.mark.parametrize("seed", LATER_SEEDS)
def test_invariants_of_a_cluster_hold_with_a_seed_that_has_found_a_defect(seed: int) -> None:
    run_cluster_seed(seed)


def test_every_kind_of_fault_has_a_floor() -> None:
    assert {*COUNTS.values()} <= {*FLOORS}


def test_kind_that_never_happened_fails() -> None:
    counts = {kind: 1_000_000 for kind in FLOORS if kind != "logs truncated"}

    assert below_floors(counts, FLOORS) == {"logs truncated": 0}


@pytest.mark.timeout(300)
@pytest.mark.parametrize("seed", (7, 19, 42))
def test_script_of_a_seed_repeats_its_history(seed: int) -> None:
    run = run_cluster_seed(seed)

    assert run_cluster_script(parse_script(str(run.script))) == run


@pytest.mark.parametrize("path", sorted(SCRIPTS.glob("*.txt")), ids=lambda path: path.stem)
def test_invariants_of_a_cluster_hold_with_the_script(path: Path) -> None:
    run_cluster_script(parse_script(path.read_text()))
