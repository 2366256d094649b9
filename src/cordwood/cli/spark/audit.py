"""`cordwood spark audit`: check that a table contains each offset of its log exactly once."""

from typing import Annotated, Final

import typer

from cordwood.cli.arguments import absolute_path
from cordwood.cli.exit_codes import FOUND_WRONG
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

EXAMPLE: Final = "Example: cordwood spark audit kafka-logs --of lake/orders --topic orders"

Of = Annotated[
    str, typer.Option("--of", metavar="DIR", help="Folder of the table; for Iceberg the warehouse.")
]

Deep = Annotated[
    bool,
    typer.Option(
        "--deep", help="Compare keys, values, headers and timestamps too; reads both sides twice."
    ),
]


def audit(  # noqa: PLR0913  # tidy: allow[parameters] an option each
    paths: Paths = None,
    *,
    of: Of,
    format_: Format = "parquet",
    table: Table = None,
    topic: Topic = None,
    deep: Deep = False,
    bootstrap_server: BootstrapServer = None,
    option: Option = None,
    as_json: AsJson = False,
    master: Master = None,
    conf: Conf = None,
) -> None:
    """Check that a table contains each offset of a log exactly once; exit with 1 if not."""
    from cordwood.spark import jobs  # noqa: PLC0415  # help needs none of it
    from cordwood.spark.jobs.table_audit.audit_options import parse_audit_options  # noqa: PLC0415  # as above

    places = [absolute_path(path) for path in paths or ()]
    options = source_options(
        places, option, topics=topic, servers=bootstrap_server, format=format_, table=table
    )
    if deep:
        options["deep"] = "true"
    options["of"] = absolute_path(of)
    check_source(parse_audit_options(options).source)  # raises here, before Spark starts
    with job_session("audit", master=master, conf=conf) as (spark, progress):
        found = jobs.audit(spark, options, progress=progress)
    print_output(found.to_json() if as_json else str(found))
    if not found.is_whole:
        raise typer.Exit(FOUND_WRONG)


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command(epilog=EXAMPLE)(audit)
