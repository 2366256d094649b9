"""The public functions of the package."""

from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from cordwood.spark import jobs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_package_offers_its_jobs_without_importing_spark() -> None:
    assert {"verify"} <= set(jobs.__all__)


@pytest.mark.spark
def test_single_path_is_a_list_of_one(tmp_path: Path) -> None:
    pytest.importorskip("pyspark", reason="the extra spark is not installed")

    with pytest.raises(FileNotFoundError, match=f"'{tmp_path}/none'"):
        jobs.compact(cast("SparkSession", None), f"{tmp_path}/none")
