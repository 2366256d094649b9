"""Faults of a broker: their effect on clients, and the error for a fault that was never met."""

from collections.abc import Callable

import pytest

import cordwood
from cordwood.core.errors import (
    LeaderNotAvailableError,
    NotLeaderOrFollowerError,
    TopicAuthorizationFailedError,
)
from cordwood.testing.broker_faults import FaultNotMetError
from cordwood.testing.kafka_fixture import Kafka


def produce(kafka: Kafka, value: bytes = b"3 beams", topic: str = "orders") -> None:
    with cordwood.Producer(kafka.bootstrap, request_timeout_ms=300, retry_backoff_ms=1) as producer:
        producer.send(topic, value).result()


def kafka_refuses(kafka: Kafka, match: str) -> None:
    """Produce a record that the broker rejects."""
    client = cordwood.Producer(kafka.bootstrap, delivery_timeout_ms=300, request_timeout_ms=200)
    with client as producer, pytest.raises(cordwood.CordwoodError, match=match):
        producer.send("orders", b"refused").result()


def consume(kafka: Kafka) -> list[bytes | None]:
    with cordwood.Consumer(kafka.bootstrap, retry_backoff_ms=1) as consumer:
        consumer.assign([("orders", 0)])
        consumer.seek_to_beginning(("orders", 0))
        return [record.value for record in consumer.poll(timeout_ms=5_000)]


def test_error_is_retried_by_the_client_and_the_record_is_written_once(kafka: Kafka) -> None:
    with kafka.faults.on("Produce", topic="orders").fail(NotLeaderOrFollowerError) as fault:
        produce(kafka)

    assert fault.met == 1
    assert len(kafka.records("orders")) == 1


def test_error_that_is_final_reaches_the_caller(kafka: Kafka) -> None:
    kafka.faults.on("Produce").fail(TopicAuthorizationFailedError("not yours"))

    with pytest.raises(TopicAuthorizationFailedError):
        produce(kafka)
    assert kafka.records("orders") == []


def test_metadata_error_keeps_the_known_brokers(kafka: Kafka) -> None:
    kafka.create_topic("orders")

    with kafka.faults.on("Metadata", topic="orders").fail(LeaderNotAvailableError):
        produce(kafka)

    assert len(kafka.records("orders")) == 1


def test_error_of_a_fetch_reaches_readers_that_have_a_session(kafka: Kafka) -> None:
    produce(kafka)
    with cordwood.Consumer(kafka.bootstrap, retry_backoff_ms=1) as consumer:
        consumer.assign([("orders", 0)])
        consumer.seek_to_beginning(("orders", 0))
        with kafka.faults.on("Fetch", topic="orders", first=2).fail(NotLeaderOrFollowerError):
            seen = consumer.poll(timeout_ms=5_000)
            for value in (b"4 posts", b"5 posts"):
                produce(kafka, value)
                seen += consumer.poll(timeout_ms=5_000)

    assert [record.value for record in seen] == [b"3 beams", b"4 posts", b"5 posts"]


def test_requests_are_counted_from_the_first_that_matches(kafka: Kafka) -> None:
    fault = kafka.faults.on("Produce", topic="orders", first=2, times=2).fail(
        NotLeaderOrFollowerError
    )
    met = []

    for topic in ("other", "orders", "orders"):
        produce(kafka, topic=topic)
        met.append(fault.met)

    assert met == [0, 0, 2]


@pytest.mark.parametrize("handled", (False, True))
def test_client_retries_after_a_dropped_response(kafka: Kafka, *, handled: bool) -> None:
    with kafka.faults.on("Produce").drop(handled=handled):
        produce(kafka)

    assert [record.value for record in kafka.records("orders")] == [b"3 beams"]


@pytest.mark.parametrize("handled", (False, True))
def test_client_reconnects_after_a_closed_connection(kafka: Kafka, *, handled: bool) -> None:
    with kafka.faults.on("Produce").close(handled=handled):
        produce(kafka)

    assert [record.value for record in kafka.records("orders")] == [b"3 beams"]


def test_request_that_is_delayed_is_handled_all_the_same(kafka: Kafka) -> None:
    produce(kafka)

    with kafka.faults.on("Fetch").delay(ms=20):
        assert consume(kafka) == [b"3 beams"]


def test_broker_stops_immediately_while_a_request_is_delayed(kafka: Kafka) -> None:
    with kafka.faults.on("Metadata").delay(seconds=3600) as fault:
        admin = cordwood.Admin(kafka.bootstrap, default_api_timeout_ms=50, request_timeout_ms=50)
        with admin, pytest.raises(cordwood.CordwoodError):
            admin.list_topics()

    kafka.restart()
    assert fault.met == 1


def test_client_retries_while_the_disk_is_full(kafka: Kafka) -> None:
    produce(kafka, b"before")

    with kafka.faults.on_disk(path="*/orders-0/*.log").fill():
        produce(kafka, b"after")

    assert [record.value for record in kafka.records("orders")] == [b"before", b"after"]


@pytest.mark.parametrize("kept", (0, 30))
def test_failing_disk_takes_the_log_offline_until_a_restart(kafka: Kafka, kept: int) -> None:
    produce(kafka, b"before")
    disk = kafka.faults.on_disk(path="*/orders-0/*.log")

    with disk.tear(kept=kept) if kept else disk.fail():
        kafka_refuses(kafka, match="is offline")
    kafka.restart()

    assert [record.value for record in kafka.records("orders")] == [b"before"]


def test_fault_ends_with_its_block(kafka: Kafka) -> None:
    with kafka.faults.on("Produce", times=None).fail(NotLeaderOrFollowerError):
        kafka_refuses(kafka, match="not acknowledged")

    produce(kafka)

    assert len(kafka.records("orders")) == 1


def test_unmet_fault_raises_at_the_end_of_its_block(kafka: Kafka) -> None:
    with (
        pytest.raises(FaultNotMetError, match="Produce of orders is never answered"),
        kafka.faults.on("Produce", topic="orders").drop(),
    ):
        produce(kafka, topic="other")


def test_fault_that_was_met_fewer_times_than_planned_raises(kafka: Kafka) -> None:
    with (
        pytest.raises(FaultNotMetError, match="TopicAuthorizationFailedError: met 1 of 3 times"),
        kafka.faults.on("Produce", times=3).fail(TopicAuthorizationFailedError),
    ):
        kafka_refuses(kafka, match="injected by the test")


def test_disk_fault_of_any_number_of_calls_must_be_met_once(kafka: Kafka) -> None:
    produce(kafka, b"before")

    with kafka.faults.on_disk(path="*/orders-0/*.log", times=None).fill() as full:
        kafka_refuses(kafka, match="not acknowledged")

    assert full.met > 0


def test_unmet_fault_raises_at_the_end_of_the_test(
    kafka_broker: Callable[..., Kafka],
) -> None:
    kafka = kafka_broker()
    kafka.faults.on_disk("sync").fill()

    with pytest.raises(FaultNotMetError, match=r"sync of \* fails with ENOSPC"):
        kafka.close()


def test_failing_block_does_not_raise_for_unmet_faults(kafka: Kafka) -> None:
    with pytest.raises(ZeroDivisionError), kafka.faults.on("Produce").close():
        raise ZeroDivisionError


def test_unknown_api_is_rejected(kafka: Kafka) -> None:
    with pytest.raises(ValueError, match="unknown API 'Produced'"):
        kafka.faults.on("Produced")
