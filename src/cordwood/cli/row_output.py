"""Rows of a command, printed as a table or as a JSON object each.

A row maps Kafka's column titles to values. A table shows `-` for None; a JSON object has the titles
in lower case with underscores (`LOG-END-OFFSET` → `log_end_offset`, `ProducerId` → `producer_id`).
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from cordwood.cli.table_lines import table_lines
from cordwood.cli.terminal import print_output

Row: TypeAlias = Mapping[str, object]

_MISSING: Final = "-"
_WORD_BEGINS: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_SEPARATORS: Final = str.maketrans({"-": "_", "(": "_", ")": None, "#": None})


def print_rows(
    rows: Sequence[Row], *, as_json: bool, has_titles: bool = True, titles: Sequence[str] = ()
) -> None:
    """Print the rows, which have equal titles; without any, print a table's `titles` alone."""
    if rows:
        lines = json_lines(rows) if as_json else text_lines(rows)[0 if has_titles else 1 :]
    else:
        lines = table_lines(titles, []) if titles and not as_json else []
    if lines:
        print_output("\n".join(lines))


def text_lines(rows: Sequence[Row]) -> list[str]:
    """Return the lines of the table."""
    return table_lines(tuple(rows[0]), [[_cell(value) for value in row.values()] for row in rows])


def json_lines(rows: Sequence[Row]) -> list[str]:
    """Return a JSON object for each row."""
    return [json.dumps({_field(title): value for title, value in row.items()}) for row in rows]


def _cell(value: object) -> str:
    return _MISSING if value is None else str(value)


def _field(title: str) -> str:
    words = _WORD_BEGINS.sub("_", title.removesuffix(" (ID)"))
    return words.translate(_SEPARATORS).lower()
