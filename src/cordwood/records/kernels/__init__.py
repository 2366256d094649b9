"""Kernels: machine code over buffers, and the only place that imports numba.

`decoder()` gives the fast decoder when its kernels have been compiled before and the plain one
otherwise, so nobody waits for a compiler in the middle of a read; `inspector()`, `line_writer()`
and `sweeper()` likewise; `warm()` compiles them in a child process. Importing this package imports
neither numba nor numpy's clients; asking `is_warm` does not either. May import `core` and the rest
of `records`.
"""

import os
import subprocess
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from cordwood.core.errors import KafkaStorageError
from cordwood.records.chunk import Decoder
from cordwood.records.inspect import Inspector, PlainInspector
from cordwood.records.kernels import cache
from cordwood.records.lines import LineWriter, PlainLineWriter
from cordwood.records.plain import PlainDecoder
from cordwood.records.sweep import PlainSweeper, Sweeper

if TYPE_CHECKING:
    from cordwood.records.kernels.kernel_decoder import KernelDecoder

__all__ = ["KernelDecoder", "decoder", "inspector", "is_warm", "line_writer", "sweeper", "warm"]


def is_warm() -> bool:
    """Whether the kernels can be used at once; without a JIT there is nothing to compile."""
    return os.environ.get("NUMBA_DISABLE_JIT", "0") not in {"", "0"} or cache.is_warm()


def decoder() -> Decoder:
    """Return a decoder for one thread: the fast one when it is warm, else the plain one."""
    if not is_warm():
        return PlainDecoder()
    from cordwood.records.kernels.kernel_decoder import KernelDecoder  # noqa: PLC0415  # numba: 0.3 s

    return KernelDecoder()


def inspector() -> Inspector:
    """Return an inspector for one thread: the fast one when it is warm, else the plain one."""
    if not is_warm():
        return PlainInspector()
    from cordwood.records.kernels.inspect import KernelInspector  # noqa: PLC0415  # numba: 0.3 s

    return KernelInspector()


def line_writer() -> LineWriter:
    """Return a writer of lines for one thread: the fast one when it is warm, else the plain one."""
    if not is_warm():
        return PlainLineWriter()
    from cordwood.records.kernels.lines import KernelLineWriter  # noqa: PLC0415  # numba: 0.3 s

    return KernelLineWriter()


def sweeper() -> Sweeper:
    """Return a sweeper for one thread: the fast one when it is warm, else the plain one."""
    if not is_warm():
        return PlainSweeper()
    from cordwood.records.kernels.sweep import KernelSweeper  # noqa: PLC0415  # numba: 0.3 s

    return KernelSweeper()


def warm(say: Callable[[str], object]) -> None:
    """Compile the kernels, unless that has been done; `say` gets each line that is for the user.

    Blocks for as long as the child process takes, about ten seconds: not for an event loop.
    """
    if is_warm():
        return
    place = cache.folder()
    wanted = cache.folder_in(cache.base_folder())
    if place != wanted:
        say(
            f"cordwood: cannot write to {wanted}; compiled kernels go to {place} for now."
            " Set CORDWOOD_CACHE_DIR to a folder that you can write to."
        )
    say(f"cordwood: compiling kernels once into {place}, about ten seconds ...")
    child = subprocess.run(  # our own module, in our own interpreter
        [sys.executable, "-m", "cordwood.records.kernels"],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
    )
    if child.returncode != 0:
        raise KafkaStorageError(
            f"compiling kernels into {place} failed; the plain decoder goes on serving:"
            f" {child.stderr.strip()[-500:]}"
        )


def __getattr__(name: str) -> object:
    """Import numba for who asks for the fast decoder by its name, cold or not."""
    if name != "KernelDecoder":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from cordwood.records.kernels.kernel_decoder import KernelDecoder  # noqa: PLC0415  # numba: 0.3 s

    return KernelDecoder
