"""Absolute paths of the paths in options."""

from pathlib import Path

import pytest

from cordwood.spark.source.local_paths import parse_local_options


def test_all_paths_of_the_options_become_absolute() -> None:
    options = parse_local_options({"path": "logs", "refillPath": "file:/old"})

    assert options.paths == (f"{Path.cwd()}/logs",)
    assert options.refill_path == "/old"


@pytest.mark.parametrize(
    ("given", "table"),
    (("gaps", f"{Path.cwd()}/gaps"), ("file:/gaps", "/gaps"), ("s3://lake/gaps", "s3://lake/gaps")),
)
def test_gap_table_is_absolute_so_that_each_task_writes_to_one_folder(
    given: str, table: str
) -> None:
    options = parse_local_options({"path": "logs", "gap": "record", "gapTable": given})

    assert options.gap_table == table
