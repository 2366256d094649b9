"""The failure matrix of docs/exactly-once-sink.md is the table of the kill harness."""

from pathlib import Path

import pytest

pytest.importorskip("pyspark", reason="the extra spark is not installed")

from tests.spark.sink_kills import FAILURES

PAGE = Path(__file__).parents[2] / "docs" / "exactly-once-sink.md"


def test_failures_of_the_page_are_those_of_the_harness() -> None:
    _, _, matrix = PAGE.read_text(encoding="utf-8").partition("| failure | rows written |\n")
    lines = matrix.partition("\n\n")[0].splitlines()[1:]

    outcomes = {True: "again", False: "once"}
    assert lines == [f"| {each.words} | {outcomes[each.is_rewritten]} |" for each in FAILURES]
