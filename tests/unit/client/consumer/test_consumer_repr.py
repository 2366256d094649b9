"""A consumer shows its group, its subscription and its assignment."""

import cordwood
from cordwood import aio
from cordwood.testing.kafka_fixture import Kafka


def test_member_shows_its_group_its_topics_and_its_partitions(kafka: Kafka) -> None:
    kafka.create_topic("orders")
    with cordwood.Consumer(kafka.bootstrap, group="billing") as consumer:
        consumer.subscribe(["orders"])
        consumer.poll(1)
        while not consumer.assignment():
            consumer.poll(1)

        shown = repr(consumer)

    assert shown == (
        f"<cordwood.Consumer of {kafka.bootstrap}, group 'billing', subscribed to orders,"
        " 1 partition assigned>"
    )


def test_consumer_without_a_group_shows_its_partitions() -> None:
    consumer = aio.Consumer("b:1")
    consumer.assign([("orders", 0), ("orders", 1)])

    assert repr(consumer) == "<cordwood.aio.Consumer of b:1, 2 partitions assigned, not running>"
