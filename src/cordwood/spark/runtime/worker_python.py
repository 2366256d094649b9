"""The Python of workers: on this machine the driver's, unless `PYSPARK_PYTHON` is set.

Spark's default is the `python3` on the path. If a virtual environment is not activated, that Python
lacks this package. The Python of workers on other machines is unknown, so Spark's default stays.

Python processes on this machine import PySpark from its package (`worker_site`). So each process
starts 0.4 s earlier: the daemon of workers once, and a process for each streaming query.
"""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: The folder of `sitecustomize`.
WORKER_SITE: Final = str(Path(__file__).with_name("worker_site"))

_NAMED: Final = "PYSPARK_PYTHON"
_PATH: Final = "PYTHONPATH"
_SPARKS_CHOICE: Final = "python3"


def use_own_python(spark: "SparkSession") -> None:
    """Set the Python of workers on this machine to the Python of this process."""
    context = getattr(spark, "sparkContext", None)  # Spark Connect has none
    if context is None or not context.master.startswith("local"):
        return
    if _NAMED not in os.environ and context.pythonExec == _SPARKS_CHOICE:
        context.pythonExec = sys.executable
    entries = list(filter(None, context.environment.get(_PATH, "").split(os.pathsep)))
    if WORKER_SITE not in entries:
        context.environment[_PATH] = os.pathsep.join([WORKER_SITE, *entries])
