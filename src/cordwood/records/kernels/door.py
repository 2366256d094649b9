"""The one door to numba: what a kernel is, and where its machine code is kept.

A kernel has an explicit signature, so that it is compiled (or loaded) once, when its module is
imported, and never in the middle of a read: `decoder` loads and is told where it would have to
compile. It releases the GIL. With NUMBA_DISABLE_JIT=1 a kernel
is the plain function it was written as, which is how its branches are measured.
"""

import inspect
import pickle
import sys
from collections.abc import Callable, Iterable
from contextlib import nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import Final, TypeAlias, TypeVar

import numba
import numpy as np
from numba import types
from numba.core.caching import CompileResultCacheImpl, FunctionCache, InTreeCacheLocator
from numpy.typing import NDArray

from cordwood.records.kernels import cache

Bytes: TypeAlias = NDArray[np.uint8]
Words: TypeAlias = NDArray[np.int64]
TwoSlabs: TypeAlias = tuple[Bytes, Bytes]

Kernel = TypeVar("Kernel", bound=Callable[..., object])

#: Bytes that are read and never written: whatever the caller's buffer is, kernels see it read-only.
SOURCE: Final = types.Array(types.uint8, 1, "C", readonly=True)
SLAB: Final = types.Array(types.uint8, 1, "C")
SLABS: Final = types.UniTuple(SLAB, 2)
WORDS: Final = types.Array(types.int64, 1, "C")
#: Where in a column of bytes each row begins, and behind them where the last one ends.
STARTS: Final = types.Array(types.int32, 1, "C", readonly=True)
TABLE: Final = types.Array(types.int64, 2, "C")
INT: Final = types.int64
NOTHING: Final = types.void

IS_COMPILED: Final = not numba.config.DISABLE_JIT

#: What unpickling raises over bytes that are torn or not a pickle at all.
_TORN: Final = (
    ArithmeticError,
    AttributeError,
    EOFError,
    ImportError,
    LookupError,
    MemoryError,
    RuntimeError,
    TypeError,
    ValueError,
    pickle.UnpicklingError,
)


def several(count: int) -> types.Type:
    """The type of a tuple of `count` integers."""
    return types.UniTuple(types.int64, count)


class _Locator(InTreeCacheLocator):  # type: ignore[misc]  # numba is untyped here
    """The one folder that a kernel is kept in: numba's own locators look for any they can write to.

    Looking writes nothing, so that a warm folder may be read-only.
    """

    def __init__(self, function: Callable[..., object], folder: Path) -> None:
        super().__init__(function, inspect.getfile(function))
        self._folder = folder

    def get_cache_path(self) -> str:
        return str(self._folder)

    def ensure_cache_path(self) -> None:
        cache.make(self._folder)


class _Files(CompileResultCacheImpl):  # type: ignore[misc]  # numba is untyped here
    """Where and under which name; numba's own constructor would look through its locators."""

    def __init__(self, function: Callable[..., object], folder: Path) -> None:
        self._lineno = function.__code__.co_firstlineno
        self._locator = _Locator(function, folder)
        module = function.__module__.rpartition(".")[2]
        flags = getattr(sys, "abiflags", "")
        self._filename_base = self.get_filename_base(f"{module}.{function.__qualname__}", flags)


class _Cache(FunctionCache):  # type: ignore[misc]  # numba is untyped here
    """Numba's cache of one function, on a shelf that may forbid to compile."""

    def __init__(
        self, function: Callable[..., object], folder: Path, *, shelf: cache.Shelf
    ) -> None:
        self._shelf = shelf
        self._impl_class = partial(_Files, folder=folder)
        super().__init__(function)

    def load_overload(self, sig: object, target_context: object) -> object:
        """What was compiled before; a file that cannot be read is one that is not there."""
        found: object = None
        with suppress(OSError, *_TORN):
            found = super().load_overload(sig, target_context)
        if found is None and not self._shelf.compiles:
            raise cache.ColdError(f"{self._name} is not in {self._shelf.folder}")
        return found

    def save_overload(self, sig: object, data: object) -> None:
        """Keep what has been compiled; an index that is damaged is begun afresh."""
        with nullcontext() if self._shelf.must_keep else suppress(OSError):
            try:
                super().save_overload(sig, data)
            except _TORN:
                self.flush()
                super().save_overload(sig, data)


#: What every function that numba sees has in common. Nothing is asked for in C.
_OPTIONS: Final = {"nogil": True, "boundscheck": False, "_nrt": False, "no_cfunc_wrapper": True}


def kernel(result: types.Type, *arguments: types.Type) -> Callable[[Kernel], Kernel]:
    """Compile a function for exactly these argument types, or load what was compiled before."""

    def decorate(function: Kernel) -> Kernel:
        if not IS_COMPILED:
            return function
        made = numba.njit(**_OPTIONS)(function)
        shelf = cache.shelf()
        if shelf.folder:
            kept = _Cache(function, shelf.folder, shelf=shelf)
            made._cache = kept  # noqa: SLF001  # as `cache=True` does
        made.compile(result(*arguments))
        made.disable_compile()
        compiled: Kernel = made
        return compiled

    return decorate


def inlined(function: Kernel) -> Kernel:
    """Make a function part of every kernel that calls it: calls would cost more than it does.

    What Python calls it by takes longer to compile than it does, so there is none where nobody but
    kernels calls it. Nor is it compiled anew for each constant that it is given: LLVM sees those
    once it is part of a kernel.
    """
    if not IS_COMPILED:
        return function
    made = numba.njit(**_OPTIONS, forceinline=True, no_cpython_wrapper=cache.is_for_others())(
        function
    )
    template = made.get_call_template

    def template_of(arguments: Iterable[types.Type], named: object) -> object:
        return template(tuple(map(types.unliteral, arguments)), named)

    made.get_call_template = template_of
    called: Kernel = made
    return called


def spliced(function: Kernel) -> Kernel:
    """Make a function part of its caller before anything is compiled.

    For those that hold others together: `inlined` ones are compiled by themselves as well, and
    again in each that calls them, which takes seconds where they are large.
    """
    if not IS_COMPILED:
        return function
    made: Kernel = numba.njit(**_OPTIONS, inline="always")(function)
    return made
