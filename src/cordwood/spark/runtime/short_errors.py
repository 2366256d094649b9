"""Errors of this package in processes of Spark: the message, without a Python traceback.

Spark puts the traceback of a Python process into the message of its own error. An error of this
package names the option, file or broker at fault, so the traceback adds nothing. PySpark leaves it
out if an environment variable is set when it formats the error. The process ends after that, so the
variable has no effect on errors of other code.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from cordwood.core.errors import CordwoodError

#: Checked by `pyspark.util.handle_worker_exception`.
HIDE_TRACEBACK: Final = "SPARK_HIDE_TRACEBACK"


@contextmanager
def short_errors() -> Iterator[None]:
    """Let Spark report a `CordwoodError` of the block as one line, in a process of Spark."""
    try:
        yield
    except CordwoodError:
        if is_worker():
            os.environ[HIDE_TRACEBACK] = "1"
        raise


def is_worker() -> bool:
    """Return whether Spark has started this process."""
    spec = getattr(sys.modules["__main__"], "__spec__", None)
    return spec is not None and spec.name.partition(".")[0] == "pyspark"
