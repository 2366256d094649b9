"""Library of kernels in a zip of the package, from which the system loads no library.

Spark ships a package this way (`--py-files`). On Linux the library is loaded from a copy in memory.
"""

import os
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_loader
from types import ModuleType
from typing import Final
from zipimport import zipimporter

FILE: Final = "_machine.abi3.so"


def load_copy(module: str) -> ModuleType | None:
    """Load the library; None if the package is not in a zip, or on another system."""
    loader = globals()["__loader__"]
    if not isinstance(loader, zipimporter) or not hasattr(os, "memfd_create"):
        return None
    try:
        # Spark names the zip `./cordwood.zip`, and the loader wants its own words for it.
        folder = __file__.removesuffix(os.path.basename(__file__))  # noqa: PTH119  # keeps `./`
        return _load(module, loader.get_data(folder + FILE))
    except (ImportError, OSError):  # it is missing, or for another processor
        return None


def _load(module: str, library: bytes) -> ModuleType:
    copy = os.memfd_create(FILE)
    try:
        os.write(copy, library)
        place = ExtensionFileLoader(module, f"/proc/self/fd/{copy}")
        spec = spec_from_loader(module, place)
        assert spec is not None
        found = module_from_spec(spec)
        place.exec_module(found)
    finally:
        os.close(copy)
    return found
