"""`cordwood spark verify`: `cordwood log verify` for many partitions in parallel."""

from typing import Annotated

import typer

from cordwood.cli.arguments import absolute_path, parse_pairs
from cordwood.cli.exit_codes import FOUND_WRONG
from cordwood.cli.spark.job_run import AsJson, Conf, Master, job_session
from cordwood.cli.spark.source_options import existing_paths
from cordwood.cli.terminal import print_output
from cordwood.cli.topic_config_options import BrokerConfig, Config

Paths = Annotated[list[str], typer.Argument(help="Log directories, partitions or segment files.")]


def verify(
    paths: Paths,
    *,
    config: Config = None,
    broker_config: BrokerConfig = None,
    as_json: AsJson = False,
    master: Master = None,
    conf: Conf = None,
) -> None:
    """Verify every checksum, record, index and snapshot; exit with 1 if something is wrong."""
    from cordwood.spark import jobs  # noqa: PLC0415  # help needs none of it

    places = existing_paths(paths)
    properties = None if broker_config is None else absolute_path(broker_config)
    given = parse_pairs(config)
    with job_session("verify", master=master, conf=conf) as (spark, progress):
        found = jobs.verify(
            spark, places, config=given, broker_config=properties, progress=progress
        )
    print_output(found.to_json() if as_json else str(found))
    if found.is_damaged:
        raise typer.Exit(FOUND_WRONG)


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command(epilog="Example: cordwood spark verify kafka-logs --master local[4]")(verify)
