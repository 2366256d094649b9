"""Kernels: machine code over buffers, and the only place that imports numba.

`decoder()` gives the fast decoder when its kernels have been compiled before and the plain one
otherwise, so nobody waits for a compiler in the middle of a read: it loads and never compiles.
`encoder()`, `inspector()`, `line_writer()`, `strider()` and `sweeper()` do likewise. `warm()`
compiles them in processes of their own. Importing this package imports neither numba nor numpy, and
asking `is_warm` does not either. May import `core` and the rest of `records`.
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
from cordwood.records.chunk import Decoder
from cordwood.records.encode import PlainEncoder, RecordEncoder
from cordwood.records.inspect import Inspector, PlainInspector
from cordwood.records.kernels import cache
from cordwood.records.lines import LineWriter, PlainLineWriter
from cordwood.records.stride import PlainStrider, Strider
from cordwood.records.sweep import PlainSweeper, Sweeper

if TYPE_CHECKING:
    from cordwood.records.kernels.kernel_decoder import KernelDecoder

__all__ = [
    "PARTS",
    "KernelDecoder",
    "can_load",
    "decoder",
    "encoder",
    "inspector",
    "is_warm",
    "line_writer",
    "strider",
    "sweeper",
    "warm",
    "warm_for",
]

#: The modules that have kernels: those that one process compiles, and those of the other one.
PARTS: Final = (
    ("fill",),
    ("scan", "castagnoli", "messages", "sweep", "stride", "lines", "inspect", "encode"),
)

#: In the time that compiling takes, plain Python reads about so many bytes.
WORTH_BYTES: Final = 64 << 20

#: So many batches take as long by plain strides as by the kernels': with loading numba, or without.
STRIDES_PAY_FROM: Final = 250_000
STRIDES_PAY_FROM_WHEN_LOADED: Final = 1_000

#: A thread that waits for another's import would be given the pieces of one that fails.
_loading: Final = threading.Lock()


def is_warm() -> bool:
    """Whether `decoder` gives the fast decoder; without a JIT that would be the slower one."""
    return _has_jit() and cache.is_warm()


def decoder() -> Decoder:
    """Return a decoder for one thread: the fast one when it is warm, else the plain one.

    Whatever lies in the cache, nothing is compiled here: where a file turns out to be damaged, the
    cache is cold from then on and `warm` compiles again.
    """
    if not can_load(f"{__name__}.kernel_decoder"):
        from cordwood.records.plain import PlainDecoder  # noqa: PLC0415  # numpy: 0.1 s

        return PlainDecoder()
    from cordwood.records.kernels.kernel_decoder import KernelDecoder  # noqa: PLC0415  # numba: 0.3 s

    return KernelDecoder()


def encoder() -> RecordEncoder:
    """Return an encoder for one thread: the fast one when it is warm, else the plain one."""
    if not can_load(f"{__name__}.encode"):
        return PlainEncoder()
    from cordwood.records.kernels.encode import KernelEncoder  # noqa: PLC0415  # numba: 0.3 s

    return KernelEncoder()


def inspector() -> Inspector:
    """Return an inspector for one thread: the fast one when it is warm, else the plain one."""
    if not can_load(f"{__name__}.inspect"):
        return PlainInspector()
    from cordwood.records.kernels.inspect import KernelInspector  # noqa: PLC0415  # numba: 0.3 s

    return KernelInspector()


def line_writer() -> LineWriter:
    """Return a writer of lines for one thread: the fast one when it is warm, else the plain one."""
    if not can_load(f"{__name__}.lines"):
        return PlainLineWriter()
    from cordwood.records.kernels.lines import KernelLineWriter  # noqa: PLC0415  # numba: 0.3 s

    return KernelLineWriter()


def sweeper() -> Sweeper:
    """Return a sweeper for one thread: the fast one when it is warm, else the plain one."""
    if not can_load(f"{__name__}.sweep"):
        return PlainSweeper()
    from cordwood.records.kernels.sweep import KernelSweeper  # noqa: PLC0415  # numba: 0.3 s

    return KernelSweeper()


def strider(batches: int) -> Strider:
    """Return a strider for one thread: the fast one where it is warm and pays, else the plain one.

    See `Striders`.
    """
    is_loaded = f"{__name__}.stride" in sys.modules
    least = STRIDES_PAY_FROM_WHEN_LOADED if is_loaded else STRIDES_PAY_FROM
    if batches < least or not can_load(f"{__name__}.stride"):
        return PlainStrider()
    from cordwood.records.kernels.stride import KernelStrider  # noqa: PLC0415  # numba: 0.3 s

    return KernelStrider()


def can_load(module: str) -> bool:
    """Load a module of kernels, once a process, from what has been compiled; say if that went.

    The module is named whole: packages of kernels above this one load theirs by this too.
    """
    place = cache.folder()
    if not _has_jit() or not cache.is_ready(place):
        return False
    try:
        with _loading:
            _load(module, place)
    except cache.ColdError:
        cache.distrust(place)
        return False
    from cordwood.records.kernels.door import IS_COMPILED  # noqa: PLC0415  # numba: 0.3 s

    return IS_COMPILED


def _load(module: str, place: Path) -> None:
    if module not in sys.modules:
        with cache.loading(place):
            importlib.import_module(module)


def _has_jit() -> bool:
    """Read NUMBA_DISABLE_JIT as numba does, which keeps the JIT where it finds no number."""
    try:
        return int(os.environ.get("NUMBA_DISABLE_JIT", "0")) == 0
    except ValueError:
        return True


def warm(say: Callable[[str], object]) -> None:
    """Compile the kernels, unless that has been done; `say` gets each line that is for the user.

    Blocks for as long as the child process takes, about ten seconds: not for an event loop.
    """
    if not _has_jit():
        say("cordwood: NUMBA_DISABLE_JIT is set, so nothing is compiled; the plain decoder serves")
        return
    place = cache.folder()
    if cache.is_sound(place):
        return
    if cache.is_ready(place):
        cache.distrust(place)
        place = cache.folder()
    wanted = cache.folder_in(cache.base_folder())
    if place != wanted:
        say(
            f"cordwood: cannot write to {wanted}; compiled kernels go to {place} for now."
            " Set CORDWOOD_CACHE_DIR to a folder that you can write to."
        )
    say(f"cordwood: compiling kernels once into {place}, about ten seconds ...")
    failure = _compile(place)
    if not failure and not cache.is_ready(place):
        failure = "the compiler ended well, but what it should have written is not there"
    if failure:
        raise KafkaStorageError(
            f"compiling kernels into {place} failed; the plain decoder goes on serving: {failure}"
        )


def warm_for(size: int) -> None:
    """Compile the kernels if there are so many bytes to read that they are worth the wait.

    Where they cannot be compiled plain Python does the work. The user hears of both on stderr.
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
    """Compile in a child process; return how that failed, nothing when it did not."""
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
    """Import numba for who asks for the fast decoder by its name, cold or not."""
    if name != "KernelDecoder":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from cordwood.records.kernels.kernel_decoder import KernelDecoder  # noqa: PLC0415  # numba: 0.3 s

    return KernelDecoder
