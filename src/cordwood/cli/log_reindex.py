"""`cordwood log reindex`: offline rebuild of indexes and producer snapshots."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from cordwood.cli.arguments import absolute_path
from cordwood.cli.exit_codes import FOUND_WRONG
from cordwood.cli.progress import show_progress
from cordwood.cli.terminal import print_output

if TYPE_CHECKING:
    from cordwood.workbench.reindex import ReindexReport

EXAMPLE: Final = "Example: cordwood log reindex kafka-logs/orders-0"

Directory = Annotated[
    str, typer.Argument(help="Directory of the partition; stop the broker first.")
]
Interval = Annotated[
    int, typer.Option(min=0, help="Bytes between index entries (index.interval.bytes).")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the report as JSON.")]


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command(epilog=EXAMPLE)(reindex)


def reindex(
    directory: Directory, *, index_interval_bytes: Interval = 4096, as_json: AsJson = False
) -> None:
    """Rebuild the indexes and producer snapshots of a partition, and list lost offsets.

    The log itself is only read.
    """
    from cordwood.core.system import SystemClock, SystemFiles  # noqa: PLC0415  # help needs none
    from cordwood.storage.log_config import LogConfig  # noqa: PLC0415  # as above
    from cordwood.workbench import reindex as work  # noqa: PLC0415  # as above

    path = absolute_path(directory)
    total = sum(each.stat().st_size for each in Path(path).glob("*.log") if each.is_file())
    with show_progress(total) as advance:
        report = work.reindex(
            SystemFiles(),
            path,
            config=LogConfig(index_interval_bytes=index_interval_bytes),
            now_ms=SystemClock().now_ms(),
            on_bytes=advance,
        )
    print_output(report.to_json() if as_json else _text(report))
    if report.lost:
        raise typer.Exit(FOUND_WRONG)


def _text(report: "ReindexReport") -> str:
    """Return the report as lines: the log, then every loss and note."""
    from cordwood.workbench.verify.findings import offsets_text  # noqa: PLC0415  # help needs none of it

    lines = [
        (
            f"{report.path}: {report.segments} segments, {report.batches} batches, "
            f"offsets up to {report.log_end - 1}"
        )
    ]
    for each in report.lost:
        offsets = offsets_text(each.first_offset, each.end_offset)
        lines.append(f"lost: {offsets}: in no segment, and not removed by a cleaner")
    return "\n".join((*lines, *(f"note: {each}" for each in report.warnings)))
