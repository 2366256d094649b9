"""Library of compiled kernels: the extension module `_machine`, if this installation has one.

`native/make_kernels.py` makes it. CORDWOOD_KERNELS=interpreted ignores it: then kernels are the
functions as they were written. CORDWOOD_CPU_LEVEL names a lower level than the processor's.

LIBRARY is the library, or None; FAULT is then the reason, and REMEDY what to do. A file that was
cut is not loaded: IS_CUT is True, and each use of a kernel raises KernelLibraryError, as with a
library of other sources. Plain Python replaces only a library that this platform does not have.

The header of a library in ELF, the format of Linux, states where the file ends. The dynamic linker
maps the file without a look at its size, and a page behind the end ends the process with SIGBUS.

    0   magic number, class, byte order       58  bytes of an entry of the section table
    40  position of the section table         60  number of its entries

Linkers put that table last.
"""

import os
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from types import ModuleType

    from cordwood.core.errors import KernelLibraryError

_MODULE: Final = "cordwood.records.kernels._machine"
#: The file of the library, next to this module, on the disk or in a zip. Spark names the zip
#: `./cordwood.zip`, and the loader of that zip expects the same words.
PATH: Final = __file__.removesuffix(os.path.basename(__file__)) + "_machine.abi3.so"  # noqa: PTH119  # keeps `./`

#: The magic number, 64 bits, little-endian. Other files are left to the dynamic linker.
_IDENTITY: Final = b"\x7fELF\x02\x01"
_HEADER_BYTES: Final = 64

#: An installed package of the same version is a reason for pip to do nothing, hence the options.
REMEDY: Final = (
    "install a wheel of cordwood for this platform, or compile it:"
    " pip install --force-reinstall --no-deps --no-binary cordwood cordwood"
)

#: A copy of the file that is not that of these sources.
_REMEDY_OF_A_COPY: Final = (
    "in a checkout run make kernels, else install cordwood again:"
    " pip install --force-reinstall --no-deps cordwood"
)


class KernelLibrary(NamedTuple):
    """The kernels by their modules and names, and the level of the processor that they are for."""

    kernels: Mapping[str, Callable[..., object]]
    level: str
    has_crc_instruction: bool
    fingerprint: str


class CutLibraryError(ImportError):
    """A library of which a part is missing; the text has its sizes."""


def are_interpreted() -> bool:
    """Return whether the environment demands interpreted kernels."""
    return os.environ.get("CORDWOOD_KERNELS") == "interpreted"


def find_library(module: str = _MODULE, path: str = PATH) -> tuple[KernelLibrary | None, str, bool]:
    """Return the library, its fault if it is None, and whether it was cut."""
    if are_interpreted():
        return None, "kernels are interpreted (CORDWOOD_KERNELS)", False
    try:
        found = _load(module, path)
    except ModuleNotFoundError:
        return None, "this installation has no library of kernels", False
    except CutLibraryError as error:
        return None, str(error), True
    except ImportError as error:
        return None, f"the library does not load: {error}", False
    library = KernelLibrary(
        found.KERNELS, found.LEVEL, bool(found.HAS_CRC_INSTRUCTION), found.FINGERPRINT
    )
    return library, "", False


def library_error(problem: str) -> "KernelLibraryError":
    """Return the error of a library that must not be used, with its file and the remedy."""
    from cordwood.core.errors import KernelLibraryError  # noqa: PLC0415  # seldom

    is_zipped = not os.path.lexists(PATH)
    remedy = f"{_REMEDY_OF_A_COPY}; then make the zip again" if is_zipped else _REMEDY_OF_A_COPY
    return KernelLibraryError(problem, path=PATH, remedy=remedy)


def ensure_not_cut() -> None:
    """Raise KernelLibraryError if the file was cut, which no platform without a library has."""
    if IS_CUT:
        raise library_error(FAULT)


def _load(module: str, path: str) -> "ModuleType":
    _ensure_whole_file(path)
    try:
        return import_module(module)
    except ImportError:
        from cordwood.records.kernels import zipped_library  # noqa: PLC0415  # seldom

        library = zipped_library.read_library(path)
        if library is None:
            raise
        ensure_whole(library, len(library))
        return zipped_library.load_copy(module, library)


def _ensure_whole_file(path: str) -> None:
    """Raise CutLibraryError if the file was cut; import reports a file that cannot be opened."""
    try:
        file = os.open(path, os.O_RDONLY)
    except OSError:
        return
    try:
        ensure_whole(os.read(file, _HEADER_BYTES), os.fstat(file).st_size)
    finally:
        os.close(file)


def ensure_whole(start: bytes, size: int) -> None:
    """Raise CutLibraryError if a file of this start and size was cut."""
    if not _IDENTITY.startswith(start[: len(_IDENTITY)]):
        return
    expected = _HEADER_BYTES
    if len(start) >= _HEADER_BYTES:
        table = int.from_bytes(start[40:48], "little")
        entry_bytes, entries = (int.from_bytes(start[at : at + 2], "little") for at in (58, 60))
        expected = max(expected, table + entry_bytes * entries)
    if size < expected:
        raise CutLibraryError(
            f"the library of kernels was cut ({size:,} of at least {expected:,} bytes)"
        )


LIBRARY, FAULT, IS_CUT = find_library()
