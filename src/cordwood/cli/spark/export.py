"""`cordwood spark export`: logs into tables of Parquet, Delta Lake or Iceberg."""

from typing import Annotated, Final

import typer

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

EXAMPLE: Final = "Example: cordwood spark export kafka-logs --to lake/orders --topic orders"

To = Annotated[
    str, typer.Option("--to", metavar="DIR", help="The table's folder; of Iceberg the warehouse.")
]
PartitionBy = Annotated[
    str | None, typer.Option(metavar="COLUMNS", help="Of topic, partition, date, hour.")
]


def export(  # noqa: PLR0913  # tidy: allow[parameters] an option each
    paths: Paths = None,
    *,
    to: To,
    format_: Format = "parquet",
    table: Table = None,
    topic: Topic = None,
    partition_by: PartitionBy = None,
    bootstrap_server: BootstrapServer = None,
    option: Option = None,
    as_json: AsJson = False,
    master: Master = None,
    conf: Conf = None,
) -> None:
    """Add to a table what the log has behind the table's end, each offset once."""
    from cordwood.spark import jobs  # noqa: PLC0415  # help needs none of it

    places = [absolute(path) for path in paths or ()]
    options = options_of(
        places,
        option,
        topics=topic,
        servers=bootstrap_server,
        format=format_,
        table=table,
        partitionBy=partition_by,
    )
    with running("export", master=master, conf=conf) as (spark, progress):
        warm_for(log_bytes(places))
        done = jobs.export(spark, absolute(to), options=options, progress=progress)
    say(done.to_json() if as_json else str(done))


def add_to(app: typer.Typer) -> None:
    """Make the command part of the family."""
    app.command(epilog=EXAMPLE)(export)
