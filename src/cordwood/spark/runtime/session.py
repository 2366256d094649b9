"""The Spark session of a job that a command runs, with Spark's defaults.

Under spark-submit the session is spark-submit's, unchanged. An active session is used as it is.
"""

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from cordwood.core.errors import SettingError, SparkError

__all__ = (
    "DataFrame",
    "DataStreamWriter",
    "Row",
    "SparkSession",
    "StreamingQuery",
    "is_submitted",
    "session",
)

#: Settings for a command on a terminal: no UI, no progress bar, errors only.
_QUIET: Final = {
    "spark.log.level": "ERROR",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
#: Set by spark-submit: the port of the JVM that it has started.
_SUBMITTED: Final = "PYSPARK_GATEWAY_PORT"


@contextmanager
def session(
    name: str, *, master: str | None = None, conf: Mapping[str, str] | None = None
) -> Iterator[SparkSession]:
    """Yield the active session, or a new one that stops at the end of the block.

    `conf` is Spark configuration. Without a master, Spark uses all cores of this machine.
    """
    active = SparkSession.getActiveSession()
    if active is not None:
        yield active
        return
    created = _create(name, master=master, conf=conf or {})
    try:
        yield created
    finally:
        created.stop()


def is_submitted() -> bool:
    """Return whether spark-submit runs this program; it merges stdout and stderr."""
    return _SUBMITTED in os.environ


def _create(name: str, *, master: str | None, conf: Mapping[str, str]) -> SparkSession:
    if master is not None and is_submitted():
        raise SettingError(
            "--master has no effect under spark-submit",
            key="master",
            remedy="pass --master to spark-submit, before the name of the program",
        )
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if not is_submitted() and (master or conf.get("spark.master", "local")).startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")  # not reachable from other machines
    builder = SparkSession.builder.appName(name)
    if master is not None:
        builder = builder.master(master)
    for key, value in (conf if is_submitted() else {**_QUIET, **conf}).items():
        builder = builder.config(key, value)
    try:
        return builder.getOrCreate()
    except PySparkException as error:
        raise SparkError(
            f"Spark does not start: {error}",
            remedy="run `cordwood doctor` to check the Java installation",
        ) from error
