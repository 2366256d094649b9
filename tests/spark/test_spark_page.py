"""The session of docs/spark.md runs as shown."""

import doctest
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.timeout(600)

PAGE = Path(__file__).parents[2] / "docs" / "spark.md"


def test_spark_page_runs_as_shown(spark: "SparkSession", tmp_path: Path) -> None:
    logs = tmp_path / "kafka-logs"
    page = (
        PAGE.read_text().replace('"kafka-logs"', f'"{logs}"').replace("'kafka-logs'", f"'{logs}'")
    )
    shown = doctest.DocTestParser().get_doctest(page, {"spark": spark}, PAGE.name, str(PAGE), 0)

    outcome = doctest.DocTestRunner().run(shown)

    assert outcome.attempted > 15
    assert outcome.failed == 0
