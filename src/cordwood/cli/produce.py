"""`cordwood produce`: lines become records of a topic. `cli.producing` sends them."""

from enum import StrEnum
from typing import Annotated

import typer

from cordwood.cli.connecting import (
    BootstrapServer,
    CommandConfig,
    CommandProperty,
    client_config,
)
from cordwood.cli.pairs import pairs_in

EXAMPLE = "Example: cordwood produce orders --file orders.txt --key-separator :"


class Codec(StrEnum):
    """How batches are compressed."""

    NONE = "none"
    GZIP = "gzip"
    SNAPPY = "snappy"
    LZ4 = "lz4"
    ZSTD = "zstd"


class Acks(StrEnum):
    """Who has to have a record."""

    NOBODY = "0"
    LEADER = "1"
    ALL = "all"


Topic = Annotated[str, typer.Argument(help="The topic.")]
File = Annotated[
    str | None, typer.Option("--file", metavar="FILE", help="Read this, not the standard input.")
]
Separator = Annotated[
    str | None, typer.Option(metavar="TEXT", help="Lines are a key, this, and a value.")
]
NullMarker = Annotated[
    str | None, typer.Option(metavar="TEXT", help="What stands for null as key or value.")
]
JsonLines = Annotated[
    bool, typer.Option("--json", help="Lines are objects, as `consume --json` prints them.")
]
Headers = Annotated[
    list[str] | None,
    typer.Option("--header", metavar="NAME=VALUE", help="For every record; may come again."),
]
Partition = Annotated[int | None, typer.Option(min=0, help="Where no record says its own.")]
Rate = Annotated[int | None, typer.Option(min=1, help="No more records a second than these.")]
CompressionCodec = Annotated[Codec, typer.Option("--compression-codec", help="The codec.")]
WhoAcks = Annotated[Acks, typer.Option("--acks", help="Who has to have a record.")]


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
    compression_codec: CompressionCodec = Codec.NONE,
    acks: WhoAcks = Acks.ALL,
    command_property: CommandProperty = None,
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
) -> None:
    """Send each line of the standard input, or of a file, as a record."""
    from cordwood.cli import producing  # noqa: PLC0415  # help needs none of it

    config = producing.patient(
        client_config(
            bootstrap_server,
            command_config,
            properties=command_property,
            compression_type=compression_codec.value,
            **producing.acknowledged(acks.value),
        )
    )
    producing.produce(
        producing.Target(
            topic,
            partition,
            tuple((name, value.encode()) for name, value in pairs_in(header).items()),
        ),
        config,
        read=producing.reader(key_separator, null_marker, is_json=json_lines),
        path=file,
        rate=rate,
    )


def add_to(app: typer.Typer) -> None:
    """Make the command one of the program's."""
    app.command(epilog=EXAMPLE)(produce)
