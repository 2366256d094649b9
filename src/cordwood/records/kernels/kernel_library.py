"""Library of compiled kernels: the extension module `_machine`, if this installation has one.

`native/make_kernels.py` makes it. CORDWOOD_KERNELS=interpreted ignores it: then kernels are the
functions as they were written. CORDWOOD_CPU_LEVEL names a lower level than the processor's.
"""

import os
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from types import ModuleType

_MODULE: Final = "cordwood.records.kernels._machine"


class KernelLibrary(NamedTuple):
    """The kernels by their modules and names, and the level of the processor that they are for."""

    kernels: Mapping[str, Callable[..., object]]
    level: str
    has_crc_instruction: bool
    fingerprint: str


def are_interpreted() -> bool:
    """Return whether the environment demands interpreted kernels."""
    return os.environ.get("CORDWOOD_KERNELS") == "interpreted"


def find_library(module: str = _MODULE) -> KernelLibrary | None:
    """Return the library; None without one, or if the processor is below its levels."""
    if are_interpreted():
        return None
    found = _load(module)
    if found is None:
        return None
    return KernelLibrary(
        found.KERNELS, found.LEVEL, bool(found.HAS_CRC_INSTRUCTION), found.FINGERPRINT
    )


def _load(module: str) -> "ModuleType | None":
    try:
        return import_module(module)
    except ImportError:
        from cordwood.records.kernels.zipped_library import load_copy  # noqa: PLC0415  # seldom

        return load_copy(module)


LIBRARY: Final = find_library()
