"""The one door to numba: what a kernel is, and where its machine code is kept.

A kernel has an explicit signature, so that it is compiled (or loaded) once, when its module is
imported, and never in the middle of a read. It releases the GIL. With NUMBA_DISABLE_JIT=1 a kernel
is the plain function it was written as, which is how its branches are measured.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, TypeAlias, TypeVar

import numba
import numpy as np
from numba import types
from numpy.typing import NDArray

from cordwood.records.kernels import cache

Bytes: TypeAlias = NDArray[np.uint8]
Words: TypeAlias = NDArray[np.int64]

Kernel = TypeVar("Kernel", bound=Callable[..., object])

#: Bytes that are read and never written: whatever the caller's buffer is, kernels see it read-only.
SOURCE: Final = types.Array(types.uint8, 1, "C", readonly=True)
SLAB: Final = types.Array(types.uint8, 1, "C")
WORDS: Final = types.Array(types.int64, 1, "C")
TABLE: Final = types.Array(types.int64, 2, "C")
INT: Final = types.int64
NOTHING: Final = types.void

IS_COMPILED: Final = not numba.config.DISABLE_JIT


def several(count: int) -> types.Type:
    """The type of a tuple of `count` integers."""
    return types.UniTuple(types.int64, count)


@contextmanager
def _cached_in(folder: str) -> Iterator[None]:
    """Numba picks the folder when a function is decorated; other people's kernels keep theirs."""
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = folder
    try:
        yield
    finally:
        numba.config.CACHE_DIR = before


def kernel(result: types.Type, *arguments: types.Type) -> Callable[[Kernel], Kernel]:
    """Compile a function for exactly these argument types, or load what was compiled before."""

    def decorate(function: Kernel) -> Kernel:
        if not IS_COMPILED:
            return function
        with _cached_in(str(cache.folder())):
            compiled: Kernel = numba.njit(
                result(*arguments), cache=True, nogil=True, boundscheck=False, _nrt=False
            )(function)
        return compiled

    return decorate


def inlined(function: Kernel) -> Kernel:
    """Make a function part of every kernel that calls it: calls would cost more than it does."""
    if not IS_COMPILED:
        return function
    made: Kernel = numba.njit(nogil=True, boundscheck=False, _nrt=False, forceinline=True)(function)
    return made


def spliced(function: Kernel) -> Kernel:
    """Make a function part of its caller before anything is compiled.

    For those that hold others together: `inlined` ones are compiled by themselves as well, and
    again in each that calls them, which takes seconds where they are large.
    """
    if not IS_COMPILED:
        return function
    made: Kernel = numba.njit(nogil=True, boundscheck=False, _nrt=False, inline="always")(function)
    return made
