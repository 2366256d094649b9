"""Kernels: machine code over buffers, from the library that comes with the package.

`decoder()` returns the fast decoder if this installation has the library, and the plain one
otherwise; `encoder()`, `inspector()`, `line_writer()`, `record_finder()`, `tail_scanner()`,
`state_scanner()` and `batch_checker()` behave alike. A command uses few of these, so the module of
each twin is imported by the function that returns it. An import of this package does not import
numpy. May import `core` and the rest of `records`.
"""

import sys
from collections.abc import Iterable
from importlib import import_module
from itertools import count
from typing import TYPE_CHECKING, Final

from cordwood.records.kernels.kernel_library import (
    FAULT,
    LIBRARY,
    REMEDY,
    are_interpreted,
    ensure_not_cut,
)

if TYPE_CHECKING:
    from cordwood.records.batch_checks import BatchChecker
    from cordwood.records.decoder import Decoder
    from cordwood.records.kernels.kernel_decoder import KernelDecoder
    from cordwood.records.record_checks import Inspector
    from cordwood.records.record_encoder import RecordEncoder
    from cordwood.records.record_lines import LineWriter
    from cordwood.records.record_lookup import RecordFinder
    from cordwood.records.state_scan import StateScanner
    from cordwood.records.tail_scan import TailScanner

__all__ = [
    "BROKER_MODULES",
    "PARTS",
    "KernelDecoder",
    "batch_checker",
    "decoder",
    "encoder",
    "ensure_kernels",
    "has_kernels",
    "inspector",
    "line_writer",
    "record_finder",
    "state_scanner",
    "tail_scanner",
]

#: The modules with kernels, split between two processes that compile.
PARTS: Final = (
    ("chunk_fill",),
    (
        "header_scan",
        "crc32c",
        "legacy_messages",
        "batch_checks",
        "tail_scan",
        "record_lines",
        "record_checks",
        "record_encoder",
        "record_lookup",
        "state_scan",
    ),
)

#: The modules whose kernels each broker uses. They do not import numpy.
BROKER_MODULES: Final = ("record_checks", "record_lookup")

#: The number of batches from which the kernel is faster: with the load of numpy, or without.
#: Measured in processor time: the load takes 74 to 87 ms, and a scanner 0.06 to 0.18 ms to make. A
#: small batch takes 0.75 to 1.0 us in plain Python, and 0.03 to 0.04 us in the kernel.
STRIDES_PAY_FROM: Final = 100_000
STRIDES_PAY_FROM_WHEN_LOADED: Final = 250

#: The bytes of a batch from which the kernel finds a record faster.
LOOKUPS_PAY_FROM: Final = 4 << 10

_NO_LIBRARY: Final = "kernels: %s; records are read in plain Python, many times slower; %s"

#: Each thread that misses the library takes a number, and the first one logs the warning.
_numbers = count()


def has_kernels() -> bool:
    """Return whether the fast twins are used; log a warning once if the library is missing.

    Interpreted kernels would be slower than the plain twins. Raise KernelLibraryError for a library
    whose file was cut.
    """
    if LIBRARY is not None:
        return True
    ensure_not_cut()
    if not are_interpreted() and next(_numbers) == 0:
        import logging  # noqa: PLC0415  # seldom

        logging.getLogger(__name__).warning(_NO_LIBRARY, FAULT, REMEDY)
    return False


def ensure_kernels(modules: Iterable[str]) -> None:
    """Import modules ahead of their use; raise KernelLibraryError if the library lacks kernels."""
    if has_kernels():
        for module in modules:
            import_module(f"{__name__}.{module}")


def decoder() -> "Decoder":
    """Return a decoder for one thread: the fast one if there are kernels, else the plain one."""
    if not has_kernels():
        from cordwood.records.plain_decoder import PlainDecoder  # noqa: PLC0415  # see above

        return PlainDecoder()
    from cordwood.records.kernels.kernel_decoder import KernelDecoder  # noqa: PLC0415  # see above

    return KernelDecoder()


def encoder() -> "RecordEncoder":
    """Return an encoder for one thread: the fast one if there are kernels, else the plain one."""
    if not has_kernels():
        from cordwood.records.record_encoder import PlainEncoder  # noqa: PLC0415  # see above

        return PlainEncoder()
    from cordwood.records.kernels.record_encoder import KernelEncoder  # noqa: PLC0415  # see above

    return KernelEncoder()


def inspector() -> "Inspector":
    """Return an inspector for one thread: the fast one if there are kernels, else the plain one."""
    if not has_kernels():
        from cordwood.records.record_checks import PlainInspector  # noqa: PLC0415  # see above

        return PlainInspector()
    from cordwood.records.kernels.record_checks import KernelInspector  # noqa: PLC0415  # see above

    return KernelInspector()


def line_writer() -> "LineWriter":
    """Return a writer of lines for one thread: the fast one if there are kernels."""
    if not has_kernels():
        from cordwood.records.record_lines import PlainLineWriter  # noqa: PLC0415  # see above

        return PlainLineWriter()
    from cordwood.records.kernels.record_lines import KernelLineWriter  # noqa: PLC0415  # see above

    return KernelLineWriter()


def record_finder(size: int) -> "RecordFinder":
    """Return a finder for one thread: the fast one where it pays, else the plain one.

    See `RecordFinders`.
    """
    if size < LOOKUPS_PAY_FROM or not has_kernels():
        from cordwood.records.record_lookup import PlainRecordFinder  # noqa: PLC0415  # see above

        return PlainRecordFinder()
    from cordwood.records.kernels.record_lookup import KernelRecordFinder  # noqa: PLC0415  # see above

    return KernelRecordFinder()


def batch_checker() -> "BatchChecker":
    """Return a checker for one thread: the fast one if there are kernels, else the plain one."""
    if not has_kernels():
        from cordwood.records.batch_checks import PlainBatchChecker  # noqa: PLC0415  # see above

        return PlainBatchChecker()
    from cordwood.records.kernels.batch_checks import KernelBatchChecker  # noqa: PLC0415  # see above

    return KernelBatchChecker()


def state_scanner() -> "StateScanner":
    """Return a scanner for one thread: the fast one if there are kernels, else the plain one."""
    if not has_kernels():
        from cordwood.records.state_scan import PlainStateScanner  # noqa: PLC0415  # see above

        return PlainStateScanner()
    from cordwood.records.kernels.state_scan import KernelStateScanner  # noqa: PLC0415  # see above

    return KernelStateScanner()


def tail_scanner(batches: int) -> "TailScanner":
    """Return a scanner for one thread: the fast one where it pays, else the plain one.

    See `TailScanners`.
    """
    is_loaded = "numpy" in sys.modules
    least = STRIDES_PAY_FROM_WHEN_LOADED if is_loaded else STRIDES_PAY_FROM
    if batches < least or not has_kernels():
        from cordwood.records.tail_scan import PlainTailScanner  # noqa: PLC0415  # see above

        return PlainTailScanner()
    from cordwood.records.kernels.tail_scan import KernelTailScanner  # noqa: PLC0415  # see above

    return KernelTailScanner()


def __getattr__(name: str) -> object:
    """Import numpy for a caller that names the fast decoder."""
    if name != "KernelDecoder":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from cordwood.records.kernels.kernel_decoder import KernelDecoder  # noqa: PLC0415  # see above

    return KernelDecoder
