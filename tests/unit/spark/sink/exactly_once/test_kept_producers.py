"""Producers are kept for the next task of a worker process, up to a number."""

from collections.abc import Iterator

import pytest

from cordwood.core.errors import InvalidRequestError
from cordwood.spark.sink.exactly_once.kept_producers import (
    KeptProducers,
    SinkProducer,
    kept_producers,
)
from cordwood.testing.kafka_fixture import Kafka


@pytest.fixture
def producers() -> Iterator[KeptProducers]:
    made = KeptProducers(most=2)
    yield made
    made.close()


def config_of(kafka: Kafka, name: str) -> dict[str, str]:
    return {"bootstrap.servers": kafka.bootstrap, "transactional.id": name}


def taken(producers: KeptProducers, kafka: Kafka, name: str) -> SinkProducer:
    """Take a producer, and keep it again."""
    producer = producers.take(config_of(kafka, name))
    producers.keep(config_of(kafka, name), producer)
    return producer


def test_kept_producer_is_taken_again(producers: KeptProducers, kafka: Kafka) -> None:
    first = taken(producers, kafka, "a")

    assert taken(producers, kafka, "a") is first
    assert taken(producers, kafka, "b") is not first


def test_taken_producer_is_not_taken_twice(producers: KeptProducers, kafka: Kafka) -> None:
    first = producers.take(config_of(kafka, "a"))

    with producers.take(config_of(kafka, "a")) as second, first:
        assert second is not first


def test_longest_unused_producer_is_closed(producers: KeptProducers, kafka: Kafka) -> None:
    first, _, last = (taken(producers, kafka, name) for name in "abc")

    with pytest.raises(InvalidRequestError, match="closed"):
        first.init()
    last.init()


def test_process_has_one_set_of_producers() -> None:
    assert kept_producers() is kept_producers()
