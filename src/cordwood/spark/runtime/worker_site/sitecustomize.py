"""Start of Spark's Python processes: PySpark is imported from its package, not from Spark's zip.

Spark puts a zip of the same modules before all other entries of the path. Python compiles the
modules of a zip at each start, which takes 0.4 s of processor time; a package has bytecode.

The `sitecustomize` of the environment, which this one hides, is imported afterwards.
"""

import os.path
import sys
from importlib import import_module


def remove_zips() -> None:
    """Remove the zips of a PySpark whose package is on the path too, and this folder."""
    folders = {os.path.realpath(each) for each in sys.path}
    here = os.path.realpath(__file__).rpartition(os.sep)[0]
    sys.path[:] = [
        each
        for each in sys.path
        if not _is_installed(each, folders) and os.path.realpath(each) != here
    ]


def _is_installed(entry: str, folders: set[str]) -> bool:
    """Return whether an entry is a zip in a package that can be imported without it."""
    packages, _, name = os.path.realpath(entry).rpartition("/pyspark/python/lib/")
    return name.endswith(".zip") and packages in folders


def import_hidden() -> None:
    """Import the next `sitecustomize` of the path, if there is one."""
    own = sys.modules.pop(__name__)
    try:
        import_module(__name__)
    except ModuleNotFoundError as error:
        sys.modules[__name__] = own
        if error.name != __name__:
            raise


if __name__ == "sitecustomize":  # Python starts
    remove_zips()
    import_hidden()
