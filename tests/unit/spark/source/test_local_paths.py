"""Absolute paths of the paths in options."""

from pathlib import Path

from cordwood.spark.source.local_paths import parse_local_options


def test_all_paths_of_the_options_become_absolute() -> None:
    options = parse_local_options({"path": "logs", "refillPath": "file:/old"})

    assert options.paths == (f"{Path.cwd()}/logs",)
    assert options.refill_path == "/old"
