"""Traps of Spark's Python data sources: they exist, and Cordwood avoids them.

`docs/spark-traps.md` lists the tests of each trap.
"""

import importlib.metadata
import os
import socket
import sys
import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark", reason="the extra spark is not installed")

import pyarrow as pa
import pyspark
from packaging.requirements import Requirement
from pyspark.sql.functions import broadcast

import cordwood.spark
from cordwood.spark.runtime.worker_python import WORKER_SITE
from tests.spark.naive_source import PATIENCE_S, WRONG, NaiveSource
from tests.unit.storage.reader_samples import name
from tests.unit.storage.segment_samples import v2

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROOT = Path(__file__).parents[2]
MISMATCH = "DATA_SOURCE_RETURN_SCHEMA_MISMATCH"
PUSHING = "spark.sql.python.filterPushdown.enabled"
ALL = ("key", "value", "topic", "partition", "offset", "timestamp", "timestampType", "headers")


@pytest.fixture
def naive(spark: "SparkSession") -> "SparkSession":
    """Return the session with a source that runs into each trap."""
    spark.dataSource.register(NaiveSource)
    return spark


@pytest.fixture
def pushing(naive: "SparkSession") -> Iterator["SparkSession"]:
    """Enable filter pushdown in the session."""
    naive.conf.set(PUSHING, "true")
    yield naive
    naive.conf.unset(PUSHING)


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """Write a log of ten records."""
    (tmp_path / "orders-0").mkdir()
    (tmp_path / "orders-0" / name(0)).write_bytes(v2(0, 9))
    return tmp_path


def trapped(spark: "SparkSession", trap: str, **options: str) -> "DataFrame":
    return spark.read.format("naive").options(trap=trap, **options).load()


def let_meet(server: socket.socket) -> None:
    """Release two clients once both are connected."""
    server.settimeout(PATIENCE_S)
    with server.accept()[0], server.accept()[0]:
        pass


def ours(spark: "SparkSession", logs: Path, **options: str) -> "DataFrame":
    return spark.read.format("cordwood").options(**options).load(str(logs))


def offsets(frame: "DataFrame") -> list[int]:
    return sorted(row.offset for row in frame.select("offset").collect())


def test_spark_rejects_a_reader_with_push_filters_while_its_setting_is_off(
    naive: "SparkSession",
) -> None:
    assert naive.conf.get(PUSHING) == "false"
    with pytest.raises(Exception, match="pushFilters"):
        trapped(naive, "filters").collect()


def test_filters_can_be_requested_while_sparks_setting_is_off(
    spark: "SparkSession", logs: Path
) -> None:
    found = ours(spark, logs, pushFilters="true").where("offset > 7")

    assert offsets(found) == [8, 9]


def test_spark_applies_no_filter_that_a_reader_keeps(pushing: "SparkSession") -> None:
    assert trapped(pushing, "filters").where("n > 1").count() == 1


def test_filters_that_are_not_applied_exactly_are_returned_to_spark(
    pushing: "SparkSession", logs: Path
) -> None:
    whole = {"pushFilters": "true"}

    assert ours(pushing, logs, **whole).where("value = 'absent'").count() == 0
    assert offsets(ours(pushing, logs, **whole).where("offset % 2 = 0 and offset > 5")) == [6, 8]


def test_spark_accepts_no_tuples_as_partitions(naive: "SparkSession") -> None:
    with pytest.raises(Exception, match="InputPartition"):
        trapped(naive, "tuples").collect()


def test_spark_runs_a_task_even_without_a_partition(naive: "SparkSession") -> None:
    assert [row.text for row in trapped(naive, "empty").collect()] == ["InputPartition(value=None)"]


def test_empty_read_has_no_rows(spark: "SparkSession", logs: Path) -> None:
    (logs / "returns-0").mkdir()
    (logs / "returns-0" / name(0)).touch()

    assert ours(spark, logs, subscribe="returns").collect() == []
    assert ours(spark, logs, startingOffsets='{"orders": {"0": 10}}').count() == 0


@pytest.mark.parametrize("wrong", WRONG)
def test_spark_accepts_no_arrow_types_except_those_of_the_schema(
    naive: "SparkSession", wrong: str
) -> None:
    with pytest.raises(Exception, match=MISMATCH):
        trapped(naive, wrong).collect()


def test_all_columns_have_the_types_of_the_schema(spark: "SparkSession", logs: Path) -> None:
    """The columns are in any order, with any time zone of the session."""
    zone = spark.conf.get("spark.sql.session.timeZone", "UTC") or "UTC"
    frame = ours(spark, logs, includeHeaders="true")
    backwards = ours(spark, logs, columns=",".join(reversed(ALL)))

    spark.conf.set("spark.sql.session.timeZone", "Asia/Kolkata")
    try:
        table = frame.toArrow()
        rows, same = frame.collect(), backwards.select(*ALL).collect()
    finally:
        spark.conf.set("spark.sql.session.timeZone", zone)

    assert tuple(table.schema.names) == ALL
    assert table.num_rows == len(rows) == 10
    assert same == rows


def test_spark_prunes_only_columns_left_out_of_the_schema(naive: "SparkSession") -> None:
    whole = trapped(naive, "schema").select("text").collect()
    pruned = naive.read.format("naive").schema("text string").option("trap", "schema").load()

    assert [row.text for row in whole] == ["text,n"]
    assert [row.text for row in pruned.collect()] == ["text"]


def test_columns_are_pruned_by_a_schema_and_by_an_option(spark: "SparkSession", logs: Path) -> None:
    by_schema = spark.read.format("cordwood").schema("offset bigint").load(str(logs))
    by_option = cordwood.spark.read(spark, str(logs), columns=["offset"])

    assert by_schema.columns == by_option.columns == ["offset"]
    assert offsets(by_schema) == offsets(by_option) == list(range(10))


def test_spark_plans_a_frame_once(naive: "SparkSession", tmp_path: Path) -> None:
    once = trapped(naive, "", plans=str(tmp_path / "once"))

    assert once.union(once).count() == 2
    assert once.where("n = 1").count() == 1

    assert (tmp_path / "once").stat().st_size == 1


def test_spark_plans_a_join_twice_while_its_sides_are_planned_concurrently(
    naive: "SparkSession", tmp_path: Path
) -> None:
    """A broadcast and a shuffle have a thread each, and each waits for the other one."""
    plans = tmp_path / "joined"
    with socket.create_server(("127.0.0.1", 0)) as server, ThreadPoolExecutor() as pool:
        frame = trapped(naive, "", plans=str(plans), meets=str(server.getsockname()[1]))
        both = pool.submit(let_meet, server)
        assert frame.repartition("n").join(broadcast(frame), "n").count() == 1
        both.result()

    assert plans.stat().st_size == 2


def test_spark_plans_a_join_once_while_its_sides_are_planned_in_turn(
    naive: "SparkSession", tmp_path: Path
) -> None:
    """The other side is planned after the broadcast, and uses its plan."""
    frame = trapped(naive, "", plans=str(tmp_path / "joined"))

    assert frame.join(broadcast(frame), "n").count() == 1

    assert (tmp_path / "joined").stat().st_size == 1


def test_frame_keeps_the_end_that_its_first_query_saw(spark: "SparkSession", logs: Path) -> None:
    frame = ours(spark, logs)
    assert frame.count() == 10
    append(logs)

    assert frame.count() == 10
    assert ours(spark, logs).count() == 13


def test_spark_reuses_the_plan_for_the_filters_of_one_query(
    pushing: "SparkSession", logs: Path
) -> None:
    """Rows are lost, so filter pushdown is opt-in, with a frame per query."""
    frame = ours(pushing, logs, pushFilters="true")
    assert frame.where("offset > 7").count() == 2

    assert frame.count() == 2
    assert ours(pushing, logs, pushFilters="true").count() == 10


def append(logs: Path) -> None:
    """Append three records to the log."""
    with (logs / "orders-0" / name(0)).open("ab") as log:
        log.write(v2(10, 12))


def test_task_reads_no_further_than_was_planned(spark: "SparkSession", logs: Path) -> None:
    """Records appended after planning, or before a retry, are not read."""
    from cordwood.spark.data_source import CordwoodSource  # noqa: PLC0415  # needs pyspark

    source = CordwoodSource({"path": str(logs), "columns": "offset"})
    reader = source.reader(ours(spark, logs, columns="offset").schema)
    (planned,) = reader.partitions()
    append(logs)

    tried = [pa.Table.from_batches(reader.read(planned)) for _ in range(2)]

    assert [table["offset"].to_pylist() for table in tried] == [list(range(10))] * 2
    assert offsets(ours(spark, logs)) == list(range(13))


def test_spark_writes_by_a_mode_that_no_python_sink_has(naive: "SparkSession") -> None:
    frame = naive.range(1).selectExpr("'v' AS value")

    with pytest.raises(Exception, match='"Append"'):
        frame.write.format("cordwood").option("kafka.bootstrap.servers", "127.0.0.1:1").save()


def test_page_of_spark_has_the_words_that_spark_has_for_kafka(spark: "SparkSession") -> None:
    with pytest.raises(Exception, match="Failed to find data source: kafka") as raised:
        spark.read.format("kafka").option("subscribe", "orders").load()

    page = (ROOT / "docs" / "spark.md").read_text()
    assert "Failed to find data source: kafka" in page
    assert "KAFKA_DATA_SOURCE_NOT_ENABLED" in page
    assert "kafka" in str(raised.value).lower()


def test_pandas_is_a_version_supported_by_pyspark(spark: "SparkSession") -> None:
    """Warnings are errors in tests, so the session would fail as well."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [Requirement(each) for each in extras["optional-dependencies"]["spark"]]
    (pandas,) = (each for each in wanted if each.name == "pandas")

    assert "3.0.0" not in pandas.specifier
    assert importlib.metadata.version("pandas") in pandas.specifier
    spark.range(3).toPandas()


def python_of(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for _ in batches:
        yield pa.record_batch({"path": [sys.prefix]})


def test_workers_of_our_sessions_run_the_python_of_the_driver(spark: "SparkSession") -> None:
    """Spark's default is the `python3` on the path, which may lack the package."""
    (row,) = spark.range(1).mapInArrow(python_of, "path string").collect()

    assert row.path == sys.prefix


def path_of(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for _ in batches:
        yield pa.record_batch({"path": [os.environ["PYTHONPATH"]]})


def test_spark_puts_a_zip_of_pyspark_before_its_package(spark: "SparkSession") -> None:
    """The folder that removes it comes next, before the path of the session."""
    (row,) = spark.range(1).mapInArrow(path_of, "path string").collect()

    entries = row.path.split(os.pathsep)
    others = [each for each in entries if not each.endswith((".zip", ".jar"))]
    assert entries[0].endswith("/pyspark.zip")
    assert others[:2] == [WORKER_SITE, str(Path.cwd())]


def test_pyspark_wheel_contains_zookeeper_and_no_kafka() -> None:
    jars = [path.name for path in (Path(pyspark.__file__).parent / "jars").glob("*.jar")]

    assert any(jar.startswith("zookeeper-3") for jar in jars)
    assert not [jar for jar in jars if "kafka" in jar]


def test_spark_passes_option_names_in_lower_case(naive: "SparkSession", logs: Path) -> None:
    (row,) = trapped(naive, "options", someName="x").collect()

    assert "somename" in row.text.split(",")
    assert offsets(ours(naive, logs, endingOFFSETS='{"orders": {"0": 2}}')) == [0, 1]
