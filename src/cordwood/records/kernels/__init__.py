"""Kernels: machine code over buffers, from the library that comes with the package.

`decoder()` returns the fast decoder if this installation has the library, and the plain one
otherwise; `encoder()`, `inspector()`, `line_writer()`, `record_finder()`, `tail_scanner()`,
`state_scanner()` and `batch_checker()` behave alike. An import of this package does not import
numpy. May import `core` and the rest of `records`.
"""

import sys
from functools import cache
from typing import TYPE_CHECKING, Final

from cordwood.records.batch_checks import BatchChecker, PlainBatchChecker
from cordwood.records.decoder import Decoder
from cordwood.records.kernels.kernel_library import LIBRARY, are_interpreted
from cordwood.records.record_checks import Inspector, PlainInspector
from cordwood.records.record_encoder import PlainEncoder, RecordEncoder
from cordwood.records.record_lines import LineWriter, PlainLineWriter
from cordwood.records.record_lookup import PlainRecordFinder, RecordFinder
from cordwood.records.state_scan import PlainStateScanner, StateScanner
from cordwood.records.tail_scan import PlainTailScanner, TailScanner

if TYPE_CHECKING:
    from cordwood.records.kernels.kernel_decoder import KernelDecoder

__all__ = [
    "PARTS",
    "KernelDecoder",
    "batch_checker",
    "decoder",
    "encoder",
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

#: The number of batches from which the kernel is faster: with the load of numpy, or without.
STRIDES_PAY_FROM: Final = 20_000
STRIDES_PAY_FROM_WHEN_LOADED: Final = 1_000

#: The bytes of a batch from which the kernel finds a record faster.
LOOKUPS_PAY_FROM: Final = 4 << 10

_NO_LIBRARY: Final = (
    "kernels: this installation has none, so records are read in plain Python, many times slower;"
    " install a wheel of cordwood for this platform, or one that is built on it"
    " (pip install --no-binary cordwood cordwood)"
)


@cache
def has_kernels() -> bool:
    """Return whether the fast twins are used; log a warning once if the library is missing.

    Interpreted kernels would be slower than the plain twins.
    """
    if LIBRARY is None and not are_interpreted():
        import logging  # noqa: PLC0415  # as late as it is needed

        logging.getLogger(__name__).warning(_NO_LIBRARY)
    return LIBRARY is not None


def decoder() -> Decoder:
    """Return a decoder for one thread: the fast one if there are kernels, else the plain one."""
    if not has_kernels():
        from cordwood.records.plain_decoder import PlainDecoder  # noqa: PLC0415  # numpy: 0.1 s

        return PlainDecoder()
    from cordwood.records.kernels.kernel_decoder import KernelDecoder  # noqa: PLC0415  # numpy: 0.1 s

    return KernelDecoder()


def encoder() -> RecordEncoder:
    """Return an encoder for one thread: the fast one if there are kernels, else the plain one."""
    if not has_kernels():
        return PlainEncoder()
    from cordwood.records.kernels.record_encoder import KernelEncoder  # noqa: PLC0415  # numpy: 0.1 s

    return KernelEncoder()


def inspector() -> Inspector:
    """Return an inspector for one thread: the fast one if there are kernels, else the plain one."""
    if not has_kernels():
        return PlainInspector()
    from cordwood.records.kernels.record_checks import KernelInspector  # noqa: PLC0415  # as late as it is needed

    return KernelInspector()


def line_writer() -> LineWriter:
    """Return a writer of lines for one thread: the fast one if there are kernels."""
    if not has_kernels():
        return PlainLineWriter()
    from cordwood.records.kernels.record_lines import KernelLineWriter  # noqa: PLC0415  # numpy: 0.1 s

    return KernelLineWriter()


def record_finder(size: int) -> RecordFinder:
    """Return a finder for one thread: the fast one where it pays, else the plain one.

    See `RecordFinders`.
    """
    if size < LOOKUPS_PAY_FROM or not has_kernels():
        return PlainRecordFinder()
    from cordwood.records.kernels.record_lookup import KernelRecordFinder  # noqa: PLC0415  # as late as it is needed

    return KernelRecordFinder()


def batch_checker() -> BatchChecker:
    """Return a sweeper for one thread: the fast one if there are kernels, else the plain one."""
    if not has_kernels():
        return PlainBatchChecker()
    from cordwood.records.kernels.batch_checks import KernelBatchChecker  # noqa: PLC0415  # numpy: 0.1 s

    return KernelBatchChecker()


def state_scanner() -> StateScanner:
    """Return a scanner for one thread: the fast one if there are kernels, else the plain one."""
    if not has_kernels():
        return PlainStateScanner()
    from cordwood.records.kernels.state_scan import KernelStateScanner  # noqa: PLC0415  # numpy: 0.1 s

    return KernelStateScanner()


def tail_scanner(batches: int) -> TailScanner:
    """Return a strider for one thread: the fast one where it pays, else the plain one.

    See `Striders`.
    """
    is_loaded = "numpy" in sys.modules
    least = STRIDES_PAY_FROM_WHEN_LOADED if is_loaded else STRIDES_PAY_FROM
    if batches < least or not has_kernels():
        return PlainTailScanner()
    from cordwood.records.kernels.tail_scan import KernelTailScanner  # noqa: PLC0415  # numpy: 0.1 s

    return KernelTailScanner()


def __getattr__(name: str) -> object:
    """Import numpy for a caller that names the fast decoder."""
    if name != "KernelDecoder":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from cordwood.records.kernels.kernel_decoder import KernelDecoder  # noqa: PLC0415  # numpy: 0.1 s

    return KernelDecoder
