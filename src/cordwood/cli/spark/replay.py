"""`cordwood spark replay`: records of a topic, sent again to another topic."""

from typing import Annotated, Final

import typer

from cordwood.cli.arguments import absolute_path, parse_pairs
from cordwood.cli.cluster_options import DEFAULT_BROKER, BootstrapServer
from cordwood.cli.spark.job_run import AsJson, Conf, Master, job_session
from cordwood.cli.spark.source_options import Paths, check_source, source_options
from cordwood.cli.terminal import print_output

EXAMPLE: Final = "Example: cordwood spark replay kafka-logs --topic orders --to orders-again"

Topic = Annotated[str, typer.Option(help="Topic to read.")]
To = Annotated[str, typer.Option(metavar="TOPIC", help="Topic to send the records to.")]
From = Annotated[
    str | None,
    typer.Option(
        "--from-server",
        metavar="HOST:PORT",
        help="Read from these brokers, in addition to the paths or alone.",
    ),
]
Option = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=VALUE",
        help="Set one source option, such as startingTimestamp. Repeatable.",
    ),
]
Property = Annotated[
    list[str] | None,
    typer.Option(
        "--command-property",
        metavar="NAME=VALUE",
        help="Set one producer setting. Repeatable.",
    ),
]
Rate = Annotated[
    int | None, typer.Option(min=1, help="Maximum records per second.  [default: unlimited]")
]
State = Annotated[
    str | None, typer.Option(metavar="FILE", help="Keep the progress in this file, to resume.")
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
    """Send the records of a topic to another topic; keep partitions, timestamps and headers."""
    from cordwood.spark import jobs  # noqa: PLC0415  # help needs none of it
    from cordwood.spark.jobs.topic_replay.replay_plan import parse_replay_options  # noqa: PLC0415  # as above

    places = [absolute_path(path) for path in paths or ()]
    options = source_options(places, option, topics=[topic], servers=from_server)
    settings = {
        "bootstrap.servers": bootstrap_server or DEFAULT_BROKER,
        **parse_pairs(command_property),
    }
    sink = {"topic": to, **{f"kafka.{name}": text for name, text in settings.items()}}
    state_path = None if state is None else absolute_path(state)
    parsed = parse_replay_options(options, sink, rate=rate, state=state_path)
    check_source(parsed.source)  # raises before Spark starts
    with job_session("replay", master=master, conf=conf) as (spark, progress):
        report = jobs.replay(
            spark, options, to=sink, rate=rate, state=state_path, progress=progress
        )
    print_output(report.to_json() if as_json else str(report))


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command(epilog=EXAMPLE)(replay)
