"""Filter pushdown and queries that share a plan: which rows Spark returns.

Spark keeps the plan of the filters that it pushed last, in the relation of a DataFrame. Two scans
of that relation run the same function on the same partitions. So they look the same to a
reader, and pushdown cannot be the default.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from tests.unit.storage.reader_samples import name
from tests.unit.storage.segment_samples import v2

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import DataFrame, SparkSession

    #: A query over a DataFrame, which returns a number of rows.
    Query = Callable[[SparkSession, DataFrame], int]

pytestmark = pytest.mark.timeout(600)

SETTING: Final = "spark.sql.python.filterPushdown.enabled"
#: The ten records have the offsets 0 to 9.
LAST: Final = "`offset` > 7"


def again(_: "SparkSession", frame: "DataFrame") -> int:
    frame.where(LAST).count()
    return frame.count()


def explained(_: "SparkSession", frame: "DataFrame") -> int:
    frame.where(LAST)._jdf.queryExecution().executedPlan()  # noqa: SLF001  # as explain() does
    return frame.count()


def united(_: "SparkSession", frame: "DataFrame") -> int:
    return frame.where(LAST).union(frame).count() - 2


def joined(_: "SparkSession", frame: "DataFrame") -> int:
    return frame.where("offset >= 0").join(frame.where(LAST), "topic").count() // 2


def with_subquery(spark: "SparkSession", frame: "DataFrame") -> int:
    frame.createOrReplaceTempView("viewed")
    inner = f"SELECT offset FROM viewed WHERE {LAST}"
    return spark.sql(f"SELECT * FROM viewed WHERE `offset` NOT IN ({inner})").count() + 2


def of_a_view(spark: "SparkSession", frame: "DataFrame") -> int:
    frame.createOrReplaceTempView("viewed")
    spark.sql(f"SELECT * FROM viewed WHERE {LAST}").count()
    return spark.sql("SELECT * FROM viewed").count()


def prepared(spark: "SparkSession", frame: "DataFrame") -> int:
    frame.createOrReplaceTempView("viewed")
    text = "SELECT * FROM viewed WHERE `offset` >= :start"
    spark.sql(text, args={"start": 8}).count()
    return spark.sql(text, args={"start": 0}).count()


def cached(_: "SparkSession", frame: "DataFrame") -> int:
    part = frame.where(LAST).cache()
    part.count()
    found = frame.count()
    part.unpersist()
    return found


QUERIES: "Final[tuple[Query, ...]]" = (
    *(again, explained, united, joined, with_subquery, of_a_view, prepared, cached),
)


@pytest.fixture
def logs(tmp_path: Path) -> str:
    """Write a log of ten records."""
    (tmp_path / "orders-0").mkdir()
    (tmp_path / "orders-0" / name(0)).write_bytes(v2(0, 9))
    return str(tmp_path)


@pytest.fixture
def pushing(spark: "SparkSession") -> "Iterator[SparkSession]":
    """Enable filter pushdown in the session."""
    spark.conf.set(SETTING, "true")
    yield spark
    spark.conf.unset(SETTING)


def test_no_query_loses_rows_by_default(pushing: "SparkSession", logs: str) -> None:
    """Although pushdown is enabled in the session."""
    read = pushing.read.format("cordwood")

    found = {query.__name__: query(pushing, read.load(logs)) for query in QUERIES}

    assert found == dict.fromkeys(found, 10)


def test_spark_loses_rows_of_queries_that_share_a_pushed_plan(
    pushing: "SparkSession", logs: str
) -> None:
    """A second filter replaces the plan; a query without one has the plan of the last filter."""
    read = pushing.read.format("cordwood").option("pushFilters", "true")

    found = {query.__name__: query(pushing, read.load(logs)) for query in QUERIES}

    assert found == {**dict.fromkeys(found, 2), "prepared": 10}


def test_spark_loads_a_table_of_the_catalog_for_each_query(
    pushing: "SparkSession", logs: str
) -> None:
    """Rows are lost only in a query that has the table twice."""
    pushing.sql(f"CREATE TABLE pushed USING cordwood OPTIONS (path '{logs}', pushFilters 'true')")
    try:
        filtered = pushing.sql(f"SELECT * FROM pushed WHERE {LAST}").count()
        found = [filtered, pushing.table("pushed").count()]
        union = pushing.sql(
            f"SELECT * FROM pushed WHERE {LAST} UNION ALL SELECT * FROM pushed"
        ).count()
    finally:
        pushing.sql("DROP TABLE pushed")

    assert found == [2, 10]
    assert union == 4
