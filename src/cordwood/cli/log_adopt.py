"""`cordwood log adopt`: metadata for starting Apache Kafka on a log directory."""

from typing import Annotated, Final

import typer

from cordwood.cli.arguments import absolute_path
from cordwood.cli.terminal import print_output
from cordwood.core.counts import counted

EXAMPLE: Final = "Example: cordwood log adopt data --config orders:retention.ms=3600000"

Directory = Annotated[str, typer.Argument(help="Log directory; stop the broker first.")]
ToKafka = Annotated[
    bool, typer.Option("--to-kafka", hidden=True, help="Default: Apache Kafka 4 is the target.")
]
NodeId = Annotated[
    int | None,
    typer.Option(
        min=0,
        max=(1 << 31) - 1,
        help="Set the node.id of the broker.  [default: that of meta.properties, or 1]",
    ),
]
ClusterId = Annotated[
    str | None,
    typer.Option(
        help="Set the id of the cluster.  [default: that of meta.properties, or a random id]"
    ),
]
Config = Annotated[
    list[str] | None,
    typer.Option(
        "--config", metavar="TOPIC:NAME=VALUE", help="Set one setting of a topic. Repeatable."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the report as JSON.")]


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command(epilog=EXAMPLE)(adopt)


def adopt(
    directory: Directory,
    *,
    to_kafka: ToKafka = False,
    node_id: NodeId = None,
    cluster_id: ClusterId = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Write the metadata with which Apache Kafka 4 starts on a log directory of Cordwood."""
    del to_kafka  # the only target
    from cordwood.core.ports import Ports  # noqa: PLC0415  # help needs none of it
    from cordwood.core.system import SystemClock, SystemFiles, SystemRandom  # noqa: PLC0415  # as above
    from cordwood.workbench import adopt as work  # noqa: PLC0415  # as above

    report = work.adopt(
        Ports(files=SystemFiles(), clock=SystemClock(), random=SystemRandom()),
        absolute_path(directory),
        options=work.AdoptOptions(
            node_id=node_id, cluster_id=cluster_id, configs=parse_topic_configs(config or [])
        ),
    )
    if as_json:
        print_output(report.to_json())
        return
    print_output(f"{report.path}: cluster {report.cluster_id}, node {report.node_id}")
    for topic, count in report.topics.items():
        print_output(f"{topic}: {counted(count, 'partition')}")
    for partition in report.missing:
        print_output(f"note: {partition} has no log here; Kafka creates an empty one")


def parse_topic_configs(texts: list[str]) -> dict[str, dict[str, str]]:
    """Parse several `TOPIC:NAME=VALUE`."""
    found: dict[str, dict[str, str]] = {}
    for text in texts:
        topic, colon, setting = text.partition(":")
        name, equals, value = setting.partition("=")
        if not colon or not equals:
            raise typer.BadParameter(f"{text!r} is not TOPIC:NAME=VALUE")
        found.setdefault(topic, {})[name] = value
    return found
