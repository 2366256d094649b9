"""Elections and reassignments on one broker: responses as of a running Kafka 4.3."""

import pytest

from cordwood.broker.handlers import controller
from cordwood.core.errors import KafkaError
from cordwood.protocol.codec import decode, encode, joined
from cordwood.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignableTopic,
)
from cordwood.protocol.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    TopicPartitions,
)
from cordwood.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    ListPartitionReassignmentsTopics,
)
from tests.interop.kafka_harness.brokers import Broker
from tests.interop.kafka_harness.wire import ask
from tests.interop.test_topics_match_kafka import Both, new
from tests.unit.broker.broker_samples import run

pytestmark = [pytest.mark.interop, pytest.mark.timeout(180)]

TOPIC = "elected"


@pytest.fixture(scope="module")
def both(broker43: Broker) -> Both:
    made = Both(broker43)
    made.create(new(TOPIC, 2))
    return made


@pytest.mark.parametrize("version", (0, 1, 2))
@pytest.mark.parametrize("kind", (0, 1))
@pytest.mark.parametrize(
    "topics",
    (
        None,
        [],
        [(TOPIC, [0, 1])],
        [(TOPIC, [1, 7]), ("no", [0])],
        [(TOPIC, [0, 0]), (TOPIC, [0])],
        [(TOPIC, [-1]), ("a/b", []), ("", [0])],
    ),
    ids=str,
)
def test_elections_are_answered_as_by_kafka(
    both: Both, topics: list[tuple[str, list[int]]] | None, kind: int, version: int
) -> None:
    request = ElectLeadersRequest(
        election_type=kind if version > 0 else 0,
        topic_partitions=None
        if topics is None
        else [TopicPartitions(topic=name, partitions=numbers) for name, numbers in topics],
    )

    theirs, ours = both.ask(controller.elect_leaders, request, version, answer=ElectLeadersResponse)

    if topics is None:  # Kafka also lists the topics of the other tests that share the broker
        theirs.replica_election_results = [
            result for result in theirs.replica_election_results if result.topic == TOPIC
        ]
    assert ours == theirs


def test_unknown_election_type_is_rejected_as_by_kafka(both: Both) -> None:
    request = ElectLeadersRequest(
        election_type=5, topic_partitions=[TopicPartitions(topic=TOPIC, partitions=[0])]
    )
    theirs = ask(both.kafka.bootstrap, request, 2, answer=ElectLeadersResponse)

    with pytest.raises(KafkaError) as caught:
        run(controller.elect_leaders(both.ours.broker, both.ours.context(2), request))

    rejection = encode(controller.error_response(request, caught.value, version=2), 2)
    assert decode(ElectLeadersResponse, joined(rejection), 2) == theirs


@pytest.mark.parametrize(
    ("version", "may_change"), ((0, True), (1, True), (1, False)), ids=("v0", "v1", "v1 fixed")
)
@pytest.mark.parametrize(
    ("topic", "partition", "replicas"),
    (
        (TOPIC, 0, [1]),
        (TOPIC, 0, None),
        (TOPIC, 0, []),
        (TOPIC, 0, [1, 1]),
        (TOPIC, 0, [2]),
        (TOPIC, 0, [2, 1]),
        (TOPIC, 0, [-1]),
        (TOPIC, 9, [1]),
        (TOPIC, -1, [1]),
        ("no", 0, [1]),
        ("no", 0, None),
    ),
    ids=str,
)
def test_reassignments_are_answered_as_by_kafka(
    both: Both,
    topic: str,
    partition: int,
    replicas: list[int] | None,
    *,
    version: int,
    may_change: bool,
) -> None:
    requested = ReassignablePartition(partition_index=partition, replicas=replicas)
    request = AlterPartitionReassignmentsRequest(
        allow_replication_factor_change=may_change,
        topics=[ReassignableTopic(name=topic, partitions=[requested])],
    )

    theirs, ours = both.ask(
        controller.alter_partition_reassignments,
        request,
        version,
        answer=AlterPartitionReassignmentsResponse,
    )

    assert ours == theirs


@pytest.mark.parametrize("topics", (None, [], [(TOPIC, [0, 9]), ("no", [0])]), ids=str)
def test_no_reassignment_is_listed_as_by_kafka(
    both: Both, topics: list[tuple[str, list[int]]] | None
) -> None:
    request = ListPartitionReassignmentsRequest(
        topics=None
        if topics is None
        else [
            ListPartitionReassignmentsTopics(name=name, partition_indexes=numbers)
            for name, numbers in topics
        ]
    )

    theirs, ours = both.ask(
        controller.list_partition_reassignments,
        request,
        0,
        answer=ListPartitionReassignmentsResponse,
    )

    assert ours == theirs
