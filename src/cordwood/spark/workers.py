"""Which Python workers run: on this machine the driver's own, unless somebody has named another.

Spark's own choice is whatever `python3` is on the path, which beside an environment that nobody has
activated is one without this package. What workers on other machines have is not known here, so
nothing is chosen for them.
"""

import os
import sys
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_NAMED: Final = "PYSPARK_PYTHON"
_SPARKS_CHOICE: Final = "python3"


def use_own_python(spark: "SparkSession") -> None:
    """Let workers on this machine run the Python of this process, from now on."""
    context = getattr(spark, "sparkContext", None)  # who is a client of a server's has none
    if context is None or _NAMED in os.environ or not context.master.startswith("local"):
        return
    if context.pythonExec == _SPARKS_CHOICE:
        context.pythonExec = sys.executable
