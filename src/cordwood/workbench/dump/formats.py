"""Output formats of a dump: Kafka's lines, or objects and columns for other programs.

    text     the lines of Kafka's tool
    json     one object a line: batches or records, or entries of the other files
    arrow    an IPC stream of all records, in the columns of `records.columns`
    parquet  one file with the same columns

The columns contain the records that consumers see: no control records, and damage ends them.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from cordwood.core.errors import SettingError
from cordwood.core.java_text import absolute_path, file_path
from cordwood.workbench.dump.dump_log_segments import dump
from cordwood.workbench.dump.dump_options import DumpedFile, DumpRun, OutputText
from cordwood.workbench.dump.json_lines import dump_objects

FORMATS: Final = ("text", "json", "arrow", "parquet")
_WITH_RECORDS: Final = (".log", ".checkpoint")


def dump_as(output_format: str, run: DumpRun, *, paths: Sequence[str]) -> Iterator[OutputText]:
    """Dump files in one of the formats."""
    if output_format not in FORMATS:
        raise SettingError(
            f"format: unknown format {output_format!r}",
            key="format",
            remedy=f"choose from {', '.join(FORMATS)}",
        )
    if output_format == "text":
        return dump(run, paths)
    folder = run.options.folder
    files = [DumpedFile(path, absolute_path(file_path(path), folder=folder)) for path in paths]
    if output_format == "json":
        return dump_objects(run, files)
    if run.options.record_parser is not None:
        raise SettingError(
            f"format: {output_format} has no columns for decoded records",
            key="format",
            remedy="use text or json with --offsets-decoder and --transaction-log-decoder",
        )
    for file in files:
        if file.suffix not in _WITH_RECORDS:
            raise SettingError(
                f"{file.shown}: contains no records",
                key="format",
                remedy="use arrow and parquet only for .log and .checkpoint files",
            )
    from cordwood.workbench.dump.record_columns import dump_columns  # noqa: PLC0415  # pyarrow: 0.2 s

    return dump_columns(output_format, run, files=files)
