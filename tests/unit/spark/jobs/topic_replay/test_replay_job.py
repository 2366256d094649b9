"""The task of a replay; `tests/spark` replays in a session."""

import pytest

pytest.importorskip("pyspark", reason="the extra spark is not installed")

from pathlib import Path

import cordwood
from cordwood.core.errors import InvalidRecordError, LogDirectoryError
from cordwood.core.system import SystemFiles
from cordwood.spark.jobs.topic_replay.replay_job import (
    PartitionReplay,
    ReplayReport,
    lock_partition,
    replay_partition,
)
from cordwood.spark.jobs.topic_replay.replay_plan import ReplayOptions, ReplayTask, plan_tasks
from tests.unit.spark.jobs.replay_samples import broker, ordered, send

pytestmark = pytest.mark.spark

__all__ = ("broker",)


def values(broker: cordwood.Broker, topic: str, partition: int = 0) -> list[tuple[object, ...]]:
    """Return the records of a partition: keys, values, headers, timestamps."""
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
    """Send the remaining records of each partition, and return their numbers."""
    order = ordered(broker, tmp_path)
    tasks = plan_tasks(order, SystemFiles())
    return [send_left(task, order).records for task in tasks]


def send_left(task: ReplayTask, order: ReplayOptions) -> PartitionReplay:
    return replay_partition(task, passed_by, options=order, files=SystemFiles(), wait=passed_by)


def test_task_sends_records_unchanged(broker: cordwood.Broker, tmp_path: Path) -> None:
    with cordwood.Producer(broker.address) as producer:
        producer.send("orders", None, headers=[("h", b"x")], timestamp_ms=5, partition=0)

    assert sent(broker, tmp_path) == [5, 4]
    assert values(broker, "again") == values(broker, "orders")
    assert values(broker, "again", 1) == values(broker, "orders", 1)


def test_task_resumes_after_the_last_record_of_the_target(
    broker: cordwood.Broker, tmp_path: Path
) -> None:
    plan_tasks(ordered(broker, tmp_path), SystemFiles())
    send(broker, "again", 0, 2, 1)

    assert sent(broker, tmp_path) == [2, 3]
    assert [value for _, value, *_ in values(broker, "again")] == [b"0", b"2", b"4", b"6"]


@pytest.mark.parametrize("strangers", ((4,), (0, 2, 4, 6, 8)))
def test_task_rejects_records_of_other_producers(
    broker: cordwood.Broker, tmp_path: Path, strangers: tuple[int, ...]
) -> None:
    plan_tasks(ordered(broker, tmp_path), SystemFiles())
    send(broker, "again", *strangers)

    with pytest.raises(InvalidRecordError, match="another producer writes to it"):
        sent(broker, tmp_path)


def test_task_resumes_after_one_that_continued_without_its_driver(
    broker: cordwood.Broker, tmp_path: Path
) -> None:
    order = ordered(broker, tmp_path)
    task = plan_tasks(order, SystemFiles())[0]

    assert send_left(task, order) == PartitionReplay(4, 0)
    assert send_left(task, order) == PartitionReplay(0, 4)
    assert len(values(broker, "again")) == 4


def test_task_waits_for_another_one_with_the_partition_lock(
    broker: cordwood.Broker, tmp_path: Path
) -> None:
    order = ordered(broker, tmp_path)
    task, other = plan_tasks(order, SystemFiles())
    waited: list[float] = []

    with (
        lock_partition(task, order, files=SystemFiles()),
        pytest.raises(LogDirectoryError, match="locked by another task"),
        lock_partition(task, order, files=SystemFiles(), wait=waited.append),
    ):
        pass

    assert sum(waited) == pytest.approx(60)
    assert send_left(task, order).records == send_left(other, order).records == 4


def test_report_has_the_numbers_of_records() -> None:
    report = ReplayReport(topic="again", partitions=2, sent=5, sent_before=3)

    assert str(report) == "again: 5 records sent to 2 partitions, 3 sent before"
