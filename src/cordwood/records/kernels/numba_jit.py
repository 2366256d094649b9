"""Door to numba: the maker that compiles kernels, and the storage of their machine code.

A kernel has an explicit signature. So it is compiled or loaded once, at the import of its module,
and never during a read: `decoder` loads, and gets an error where it would have to compile.
"""

import inspect
import pickle
import sys
from collections.abc import Callable, Iterable
from contextlib import nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numba
from llvmlite import binding
from numba import types
from numba.core.caching import CompileResultCacheImpl, FunctionCache, InTreeCacheLocator

from cordwood.records.kernels import kernel_cache
from cordwood.records.kernels.llvm_moves import moves

if TYPE_CHECKING:
    from cordwood.records.kernels.kernel_definition import Kernel, Kind, Maker

#: numba's types by their letters.
_TYPES: Final = {
    "r": types.Array(types.uint8, 1, "C", readonly=True),
    "b": types.Array(types.uint8, 1, "C"),
    "q": types.Array(types.int64, 1, "C"),
    "s": types.Array(types.int32, 1, "C", readonly=True),
    "t": types.Array(types.int64, 2, "C"),
    "i": types.int64,
    "v": types.void,
}

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


#: The common options of all compiled functions. No C wrapper is needed. A division by zero gives 0:
#: with an exception a kernel could fail.
OPTIONS: Final = {
    "nogil": True,
    "boundscheck": False,
    "error_model": "numpy",
    "_nrt": False,
    "no_cfunc_wrapper": True,
}


def numba_type(kind: "Kind") -> types.Type:
    """Return numba's type for a kind of argument or result."""
    if not kind.letters.startswith("("):
        return _TYPES[kind.letters]
    inner = kind.letters[1:-1]
    assert len(set(inner)) == 1, f"a tuple of several types: {kind.letters}"
    return types.UniTuple(_TYPES[inner[0]], len(inner))


def find_maker() -> "Maker | None":
    """Return the maker of this process; None if the JIT is off."""
    return None if numba.config.DISABLE_JIT else JitMaker(_processor())


def _processor() -> str:
    """Return the name of the processor, if it has the instruction for CRC-32C."""
    features = binding.get_host_cpu_features()
    if features.get("sse4.2"):
        return "x86_64"
    is_arm = binding.get_process_triple().startswith(("aarch64", "arm64"))
    return "aarch64" if is_arm and features.get("crc") else ""


class JitMaker:
    """Compiles kernels for the processor of this machine, or loads their code from the cache."""

    def __init__(self, processor: str) -> None:
        self.has_crc_instruction = bool(processor)
        self._moves = moves(processor)

    def kernel(self, function: "Kernel", result: "Kind", arguments: "tuple[Kind, ...]") -> "Kernel":
        """Compile a function for exactly these argument types, or load its compiled code."""
        made = numba.njit(**OPTIONS)(function)
        shelf = kernel_cache.shelf()
        if shelf.folder:
            kept = _Cache(function, shelf.folder, shelf=shelf)
            made._cache = kept  # noqa: SLF001  # as `cache=True` does
        made.compile(numba_type(result)(*map(numba_type, arguments)))
        made.disable_compile()
        compiled: Kernel = made
        return compiled

    def part(self, function: "Kernel", *, is_spliced: bool) -> "Kernel":
        """Return a function as a part of kernels.

        The wrapper for calls from Python takes longer to compile than the function, so functions
        that only kernels call have none. Nor is an inlined one specialised for constant arguments:
        LLVM sees them once it is part of a kernel.
        """
        if is_spliced:
            spliced: Kernel = numba.njit(**OPTIONS, inline="always")(function)
            return spliced
        made = numba.njit(
            **OPTIONS, forceinline=True, no_cpython_wrapper=kernel_cache.is_for_others()
        )(function)
        template = made.get_call_template

        def template_of(arguments: Iterable[types.Type], named: object) -> object:
            return template(tuple(map(types.unliteral, arguments)), named)

        made.get_call_template = template_of
        called: Kernel = made
        return called

    def move(self, name: str) -> Callable[..., object]:
        """Return LLVM's code of a move."""
        return self._moves[name]
