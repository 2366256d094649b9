"""Table of a library: its kernels with the letters of their arguments, as C for `machine.c`."""

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from native.targets import Level

if TYPE_CHECKING:
    from cordwood.records.kernels.kernel_definition import Kind

#: The words of an argument by its letter: an address and a shape, or a number. Digits are a size.
_WORDS = {"r": 2, "b": 2, "q": 2, "s": 2, "t": 3, "i": 1, "(": 0, ")": 0}


class TableRow(NamedTuple):
    """A kernel in the table: its name, the letters of its arguments, the number of its results."""

    name: str
    arguments: str
    results: int

    @property
    def symbol(self) -> str:
        """Return the name of its entry without the prefix of a level."""
        return self.name.replace(".", "_")

    @property
    def words(self) -> int:
        """Return the number of words that the entry reads."""
        return sum(self._words_of_letters())

    @property
    def buffers(self) -> int:
        """Return the number of its arrays."""
        return sum(words > 1 for words in self._words_of_letters())

    def _words_of_letters(self) -> Iterator[int]:
        return (_WORDS[letter] for letter in self.arguments if not letter.isdigit())


def row_of(
    function: Callable[..., object], result: "Kind", arguments: "tuple[Kind, ...]"
) -> TableRow:
    """Return the row of a function with these types."""
    name = f"{function.__module__}.{function.__qualname__}"
    results = 0 if result.letters == "v" else len(result.letters.strip("()"))
    return TableRow(name, "".join(kind.letters for kind in arguments), results)


def table_code(rows: list[TableRow], levels: Iterable[Level], *, fingerprint: str) -> str:
    """Return the file `kernels.inc`."""
    return "\n".join(_lines(rows, list(levels), fingerprint))


def _lines(rows: list[TableRow], levels: list[Level], fingerprint: str) -> Iterator[str]:
    yield f"enum {{ KERNELS = {len(rows)}, MOST_BUFFERS = {max(row.buffers for row in rows)},"
    yield f"       MOST_WORDS = {max(row.words for row in rows)},"
    yield f"       MOST_RESULTS = {max(row.results for row in rows)} }};"
    yield f'#define FINGERPRINT "{fingerprint}"'
    names = ", ".join(f'"{level.name}"' for level in levels)
    yield f"static const char *const level_names[LEVELS] = {{{names}}};"
    for row in rows:
        for level in levels:
            yield f'extern __attribute__((visibility("hidden"))) entry {level.prefix}{row.symbol};'
    yield "static const kernel kernels[KERNELS] = {"
    for row in rows:
        entries = ", ".join(f"{level.prefix}{row.symbol}" for level in levels)
        yield f'    {{"{row.name}", "{row.arguments}", {row.results}, {{{entries}}}}},'
    yield "};"
    yield ""
