"""`cordwood produce`: lines of text sent as records (Kafka: `ConsoleProducer`).

`cli.produce_run` sends them.
"""

from enum import StrEnum
from typing import Annotated

import typer

from cordwood.cli.arguments import parse_pairs
from cordwood.cli.cluster_options import (
    BootstrapServer,
    CommandConfig,
    CommandProperty,
    reachable_config,
)

EXAMPLE = "Example: cordwood produce orders --file orders.txt --key-separator :"


class CompressionType(StrEnum):
    """The compression types of batches, by Kafka's names."""

    NONE = "none"
    GZIP = "gzip"
    SNAPPY = "snappy"
    LZ4 = "lz4"
    ZSTD = "zstd"


class Acks(StrEnum):
    """The acknowledgements that a produce request waits for."""

    NONE = "0"
    LEADER = "1"
    ALL = "all"


Topic = Annotated[str, typer.Argument(help="Topic name.")]
File = Annotated[
    str | None,
    typer.Option("--file", metavar="FILE", help="Read this file.  [default: standard input]"),
]
Separator = Annotated[
    str | None,
    typer.Option(metavar="TEXT", help="Split each line into key and value at this separator."),
]
NullMarker = Annotated[
    str | None, typer.Option(metavar="TEXT", help="Read this text as null, in keys and values.")
]
JsonLines = Annotated[
    bool, typer.Option("--json", help="Read JSON objects, as printed by `consume --json`.")
]
Headers = Annotated[
    list[str] | None,
    typer.Option("--header", metavar="NAME=VALUE", help="Add a header to each record. Repeatable."),
]
Partition = Annotated[
    int | None, typer.Option(min=0, help="Partition of records that do not contain one.")
]
Rate = Annotated[
    int | None, typer.Option(min=1, help="Maximum records per second.  [default: unlimited]")
]
CompressionCodec = Annotated[
    CompressionType | None,
    typer.Option("--compression-codec", help="Compression type of the batches.  [default: none]"),
]
RequiredAcks = Annotated[
    Acks | None,
    typer.Option("--acks", help="Required acknowledgements: 0, 1 or all.  [default: all]"),
]


def produce(  # noqa: PLR0913  # tidy: allow[parameters] an option each
    topic: Topic,
    *,
    file: File = None,
    key_separator: Separator = None,
    null_marker: NullMarker = None,
    json_lines: JsonLines = False,
    header: Headers = None,
    partition: Partition = None,
    rate: Rate = None,
    compression_codec: CompressionCodec = None,
    acks: RequiredAcks = None,
    command_property: CommandProperty = None,
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
) -> None:
    """Send each line of the standard input or of a file as a record."""
    from cordwood.cli import produce_run  # noqa: PLC0415  # help needs none of it

    config = produce_run.producer_config(
        reachable_config(
            bootstrap_server,
            command_config,
            properties=command_property,
            compression_type=compression_codec,
            acks=acks,
        )
    )
    produce_run.produce(
        produce_run.ProduceTarget(
            topic,
            partition,
            tuple((name, value.encode()) for name, value in parse_pairs(header).items()),
        ),
        config,
        read=produce_run.line_reader(key_separator, null_marker, is_json=json_lines),
        path=file,
        rate=rate,
    )


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command(epilog=EXAMPLE)(produce)
