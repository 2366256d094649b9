"""Library of kernels in a zip of the package, from which the system loads no library.

Spark ships a package this way (`--py-files`). On Linux the library is loaded from a copy in memory.
"""

import os
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_loader
from types import ModuleType
from zipimport import zipimporter


def read_library(path: str) -> bytes | None:
    """Read the library; None if it, or the package, is not in a zip, or on another system."""
    loader = globals()["__loader__"]
    if not isinstance(loader, zipimporter) or not hasattr(os, "memfd_create"):
        return None
    try:
        return loader.get_data(path)
    except OSError:  # it is missing
        return None


def load_copy(module: str, library: bytes) -> ModuleType:
    """Load a library; raise ImportError if that fails."""
    try:
        return _load(module, library)
    except OSError as error:
        raise ImportError(f"no copy of it in memory can be made ({error})") from error


def _load(module: str, library: bytes) -> ModuleType:
    copy = os.memfd_create(module)
    try:
        if os.write(copy, library) != len(library):  # the system ends a process that maps the rest
            raise OSError(f"only a part of {len(library):,} bytes has room")
        place = ExtensionFileLoader(module, f"/proc/self/fd/{copy}")
        spec = spec_from_loader(module, place)
        assert spec is not None
        found = module_from_spec(spec)
        place.exec_module(found)
    finally:
        os.close(copy)
    return found
