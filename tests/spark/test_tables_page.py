"""The session of docs/tables.md runs as shown."""

import doctest
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.timeout(600)

PAGE = Path(__file__).parents[2] / "docs" / "tables.md"


def test_tables_page_runs_as_shown(
    spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    page = PAGE.read_text().replace('"kafka-logs"', f'"{tmp_path / "kafka-logs"}"')
    shown = doctest.DocTestParser().get_doctest(page, {"spark": spark}, PAGE.name, str(PAGE), 0)

    outcome = doctest.DocTestRunner().run(shown)

    assert outcome.attempted > 8
    assert outcome.failed == 0
