"""`cordwood spark export`: export of logs to Parquet, Delta Lake or Iceberg tables."""

from typing import Annotated, Final

import typer

from cordwood.cli.arguments import absolute_path
from cordwood.cli.spark.job_run import AsJson, Conf, Master, job_session
from cordwood.cli.spark.source_options import (
    BootstrapServer,
    Format,
    Option,
    Paths,
    Table,
    Topic,
    check_source,
    source_options,
)
from cordwood.cli.terminal import print_output

EXAMPLE: Final = "Example: cordwood spark export kafka-logs --to lake/orders --topic orders"

To = Annotated[
    str, typer.Option("--to", metavar="DIR", help="Folder of the table; for Iceberg the warehouse.")
]
PartitionBy = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMNS", help="Partition the table by these: topic, partition, date, hour."
    ),
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
    """Append the new records of a log to a table, each offset exactly once."""
    from cordwood.spark import jobs  # noqa: PLC0415  # help needs none of it
    from cordwood.spark.jobs.table_export.export_options import parse_export_options  # noqa: PLC0415  # as above

    places = [absolute_path(path) for path in paths or ()]
    options = source_options(
        places,
        option,
        topics=topic,
        servers=bootstrap_server,
        format=format_,
        table=table,
        partitionBy=partition_by,
    )
    options["to"] = absolute_path(to)
    check_source(parse_export_options(options).source)  # raises here, before Spark starts
    with job_session("export", master=master, conf=conf) as (spark, progress):
        done = jobs.export(spark, options, progress=progress)
    print_output(done.to_json() if as_json else str(done))


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command(epilog=EXAMPLE)(export)
