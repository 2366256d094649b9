"""`cordwood spark convert`: logs in another format or codec, in a directory of their own."""

from enum import StrEnum
from typing import Annotated

import typer

from cordwood.cli.output import say
from cordwood.cli.paths import absolute
from cordwood.cli.spark.running import AsJson, Conf, Master, running

Paths = Annotated[list[str], typer.Argument(help="Log directories or partitions.")]
Out = Annotated[
    str, typer.Option(metavar="DIR", help="A log directory, made if missing: logs come into it.")
]


class Format(StrEnum):
    """The message formats that are written."""

    V1 = "v1"
    V2 = "v2"


class CodecName(StrEnum):
    """The codecs, by Kafka's names."""

    NONE = "none"
    GZIP = "gzip"
    SNAPPY = "snappy"
    LZ4 = "lz4"
    ZSTD = "zstd"


MessageFormat = Annotated[Format, typer.Option("--format", help="The message format.")]
Codec = Annotated[
    CodecName | None, typer.Option("--codec", help="The codec.  [each batch keeps its own]")
]
Level = Annotated[int | None, typer.Option(help="The codec's level.  [its default]")]


def convert(  # noqa: PLR0913  # tidy: allow[parameters] an option each
    paths: Paths,
    *,
    out: Out,
    message_format: MessageFormat = Format.V2,
    codec: Codec = None,
    level: Level = None,
    as_json: AsJson = False,
    master: Master = None,
    conf: Conf = None,
) -> None:
    """Write logs anew in another format or codec; what was begun before goes on."""
    from cordwood.spark import jobs  # noqa: PLC0415  # help needs none of it

    with running("convert", master=master, conf=conf) as (spark, progress):
        report = jobs.convert(
            spark,
            [absolute(path) for path in paths],
            out=absolute(out),
            message_format=message_format,
            codec=codec,
            level=level,
            progress=progress,
        )
    say(report.to_json() if as_json else str(report))


def add_to(app: typer.Typer) -> None:
    """Make the command part of the family."""
    app.command(epilog="Example: cordwood spark convert kafka-logs --out by-zstd --codec zstd")(
        convert
    )
