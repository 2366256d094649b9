"""Replays in a session, from segments and brokers; a killed replay has no duplicates or gaps."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

import cordwood
from cordwood.core.system import SystemFiles
from cordwood.records.batch_builder import BatchBuilder, BatchFields
from tests.spark.kills import KILLS, KillableFiles, Killed, KillSwitch, survive
from tests.spark.orders import broker_of_orders
from tests.unit.cli.commands import run
from tests.unit.spark.jobs.export_samples import write_log

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


def _heartbeats(*offsets: int) -> bytes:
    """Return a batch of records that differ in their times alone."""
    builder = BatchBuilder(BatchFields(base_offset=offsets[0]))
    for offset in offsets:
        builder.append(b"k", b"alive", timestamp=1000 + offset, offset=offset)
    return bytes(builder.build())


def _in_this_process(_spark: object, tasks: Any, *, work: Any, **_: object) -> list[object]:  # noqa: ANN401  # as `run_tasks`
    return [work(task, lambda _size: None) for task in tasks]


def test_replay_that_is_killed_before_a_compaction_leaves_no_record_out(
    broker: cordwood.Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from cordwood.spark.jobs.topic_replay import replay_job  # noqa: PLC0415  # needs pyspark
    from cordwood.spark.jobs.topic_replay.replay_plan import parse_replay_options  # noqa: PLC0415  # needs pyspark

    monkeypatch.setattr(replay_job, "run_tasks", _in_this_process)
    monkeypatch.setattr(replay_job, "_ROWS", 10)
    create(broker, "again")
    source = {"path": str(write_log(tmp_path / "source", _heartbeats(*range(100))))}
    to = {"kafka.bootstrap.servers": broker.address, "topic": "again"}
    order = parse_replay_options(source, to, rate=1, state=str(tmp_path / "state"))
    waits = iter(range(5))

    def replay() -> None:
        spark = cast(
            "SparkSession", SimpleNamespace(sparkContext=SimpleNamespace(defaultParallelism=1))
        )
        replay_job.replay_topic(spark, order, files=SystemFiles(), wait=die_at_last)

    def die_at_last(_seconds: float) -> None:
        if next(waits, None) == 4:
            raise Killed

    with pytest.raises(Killed):
        replay()
    sent = len(records(broker, "again")[0])
    write_log(tmp_path / "source", _heartbeats(39, *range(40, 100)))
    replay()

    assert 0 < sent < 100
    assert [time for _, _, time in records(broker, "again")[0]] == [*range(1000, 1100)]
