"""docs/pipelines.md runs as shown, and its file is a pipeline."""

import doctest
import os
import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cordwood.spark.pipeline.pipeline_definition import STEPS, TABLES, parse_pipeline

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.timeout(600)

PAGE = (Path(__file__).parents[2] / "docs" / "pipelines.md").read_text(encoding="utf-8")


def test_pipelines_page_runs_as_shown(spark: "SparkSession", tmp_path: Path) -> None:
    page = re.sub(r'"(kafka-logs|checkpoint|table)"', rf'"{tmp_path}{os.sep}\1"', PAGE)
    page = page.replace(f'"{tmp_path}{os.sep}checkpoint":', '"checkpoint":')
    shown = doctest.DocTestParser().get_doctest(page, {"spark": spark}, "pipelines", None, 0)

    outcome = doctest.DocTestRunner().run(shown)

    assert outcome.attempted > 12
    assert outcome.failed == 0


def test_file_of_the_page_is_a_pipeline() -> None:
    (shown,) = re.findall(r"^```toml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)

    pipeline = parse_pipeline({"name": "orders", **tomllib.loads(shown)})

    assert [step.kind for step in pipeline.steps] == ["decode", "sql", "function"]


def test_page_has_all_steps_and_sinks() -> None:
    shown = set(re.findall(r"`([a-z-]+)`", PAGE))

    assert {*STEPS, *TABLES, "kafka"} <= shown
