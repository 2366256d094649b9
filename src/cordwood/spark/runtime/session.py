"""The Spark session of a job that a command runs, with Spark's defaults.

Under spark-submit the session is spark-submit's, unchanged. An active session is used as it is.
"""

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.java_gateway import launch_gateway
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from cordwood.core.errors import SettingError, SparkError
from cordwood.spark.runtime.jvm_messages import filtered_stderr

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


def _launch_jvm(settings: Mapping[str, str], *, master: str | None) -> None:
    """Launch the JVM as PySpark does, without its messages of a normal start."""
    if SparkContext._gateway is not None or os.environ.get("SPARK_REMOTE"):  # noqa: SLF001  # PySpark has no public one
        return
    conf = SparkConf(loadDefaults=False)
    for key, value in settings.items():
        conf.set(key, value)
    if master is not None:
        conf.setMaster(master)
    with filtered_stderr() as stderr:
        gateway = launch_gateway(conf, {"stderr": stderr})  # type: ignore[no-untyped-call]  # PySpark's
    SparkContext._ensure_initialized(gateway=gateway)  # noqa: SLF001  # as above


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
    settings = dict(conf) if is_submitted() else {**_QUIET, **conf}
    for key, value in settings.items():
        builder = builder.config(key, value)
    try:
        if not is_submitted():
            _launch_jvm({"spark.app.name": name, **settings}, master=master)
        return builder.getOrCreate()
    except PySparkException as error:
        raise SparkError(
            f"Spark does not start: {error}",
            remedy="run `cordwood doctor` to check the Java installation",
        ) from error
