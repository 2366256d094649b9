"""Table with the header of a batch in each row, for kernels in a command without numpy.

numpy takes longer to load than a small log takes to check. Interpreted kernels take rows out of
their tables, which a buffer of Python does not support: they get arrays over the same memory.
"""

from typing import Final, cast

from cordwood.records.kernels.kernel_definition import IS_COMPILED, Words
from cordwood.records.kernels.layout import TABLE_WIDTH

_ROW_BYTES: Final = 8 * TABLE_WIDTH


class HeaderTable:
    """A table of N rows; `words` are all of its words, row by row."""

    __slots__ = ("_bytes", "words")

    def __init__(self, rows: int) -> None:
        self._bytes = memoryview(bytearray(rows * _ROW_BYTES))
        self.words = self._bytes.cast("q")

    def __len__(self) -> int:
        return len(self.words) // TABLE_WIDTH

    def rows(self, first: int, end: int) -> Words:
        """Return a range of at least one row, as kernels see it."""
        part = self._bytes[first * _ROW_BYTES : end * _ROW_BYTES]
        if IS_COMPILED:
            return cast("Words", part.cast("B").cast("q", (end - first, TABLE_WIDTH)))
        import numpy as np  # noqa: PLC0415  # not where kernels are compiled

        return np.frombuffer(part, np.int64).reshape(-1, TABLE_WIDTH)

    def row(self, place: int) -> Words:
        """Return the words of one row."""
        return cast("Words", self.words[place * TABLE_WIDTH : (place + 1) * TABLE_WIDTH])

    def column(self, word: int, first: int, end: int) -> list[int]:
        """Return one word of each row in a range."""
        return self.words[first * TABLE_WIDTH + word : end * TABLE_WIDTH : TABLE_WIDTH].tolist()
