"""The package's own functions."""

from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from cordwood.spark import jobs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_package_offers_its_jobs_without_importing_spark() -> None:
    assert {"verify"} <= set(jobs.__all__)


def test_path_alone_is_a_list_of_it(tmp_path: Path) -> None:
    pytest.importorskip("pyspark", reason="the extra spark is not installed")

    with pytest.raises(FileNotFoundError, match=f"'{tmp_path}/none'"):
        jobs.compact(cast("SparkSession", None), f"{tmp_path}/none")
