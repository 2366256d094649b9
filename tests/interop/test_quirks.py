"""Responses that would break a client, beyond the features of the conformance page."""

from contextlib import closing

import pytest

from tests.interop.kafka_harness import samples
from tests.interop.kafka_harness.brokers import Broker
from tests.interop.kafka_harness.spec import Json

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]


def test_quirk_05_transactions_of_version_2_are_finalized(our_broker: Broker) -> None:
    kafka = pytest.importorskip("kafka", reason="kafka-python is not installed")

    with closing(kafka.KafkaAdminClient(bootstrap_servers=our_broker.bootstrap)) as admin:
        features = admin.describe_features()

    assert "transaction.version" in str(features)
    assert "share.version" not in str(features)


def test_quirk_11_java_consumer_finds_no_offset_after_the_last_timestamp(
    our_broker: Broker,
) -> None:
    our_broker.create_topics({"times": {}})
    our_broker.oracle.produce(our_broker.bootstrap, "times", samples.plain(), {})

    found = [_offset_for_time(our_broker, samples.NOON + later) for later in (0, 14, 15)]

    assert found == [0, 2, None]


def _offset_for_time(broker: Broker, timestamp: int) -> Json:
    question: dict[str, Json] = {"bootstrap": broker.bootstrap, "topic": "times"}
    return broker.oracle.ask("offset_for_time", {**question, "timestamp": timestamp})
