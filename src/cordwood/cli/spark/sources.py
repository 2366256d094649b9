"""What the commands that read by Spark have in common: where to read, as options of the source."""

import json
from typing import Annotated

import typer

from cordwood.cli.pairs import pairs_in

Paths = Annotated[
    list[str] | None, typer.Argument(help="Log directories, or partitions; none with brokers.")
]
Topic = Annotated[
    list[str] | None, typer.Option("--topic", help="A topic; may come again.  [all in the paths]")
]
BootstrapServer = Annotated[
    str | None, typer.Option(metavar="HOST:PORT,...", help="Read from brokers, too or alone.")
]
Option = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=VALUE", help="Any other option of the job; may come again."),
]
Format = Annotated[str, typer.Option("--format", help="parquet, delta or iceberg.")]
Table = Annotated[
    str | None, typer.Option(metavar="NAMESPACE.NAME", help="The table's name, of Iceberg alone.")
]


def options_of(
    places: list[str],
    pairs: list[str] | None,
    *,
    topics: list[str] | None,
    servers: str | None,
    **others: str | None,
) -> dict[str, str]:
    """Return what a command says as options: where to read, its pairs, and others that it has."""
    said = {
        "paths": json.dumps(places) if places else None,
        "subscribe": ",".join(topics) if topics else None,
        "kafka.bootstrap.servers": servers,
        **pairs_in(pairs),
        **others,
    }
    return {name: value for name, value in said.items() if value is not None}
