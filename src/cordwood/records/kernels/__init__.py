"""Kernels: machine code over buffers, behind the only import of numba.

`decoder()` returns the fast decoder if its kernels have been compiled before, and the plain one
otherwise. It loads and never compiles, so that a read does not wait for a compiler. `encoder()`,
`inspector()`, `line_writer()`, `record_finder()`, `tail_scanner()`, `state_scanner()` and
`batch_checker()` behave alike. `warm()` compiles in separate processes. Neither an import of this
package nor `is_warm` imports numba or numpy. May import `core` and the rest of `records`.
"""

import importlib
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from cordwood.core.errors import KafkaStorageError
from cordwood.records.batch_checks import BatchChecker, PlainBatchChecker
from cordwood.records.decoder import Decoder
from cordwood.records.kernels import kernel_cache
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
    "can_load",
    "decoder",
    "encoder",
    "inspector",
    "is_warm",
    "line_writer",
    "record_finder",
    "state_scanner",
    "tail_scanner",
    "warm",
    "warm_for",
]

#: The modules with kernels, split between two compiling processes.
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

#: The bytes that plain Python reads in the time of a compilation.
WORTH_BYTES: Final = 64 << 20

#: The number of batches from which the kernel is faster: with the load of numba, or without.
STRIDES_PAY_FROM: Final = 250_000
STRIDES_PAY_FROM_WHEN_LOADED: Final = 1_000

#: The bytes of a batch from which the kernel finds a record faster, as above.
LOOKUPS_PAY_FROM: Final = 64 << 10
LOOKUPS_PAY_FROM_WHEN_LOADED: Final = 4 << 10

#: Without the lock a thread could receive a half-initialised module of a failing import.
_loading: Final = threading.Lock()


def is_warm() -> bool:
    """Return whether `decoder` returns the fast decoder; without a JIT that would be the slower
    one.
    """
    return _has_jit() and (LIBRARY is not None or kernel_cache.is_warm())


def decoder() -> Decoder:
    """Return a decoder for one thread: the fast one when it is warm, else the plain one.

    It never compiles. A damaged file makes the cache cold, and `warm` compiles again.
    """
    if not can_load(f"{__name__}.kernel_decoder"):
        from cordwood.records.plain_decoder import PlainDecoder  # noqa: PLC0415  # numpy: 0.1 s

        return PlainDecoder()
    from cordwood.records.kernels.kernel_decoder import KernelDecoder  # noqa: PLC0415  # numba: 0.3 s

    return KernelDecoder()


def encoder() -> RecordEncoder:
    """Return an encoder for one thread: the fast one when it is warm, else the plain one."""
    if not can_load(f"{__name__}.record_encoder"):
        return PlainEncoder()
    from cordwood.records.kernels.record_encoder import KernelEncoder  # noqa: PLC0415  # numba: 0.3 s

    return KernelEncoder()


def inspector() -> Inspector:
    """Return an inspector for one thread: the fast one when it is warm, else the plain one."""
    if not can_load(f"{__name__}.record_checks"):
        return PlainInspector()
    from cordwood.records.kernels.record_checks import KernelInspector  # noqa: PLC0415  # numba: 0.3 s

    return KernelInspector()


def line_writer() -> LineWriter:
    """Return a writer of lines for one thread: the fast one when it is warm, else the plain one."""
    if not can_load(f"{__name__}.record_lines"):
        return PlainLineWriter()
    from cordwood.records.kernels.record_lines import KernelLineWriter  # noqa: PLC0415  # numba: 0.3 s

    return KernelLineWriter()


def record_finder(size: int) -> RecordFinder:
    """Return a finder for one thread: the fast one where it is warm and pays, else the plain one.

    See `RecordFinders`.
    """
    is_loaded = f"{__name__}.record_lookup" in sys.modules
    least = LOOKUPS_PAY_FROM_WHEN_LOADED if is_loaded else LOOKUPS_PAY_FROM
    if size < least or not can_load(f"{__name__}.record_lookup"):
        return PlainRecordFinder()
    from cordwood.records.kernels.record_lookup import KernelRecordFinder  # noqa: PLC0415  # numba: 0.3 s

    return KernelRecordFinder()


def batch_checker() -> BatchChecker:
    """Return a sweeper for one thread: the fast one when it is warm, else the plain one."""
    if not can_load(f"{__name__}.batch_checks"):
        return PlainBatchChecker()
    from cordwood.records.kernels.batch_checks import KernelBatchChecker  # noqa: PLC0415  # numba: 0.3 s

    return KernelBatchChecker()


def state_scanner() -> StateScanner:
    """Return a scanner for one thread: the fast one when it is warm, else the plain one."""
    if not can_load(f"{__name__}.state_scan"):
        return PlainStateScanner()
    from cordwood.records.kernels.state_scan import KernelStateScanner  # noqa: PLC0415  # numba: 0.3 s

    return KernelStateScanner()


def tail_scanner(batches: int) -> TailScanner:
    """Return a strider for one thread: the fast one where it is warm and pays, else the plain one.

    See `Striders`.
    """
    is_loaded = f"{__name__}.tail_scan" in sys.modules
    least = STRIDES_PAY_FROM_WHEN_LOADED if is_loaded else STRIDES_PAY_FROM
    if batches < least or not can_load(f"{__name__}.tail_scan"):
        return PlainTailScanner()
    from cordwood.records.kernels.tail_scan import KernelTailScanner  # noqa: PLC0415  # numba: 0.3 s

    return KernelTailScanner()


def can_load(module: str) -> bool:
    """Load a module of compiled kernels, once per process; return whether that succeeded.

    The name is absolute: packages of kernels above this one load theirs through this function too.
    """
    if not _has_jit() or LIBRARY is not None:
        return _has_jit()
    place = kernel_cache.folder()
    if not kernel_cache.is_ready(place):
        return False
    try:
        with _loading:
            _load(module, place)
    except kernel_cache.ColdError:
        kernel_cache.distrust(place)
        return False
    from cordwood.records.kernels.kernel_definition import IS_COMPILED  # noqa: PLC0415  # numba: 0.3 s

    return IS_COMPILED


def _load(module: str, place: Path) -> None:
    if module not in sys.modules:
        with kernel_cache.loading(place):
            importlib.import_module(module)


def _has_jit() -> bool:
    """Parse NUMBA_DISABLE_JIT as numba does: a value without a number keeps the JIT."""
    if are_interpreted():
        return False
    try:
        return int(os.environ.get("NUMBA_DISABLE_JIT", "0")) == 0
    except ValueError:
        return True


def warm(say: Callable[[str], object]) -> None:
    """Compile the kernels, unless that has been done; `say` receives each line for the user.

    Blocks for the run time of the child process, about ten seconds: not for an event loop.
    """
    if not _has_jit():
        say("cordwood: NUMBA_DISABLE_JIT is set, so nothing is compiled; the plain decoder serves")
        return
    if LIBRARY is not None:
        return
    place = kernel_cache.folder()
    if kernel_cache.is_sound(place):
        return
    if kernel_cache.is_ready(place):
        kernel_cache.distrust(place)
        place = kernel_cache.folder()
    wanted = kernel_cache.folder_in(kernel_cache.base_folder())
    if place != wanted:
        say(
            f"cordwood: cannot write to {wanted}; compiled kernels go to {place} for now."
            " Set CORDWOOD_CACHE_DIR to a folder that you can write to."
        )
    say(f"cordwood: compiling kernels once into {place}, about ten seconds ...")
    failure = _compile(place)
    if not failure and not kernel_cache.is_ready(place):
        failure = "the compiler ended well, but what it should have written is not there"
    if failure:
        raise KafkaStorageError(
            f"compiling kernels into {place} failed; the plain decoder goes on serving: {failure}"
        )


def warm_for(size: int) -> None:
    """Compile the kernels if `size` bytes to read are worth the wait.

    If they cannot be compiled plain Python does the work. Both are reported on stderr.
    """
    if size < WORTH_BYTES:
        return
    try:
        warm(_say)
    except KafkaStorageError as error:
        _say(f"cordwood: {error}")


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")


def _compile(place: Path) -> str:
    """Compile in a child process; return its failure, empty on success."""
    paths = os.pathsep.join(path for path in sys.path if path)
    try:
        child = subprocess.run(  # noqa: S603  # our own module, in our own interpreter
            [sys.executable, "-m", "cordwood.records.kernels", str(place)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            env=os.environ | {"PYTHONPATH": paths},
        )
    except OSError as error:
        return f"{sys.executable or 'Python'} cannot be started: {error}"
    if child.returncode == 0:
        return ""
    said = child.stderr.strip().splitlines()[-8:]
    how = f"signal {-child.returncode}" if child.returncode < 0 else f"status {child.returncode}"
    return "\n".join((f"it ended with {how}", *said))


def __getattr__(name: str) -> object:
    """Import numba for a caller that names the fast decoder, cold or not."""
    if name != "KernelDecoder":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from cordwood.records.kernels.kernel_decoder import KernelDecoder  # noqa: PLC0415  # numba: 0.3 s

    return KernelDecoder
