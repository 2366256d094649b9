"""Answers and records of groups are Kafka 4.3's, for seeded random requests.

Each seed is one group: of the classic protocol, of the consumer protocol, or with members of both,
which convert the group again and again; there JoinGroup requests also arrive again, after their
response. Other seeds have short timeouts, changes of topics and of group configs, and commits in
transactions. A running Kafka and a shard get the same requests in all versions, several of which
wait at a time. Members have the same ids in both. Times are left out, and so is the order that
Kafka takes from hash maps.

A seed that meets a listed difference (docs/quirks.md) ends there, and another one takes its place.
"""

import os
import random
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from typing import Final, Protocol

import pytest

from cordwood.broker.coordinators.coordinator_log import CoordinatorLog
from cordwood.storage.log_config import LogConfig
from tests.interop.kafka_harness import batch_limits
from tests.interop.kafka_harness.brokers import kraft_broker, running
from tests.interop.kafka_harness.classic_script import ClassicScript
from tests.interop.kafka_harness.consumer_script import ConsumerScript
from tests.interop.kafka_harness.group_twins import GroupTwins
from tests.interop.kafka_harness.jars import Jars
from tests.interop.kafka_harness.late_joins import LateJoins
from tests.interop.kafka_harness.life_scripts import (
    ChangingConsumerScript,
    ExpiringClassicScript,
)
from tests.interop.kafka_harness.mixed_script import MixedScript
from tests.interop.kafka_harness.oracle import Oracle
from tests.interop.kafka_harness.ordered_changes import LiveTopic
from tests.interop.kafka_harness.ordered_kafka import SETTINGS, OrderedKafka
from tests.interop.kafka_harness.ordered_shard import OrderedShard
from tests.unit.broker.broker_samples import BrokerHarness

pytestmark = [pytest.mark.interop, pytest.mark.timeout(600)]

#: Seeds other than those of CI begin there.
FIRST: Final = int(os.environ.get("CORDWOOD_FIRST_SEED", "0"))
FACTOR: Final = 20 if os.environ.get("CORDWOOD_SOAK") == "1" else 1
REQUESTS: Final = 70
LIFE_REQUESTS: Final = 40
#: The `max.message.bytes` with which the size limit is found.
LIMIT: Final = 1_000
ATTEMPTS: Final = 20


class Script(Protocol):
    """The clients of one seed."""

    def step(self) -> None:
        """Send one random request."""


@pytest.fixture(scope="module")
def kafka(
    kafka43_jars: Jars, kafka43: Oracle, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[OrderedKafka]:
    """A running Kafka with the topics of this test."""
    folder = tmp_path_factory.mktemp("ordered-kafka43")
    with running(kraft_broker(kafka43_jars, folder, kafka43, SETTINGS)) as broker:
        ordered = OrderedKafka(broker)
        yield ordered
        ordered.close()


@pytest.mark.parametrize("seed", range(FIRST, FIRST + 40 * FACTOR))
def test_classic_groups_are_kafkas(kafka: OrderedKafka, seed: int) -> None:
    run(kafka, f"classic-{seed}", ClassicScript)


@pytest.mark.parametrize("seed", range(FIRST, FIRST + 50 * FACTOR))
def test_consumer_groups_are_kafkas(kafka: OrderedKafka, seed: int) -> None:
    run(kafka, f"consumer-{seed}", ConsumerScript)


@pytest.mark.parametrize("seed", range(FIRST, FIRST + 40 * FACTOR))
def test_groups_of_both_protocols_are_kafkas(kafka: OrderedKafka, seed: int) -> None:
    run(kafka, f"mixed-{seed}", MixedScript)


def test_joins_that_arrive_after_their_response_are_kafkas(kafka: OrderedKafka) -> None:
    twins = GroupTwins(kafka, "late-joins")
    joins = LateJoins(twins)

    joins.run()

    assert joins.generations == [1, 1, 2, 2, 3, 3, 3]
    assert joins.assignments == [[0, 1, 2, 3, 4, 5], [0, 1, 2], [0, 1]]
    assert joins.codes == [0, 27, 22]
    twins.finish()
    assert not twins.difference


@pytest.mark.parametrize("seed", range(FIRST, FIRST + 8 * FACTOR))
def test_classic_groups_whose_members_expire_are_kafkas(kafka: OrderedKafka, seed: int) -> None:
    run(kafka, f"expiring-{seed}", ExpiringClassicScript, requests=LIFE_REQUESTS)


@pytest.mark.parametrize("seed", range(FIRST, FIRST + 12 * FACTOR))
def test_consumer_groups_whose_topics_and_configs_change_are_kafkas(
    kafka: OrderedKafka, seed: int
) -> None:
    with closing(LiveTopic(kafka)) as topic:
        run(
            kafka,
            f"changing-{seed}",
            partial(ChangingConsumerScript, topic),
            requests=LIFE_REQUESTS,
        )


def test_size_limit_of_a_batch_is_kafkas(kafka: OrderedKafka) -> None:
    """The batch of a commit has at most `max.message.bytes`, its header once."""
    harness = BrokerHarness(LogConfig(max_message_bytes=LIMIT))
    partition = harness.host(0, topic=batch_limits.TOPIC)
    log = CoordinatorLog(partition, 0, ports=harness.manager.ports)
    shard = OrderedShard(kafka, "limited").shard

    ours = batch_limits.longest(partial(batch_limits.is_appended, shard, log))
    with batch_limits.limited(kafka, LIMIT):
        theirs = batch_limits.longest(partial(batch_limits.is_stored, kafka))

    assert ours == theirs


def run(
    kafka: OrderedKafka,
    seed: str,
    script_of: Callable[[GroupTwins, random.Random], Script],
    *,
    requests: int = REQUESTS,
) -> None:
    """Send the requests of a seed, or of one in its place, and compare answers and records."""
    differences = list[str]()
    for attempt in range(ATTEMPTS):
        twins = GroupTwins(kafka, f"{seed}-{attempt}")
        script = script_of(twins, random.Random(twins.group_id))
        for _ in range(requests):
            if not twins.difference:
                script.step()
        twins.finish()
        if not twins.difference:
            return
        differences.append(twins.difference)
    pytest.fail(f"{seed} meets listed differences alone: {differences}")
