"""Options of the Spark commands for the source: paths, brokers and topics."""

import errno
import json
import os
from collections.abc import Iterable
from typing import Annotated

import typer

from cordwood.cli.arguments import absolute_path, parse_pairs

Paths = Annotated[
    list[str] | None,
    typer.Argument(help="Log directories or partitions; optional with --bootstrap-server."),
]
Topic = Annotated[
    list[str] | None,
    typer.Option("--topic", help="Topic to read. Repeatable.  [default: all in the paths]"),
]
BootstrapServer = Annotated[
    str | None,
    typer.Option(
        metavar="HOST:PORT,...", help="Read from these brokers, in addition to the paths or alone."
    ),
]
Option = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=VALUE", help="Set one other option of the job. Repeatable."),
]
Format = Annotated[str, typer.Option("--format", help="Table format: parquet, delta or iceberg.")]
Table = Annotated[
    str | None,
    typer.Option(metavar="NAMESPACE.NAME", help="Name of the table; for Iceberg only."),
]


def existing_paths(paths: Iterable[str]) -> list[str]:
    """Return typed paths as absolute ones; raise FileNotFoundError before Spark starts."""
    places = [absolute_path(path) for path in paths]
    for place in places:
        if not os.path.lexists(place):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), place)
    return places


def source_options(
    places: list[str],
    pairs: list[str] | None,
    *,
    topics: list[str] | None,
    servers: str | None,
    **others: str | None,
) -> dict[str, str]:
    """Return the arguments of a command as source options; options without a value are omitted."""
    options = {
        "paths": json.dumps(places) if places else None,
        "subscribe": ",".join(topics) if topics else None,
        "kafka.bootstrap.servers": servers,
        **parse_pairs(pairs),
        **others,
    }
    return {name: value for name, value in options.items() if value is not None}
