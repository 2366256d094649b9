"""A topic that was deleted and created again is another topic, by its topic id."""

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark", reason="the extra spark is not installed")

from pyspark.errors import PySparkException

import cordwood
from cordwood.core.errors import InconsistentTopicIdError, TableError
from cordwood.core.system import SystemFiles
from cordwood.core.uuids import Uuid
from cordwood.spark import jobs
from cordwood.storage.checkpoints.partition_metadata_file import write_partition_metadata
from tests.unit.spark.jobs.export_samples import write_log
from tests.unit.storage.segment_samples import v2

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.timeout(600)


def _logs(tmp_path: Path, topic: int, *batches: bytes) -> str:
    logs = write_log(tmp_path / "logs", *batches)
    topic_id = Uuid(bytes([topic]) * 16)
    write_partition_metadata(SystemFiles(), str(logs / "orders-0"), topic_id=topic_id)
    return str(logs)


def _send(broker: cordwood.Broker, values: range) -> None:
    with cordwood.Producer(broker.address) as producer:
        for number in values:
            producer.send("orders", b"%d" % number)


@pytest.mark.parametrize("kind", ("parquet", "delta", "iceberg"))
def test_table_rejects_a_topic_that_was_created_again(
    spark: "SparkSession", tmp_path: Path, kind: str
) -> None:
    lake, how = str(tmp_path / "lake"), {"format": kind}
    how |= {"table": "logs.orders"} if kind == "iceberg" else {}
    options = {"path": _logs(tmp_path, 1, v2(0, 4)), **how}
    jobs.export(spark, lake, options=options)

    _logs(tmp_path, 2, v2(0, 4), v2(5, 9))

    with pytest.raises(TableError, match="the topic was deleted and created again"):
        jobs.export(spark, lake, options=options)
    with pytest.raises(TableError, match="the topic was deleted and created again"):
        jobs.audit(spark, lake, options=options)


def test_brokers_and_segments_of_two_topics_are_not_read_as_one(
    spark: "SparkSession", tmp_path: Path
) -> None:
    with cordwood.Broker(tmp_path / "logs", config={"num.partitions": 1}) as broker:
        _send(broker, range(5))
        old = shutil.copytree(tmp_path / "logs", tmp_path / "old")
        with cordwood.Admin(broker.address) as admin:
            admin.delete_topic("orders")
            admin.create_topic("orders", partitions=1)
        _send(broker, range(9))
        options = {"kafka.bootstrap.servers": broker.address, "subscribe": "orders"}
        log = spark.read.format("cordwood").options(**options)

        assert log.load(str(tmp_path / "logs")).count() == 9
        with pytest.raises(PySparkException, match="orders: two topics have this name"):
            log.load(str(old)).count()
        with pytest.raises(InconsistentTopicIdError, match="orders: two topics have this name"):
            cordwood.spark.scan(spark, str(old), **options)
        assert spark.read.format("cordwood").load(str(old)).count() == 5
