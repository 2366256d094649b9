"""Tables of text, as Kafka's tools print them: a title line, and columns of equal width."""

from collections.abc import Iterable, Sequence


def table_lines(titles: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    """Return the lines of a table; a column is as wide as its longest cell."""
    cells = [tuple(titles), *(tuple(map(str, row)) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in cells
    ]
