"""The formats of a dump: Kafka's lines, or objects and columns for other programs.

text     the lines of Kafka's tool
json     an object a line: batches, records when asked for, entries of the other files
arrow    an IPC stream of records
parquet  a file of records
"""

from collections.abc import Iterator, Sequence

from cordwood.core.errors import SettingError
from cordwood.workbench.dump import dump
from cordwood.workbench.dump_options import Said, Tools

FORMATS = ("text",)


def dump_as(output_format: str, tools: Tools, paths: Sequence[str]) -> Iterator[Said]:
    """Dump files in one of the formats."""
    if output_format not in FORMATS:
        raise SettingError(
            f"there is no format {output_format!r}",
            key="format",
            remedy=f"choose from {', '.join(FORMATS)}",
        )
    return dump(tools, paths)
