"""`cordwood log salvage`: readable records of a damaged partition, copied into a new one."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from cordwood.cli.arguments import absolute_path
from cordwood.cli.log_sizes import count_log_bytes
from cordwood.cli.log_targets import (
    PartitionReports,
    partitions_at,
    verdict_lines,
)
from cordwood.cli.progress import show_progress
from cordwood.cli.topic_config_options import BrokerConfig, Config, settings_finder
from cordwood.core.counts import counted

if TYPE_CHECKING:
    from cordwood.core.types import TopicPartition
    from cordwood.workbench.salvage.salvage_report import ReportedOffsets, SalvageReport

Sources = Annotated[
    list[str],
    typer.Argument(metavar="DIR...", help="Partitions or log directories; they are only read."),
]
Out = Annotated[
    str,
    typer.Option(metavar="DIR", help="Log directory for the new partitions, created if missing."),
]
Partition = Annotated[
    str | None,
    typer.Option(metavar="TOPIC-N", help="Name of the new partition.  [default: the name of DIR]"),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the report as JSON.")]


EXAMPLE: Final = "Example: cordwood log salvage kafka-logs/orders-0 --out salvaged"


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command(epilog=EXAMPLE)(salvage)


def salvage(  # tidy: allow[parameters] an option each
    sources: Sources,
    *,
    out: Out,
    partition: Partition = None,
    config: Config = None,
    broker_config: BrokerConfig = None,
    as_json: AsJson = False,
) -> None:
    """Copy the readable records of damaged partitions, and list every lost offset."""
    from cordwood.core.ports import Ports  # noqa: PLC0415  # help needs none of it
    from cordwood.core.system import SystemClock, SystemFiles, SystemRandom  # noqa: PLC0415  # as above
    from cordwood.records.kernels import batch_checker  # noqa: PLC0415  # as above
    from cordwood.workbench import repair_verdicts as work  # noqa: PLC0415  # as above
    from cordwood.workbench.salvage.empty_log import has_no_bytes  # noqa: PLC0415  # as above
    from cordwood.workbench.salvage.salvage import SalvageOptions  # noqa: PLC0415  # as above

    files, reports = SystemFiles(), PartitionReports(_text, as_json=as_json)
    places, target = [absolute_path(each) for each in sources], absolute_path(out)
    for place in places:
        _ensure_outside(place, target)
    paths = [path for place in places for path in partitions_at(files, place)]
    if partition is not None and len(paths) > 1:
        raise typer.BadParameter(f"--partition names one partition ({len(paths)} are given)")
    name = None if partition is None else parse_partition(partition)
    ports = Ports(files=files, clock=SystemClock(), random=SystemRandom())
    settings = settings_finder(files, config=config, broker_config=broker_config)
    has_others = paths != places or len(paths) > 1
    # Each file is read three times: scanned, copied and verified.
    with show_progress(3 * count_log_bytes(paths)) as advance:
        options = SalvageOptions(checker=batch_checker(), on_bytes=advance)

        def work_on(path: str) -> "SalvageReport":
            if has_others and has_no_bytes(files, path):
                return work.salvage_empty_with_verdict(
                    ports, path, out=target, options=options, settings=settings
                )
            return work.salvage_with_verdict(
                ports, path, out=target, partition=name, options=options, settings=settings
            )

        reports.run(paths, work_on, is_single=paths == places)
    reports.finish()


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
    contents = (
        f"offsets {report.log_start} to {report.log_end - 1}, "
        f"{counted(report.batches, 'batch', plural='batches')}, {counted(report.size, 'byte')}"
        if report.batches
        else f"no records, begins at offset {report.log_start}"
    )
    lines = [f"{report.path}: {contents}"]
    for label, found in (
        ("lost", report.lost),
        ("unverified", report.doubtful),
        ("repaired", report.mended),
        ("gap", report.gaps),
    ):
        lines += [f"{label}: {_line(each)}" for each in found]
    lines += [f"note: {each}" for each in report.notes]
    return "\n".join((*lines, *verdict_lines(report.source, report.verdict)))


def _line(offsets: "ReportedOffsets") -> str:
    from cordwood.workbench.salvage.salvage_report import REPAIRED  # noqa: PLC0415  # help needs none
    from cordwood.workbench.verify.findings import offsets_text  # noqa: PLC0415  # as above

    where = f" ({offsets.file}, position {offsets.position})" if offsets.file else ""
    end = None if offsets.last is None else offsets.last + 1
    return f"{offsets_text(offsets.first, end)}: {offsets.why.removeprefix(REPAIRED)}{where}"
