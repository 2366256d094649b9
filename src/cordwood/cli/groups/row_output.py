"""Rows of a command, printed as a table or as a JSON object each.

A row maps Kafka's column titles to values. A table shows `-` for None; a JSON object has the titles
in lower case with underscores (`LOG-END-OFFSET` → `log_end_offset`).
"""

import json
from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from cordwood.cli.table_lines import table_lines
from cordwood.cli.terminal import print_output

Row: TypeAlias = Mapping[str, object]

_MISSING: Final = "-"


def print_rows(rows: Sequence[Row], *, as_json: bool, has_titles: bool = True) -> None:
    """Print the rows, which have equal titles; print nothing if there is no row."""
    if rows:
        lines = json_lines(rows) if as_json else text_lines(rows)[0 if has_titles else 1 :]
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
    return title.lower().lstrip("#").removesuffix(" (id)").replace("-", "_")
