"""Start of each Python process of Spark in tests: PySpark is imported from its package.

Spark puts a zip of the same modules first. Python compiles the modules of a zip at each start,
which takes half a second; those of the package have bytecode.
"""

import os.path
import sys


def _is_installed(entry: str) -> bool:
    """Return whether a zip of Spark is in a package that can be imported without it."""
    packages, _, name = os.path.realpath(entry).rpartition("/pyspark/python/lib/")
    return name.endswith(".zip") and packages in _FOLDERS


_FOLDERS = {os.path.realpath(entry) for entry in sys.path}
sys.path[:] = [entry for entry in sys.path if not _is_installed(entry)]
