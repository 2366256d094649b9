"""Requests without time have the same answers from Apache Kafka 4.3, and no effect."""

import pytest

from cordwood.broker.handlers import topics
from cordwood.core.errors import RequestTimedOutError
from cordwood.protocol.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from tests.interop.kafka_harness.brokers import Broker
from tests.interop.kafka_harness.wire import ask
from tests.interop.test_topics_match_kafka import new
from tests.unit.broker.broker_samples import BrokerHarness, run

pytestmark = [pytest.mark.interop, pytest.mark.timeout(180)]


def codes(answer: CreateTopicsResponse) -> dict[str, int]:
    return {each.name: each.error_code for each in answer.topics}


def test_creation_without_time_is_rejected_as_by_kafka(broker43: Broker) -> None:
    harness = BrokerHarness()
    request = CreateTopicsRequest(topics=[new("late.a"), new("late.b", 0)], timeout_ms=0)

    theirs = ask(broker43.bootstrap, request, 7, answer=CreateTopicsResponse)
    with pytest.raises(RequestTimedOutError) as caught:
        run(topics.create_topics(harness.broker, harness.context(7), request))
    ours = topics.error_response(request, caught.value, version=7)

    assert isinstance(ours, CreateTopicsResponse)
    assert codes(ours) == codes(theirs) == {"late.a": 7, "late.b": 7}
    assert not harness.metadata.image.topics
    # The name is free in Kafka too.
    again = ask(
        broker43.bootstrap,
        CreateTopicsRequest(topics=[new("late.a")]),
        7,
        answer=CreateTopicsResponse,
    )
    assert codes(again) == {"late.a": 0}
