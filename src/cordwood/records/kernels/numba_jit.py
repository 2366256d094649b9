"""Door to numba: the definition of a kernel, and the storage of its machine code.

A kernel has an explicit signature. So it is compiled or loaded once, at the import of its module,
and never during a read: `decoder` loads, and gets an error where it would have to compile. A kernel
releases the GIL. With NUMBA_DISABLE_JIT=1 it is the plain function; branch coverage is measured in
that mode.
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

from cordwood.records.kernels import kernel_cache

Bytes: TypeAlias = NDArray[np.uint8]
Words: TypeAlias = NDArray[np.int64]
TwoSlabs: TypeAlias = tuple[Bytes, Bytes]

Kernel = TypeVar("Kernel", bound=Callable[..., object])

#: Bytes that are read and never written: kernels see every buffer as read-only.
SOURCE: Final = types.Array(types.uint8, 1, "C", readonly=True)
SLAB: Final = types.Array(types.uint8, 1, "C")
SLABS: Final = types.UniTuple(SLAB, 2)
WORDS: Final = types.Array(types.int64, 1, "C")
#: The start of each row in a column of bytes, then the end of the last one.
STARTS: Final = types.Array(types.int32, 1, "C", readonly=True)
TABLE: Final = types.Array(types.int64, 2, "C")
INT: Final = types.int64
NOTHING: Final = types.void

IS_COMPILED: Final = not numba.config.DISABLE_JIT

#: The errors of unpickling torn bytes, or bytes that are not a pickle.
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
    """Return the type of a tuple of `count` integers."""
    return types.UniTuple(types.int64, count)


class _Locator(InTreeCacheLocator):  # type: ignore[misc]  # numba is untyped here
    """The one folder of a kernel; numba's own locators search for any writable one.

    A lookup writes nothing, so that a warm folder may be read-only.
    """

    def __init__(self, function: Callable[..., object], folder: Path) -> None:
        super().__init__(function, inspect.getfile(function))
        self._folder = folder

    def get_cache_path(self) -> str:
        return str(self._folder)

    def ensure_cache_path(self) -> None:
        kernel_cache.make(self._folder)


class _Files(CompileResultCacheImpl):  # type: ignore[misc]  # numba is untyped here
    """The file names of a kernel, without the search of numba's own constructor."""

    def __init__(self, function: Callable[..., object], folder: Path) -> None:
        self._lineno = function.__code__.co_firstlineno
        self._locator = _Locator(function, folder)
        module = function.__module__.rpartition(".")[2]
        flags = getattr(sys, "abiflags", "")
        self._filename_base = self.get_filename_base(f"{module}.{function.__qualname__}", flags)


class _Cache(FunctionCache):  # type: ignore[misc]  # numba is untyped here
    """Numba's cache of one function, in a folder that may forbid compilation."""

    def __init__(
        self, function: Callable[..., object], folder: Path, *, shelf: kernel_cache.KernelFolder
    ) -> None:
        self._shelf = shelf
        self._impl_class = partial(_Files, folder=folder)
        super().__init__(function)

    def load_overload(self, sig: object, target_context: object) -> object:
        """Return the compiled code; an unreadable file counts as missing."""
        found: object = None
        with suppress(OSError, *_TORN):
            found = super().load_overload(sig, target_context)
        if found is None and not self._shelf.compiles:
            raise kernel_cache.ColdError(f"{self._name} is not in {self._shelf.folder}")
        return found

    def save_overload(self, sig: object, data: object) -> None:
        """Store the compiled code; a damaged index is replaced."""
        with nullcontext() if self._shelf.must_keep else suppress(OSError):
            try:
                super().save_overload(sig, data)
            except _TORN:
                self.flush()
                super().save_overload(sig, data)


#: The common options of all compiled functions. No C wrapper is needed.
_OPTIONS: Final = {"nogil": True, "boundscheck": False, "_nrt": False, "no_cfunc_wrapper": True}


def kernel(result: types.Type, *arguments: types.Type) -> Callable[[Kernel], Kernel]:
    """Compile a function for exactly these argument types, or load its compiled code."""

    def decorate(function: Kernel) -> Kernel:
        if not IS_COMPILED:
            return function
        made = numba.njit(**_OPTIONS)(function)
        shelf = kernel_cache.shelf()
        if shelf.folder:
            kept = _Cache(function, shelf.folder, shelf=shelf)
            made._cache = kept  # noqa: SLF001  # as `cache=True` does
        made.compile(result(*arguments))
        made.disable_compile()
        compiled: Kernel = made
        return compiled

    return decorate


def inlined(function: Kernel) -> Kernel:
    """Make a function part of every kernel that calls it, because calls would cost more than its
    work.

    The wrapper for calls from Python takes longer to compile than the function, so functions that
    only kernels call have none. Nor is it specialised for constant arguments: LLVM sees them once
    it is part of a kernel.
    """
    if not IS_COMPILED:
        return function
    made = numba.njit(
        **_OPTIONS, forceinline=True, no_cpython_wrapper=kernel_cache.is_for_others()
    )(function)
    template = made.get_call_template

    def template_of(arguments: Iterable[types.Type], named: object) -> object:
        return template(tuple(map(types.unliteral, arguments)), named)

    made.get_call_template = template_of
    called: Kernel = made
    return called


def spliced(function: Kernel) -> Kernel:
    """Make a function part of its caller before anything is compiled.

    It is for functions that combine others. `inlined` functions are also compiled by themselves,
    and again in each caller, which takes seconds for large ones.
    """
    if not IS_COMPILED:
        return function
    made: Kernel = numba.njit(**_OPTIONS, inline="always")(function)
    return made
