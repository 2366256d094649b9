"""The Spark session of the whole run, from the shipped fixtures; its processes start quickly."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: A JVM of the tests has little data: quick to start rather than fast for long.
QUICK: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
#: The folder of `sitecustomize.py`.
SITE: Final = str(Path(__file__).parents[1] / "src/cordwood/spark/runtime/worker_site")

# The processes that the tests start have the same environment.
if os.environ.get("CORDWOOD_SOAK") != "1":
    for program in ("SUBMIT", "LAUNCHER", "DAEMON_JAVA"):
        os.environ.setdefault(f"SPARK_{program}_OPTS", QUICK)
if SITE not in os.environ.get("PYTHONPATH", "").split(os.pathsep):
    os.environ["PYTHONPATH"] = os.pathsep.join(
        filter(None, (SITE, os.environ.get("PYTHONPATH", "")))
    )


@pytest.fixture
def spark(request: pytest.FixtureRequest) -> "SparkSession":
    """Return a session with the source registered; in CI the absence of Spark is a failure."""
    if os.environ.get("CI") != "true":
        pytest.importorskip("pyspark", reason="the extra spark is not installed")
    session: SparkSession = request.getfixturevalue("cordwood_spark")
    return session
