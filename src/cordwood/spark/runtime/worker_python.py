"""The Python of workers: on this machine the driver's, unless `PYSPARK_PYTHON` is set.

Spark's default is the `python3` on the path. If a virtual environment is not activated, that Python
lacks this package. The Python of workers on other machines is unknown, so Spark's default stays.
"""

import os
import sys
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_NAMED: Final = "PYSPARK_PYTHON"
_SPARKS_CHOICE: Final = "python3"


def use_own_python(spark: "SparkSession") -> None:
    """Set the Python of workers on this machine to the Python of this process."""
    context = getattr(spark, "sparkContext", None)  # Spark Connect has none
    if context is None or _NAMED in os.environ or not context.master.startswith("local"):
        return
    if context.pythonExec == _SPARKS_CHOICE:
        context.pythonExec = sys.executable
