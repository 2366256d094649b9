"""`cordwood spark verify`: what `cordwood log verify` does, over many partitions at a time."""

from typing import Annotated

import typer

from cordwood.cli.endings import FOUND_WRONG
from cordwood.cli.output import say
from cordwood.cli.pairs import pairs_in
from cordwood.cli.paths import absolute
from cordwood.cli.spark.running import AsJson, Conf, Master, running
from cordwood.cli.topic_settings import BrokerConfig, Config

Paths = Annotated[
    list[str], typer.Argument(help="Log directories, partitions, or files of segments.")
]


def verify(
    paths: Paths,
    *,
    config: Config = None,
    broker_config: BrokerConfig = None,
    as_json: AsJson = False,
    master: Master = None,
    conf: Conf = None,
) -> None:
    """Check every checksum, record, index and snapshot; exit with 1 if something is wrong."""
    from cordwood.spark import jobs  # noqa: PLC0415  # help needs none of it

    places = [absolute(path) for path in paths]
    beside = None if broker_config is None else absolute(broker_config)
    given = pairs_in(config)
    with running("verify", master=master, conf=conf) as (spark, progress):
        found = jobs.verify(spark, places, config=given, broker_config=beside, progress=progress)
    say(found.to_json() if as_json else str(found))
    if found.is_damaged:
        raise typer.Exit(FOUND_WRONG)


def add_to(app: typer.Typer) -> None:
    """Make the command part of the family."""
    app.command(epilog="Example: cordwood spark verify kafka-logs --master local[4]")(verify)
