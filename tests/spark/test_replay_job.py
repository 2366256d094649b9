"""Replays in a session, from segments and brokers; a killed replay has no duplicates or gaps."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import cordwood
from tests.spark.kills import KILLS, KillableFiles, KillSwitch, survive
from tests.spark.orders import broker_of_orders
from tests.unit.cli.commands import run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.timeout(7200)

RECORDS = 10_000


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[cordwood.Broker]:
    """Start a broker with a topic of two partitions."""
    with broker_of_orders(tmp_path / "logs", RECORDS) as broker:
        yield broker


@dataclass(frozen=True)
class KillableWait:
    """Returns at once; its process may die in the call."""

    switch: KillSwitch

    def __call__(self, _seconds: float) -> None:
        self.switch.tick()


def create(broker: cordwood.Broker, topic: str) -> None:
    with cordwood.Admin(broker.address) as admin:
        admin.create_topic(topic)


def records(broker: cordwood.Broker, topic: str) -> list[list[tuple[object, ...]]]:
    """Return the records of the two partitions of a topic."""
    found: list[list[tuple[object, ...]]] = [[], []]
    places = [(topic, 0), (topic, 1)]
    with cordwood.Consumer(broker.address) as consumer:
        total = sum(consumer.end_offsets(places).values())
        consumer.assign(places)
        consumer.seek_to_beginning(*places)
        while sum(map(len, found)) < total:
            for each in consumer.poll():
                found[each.partition].append((each.key, each.value, each.timestamp))
    return found


@pytest.mark.parametrize("is_broker", (False, True))
def test_topic_is_sent_as_it_is(
    spark: "SparkSession",
    broker: cordwood.Broker,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    *,
    is_broker: bool,
) -> None:
    create(broker, "again")
    source = ("--from-server", broker.address) if is_broker else (str(tmp_path / "logs"),)
    where = ("--topic", "orders", "--to", "again", "--bootstrap-server", broker.address)

    output = run(("spark", "replay", *source, *where), monkeypatch, capfd)

    assert spark.getActiveSession() is spark
    assert output.out == f"again: {RECORDS:,} records sent to 2 partitions\n"
    assert records(broker, "again") == records(broker, "orders")


def test_killed_replay_has_no_duplicates_or_gaps(
    spark: "SparkSession",
    broker: cordwood.Broker,
    tmp_path: Path,
    report: Callable[[str], None],
) -> None:
    from cordwood.spark.jobs.topic_replay.replay_job import replay_topic  # noqa: PLC0415  # as above
    from cordwood.spark.jobs.topic_replay.replay_plan import parse_replay_options  # noqa: PLC0415  # needs pyspark

    def job(world: Path, files: KillableFiles) -> None:
        source = {"path": str(tmp_path / "logs"), "subscribe": "orders"}
        to = {"kafka.bootstrap.servers": broker.address, "topic": world.name}
        order = parse_replay_options(source, to, rate=1, state=str(world / "state"))
        replay_topic(spark, order, files=files, wait=KillableWait(files.switch))

    kills = survive(
        job,
        lambda world: create(broker, world.name),
        look=lambda world: records(broker, world.name),
        folder=tmp_path,
        kills=KILLS["replay"],
    )

    assert records(broker, "undisturbed") == records(broker, "orders")
    report(f"replay: {kills}")
