"""The task of a replay; `tests/spark` replays in a session."""

import pytest

pytest.importorskip("pyspark", reason="the extra spark is not installed")

from pathlib import Path

import cordwood
from cordwood.core.errors import InvalidRecordError, LogDirectoryError
from cordwood.core.system import SystemFiles
from cordwood.records.batch_builder import BatchBuilder, BatchFields
from cordwood.spark.jobs.topic_replay.replay_job import (
    PartitionReplay,
    ReplayReport,
    lock_partition,
    replay_partition,
)
from cordwood.spark.jobs.topic_replay.replay_plan import ReplayOptions, ReplayTask, plan_tasks
from cordwood.spark.jobs.topic_replay.sent_offsets import SentOffsetsFile
from tests.unit.spark.jobs.export_samples import write_log
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


def sent_before(tmp_path: Path, partition: int, *spans: tuple[int, int]) -> None:
    """Write the progress of an earlier task, as it is before it sends these offsets."""
    file = SentOffsetsFile(SystemFiles(), str(tmp_path / f"state.{partition}.sent"))
    file.begin(0, None)
    file.write(spans)


def test_task_resumes_after_the_last_record_of_the_target(
    broker: cordwood.Broker, tmp_path: Path
) -> None:
    plan_tasks(ordered(broker, tmp_path), SystemFiles())
    for partition in (0, 1):
        sent_before(tmp_path, partition, (0, 4))
    send(broker, "again", 0, 2, 1)

    assert sent(broker, tmp_path) == [2, 3]
    assert [value for _, value, *_ in values(broker, "again")] == [b"0", b"2", b"4", b"6"]


@pytest.mark.parametrize("strangers", ((4,), (0, 2, 4, 6, 8)))
def test_task_rejects_records_of_other_producers(
    broker: cordwood.Broker, tmp_path: Path, strangers: tuple[int, ...]
) -> None:
    plan_tasks(ordered(broker, tmp_path), SystemFiles())
    sent_before(tmp_path, 0, (0, 4))
    send(broker, "again", *strangers)

    with pytest.raises(InvalidRecordError, match="another producer writes to it"):
        sent(broker, tmp_path)


def test_task_rejects_a_target_without_known_offsets(
    broker: cordwood.Broker, tmp_path: Path
) -> None:
    plan_tasks(ordered(broker, tmp_path), SystemFiles())
    send(broker, "again", 0)

    with pytest.raises(LogDirectoryError, match="which compaction may have changed since"):
        sent(broker, tmp_path)


def test_task_rejects_a_target_that_lost_acknowledged_records(
    broker: cordwood.Broker, tmp_path: Path
) -> None:
    order = ordered(broker, tmp_path)
    task = plan_tasks(order, SystemFiles())[0]
    file = SentOffsetsFile(SystemFiles(), str(tmp_path / "state.0.sent"))
    for spans in ([(0, 2)], [(2, 3)], [(3, 4)]):
        file.write(spans)
    send(broker, "again", 0)

    with pytest.raises(LogDirectoryError, match="has 1 records, and brokers had acknowledged 2"):
        send_left(task, order)


# -- a source that was compacted between a kill and the next run


def heartbeats(*offsets: int, end: int, later: int = 0) -> bytes:
    """Return a batch of records that differ in their times only."""
    builder = BatchBuilder(BatchFields(base_offset=offsets[0]))
    for offset in offsets:
        builder.append(b"k", b"alive", timestamp=1000 + later + offset, offset=offset)
    return bytes(builder.build(last_offset=end - 1))


def replay_of_heartbeats(
    broker: cordwood.Broker, tmp_path: Path, *, left: tuple[int, ...]
) -> ReplayOptions:
    """Return a replay of a hundred records, killed after forty, whose source was compacted."""
    source = tmp_path / "source"
    write_log(source, heartbeats(*range(100), end=100))
    order = ordered(broker, tmp_path, path=str(source))
    plan_tasks(order, SystemFiles())
    sent_before(tmp_path, 0, (0, 100))
    with cordwood.Producer(broker.address) as producer:
        for offset in range(40):
            producer.send("again", b"alive", key=b"k", partition=0, timestamp_ms=1000 + offset)
    write_log(source, heartbeats(*left, *range(40, 100), end=100))
    return order


def test_task_resumes_by_offset_after_compaction(broker: cordwood.Broker, tmp_path: Path) -> None:
    order = replay_of_heartbeats(broker, tmp_path, left=(17,))
    (task,) = plan_tasks(order, SystemFiles())

    assert send_left(task, order) == PartitionReplay(60, 40)
    assert [stamp for *_, stamp in values(broker, "again")] == list(range(1000, 1100))


def test_task_names_compaction_if_no_sent_record_is_left(
    broker: cordwood.Broker, tmp_path: Path
) -> None:
    order = replay_of_heartbeats(broker, tmp_path, left=())
    (task,) = plan_tasks(order, SystemFiles())

    with pytest.raises(LogDirectoryError, match="compaction or retention has removed the records"):
        send_left(task, order)


def test_task_compares_the_time_of_the_last_record(broker: cordwood.Broker, tmp_path: Path) -> None:
    """Heartbeats differ in their times only."""
    order = replay_of_heartbeats(broker, tmp_path, left=tuple(range(40)))
    (task,) = plan_tasks(order, SystemFiles())
    times = [1000 + offset for offset in range(100)]
    moved = heartbeats(*range(100), end=100, later=7)
    write_log(tmp_path / "source", moved)

    with pytest.raises(InvalidRecordError, match="another record at offset 39"):
        send_left(task, order)

    assert [stamp for *_, stamp in values(broker, "again")] == times[:40]


def test_task_resumes_in_a_target_with_the_time_of_the_append(
    broker: cordwood.Broker, tmp_path: Path
) -> None:
    with cordwood.Admin(broker.address) as admin:
        admin.alter_configs(("topic", "again"), change={"message.timestamp.type": "LogAppendTime"})
    order = replay_of_heartbeats(broker, tmp_path, left=tuple(range(40)))
    (task,) = plan_tasks(order, SystemFiles())

    assert send_left(task, order) == PartitionReplay(60, 40)


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
