"""`cordwood log reindex`: indexes and snapshots written anew, while no broker runs."""

from pathlib import Path
from typing import Annotated, Final

import typer

from cordwood.cli.output import say
from cordwood.cli.paths import absolute
from cordwood.cli.progress import progress

EXAMPLE: Final = "Example: cordwood log reindex kafka-logs/orders-0"

Directory = Annotated[str, typer.Argument(help="The partition's directory, out of use.")]
Interval = Annotated[
    int, typer.Option(min=0, help="index.interval.bytes: an entry after so many bytes.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the report as JSON.")]


def register(app: typer.Typer) -> None:
    """Add the command to its family."""
    app.command(epilog=EXAMPLE)(reindex)


def reindex(
    directory: Directory, *, index_interval_bytes: Interval = 4096, as_json: AsJson = False
) -> None:
    """Write the indexes and producer snapshots of a partition anew; its log is only read."""
    from cordwood.core.system import SystemClock, SystemFiles  # noqa: PLC0415  # help needs none
    from cordwood.storage.log_config import LogConfig  # noqa: PLC0415  # as above
    from cordwood.workbench import reindex as work  # noqa: PLC0415  # as above

    path = absolute(directory)
    total = sum(each.stat().st_size for each in Path(path).glob("*.log") if each.is_file())
    with progress(total) as tell:
        report = work.reindex(
            SystemFiles(),
            path,
            config=LogConfig(index_interval_bytes=index_interval_bytes),
            now_ms=SystemClock().now_ms(),
            spend=tell,
        )
    if as_json:
        say(report.to_json())
        return
    say(
        f"{report.path}: {report.segments} segments, {report.batches} batches, "
        f"offsets up to {report.log_end - 1}"
    )
    for warning in report.warnings:
        say(f"note: {warning}")
