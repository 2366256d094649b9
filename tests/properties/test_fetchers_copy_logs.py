"""Fetchers keep real logs prefixes of each other, in any history of leaders, losses and crashes.

The decisions are those of `test_replicas_agree_below_the_high_watermark`; here the broker's
partitions, its logs and the fetchers perform them: see `replica_cluster`. After each step every
acknowledged record is on all in-sync replicas, and logs are equal below both high watermarks. At
the end all faults are ended, and the replicas become equal.
"""

import asyncio
from collections import Counter

import pytest

from cordwood.broker.partitions.partition_follower import PartitionFollower
from cordwood.cluster.fetchers import replica_fetcher_task
from cordwood.cluster.partition import replica_fetcher
from cordwood.cluster.partition.truncation import FollowerLog, TruncateTo
from cordwood.storage.checkpoints.leader_epoch_cache import EpochEnd
from cordwood.testing.seeded_random import SeededRandom
from tests.properties.replica_cluster import FREQUENT, ReplicaCluster

STEPS = 120
SEEDS = 25
SEEDS_OF_A_MISTAKE = 200
KINDS = {"acknowledged", "crashes", "elections", "expansions", "expired", "lost", "lost ends"}


async def history(cluster: ReplicaCluster, chance: SeededRandom) -> Counter[str]:
    """Perform a history, and return its events."""
    try:
        await cluster.begin()
        for _ in range(STEPS):
            action = FREQUENT[chance.below(len(FREQUENT))]
            await cluster.act(action, chance.below(1_000))
            cluster.check()
        await cluster.heal()
        cluster.check()
        cluster.check_equal()
    finally:
        await cluster.stop()
    for each in cluster.brokers:
        cluster.counts["truncations"] += each.fetchers.counts.truncations
    return cluster.counts


def run(seed: int) -> Counter[str]:
    """Perform the history of a seed, and return its events."""
    chance = SeededRandom(seed)
    cluster = ReplicaCluster(2 + chance.below(2), chance)
    return asyncio.run(history(cluster, chance))


def run_seeds(count: int) -> Counter[str]:
    """Perform the histories of seeds, and count their events."""
    counts = Counter[str]()
    for seed in range(count):
        counts.update(run(seed))
    return counts


def test_replicas_agree_and_keep_acknowledged_records() -> None:
    counts = Counter[str]()
    for seed in range(SEEDS):
        counts.update(run(seed))

    assert set(counts) >= KINDS
    assert counts["truncations"] > 0


# -- planted mistakes


def truncate_nothing(log: FollowerLog, _: EpochEnd) -> TruncateTo:
    return TruncateTo(log.log_end)


def is_refused_never(_: object) -> None:
    """Let the changes of an ended epoch go on."""


def use_no_bounds(_: object, __: object) -> bool:
    return False


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("owner", "name", "mistake"),
    (
        pytest.param(
            replica_fetcher, "step_after_epoch_end", truncate_nothing, id="truncates nothing"
        ),
        pytest.param(
            PartitionFollower, "_ensure_current", is_refused_never, id="appends in an ended epoch"
        ),
        pytest.param(
            replica_fetcher_task, "_leaves_bounds", use_no_bounds, id="leaves unused bounds"
        ),
    ),
)
def test_planted_mistake_is_found(
    owner: object, name: str, mistake: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owner, name, mistake)

    with pytest.raises(AssertionError):
        run_seeds(SEEDS_OF_A_MISTAKE)
