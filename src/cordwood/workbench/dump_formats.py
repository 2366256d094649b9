"""The formats of a dump: Kafka's lines, or objects and columns for other programs.

    text     the lines of Kafka's tool
    json     an object a line: batches, records when asked for, entries of the other files
    arrow    an IPC stream of all records, in the columns of `records.columns`
    parquet  a file of the same

Columns hold what consumers see: no control records, and damage ends them.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from cordwood.core.errors import SettingError
from cordwood.core.java import absolute_path, file_path
from cordwood.workbench.dump import dump
from cordwood.workbench.dump_json import dump_objects
from cordwood.workbench.dump_options import DumpedFile, Said, Tools

FORMATS: Final = ("text", "json", "arrow", "parquet")
_WITH_RECORDS: Final = (".log", ".checkpoint")


def dump_as(output_format: str, tools: Tools, *, paths: Sequence[str]) -> Iterator[Said]:
    """Dump files in one of the formats."""
    if output_format not in FORMATS:
        raise SettingError(
            f"there is no format {output_format!r}",
            key="format",
            remedy=f"choose from {', '.join(FORMATS)}",
        )
    if output_format == "text":
        return dump(tools, paths)
    folder = tools.options.folder
    files = [DumpedFile(path, absolute_path(file_path(path), folder=folder)) for path in paths]
    if output_format == "json":
        return dump_objects(tools, files)
    for file in files:
        if file.suffix not in _WITH_RECORDS:
            raise SettingError(
                f"{file.shown} has no records",
                key="format",
                remedy="dump .log and .checkpoint files as columns, the others as text or json",
            )
    from cordwood.workbench.dump_columns import dump_columns  # noqa: PLC0415  # pyarrow: 0.2 s

    return dump_columns(output_format, tools, files=files)
