"""Spark on a cluster of three brokers: their directories as one source, and the loss of one.

The directories are read after kills: one replica is behind, one has records that no other has, and
one is gone. The exactly-once sink goes on while a broker is killed at each step of its protocol,
and another broker leads and coordinates.
"""

import shutil
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

pytest.importorskip("pyspark", reason="the extra spark is not installed")

import cordwood
from cordwood.core.system import SystemFiles
from cordwood.records.batch_builder import BatchBuilder, BatchFields
from cordwood.storage.checkpoints.checkpoint_files import HIGH_WATERMARKS, read_offset_checkpoint
from tests.robustness.cluster_chaos import SETTINGS, ClusterProcesses, cluster
from tests.spark.sink_kills import BROKER_FAILURES, IS_SOAK, ROWS, Target, run_matrix

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.timeout(5_400 if IS_SOAK else 600)

TOPIC: Final = "orders"
PARTITIONS: Final = 3
#: Records of each partition in each part of the test.
RECORDS: Final = 2_000
QUICK: Final = {
    **SETTINGS,
    "zookeeper.session.timeout.ms": "3000",
    "replica.high.watermark.checkpoint.interval.ms": "100",
}
FAILURES: Final = (
    BROKER_FAILURES
    if IS_SOAK
    else [each for each in BROKER_FAILURES if each.point in {"task", "intent", "half"}]
)


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[ClusterProcesses]:
    folder = tmp_path / "cluster"
    folder.mkdir()
    with cluster(folder, QUICK) as running:
        yield running


def produce(processes: ClusterProcesses, first: int) -> list[tuple[int, int, bytes]]:
    """Return partition, offset and value of records that all in-sync replicas have."""
    with cordwood.Producer(processes.bootstrap) as producer:
        sent = [
            (partition, value, producer.send(TOPIC, value, partition=partition))
            for partition in range(PARTITIONS)
            for value in (b"%d" % number for number in range(first, first + RECORDS))
        ]
        return [(each, delivery.result().offset, value) for each, value, delivery in sent]


def read(
    spark: "SparkSession", folders: Sequence[Path], **options: str
) -> list[tuple[int, int, bytes]]:
    """Return the records of log directories, by partition and offset."""
    frame = spark.read.format("cordwood").options(subscribe=TOPIC, **options)
    rows = frame.load([str(each) for each in folders]).select("partition", "offset", "value")
    return sorted((row.partition, row.offset, bytes(row.value)) for row in rows.collect())


def append_uncommitted(folder: Path, *, at: int) -> None:
    """Append records that no other replica has, as a leader does before it dies."""
    builder = BatchBuilder(BatchFields(base_offset=at, partition_leader_epoch=0))
    for _ in range(10):
        builder.append(None, b"uncommitted", timestamp=0)
    newest = max(folder.glob("*.log"))
    with newest.open("ab") as log:
        log.write(builder.build())


def checkpointed(folder: Path) -> set[int]:
    """Return the high watermarks of the topic's partitions in the checkpoint of a broker."""
    offsets = read_offset_checkpoint(SystemFiles(), str(folder / HIGH_WATERMARKS))
    return {offset for partition, offset in offsets.items() if partition.topic == TOPIC}


def test_directories_of_three_brokers_are_read_as_one(
    processes: ClusterProcesses, spark: "SparkSession", report: Callable[[str], None]
) -> None:
    processes.create_topic(TOPIC, PARTITIONS)
    processes.wait_until_in_sync(TOPIC)
    one, two, three = processes.brokers
    committed = produce(processes, 0)
    three.kill()
    committed += produce(processes, RECORDS)
    # A follower gets the high watermark after the records.
    processes.wait_until(lambda: checkpointed(two.data[0]) == {2 * RECORDS})
    for broker in (two, one):
        broker.stop()
    folders = [each.data[0] for each in processes.brokers]
    for partition in range(PARTITIONS):
        append_uncommitted(folders[1] / f"{TOPIC}-{partition}", at=2 * RECORDS)
    committed.sort()

    for order in (folders, folders[::-1]):
        assert read(spark, order) == committed

    shutil.rmtree(folders[0])
    assert read(spark, folders) == committed

    shutil.rmtree(folders[1])
    behind = read(spark, folders)
    assert behind == [each for each in committed if each in {*behind}]
    ends = f'{{"{TOPIC}": {{"0": {2 * RECORDS}, "1": -1, "2": -1}}}}'
    with pytest.raises(Exception, match=rf"no source has offsets \d+ to {2 * RECORDS - 1}"):
        read(spark, folders, endingOffsets=ends)
    report(f"three brokers: {len(committed)} records, of which the last replica had {len(behind)}")


def lose_broker(processes: ClusterProcesses, number: int) -> None:
    """Kill a broker; return when the others have its leaderships."""
    processes.brokers[number].kill()
    processes.wait_until_registered(len(processes.brokers) - 1)


def test_sink_writes_each_row_once_while_brokers_are_killed(
    processes: ClusterProcesses, tmp_path: Path, report: Callable[[str], None]
) -> None:
    """The broker stays away while the queries go on; in soak each broker is lost in turn."""
    for number in range(len(processes.brokers) if IS_SOAK else 1):
        folder = tmp_path / str(number)
        folder.mkdir()
        lose = partial(lose_broker, processes, number)
        target = Target(f"lost-{number}", processes.bootstrap, FAILURES, lose)
        for failure, rows in run_matrix([target], folder):
            assert (rows.visible, rows.distinct) == (ROWS, ROWS), (failure.name, rows)
        processes.brokers[number].start()
        processes.wait_until_registered()
    report(f"exactly-once sink: {len(FAILURES)} queries lose a broker of three")
