"""`cordwood spark replay`: what a topic has, sent once more, to another topic."""

from typing import Annotated, Final

import typer

from cordwood.cli.connecting import BROKER, BootstrapServer
from cordwood.cli.output import say
from cordwood.cli.pairs import pairs_in
from cordwood.cli.paths import absolute
from cordwood.cli.spark.running import AsJson, Conf, Master, running
from cordwood.cli.spark.sources import Paths, options_of

EXAMPLE: Final = "Example: cordwood spark replay kafka-logs --topic orders --to orders-again"

Topic = Annotated[str, typer.Option(help="The topic that is read.")]
To = Annotated[str, typer.Option(metavar="TOPIC", help="The topic that it is sent to.")]
From = Annotated[
    str | None,
    typer.Option("--from-server", metavar="HOST:PORT", help="Read from brokers, too or alone."),
]
Option = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=VALUE",
        help="An option of the source, as startingTimestamp; may come again.",
    ),
]
Property = Annotated[
    list[str] | None,
    typer.Option(
        "--command-property",
        metavar="NAME=VALUE",
        help="One setting of the producer; may come again.",
    ),
]
Rate = Annotated[int | None, typer.Option(min=1, help="Records a second, at the most.")]
State = Annotated[
    str | None, typer.Option(metavar="FILE", help="Where it is kept how far the replay has come.")
]


def replay(  # noqa: PLR0913  # tidy: allow[parameters] an option each
    paths: Paths = None,
    *,
    topic: Topic,
    to: To,
    bootstrap_server: BootstrapServer = None,
    from_server: From = None,
    option: Option = None,
    command_property: Property = None,
    rate: Rate = None,
    state: State = None,
    as_json: AsJson = False,
    master: Master = None,
    conf: Conf = None,
) -> None:
    """Send what a topic has to another one: the same records, partitions, times and headers."""
    from cordwood.spark import jobs  # noqa: PLC0415  # help needs none of it

    places = [absolute(path) for path in paths or ()]
    options = options_of(places, option, topics=[topic], servers=from_server)
    settings = {"bootstrap.servers": bootstrap_server or BROKER, **pairs_in(command_property)}
    sink = {"topic": to, **{f"kafka.{name}": text for name, text in settings.items()}}
    kept = None if state is None else absolute(state)
    with running("replay", master=master, conf=conf) as (spark, progress):
        report = jobs.replay(spark, options, to=sink, rate=rate, state=kept, progress=progress)
    say(report.to_json() if as_json else str(report))


def add_to(app: typer.Typer) -> None:
    """Make the command part of the family."""
    app.command(epilog=EXAMPLE)(replay)
