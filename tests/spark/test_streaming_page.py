"""docs/streaming.md runs as shown, and its table has the declared options."""

import doctest
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import cordwood
from cordwood.spark.stream.stream_metrics import STREAM_CATALOGUE
from cordwood.spark.stream.stream_options import STREAM_OPTIONS

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from cordwood.testing.spark_kafka import SparkKafka

pytestmark = pytest.mark.timeout(600)

PAGE = (Path(__file__).parents[2] / "docs" / "streaming.md").read_text(encoding="utf-8")


def test_streaming_page_runs_as_shown(spark: "SparkSession", tmp_path: Path) -> None:
    page = re.sub(
        r'"(kafka-logs|streams\.prom|table|checkpoint)"', rf'"{tmp_path}{os.sep}\1"', PAGE
    )
    shown = doctest.DocTestParser().get_doctest(page, {"spark": spark}, "streaming", None, 0)

    outcome = doctest.DocTestRunner().run(shown)

    assert outcome.attempted > 12
    assert outcome.failed == 0
    assert "cordwood_stream_batches_total" in (tmp_path / "streams.prom").read_text()


def test_streaming_page_shows_a_test_that_passes(spark_kafka: "SparkKafka") -> None:
    (shown,) = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    names: dict[str, Callable[..., None]] = {}

    exec(shown, {"cordwood": cordwood}, names)

    (test,) = names.values()
    test(spark_kafka)


def test_streaming_page_has_the_declared_options() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (\S+) \| (.+) \|$", PAGE, re.MULTILINE)

    assert rows == [tuple(each) for each in STREAM_OPTIONS]


def test_streaming_page_has_all_metrics() -> None:
    assert set(re.findall(r"`(cordwood_stream_\w+)`", PAGE)) == set(STREAM_CATALOGUE)
