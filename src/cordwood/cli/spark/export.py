"""`cordwood spark export`: logs into tables of Parquet, Delta Lake or Iceberg."""

import json
from typing import Annotated, Final

import typer

from cordwood.cli.output import say
from cordwood.cli.pairs import pairs_in
from cordwood.cli.paths import absolute
from cordwood.cli.spark.running import AsJson, Conf, Master, running
from cordwood.cli.warming import log_bytes, warm_for

EXAMPLE: Final = "Example: cordwood spark export kafka-logs --to lake/orders --topic orders"

Paths = Annotated[
    list[str] | None, typer.Argument(help="Log directories, or partitions; none with brokers.")
]
To = Annotated[
    str, typer.Option("--to", metavar="DIR", help="The table's folder; of Iceberg the warehouse.")
]
Format = Annotated[str, typer.Option("--format", help="parquet, delta or iceberg.")]
Table = Annotated[
    str | None, typer.Option(metavar="NAMESPACE.NAME", help="The table's name, of Iceberg alone.")
]
Topic = Annotated[
    list[str] | None, typer.Option("--topic", help="A topic; may come again.  [all in the paths]")
]
PartitionBy = Annotated[
    str | None, typer.Option(metavar="COLUMNS", help="Of topic, partition, date, hour.")
]
BootstrapServer = Annotated[
    str | None, typer.Option(metavar="HOST:PORT,...", help="Read from brokers, too or alone.")
]
Option = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=VALUE", help="Any other option of the job; may come again."),
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
    options = source_options(places, topics=topic, servers=bootstrap_server) | pairs_in(option)
    said = {"format": format_, "table": table, "partitionBy": partition_by}
    options |= {name: value for name, value in said.items() if value is not None}
    with running("export", master=master, conf=conf) as (spark, progress):
        warm_for(log_bytes(places))
        done = jobs.export(spark, absolute(to), options=options, progress=progress)
    say(done.to_json() if as_json else str(done))


def source_options(
    places: list[str], *, topics: list[str] | None, servers: str | None
) -> dict[str, str]:
    """Return what a command says of where to read, as options of the source."""
    options = {"paths": json.dumps(places)} if places else {}
    if topics:
        options["subscribe"] = ",".join(topics)
    if servers is not None:
        options["kafka.bootstrap.servers"] = servers
    return options


def add_to(app: typer.Typer) -> None:
    """Make the command part of the family."""
    app.command(epilog=EXAMPLE)(export)
