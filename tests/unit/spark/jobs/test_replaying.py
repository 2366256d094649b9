"""What a task of a replay sends; `tests/spark` replays in a session."""

import pytest

pytest.importorskip("pyspark", reason="the extra spark is not installed")

from pathlib import Path

import cordwood
from cordwood.core.errors import InvalidRecordError, LogDirectoryError
from cordwood.core.system import SystemFiles
from cordwood.spark.jobs.replay_plan import ReplayOrder, ReplayTask, tasks_of
from cordwood.spark.jobs.replaying import ReplayReport, Sent, alone, replay_partition
from tests.unit.spark.jobs.replay_samples import broker, ordered, send

pytestmark = pytest.mark.spark

__all__ = ("broker",)


def values(broker: cordwood.Broker, topic: str, partition: int = 0) -> list[tuple[object, ...]]:
    """Return what a partition has: keys, values, headers, times."""
    with cordwood.Consumer(broker.address) as consumer:
        consumer.assign([(topic, partition)])
        consumer.seek_to_beginning((topic, partition))
        end = consumer.end_offsets([(topic, partition)]).popitem()[1]
        found: list[cordwood.ConsumedRecord] = []
        while len(found) < end:
            found += consumer.poll()
    return [(each.key, each.value, tuple(each.headers), each.timestamp) for each in found]


def passed_by(_number: float) -> None:
    pass


def sent(broker: cordwood.Broker, tmp_path: Path) -> list[int]:
    """Send what is left of each partition, and return how many records that was."""
    order = ordered(broker, tmp_path)
    tasks = tasks_of(order, SystemFiles())
    return [send_left(task, order).records for task in tasks]


def send_left(task: ReplayTask, order: ReplayOrder) -> Sent:
    return replay_partition(task, passed_by, order=order, files=SystemFiles(), wait=passed_by)


def test_task_sends_records_as_they_are(broker: cordwood.Broker, tmp_path: Path) -> None:
    with cordwood.Producer(broker.address) as producer:
        producer.send("orders", None, headers=[("h", b"x")], timestamp_ms=5, partition=0)

    assert sent(broker, tmp_path) == [5, 4]
    assert values(broker, "again") == values(broker, "orders")
    assert values(broker, "again", 1) == values(broker, "orders", 1)


def test_task_goes_on_behind_what_the_target_has(broker: cordwood.Broker, tmp_path: Path) -> None:
    tasks_of(ordered(broker, tmp_path), SystemFiles())
    send(broker, "again", 0, 2, 1)

    assert sent(broker, tmp_path) == [2, 3]
    assert [value for _, value, *_ in values(broker, "again")] == [b"0", b"2", b"4", b"6"]


@pytest.mark.parametrize("strangers", ((4,), (0, 2, 4, 6, 8)))
def test_task_refuses_records_of_others(
    broker: cordwood.Broker, tmp_path: Path, strangers: tuple[int, ...]
) -> None:
    tasks_of(ordered(broker, tmp_path), SystemFiles())
    send(broker, "again", *strangers)

    with pytest.raises(InvalidRecordError, match="somebody else writes to it"):
        sent(broker, tmp_path)


def test_task_goes_on_behind_one_that_has_outlived_its_driver(
    broker: cordwood.Broker, tmp_path: Path
) -> None:
    order = ordered(broker, tmp_path)
    task = tasks_of(order, SystemFiles())[0]

    assert send_left(task, order) == Sent(4, 0)
    assert send_left(task, order) == Sent(0, 4)
    assert len(values(broker, "again")) == 4


def test_task_waits_for_one_that_still_sends(broker: cordwood.Broker, tmp_path: Path) -> None:
    order = ordered(broker, tmp_path)
    task, other = tasks_of(order, SystemFiles())
    waited: list[float] = []

    with (
        alone(task, order, files=SystemFiles()),
        pytest.raises(LogDirectoryError, match="another task sends the same partition"),
        alone(task, order, files=SystemFiles(), wait=waited.append),
    ):
        pass

    assert sum(waited) == pytest.approx(60)
    assert send_left(task, order).records == send_left(other, order).records == 4


def test_report_says_what_was_sent() -> None:
    report = ReplayReport(topic="again", partitions=2, sent=5, sent_before=3)

    assert str(report) == "again: 5 records into 2 partitions, 3 before"
