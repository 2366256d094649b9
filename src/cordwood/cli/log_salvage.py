"""`cordwood log salvage`: readable records of a damaged partition, copied into a new one."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from cordwood.cli.arguments import absolute_path
from cordwood.cli.exit_codes import FOUND_WRONG
from cordwood.cli.progress import show_progress
from cordwood.cli.terminal import print_output

if TYPE_CHECKING:
    from cordwood.core.types import TopicPartition
    from cordwood.workbench.salvage.salvage_report import ReportedOffsets, SalvageReport

Source = Annotated[str, typer.Argument(help="Directory of the partition; it is only read.")]
Out = Annotated[
    str,
    typer.Option(metavar="DIR", help="Log directory for the new partition, created if missing."),
]
Partition = Annotated[
    str | None,
    typer.Option(
        metavar="TOPIC-N", help="Name of the new partition.  [default: the name of SOURCE]"
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the report as JSON.")]


EXAMPLE: Final = "Example: cordwood log salvage kafka-logs/orders-0 --out salvaged"


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command(epilog=EXAMPLE)(salvage)


def salvage(
    source: Source, *, out: Out, partition: Partition = None, as_json: AsJson = False
) -> None:
    """Copy the readable records of a damaged partition, and list every lost offset."""
    from cordwood.core.ports import Ports  # noqa: PLC0415  # help needs none of it
    from cordwood.core.system import SystemClock, SystemFiles, SystemRandom  # noqa: PLC0415  # as above
    from cordwood.records.kernels import batch_checker  # noqa: PLC0415  # as above
    from cordwood.workbench.salvage import salvage as work  # noqa: PLC0415  # as above

    path, target = absolute_path(source), absolute_path(out)
    _ensure_outside(path, target)
    name = None if partition is None else parse_partition(partition)
    total = sum(each.stat().st_size for each in Path(path).glob("*.log*") if each.is_file())
    ports = Ports(files=SystemFiles(), clock=SystemClock(), random=SystemRandom())
    # Each file is read twice: scanned, and copied.
    with show_progress(2 * total) as advance:
        options = work.SalvageOptions(checker=batch_checker(), on_bytes=advance)
        report = work.salvage(ports, path, out=target, partition=name, options=options)
    print_output(report.to_json() if as_json else _text(report))
    if not report.is_whole:
        raise typer.Exit(FOUND_WRONG)


def _ensure_outside(source: str, out: str) -> None:
    """Raise LogDirectoryError if a link leads into the source."""
    from cordwood.core.errors import LogDirectoryError  # noqa: PLC0415  # help needs none of it

    if Path(out).resolve().is_relative_to(Path(source).resolve()):
        raise LogDirectoryError(
            "is inside the source", path=out, remedy="choose another directory for --out"
        )


def parse_partition(text: str) -> "TopicPartition":
    """Parse `TOPIC-N`."""
    from cordwood.core.errors import InvalidTopicError, LogDirectoryError  # noqa: PLC0415  # help needs none of it
    from cordwood.storage.files import file_names  # noqa: PLC0415  # as above

    try:
        found = file_names.parse_directory_name(text, path=text).partition
        file_names.ensure_topic_name(found.topic)
    except (InvalidTopicError, LogDirectoryError) as error:
        raise typer.BadParameter(f"{text!r} is not TOPIC-N, such as orders-0") from error
    return found


def _text(report: "SalvageReport") -> str:
    """Return the report as lines: the log, then every loss and repair."""
    lines = [
        (
            f"{report.path}: offsets {report.log_start} to {report.log_end - 1}, "
            f"{report.batches} batches, {report.size} bytes"
        )
    ]
    for word in ("lost", "doubtful", "mended", "gaps"):
        lines += [f"{word.removesuffix('s')}: {_line(each)}" for each in getattr(report, word)]
    return "\n".join((*lines, *(f"note: {each}" for each in report.notes)))


def _line(offsets: "ReportedOffsets") -> str:
    from cordwood.workbench.verify.findings import offsets_text  # noqa: PLC0415  # help needs none of it

    where = f" ({offsets.file}, position {offsets.position})" if offsets.file else ""
    end = None if offsets.last is None else offsets.last + 1
    return f"{offsets_text(offsets.first, end)}: {offsets.why}{where}"
