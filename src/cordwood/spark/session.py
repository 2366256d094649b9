"""The session of a job that was begun by a command: Spark's own settings, where nobody says else.

Under spark-submit the session is what spark-submit says, and nothing of it is changed. A program
that has a session already gives that one to its jobs.
"""

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession

from cordwood.core.errors import SettingError, SparkError

__all__ = ("DataFrame", "Row", "SparkSession", "is_submitted", "session")

#: What a command on a terminal does not need.
_QUIET: Final = {
    "spark.log.level": "ERROR",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
#: Where spark-submit tells Python how to reach the JVM that it has started.
_SUBMITTED: Final = "PYSPARK_GATEWAY_PORT"


@contextmanager
def session(
    name: str, *, master: str | None = None, conf: Mapping[str, str] | None = None
) -> Iterator[SparkSession]:
    """Yield the session that there is, or one that ends with the block.

    `conf` are settings of Spark's, by its names. Without a master all cores of this machine work.
    """
    there = SparkSession.getActiveSession()
    if there is not None:
        yield there
        return
    begun = _begin(name, master=master, conf=conf or {})
    try:
        yield begun
    finally:
        begun.stop()


def is_submitted() -> bool:
    """Whether spark-submit has started this program; it prints both of its outputs as one."""
    return _SUBMITTED in os.environ


def _begin(name: str, *, master: str | None, conf: Mapping[str, str]) -> SparkSession:
    if master is not None and is_submitted():
        raise SettingError(
            "spark-submit has said which master it is",
            key="master",
            remedy="give --master to spark-submit, before the name of the program",
        )
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if not is_submitted() and (master or conf.get("spark.master", "local")).startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")  # nobody else is to reach it
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
            remedy="`cordwood doctor` says whether there is a Java for it",
        ) from error
