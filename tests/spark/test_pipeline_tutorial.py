"""docs/tutorials/first-pipeline.md runs as shown."""

import doctest
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.timeout(600)

PAGE = Path(__file__).parents[2] / "docs" / "tutorials" / "first-pipeline.md"
#: Relative paths of the page; the workers of the session run in another directory.
PATHS = re.compile(r'"(kafka-logs|checkpoint|lake/orders|large-orders)"(?!:)')


def test_pipeline_tutorial_runs_as_shown(spark: "SparkSession", tmp_path: Path) -> None:
    page = PATHS.sub(rf'"{tmp_path}{os.sep}\1"', PAGE.read_text(encoding="utf-8"))
    shown = doctest.DocTestParser().get_doctest(page, {"spark": spark}, PAGE.name, None, 0)

    outcome = doctest.DocTestRunner().run(shown)

    assert outcome.attempted > 12
    assert outcome.failed == 0
