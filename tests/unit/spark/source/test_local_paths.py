"""Absolute paths of the paths in options."""

from pathlib import Path

import pytest

from cordwood.core.errors import SettingError
from cordwood.spark.source.local_paths import local_path, parse_local_options


@pytest.mark.parametrize(
    "path", ("/logs/a", "/logs/a/", "/logs//a", "/logs/./a", "file:/logs/a", "file:///logs/a")
)
def test_equivalent_spellings_have_the_same_path(path: str) -> None:
    assert local_path(path, key="path") == "/logs/a"


def test_relative_path_becomes_absolute() -> None:
    assert local_path("logs", key="path") == f"{Path.cwd()}/logs"


def test_colon_alone_does_not_make_an_address() -> None:
    assert local_path("/a:b//c", key="path") == "/a:b/c"


@pytest.mark.parametrize("path", ("s3a://bucket/logs", "hdfs://name/logs", "abfss://x@y/z"))
def test_object_store_is_rejected(path: str) -> None:
    with pytest.raises(SettingError, match=r"path: .* is not a local path; mount it"):
        local_path(path, key="path")


def test_all_paths_of_the_options_become_absolute() -> None:
    options = parse_local_options({"path": "logs", "refillPath": "file:/old"})

    assert options.paths == (f"{Path.cwd()}/logs",)
    assert options.refill_path == "/old"
