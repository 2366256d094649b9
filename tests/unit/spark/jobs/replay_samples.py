"""A broker with records to replay, and a topic for them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import cordwood
from cordwood.spark.jobs.topic_replay.replay_plan import ReplayOptions, parse_replay_options


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[cordwood.Broker]:
    """Start a broker with eight records in a topic, and an empty target topic."""
    with cordwood.Broker(tmp_path / "logs", config={"num.partitions": 2}) as broker:
        send(broker, "orders", *range(8))
        with cordwood.Admin(broker.address) as admin:
            admin.create_topic("again", partitions=2)
        yield broker


def send(broker: cordwood.Broker, topic: str, *numbers: int) -> None:
    with cordwood.Producer(broker.address) as producer:
        for number in numbers:
            value, time = b"%d" % number, 1000 + number
            producer.send(topic, value, key=b"k", partition=number % 2, timestamp_ms=time)


def ordered(broker: cordwood.Broker, tmp_path: Path, **options: str) -> ReplayOptions:
    """Return the options of a replay from segments, with a state file."""
    source = {"path": str(tmp_path / "logs"), "subscribe": "orders", **options}
    to = {"kafka.bootstrap.servers": broker.address, "topic": "again"}
    return parse_replay_options(source, to, state=str(tmp_path / "state"))
