"""`cordwood log salvage`: what can be read of a damaged partition, in a directory that opens."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from cordwood.cli.endings import FOUND_WRONG
from cordwood.cli.output import say
from cordwood.cli.paths import absolute
from cordwood.cli.progress import progress

if TYPE_CHECKING:
    from cordwood.core.types import TopicPartition
    from cordwood.workbench.salvage_report import Offsets, SalvageReport

Source = Annotated[str, typer.Argument(help="The partition's directory; it is only read.")]
Out = Annotated[
    str, typer.Option(help="A log directory, made if missing: the partition comes into it.")
]
Partition = Annotated[
    str | None, typer.Option(help="TOPIC-N, where the name of the source does not say it.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the report as JSON.")]


EXAMPLE: Final = "Example: cordwood log salvage kafka-logs/orders-0 --out salvaged"


def register(app: typer.Typer) -> None:
    """Add the command to its family."""
    app.command(epilog=EXAMPLE)(salvage)


def salvage(
    source: Source, *, out: Out, partition: Partition = None, as_json: AsJson = False
) -> None:
    """Copy what can be read of a damaged partition, and list every offset that is lost."""
    from cordwood.core.system import SystemClock, SystemFiles, SystemRandom  # noqa: PLC0415  # help needs none of it
    from cordwood.workbench import salvage as work  # noqa: PLC0415  # as above

    path, target = absolute(source), absolute(out)
    meant = None if partition is None else partition_in(partition)
    total = sum(each.stat().st_size for each in Path(path).glob("*.log*") if each.is_file())
    with progress(2 * total) as tell:
        tools = work.SalvageTools(
            files=SystemFiles(), clock=SystemClock(), random=SystemRandom(), spend=tell
        )
        report = work.salvage(tools, path, out=target, partition=meant)
    say(report.to_json() if as_json else _text(report))
    if not report.is_whole:
        raise typer.Exit(FOUND_WRONG)


def partition_in(text: str) -> "TopicPartition":
    """Read TOPIC-N."""
    from cordwood.core.errors import InvalidTopicError, LogDirectoryError  # noqa: PLC0415  # help needs none of it
    from cordwood.storage import names  # noqa: PLC0415  # as above

    try:
        found = names.parse_directory_name(text, path=text).partition
        names.ensure_topic_name(found.topic)
    except (InvalidTopicError, LogDirectoryError) as error:
        raise typer.BadParameter(f"{text!r} is not TOPIC-N, as in orders-0") from error
    return found


def _text(report: "SalvageReport") -> str:
    """Return the report in lines: the log, then what is not as it was."""
    lines = [
        (
            f"{report.path}: offsets {report.log_start} to {report.log_end - 1}, "
            f"{report.batches} batches, {report.size} bytes"
        )
    ]
    for word in ("lost", "doubtful", "mended", "gaps"):
        lines += [f"{word.removesuffix('s')}: {_line(each)}" for each in getattr(report, word)]
    return "\n".join((*lines, *(f"note: {each}" for each in report.notes)))


def _line(offsets: "Offsets") -> str:
    from cordwood.workbench.findings import offsets_text  # noqa: PLC0415  # help needs none of it

    where = f" ({offsets.file}, position {offsets.position})" if offsets.file else ""
    end = None if offsets.last is None else offsets.last + 1
    return f"{offsets_text(offsets.first, end)}: {offsets.why}{where}"
