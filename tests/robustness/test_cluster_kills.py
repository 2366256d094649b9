"""Three brokers and ZooKeeper under kills and pauses: no acknowledged record is lost."""

import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from cordwood.core.types import PartitionId, TopicName, TopicPartition
from tests.robustness.cluster_chaos import KINDS, PARTITIONS, ClusterChaos, cluster
from tests.robustness.ledger import Ledgers
from tests.robustness.partitions import WINDOW, read_all
from tests.robustness.producing import SENDERS, producing

SOAK: Final = os.environ.get("CORDWOOD_SOAK") == "1"
#: A round takes less than five seconds, so the long form takes half an hour.
ROUNDS: Final = 400 if SOAK else 8
SEED: Final = 22
TOPIC: Final = TopicName("orders")

pytestmark = pytest.mark.timeout(7200 if SOAK else 900)


def test_cluster_loses_no_acknowledged_record(
    tmp_path: Path, report: Callable[[str], None]
) -> None:
    chance = random.Random(SEED)
    partitions = [TopicPartition(TOPIC, PartitionId(each)) for each in range(PARTITIONS)]
    with cluster(tmp_path) as processes:
        processes.create_topic(TOPIC)
        processes.wait_until_in_sync(TOPIC)
        ledgers = Ledgers(partitions, window=WINDOW)
        chaos = ClusterChaos(processes, TOPIC, chance)
        with producing(SENDERS["own"](processes.bootstrap), ledgers, random.Random(SEED)):
            chaos.survive(ledgers, ROUNDS)
        processes.wait_until_in_sync(TOPIC)
        faults = [
            f"{partition}: {fault}"
            for partition, ledger in ledgers.of.items()
            for fault in ledger.compare(read_all(processes.bootstrap, partition))
        ]
        given_up = sum(len(ledger.given_up) for ledger in ledgers.of.values())
        report(f"cluster: {ledgers.acknowledged} acknowledged, {given_up} given up; {chaos}")
        codes = [broker.stop() for broker in processes.brokers]

    assert faults == []
    assert {*chaos.injected} == {*KINDS}
    assert codes == [0, 0, 0]
