"""Options of the Spark commands for the source: paths, brokers and topics."""

import errno
import json
import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer

from cordwood.cli.arguments import absolute_path, parse_pairs
from cordwood.cli.bootstrap_check import ensure_listening

if TYPE_CHECKING:
    from cordwood.spark.source.source_options import SourceOptions

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


def check_source(options: "SourceOptions") -> None:
    """Raise the error of a missing path or topic, or of a refused connection, before Spark starts.

    Topics of brokers are left to the job, which has clients with the settings of the source.
    """
    from cordwood.core.system import SystemFiles  # noqa: PLC0415  # help needs none of it
    from cordwood.spark.source.source_view import OpenSources  # noqa: PLC0415  # as above

    if options.servers:
        ensure_listening(options.servers)
    else:
        OpenSources(SystemFiles(), options, brokers=None).view()


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
