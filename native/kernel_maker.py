"""Maker of kernels for a library: numba translates each function into LLVM's code, once.

numba is stopped before it makes machine code, since that would be for this process. Its code is for
the lowest level of the processor; `kernel_objects` makes the machine code of all levels.
"""

from collections.abc import Callable, Collection, Iterable
from string import digits
from typing import TYPE_CHECKING, Final, NamedTuple

import numba
from numba import _dynfunc, types
from numba.core import codegen
from numba.core.cpu import CPUContext
from numba.core.registry import cpu_target

from native.library_table import TableRow, row_of
from native.llvm_moves import moves

if TYPE_CHECKING:
    from cordwood.records.kernels.kernel_definition import Kernel, Kind

#: numba's types by the letters of `Kind`.
_TYPES: Final = {
    "r": types.Array(types.uint8, 1, "C", readonly=True),
    "b": types.Array(types.uint8, 1, "C"),
    "q": types.Array(types.int64, 1, "C"),
    "s": types.Array(types.int32, 1, "C", readonly=True),
    "t": types.Array(types.int64, 2, "C"),
    "i": types.int64,
    "v": types.void,
}

_NO_DIGITS: Final = str.maketrans("", "", digits)

#: The options of all functions. They have no wrappers for calls from Python or C. A division by
#: zero gives 0: with an exception a kernel could fail.
_OPTIONS: Final = {
    "nogil": True,
    "boundscheck": False,
    "error_model": "numpy",
    "_nrt": False,
    "no_cfunc_wrapper": True,
    "no_cpython_wrapper": True,
}


def numba_type(kind: "Kind") -> types.Type:
    """Return numba's type for a kind of argument or result, without its size."""
    letters = kind.letters.translate(_NO_DIGITS)
    if not letters.startswith("("):
        return _TYPES[letters]
    inner = letters[1:-1]
    assert len(set(inner)) == 1, f"a tuple of several types: {kind.letters}"
    return types.UniTuple(_TYPES[inner[0]], len(inner))


class MadeKernel(NamedTuple):
    """A kernel in LLVM's code, with its row in the table of the library."""

    row: TableRow
    described: object
    bitcode: bytes


class LibraryMaker:
    """Collects the kernels of some modules, while these are imported.

    They import kernels of other modules, which are not made: kernels do not call each other.
    """

    def __init__(self, processor: str, modules: Collection[str]) -> None:
        self._modules = modules
        self.found: list[MadeKernel] = []
        self._moves = moves(processor)

    def kernel(self, function: "Kernel", result: "Kind", arguments: "tuple[Kind, ...]") -> "Kernel":
        """Translate a function for exactly these argument types."""
        if function.__module__ not in self._modules:
            return function
        made = numba.njit(**_OPTIONS)(function)
        made.compile(numba_type(result)(*map(numba_type, arguments)))
        made.disable_compile()
        (compiled,) = made.overloads.values()
        code = compiled.library._final_module.as_bitcode()  # noqa: SLF001  # optimized
        row = row_of(function, result, arguments)
        self.found.append(MadeKernel(row, compiled.fndesc, code))
        kernel: Kernel = made
        return kernel

    def part(self, function: "Kernel", *, is_spliced: bool) -> "Kernel":
        """Return a function as a part of kernels.

        An inlined one is not specialised for constant arguments: LLVM sees them once it is part of
        a kernel.
        """
        if is_spliced:
            spliced: Kernel = numba.njit(**_OPTIONS, inline="always")(function)
            return spliced
        made = numba.njit(**_OPTIONS, forceinline=True)(function)
        template = made.get_call_template

        def template_of(arguments: Iterable[types.Type], named: object) -> object:
            return template(tuple(map(types.unliteral, arguments)), named)

        made.get_call_template = template_of
        inlined: Kernel = made
        return inlined

    def move(self, name: str) -> Callable[..., object]:
        """Return LLVM's code of a move."""
        return self._moves[name]


def stop_before_machine_code() -> None:
    """Change numba, in this process, to end with LLVM's code."""
    cpu_target.typing_context.refresh()
    cpu_target.target_context.refresh()

    def get_executable(
        _self: CPUContext, library: codegen.CPUCodeLibrary, fndesc: object, env: object
    ) -> object:
        library._ensure_finalized()  # noqa: SLF001  # callees are declared only otherwise
        name, module = fndesc.qualname, fndesc.lookup_module()  # type: ignore[attr-defined]  # numba has no types
        return _dynfunc.make_function(module, name, "", 0, env, (library,))

    def do_nothing(*_: object) -> None:
        return None

    CPUContext.get_executable = get_executable
    codegen.JITCPUCodegen._add_module = do_nothing  # noqa: SLF001  # no machine code
    codegen.JITCodeLibrary._finalize_specific = do_nothing  # noqa: SLF001  # no machine code
