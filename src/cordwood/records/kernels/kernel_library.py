"""Library of compiled kernels: the extension module `_machine`, if this installation has one.

`native/make_kernels.py` makes it. CORDWOOD_KERNELS=interpreted ignores it: then kernels are the
functions as they were written. CORDWOOD_CPU_LEVEL names a lower level than the processor's.

LIBRARY is the library, or None; FAULT is then the reason, and REMEDY what to do.
"""

import os
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from types import ModuleType

_MODULE: Final = "cordwood.records.kernels._machine"

#: An installed package of the same version is a reason for pip to do nothing, hence the options.
REMEDY: Final = (
    "install a wheel of cordwood for this platform, or compile it:"
    " pip install --force-reinstall --no-deps --no-binary cordwood cordwood"
)


class KernelLibrary(NamedTuple):
    """The kernels by their modules and names, and the level of the processor that they are for."""

    kernels: Mapping[str, Callable[..., object]]
    level: str
    has_crc_instruction: bool
    fingerprint: str


def are_interpreted() -> bool:
    """Return whether the environment demands interpreted kernels."""
    return os.environ.get("CORDWOOD_KERNELS") == "interpreted"


def find_library(module: str = _MODULE) -> tuple[KernelLibrary | None, str]:
    """Return the library and no fault, or None and the reason: it is missing, or does not load."""
    if are_interpreted():
        return None, "kernels are interpreted (CORDWOOD_KERNELS)"
    try:
        found = _load(module)
    except ModuleNotFoundError:
        return None, "this installation has no library of kernels"
    except ImportError as error:
        return None, f"the library does not load: {error}"
    library = KernelLibrary(
        found.KERNELS, found.LEVEL, bool(found.HAS_CRC_INSTRUCTION), found.FINGERPRINT
    )
    return library, ""


def _load(module: str) -> "ModuleType":
    try:
        return import_module(module)
    except ImportError:
        from cordwood.records.kernels.zipped_library import load_copy  # noqa: PLC0415  # seldom

        copy = load_copy(module)
        if copy is None:
            raise
        return copy


LIBRARY, FAULT = find_library()
