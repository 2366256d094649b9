"""Registration of `format("cordwood")` with a session, once for each session.

Spark finds the format by itself, in the Python that its JVM starts: `PYSPARK_DRIVER_PYTHON`,
`PYSPARK_PYTHON`, or the `python3` on the path. If that is this program's Python, nothing is
registered. Spark warns of each registration that replaces another one.
"""

import os
import shutil
import sys
from pathlib import Path
from typing import Final
from weakref import WeakSet

from pyspark.sql import SparkSession

from cordwood.spark.runtime.worker_python import use_own_python

FORMAT: Final = "cordwood"
_NAMES: Final = ("PYSPARK_DRIVER_PYTHON", "PYSPARK_PYTHON")

_registered: Final[WeakSet[SparkSession]] = WeakSet()


def register_source(spark: SparkSession) -> None:
    """Register the source, unless the session has it; set the Python of local workers."""
    use_own_python(spark)
    if spark in _registered:
        return
    if not _is_found_by_spark(spark):
        from cordwood.spark.data_source import CordwoodSource  # noqa: PLC0415  # sources: 0.3 s

        spark.dataSource.register(CordwoodSource)
    _registered.add(spark)


def _is_found_by_spark(spark: SparkSession) -> bool:
    """Return whether Spark has found the source in this Python; unknown for Spark Connect."""
    session = getattr(spark, "_jsparkSession", None)
    if session is None or not _is_python_of_spark():
        return False
    return bool(session.sessionState().dataSourceManager().dataSourceExists(FORMAT))


def _is_python_of_spark() -> bool:
    """Return whether Spark looks for data sources in the Python of this program."""
    named = next(filter(None, map(os.environ.get, _NAMES)), "python3")
    found = shutil.which(named)
    if found is None:
        return False
    # The folder decides, because the Pythons of virtual environments are links to one file.
    return Path(found).absolute().parent == Path(sys.executable).absolute().parent
