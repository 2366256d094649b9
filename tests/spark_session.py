"""The session of Spark for the whole run: the one that the shipped fixtures give."""

import os
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def spark(request: pytest.FixtureRequest) -> "SparkSession":
    """A session with the source registered; where Spark has to be there, its lack is a failure."""
    if os.environ.get("CI") != "true":
        pytest.importorskip("pyspark", reason="the extra spark is not installed")
    session: SparkSession = request.getfixturevalue("cordwood_spark")
    return session
