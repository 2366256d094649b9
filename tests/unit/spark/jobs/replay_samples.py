"""A broker with records to replay, and a topic for them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import cordwood
from cordwood.spark.jobs.replay_plan import ReplayOrder, parse_replay


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[cordwood.Broker]:
    """A broker with eight records of a topic, and an empty topic for their replay."""
    with cordwood.Broker(tmp_path / "logs", config={"num.partitions": 2}) as broker:
        send(broker, "orders", *range(8))
        with cordwood.Admin(broker.address) as admin:
            admin.create_topic("again", partitions=2)
        yield broker


def send(broker: cordwood.Broker, topic: str, *numbers: int) -> None:
    with cordwood.Producer(broker.address) as producer:
        for number in numbers:
            producer.send(topic, b"%d" % number, key=b"k", partition=number % 2)


def ordered(broker: cordwood.Broker, tmp_path: Path, **options: str) -> ReplayOrder:
    """Return a replay of orders from segments, of which the state is kept."""
    source = {"path": str(tmp_path / "logs"), "subscribe": "orders", **options}
    to = {"kafka.bootstrap.servers": broker.address, "topic": "again"}
    return parse_replay(source, to, state=str(tmp_path / "state"))
