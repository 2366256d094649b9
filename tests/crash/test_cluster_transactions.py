"""Transactions and groups of clusters among crashes, partitions and pauses, in a simulation.

Each seed runs three whole nodes whose coordinators move, two transactional producers, and readers
of both group protocols; the invariants are those of `cluster_transactions`. The counts show that
faults were injected, and that they had effects.
"""

import os
from collections import Counter
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

import pytest

from cordwood.coordination.transactions.transaction_outcome import TransactionOutcome
from cordwood.coordination.transactions.transaction_shard import TransactionShard
from tests.simulation.cluster.cluster_simulation import ClusterFailed
from tests.simulation.cluster.transaction_simulation import run_transaction_seed
from tests.simulation.seed_blocks import below_floors, run_block, shown

#: Seeds other than those of CI begin there.
FIRST: Final = int(os.environ.get("CORDWOOD_FIRST_SEED", "0"))
SEEDS: Final = 2_000 if os.environ.get("CORDWOOD_SOAK") == "1" else 40
BLOCK: Final = 20
_PER_COLLECTION: Final = 5

#: The smallest numbers of faults, and of effects, in a block of seeds.
FLOORS: Final[Mapping[str, int]] = MappingProxyType(
    {
        "kills": 10,
        "leaders elected": 20,
        "transactions committed": 200,
        "transactions aborted": 100,
        "ends failed": 1,
        "offsets committed": 100,
        "offsets fetched": 1_000,
    }
)


def _counts_of(seed: int) -> Counter[str]:
    return run_transaction_seed(seed).counts


@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("first", range(FIRST, FIRST + SEEDS, BLOCK))
def test_invariants_of_transactions_hold_with_every_seed(
    first: int, report: Callable[[str], None]
) -> None:
    counts = run_block(range(first, first + BLOCK), _counts_of, per_collection=_PER_COLLECTION)

    report(f"simulation of transactions, seeds {first} to {first + BLOCK - 1}: {shown(counts)}")
    assert below_floors(counts, FLOORS) == {}


def test_coordinator_that_does_not_resume_decided_transactions_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    finish_load = TransactionShard.finish_load

    def forget(shard: TransactionShard, now_ms: int) -> TransactionOutcome:
        outcome = finish_load(shard, now_ms)
        outcome.completions.clear()
        return outcome

    monkeypatch.setattr(TransactionShard, "finish_load", forget)

    with pytest.raises(ClusterFailed, match=r"is not ended|is not done"):
        run_block(range(40), _counts_of, per_collection=_PER_COLLECTION)
