"""The Spark session of the whole run, from the shipped fixtures."""

import os
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def spark(request: pytest.FixtureRequest) -> "SparkSession":
    """Return a session with the source registered; in CI the absence of Spark is a failure."""
    if os.environ.get("CI") != "true":
        pytest.importorskip("pyspark", reason="the extra spark is not installed")
    session: SparkSession = request.getfixturevalue("cordwood_spark")
    return session
