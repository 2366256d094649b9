"""`cordwood spark convert`: conversion of logs to another message format or compression type."""

from enum import StrEnum
from typing import Annotated

import typer

from cordwood.cli.arguments import absolute_path
from cordwood.cli.exit_codes import FOUND_WRONG
from cordwood.cli.produce import CompressionType
from cordwood.cli.spark.job_run import AsJson, Conf, Master, job_session
from cordwood.cli.spark.source_options import existing_paths
from cordwood.cli.terminal import print_output

Paths = Annotated[list[str], typer.Argument(help="Log directories or partitions.")]
Out = Annotated[
    str, typer.Option(metavar="DIR", help="Log directory for the output, created if missing.")
]


class ConvertFormat(StrEnum):
    """The message formats that can be written."""

    V1 = "v1"
    V2 = "v2"


MessageFormat = Annotated[ConvertFormat, typer.Option("--format", help="Message format to write.")]
CodecOption = Annotated[
    CompressionType | None,
    typer.Option(
        "--codec", help="Compression type to write.  [default: keep the type of each batch]"
    ),
]
Level = Annotated[
    int | None, typer.Option(help="Compression level.  [default: the default of the type]")
]


def convert(  # noqa: PLR0913  # tidy: allow[parameters] an option each
    paths: Paths,
    *,
    out: Out,
    message_format: MessageFormat = ConvertFormat.V2,
    codec: CodecOption = None,
    level: Level = None,
    as_json: AsJson = False,
    master: Master = None,
    conf: Conf = None,
) -> None:
    """Convert logs to another format or compression type; an interrupted run is resumed.

    Exit with 1 if the logs lack offsets that no cleaner has removed.
    """
    from cordwood.spark import jobs  # noqa: PLC0415  # help needs none of it

    places = existing_paths(paths)
    with job_session("convert", master=master, conf=conf) as (spark, progress):
        report = jobs.convert(
            spark,
            places,
            out=absolute_path(out),
            message_format=message_format,
            codec=codec,
            level=level,
            progress=progress,
        )
    print_output(report.to_json() if as_json else str(report))
    if report.missing:
        raise typer.Exit(FOUND_WRONG)


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command(epilog="Example: cordwood spark convert kafka-logs --out by-zstd --codec zstd")(
        convert
    )
