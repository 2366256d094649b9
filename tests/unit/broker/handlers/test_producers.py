"""Tests of the handlers of InitProducerId and DescribeProducers."""

import pytest

from cordwood.broker.handlers.producers import describe_producers, init_producer_id
from cordwood.protocol.messages.describe_producers import (
    DescribeProducersRequest,
    ProducerState,
    TopicRequest,
)
from cordwood.protocol.messages.init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from tests.unit.broker.broker_samples import BrokerHarness, run
from tests.unit.broker.image_samples import topic
from tests.unit.storage.log_samples import NOW, produced


def ask(
    harness: BrokerHarness,
    transactional_id: str | None = None,
    *,
    producer: tuple[int, int] = (-1, -1),
) -> InitProducerIdResponse:
    request = InitProducerIdRequest(
        transactional_id=transactional_id,
        transaction_timeout_ms=1,
        producer_id=producer[0],
        producer_epoch=producer[1],
    )
    return run(init_producer_id(harness.broker, harness.context(4), request))


def test_quirk_14_producer_that_is_idempotent_alone_gets_an_id_before_anything_else() -> None:
    harness = BrokerHarness()

    found = [ask(harness) for _ in range(3)]

    assert [(each.error_code, each.producer_id, each.producer_epoch) for each in found] == [
        (0, 0, 0),
        (0, 1, 0),
        (0, 2, 0),
    ]


def test_producer_that_had_an_id_gets_another() -> None:
    harness = BrokerHarness()
    ask(harness)

    assert ask(harness, producer=(0, 3)).producer_id == 1


@pytest.mark.parametrize(
    ("transactional_id", "producer", "code"),
    (
        (None, (1, -1), 42),
        (None, (-1, 1), 42),
        ("", (-1, -1), 42),
        ("mine", (-1, -1), 16),
    ),
)
def test_request_that_is_invalid_or_without_a_coordinator_is_rejected(
    transactional_id: str | None, producer: tuple[int, int], code: int
) -> None:
    answer = ask(BrokerHarness(), transactional_id, producer=producer)

    assert (answer.error_code, answer.producer_id, answer.producer_epoch) == (code, -1, -1)


def test_producers_of_a_partition_are_described() -> None:
    harness = BrokerHarness()
    harness.host().append(memoryview(produced(5, 2, producer=(7, 3))))
    request = DescribeProducersRequest(topics=[TopicRequest(name="orders", partition_indexes=[0])])

    answer = run(describe_producers(harness.broker, harness.context(0), request))

    assert answer.topics[0].partitions[0].active_producers == [
        ProducerState(
            producer_id=7,
            producer_epoch=3,
            last_sequence=6,
            last_timestamp=NOW,
            coordinator_epoch=-1,
            current_txn_start_offset=-1,
        )
    ]


def test_missing_partition_has_no_producers() -> None:
    harness = BrokerHarness()
    request = DescribeProducersRequest(topics=[TopicRequest(name="orders", partition_indexes=[4])])

    answer = run(describe_producers(harness.broker, harness.context(0), request))

    (told,) = answer.topics[0].partitions
    assert (told.error_code, told.active_producers) == (3, [])
    assert told.error_message == "there is no partition 4 of 'orders'"


def test_producers_of_a_partition_on_other_brokers_are_described_by_those() -> None:
    harness = BrokerHarness()
    harness.metadata.publish(harness.metadata.image.with_topic(topic("orders", replicas=(2,))))
    request = DescribeProducersRequest(
        topics=[TopicRequest(name="orders", partition_indexes=[0, 1])]
    )

    answer = run(describe_producers(harness.broker, harness.context(0), request))

    assert [each.error_code for each in answer.topics[0].partitions] == [6, 3]
