"""Paths as users of Spark write them."""

from pathlib import Path

import pytest

from cordwood.core.errors import SettingError
from cordwood.spark.local_paths import local_path


@pytest.mark.parametrize(
    "path", ("/logs/a", "/logs/a/", "/logs//a", "/logs/./a", "file:/logs/a", "file:///logs/a")
)
def test_path_is_the_same_however_it_is_written(path: str) -> None:
    assert local_path(path, key="path") == "/logs/a"


def test_path_is_whole_wherever_tasks_work() -> None:
    assert local_path("logs", key="path") == f"{Path.cwd()}/logs"


def test_colon_makes_no_address() -> None:
    assert local_path("/a:b//c", key="path") == "/a:b/c"


@pytest.mark.parametrize("path", ("s3a://bucket/logs", "hdfs://name/logs", "abfss://x@y/z"))
def test_store_that_is_no_disk_is_refused(path: str) -> None:
    with pytest.raises(SettingError, match="is on no disk; mount it"):
        local_path(path, key="path")
