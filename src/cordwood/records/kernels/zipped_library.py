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
    """Load the library; None if the package or the library is not in a zip, or on another system.

    Raise ImportError if it does not load.
    """
    loader = globals()["__loader__"]
    if not isinstance(loader, zipimporter) or not hasattr(os, "memfd_create"):
        return None
    # Spark names the zip `./cordwood.zip`, and the loader wants its own words for it.
    folder = __file__.removesuffix(os.path.basename(__file__))  # noqa: PTH119  # keeps `./`
    try:
        library = loader.get_data(folder + FILE)
    except OSError:  # it is missing
        return None
    try:
        return _load(module, library)
    except OSError as error:
        raise ImportError(f"no copy of it in memory can be made ({error})") from error


def _load(module: str, library: bytes) -> ModuleType:
    copy = os.memfd_create(FILE)
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
