"""Definition of a kernel: a function with the types of its arguments, and what runs in its place.

    the library   has the machine code of a kernel under its name
    a maker       compiles the functions that it receives, with their types
    interpreted   each function runs as it was written, over the twins of the moves, which check
                  their bounds; branch coverage is measured in that mode

A type is a letter, so no definition depends on a compiler. A kernel releases the GIL.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, TypeAlias, TypeVar, cast

from cordwood.records.kernels.kernel_library import (
    LIBRARY,
    KernelLibrary,
    ensure_not_cut,
    library_error,
)
from cordwood.records.kernels.layout import TABLE_WIDTH

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Bytes: TypeAlias = NDArray[np.uint8]
    Words: TypeAlias = NDArray[np.int64]
else:  # a kernel takes any buffer, and numpy is loaded by callers that have arrays
    Bytes = Words = memoryview
TwoSlabs: TypeAlias = tuple[Bytes, Bytes]

Kernel = TypeVar("Kernel", bound=Callable[..., object])


class Kind(NamedTuple):
    """The type of an argument or a result, as the letters that a maker knows.

    r bytes to read      b bytes to write     s starts of 32 bits, to read     i a number
    q words to write     t a table of words   v nothing                        (rr) a tuple

    A number after a letter is the least length of the array; of a table, the number of columns.
    """

    letters: str

    def of(self, size: int) -> "Kind":
        """Return the type of arrays that have at least N items, or of tables with N columns."""
        return Kind(f"{self.letters}{size}")


#: Bytes that are read and never written: kernels see every buffer as read-only.
SOURCE: Final = Kind("r")
SLAB: Final = Kind("b")
WORDS: Final = Kind("q")
#: The start of each row in a column of bytes, then the end of the last one.
STARTS: Final = Kind("s")
TABLE: Final = Kind("t")
#: The table with a row for each batch.
BATCH_ROWS: Final = TABLE.of(TABLE_WIDTH)
INT: Final = Kind("i")
NOTHING: Final = Kind("v")


def together(kind: Kind, count: int) -> Kind:
    """Return the type of a tuple of `count` values of one type."""
    return Kind(f"({kind.letters * count})")


def several(count: int) -> Kind:
    """Return the type of a tuple of `count` integers."""
    return together(INT, count)


SLABS: Final = together(SLAB, 2)


class Maker(Protocol):
    """Compiles functions. It receives them while their modules are imported."""

    def kernel(self, function: Kernel, result: Kind, arguments: tuple[Kind, ...]) -> Kernel:
        """Return what runs for exactly these types."""

    def part(self, function: Kernel, *, is_spliced: bool) -> Kernel:
        """Return a function as kernels call it; see `inlined` and `spliced`."""

    def move(self, name: str) -> Callable[..., object]:
        """Return the move of this name as kernels call it."""


#: Set by a program that makes a library, before it imports kernels.
maker: Maker | None = None

IS_COMPILED: Final = LIBRARY is not None
HAS_CRC_INSTRUCTION: Final = LIBRARY is not None and LIBRARY.has_crc_instruction


def _of_library(function: Kernel, arguments: tuple[Kind, ...], library: KernelLibrary) -> Kernel:
    """Return the library's kernel in place of a function; tests define kernels that it lacks.

    Raise KernelLibraryError if the library has none of these types: it is left from other sources,
    as in an editable installation whose tree has changed. The docstring of a kernel is its letters.
    """
    name = f"{function.__module__}.{function.__qualname__}"
    if name not in library.kernels and not name.startswith("cordwood."):
        return function
    letters = "".join(kind.letters for kind in arguments)
    found = library.kernels.get(name)
    if found is None or found.__doc__ != letters:
        raise library_error(
            f"the library of kernels was built from other sources (it lacks {name}, {letters})"
        )
    return cast("Kernel", found)


def kernel(result: Kind, *arguments: Kind) -> Callable[[Kernel], Kernel]:
    """Define a function as a kernel for exactly these argument types."""

    def decorate(function: Kernel) -> Kernel:
        if maker is not None:
            return maker.kernel(function, result, arguments)
        if LIBRARY is not None:
            return _of_library(function, arguments, LIBRARY)
        ensure_not_cut()
        return function

    return decorate


def inlined(function: Kernel) -> Kernel:
    """Make a function part of every kernel that calls it, because calls would cost more than its
    work.
    """
    return function if maker is None else maker.part(function, is_spliced=False)


def spliced(function: Kernel) -> Kernel:
    """Make a function part of its caller before anything is compiled.

    It is for functions that combine others. `inlined` functions are also compiled by themselves,
    and again in each caller, which takes seconds for large ones.
    """
    return function if maker is None else maker.part(function, is_spliced=True)


def move(twin: Kernel) -> Kernel:
    """Return the machine's own move of the twin's name; without a maker the twin, which checks."""
    if maker is None:
        return twin
    made: Kernel = maker.move(twin.__name__)  # type: ignore[assignment]  # the twin's signature
    return made
