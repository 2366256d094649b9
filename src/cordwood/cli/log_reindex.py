"""`cordwood log reindex`: offline rebuild of indexes and producer snapshots."""

from typing import TYPE_CHECKING, Annotated, Final

import typer

from cordwood.cli.arguments import absolute_path
from cordwood.cli.log_sizes import count_log_bytes
from cordwood.cli.log_targets import PartitionReports, partitions_at, verdict_lines
from cordwood.cli.progress import show_progress
from cordwood.cli.topic_config_options import BrokerConfig, Config, settings_finder
from cordwood.core.counts import counted

if TYPE_CHECKING:
    from cordwood.workbench.reindex import ReindexReport

EXAMPLE: Final = "Example: cordwood log reindex kafka-logs/orders-0"

Directories = Annotated[
    list[str],
    typer.Argument(metavar="DIR...", help="Partitions or log directories; stop the broker first."),
]
Interval = Annotated[
    int, typer.Option(min=0, help="Bytes between index entries (index.interval.bytes).")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the report as JSON.")]


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command(epilog=EXAMPLE)(reindex)


def reindex(
    directories: Directories,
    *,
    index_interval_bytes: Interval = 4096,
    config: Config = None,
    broker_config: BrokerConfig = None,
    as_json: AsJson = False,
) -> None:
    """Rebuild the indexes and producer snapshots of partitions, and list lost offsets.

    The logs themselves are only read.
    """
    from cordwood.core.system import SystemClock, SystemFiles  # noqa: PLC0415  # help needs none
    from cordwood.records.kernels import batch_checker  # noqa: PLC0415  # as above
    from cordwood.storage.log_config import LogConfig  # noqa: PLC0415  # as above
    from cordwood.workbench import repair_verdicts as work  # noqa: PLC0415  # as above
    from cordwood.workbench.verify.segment_verification import VerifyOptions  # noqa: PLC0415  # as above

    files, reports = SystemFiles(), PartitionReports(_text, as_json=as_json)
    places = [absolute_path(each) for each in directories]
    paths = [path for place in places for path in partitions_at(files, place)]
    settings = settings_finder(files, config=config, broker_config=broker_config)
    with show_progress(count_log_bytes(paths)) as advance:
        options = VerifyOptions(checker=batch_checker(), on_bytes=advance)

        def work_on(path: str) -> "ReindexReport":
            return work.reindex_with_verdict(
                files,
                path,
                config=LogConfig(index_interval_bytes=index_interval_bytes),
                now_ms=SystemClock().now_ms(),
                settings=settings,
                options=options,
            )

        reports.run(paths, work_on, is_single=paths == places)
    reports.finish()


def _text(report: "ReindexReport") -> str:
    """Return the report as lines: the log, then every loss and note."""
    from cordwood.workbench.verify.findings import offsets_text  # noqa: PLC0415  # help needs none of it

    lines = [
        (
            f"{report.path}: {counted(report.segments, 'segment')}, "
            f"{counted(report.batches, 'batch', plural='batches')}, "
            f"offsets up to {report.log_end - 1}"
        )
    ]
    for each in report.lost:
        offsets = offsets_text(each.first_offset, each.end_offset)
        lines.append(f"lost: {offsets}: in no segment, and not removed by a cleaner")
    lines += [f"note: {each}" for each in report.warnings]
    return "\n".join((*lines, *verdict_lines(report.path, report.verdict)))
