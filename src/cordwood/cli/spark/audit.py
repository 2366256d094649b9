"""`cordwood spark audit`: whether a table has each offset of its log exactly once."""

from typing import Annotated, Final

import typer

from cordwood.cli.endings import FOUND_WRONG
from cordwood.cli.output import say
from cordwood.cli.paths import absolute
from cordwood.cli.spark.running import AsJson, Conf, Master, running
from cordwood.cli.spark.sources import (
    BootstrapServer,
    Format,
    Option,
    Paths,
    Table,
    Topic,
    options_of,
)
from cordwood.cli.warming import log_bytes, warm_for

EXAMPLE: Final = "Example: cordwood spark audit kafka-logs --of lake/orders --topic orders"

Of = Annotated[
    str, typer.Option("--of", metavar="DIR", help="The table's folder; of Iceberg the warehouse.")
]


def audit(  # noqa: PLR0913  # tidy: allow[parameters] an option each
    paths: Paths = None,
    *,
    of: Of,
    format_: Format = "parquet",
    table: Table = None,
    topic: Topic = None,
    bootstrap_server: BootstrapServer = None,
    option: Option = None,
    as_json: AsJson = False,
    master: Master = None,
    conf: Conf = None,
) -> None:
    """Prove that a table has each offset of a log exactly once; exit with 1 if it has not."""
    from cordwood.spark import jobs  # noqa: PLC0415  # help needs none of it

    places = [absolute(path) for path in paths or ()]
    options = options_of(
        places, option, topics=topic, servers=bootstrap_server, format=format_, table=table
    )
    with running("audit", master=master, conf=conf) as (spark, progress):
        warm_for(log_bytes(places))
        found = jobs.audit(spark, absolute(of), options=options, progress=progress)
    say(found.to_json() if as_json else str(found))
    if not found.is_whole:
        raise typer.Exit(FOUND_WRONG)


def add_to(app: typer.Typer) -> None:
    """Make the command part of the family."""
    app.command(epilog=EXAMPLE)(audit)
