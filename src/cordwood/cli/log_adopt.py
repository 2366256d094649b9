"""`cordwood log adopt`: a log directory made one that Apache Kafka starts on."""

from typing import Annotated, Final

import typer

from cordwood.cli.output import say
from cordwood.cli.paths import absolute

EXAMPLE: Final = "Example: cordwood log adopt --to-kafka data --config orders:retention.ms=3600000"

Directory = Annotated[str, typer.Argument(help="The log directory, out of use.")]
ToKafka = Annotated[bool, typer.Option("--to-kafka", help="For Apache Kafka 4; has to be given.")]
NodeId = Annotated[
    int, typer.Option(min=0, max=(1 << 31) - 1, help="The node.id of the broker to start.")
]
ClusterId = Annotated[str | None, typer.Option(help="Its cluster; one is made when left out.")]
Config = Annotated[
    list[str] | None, typer.Option("--config", help="TOPIC:NAME=VALUE; may come again.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the report as JSON.")]


def register(app: typer.Typer) -> None:
    """Add the command to its family."""
    app.command(epilog=EXAMPLE)(adopt)


def adopt(
    directory: Directory,
    *,
    to_kafka: ToKafka = False,
    node_id: NodeId = 1,
    cluster_id: ClusterId = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Write what Apache Kafka needs to start on a log directory of ours and serve all of it."""
    from cordwood.core.system import SystemClock, SystemFiles, SystemRandom  # noqa: PLC0415  # help needs none of it
    from cordwood.workbench import adopt as work  # noqa: PLC0415  # as above

    if not to_kafka:
        raise typer.BadParameter("say whom the directory is for: --to-kafka")
    report = work.adopt(
        SystemFiles(),
        absolute(directory),
        owner=work.Owner(node_id=node_id, cluster_id=cluster_id, configs=configs_in(config or [])),
        random=SystemRandom(),
        now_ms=SystemClock().now_ms(),
    )
    if as_json:
        say(report.to_json())
        return
    say(f"{report.path}: cluster {report.cluster_id}, node {report.node_id}")
    for topic, count in report.topics.items():
        say(f"{topic}: {count} partitions")
    for partition in report.missing:
        say(f"note: {partition} has no log here; Kafka begins an empty one")


def configs_in(texts: list[str]) -> dict[str, dict[str, str]]:
    """Read TOPIC:NAME=VALUE, again and again."""
    found: dict[str, dict[str, str]] = {}
    for text in texts:
        topic, colon, setting = text.partition(":")
        name, equals, value = setting.partition("=")
        if not colon or not equals:
            raise typer.BadParameter(f"{text!r} is not TOPIC:NAME=VALUE")
        found.setdefault(topic, {})[name] = value
    return found
