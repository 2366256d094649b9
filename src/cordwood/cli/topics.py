"""`cordwood topics`: what topics there are, and how they come, grow and go."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cordwood.cli.connecting import (
    AsJson,
    BootstrapServer,
    CommandConfig,
    admin_to,
    ensure_topics,
)
from cordwood.cli.output import say, tell
from cordwood.cli.pairs import pairs_in
from cordwood.cli.paths import absolute

if TYPE_CHECKING:
    from cordwood.client.blocking import Admin
    from cordwood.client.described import CreatedTopic, TopicDescription

app = typer.Typer(help="Make, change and look at topics.", no_args_is_help=True)


class Placement(StrEnum):
    """Who says on which brokers replicas are: the cluster itself, or the textbook."""

    CLUSTER = "cluster"
    TEXTBOOK = "textbook"


Topic = Annotated[str, typer.Option(help="The topic.")]
Topics = Annotated[list[str], typer.Option("--topic", help="A topic; may come again.")]
OnlyTopics = Annotated[
    list[str] | None, typer.Option("--topic", help="Only this one; may come again.")
]
WithoutInternal = Annotated[bool, typer.Option("--exclude-internal", help="Without Kafka's own.")]
Partitions = Annotated[int, typer.Option(min=-1, help="How many; -1: as the broker likes.")]
Factor = Annotated[
    int, typer.Option("--replication-factor", min=-1, help="Copies; -1: as the broker likes.")
]
Assignment = Annotated[
    str | None,
    typer.Option(
        "--replica-assignment",
        metavar="0:1,1:2",
        help="Brokers of each partition: colons between brokers, commas between partitions.",
    ),
]
HowPlaced = Annotated[Placement, typer.Option("--placement", help="Who places replicas.")]
Configs = Annotated[
    list[str] | None,
    typer.Option("--config", metavar="NAME=VALUE", help="A setting; may come again."),
]
IfNotExists = Annotated[bool, typer.Option("--if-not-exists", help="Let one be that is there.")]
IfExists = Annotated[bool, typer.Option("--if-exists", help="Let it be if there is none.")]
ValidateOnly = Annotated[bool, typer.Option("--validate-only", help="Check, and change nothing.")]
OffsetFile = Annotated[
    str, typer.Option(metavar="FILE", help='{"partitions": [{"topic", "partition", "offset"}]}')
]


@app.command("list", epilog="Example: cordwood topics list --bootstrap-server localhost:9092")
def list_topics(
    *,
    exclude_internal: WithoutInternal = False,
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
    as_json: AsJson = False,
) -> None:
    """Print the names of all topics."""
    with admin_to(bootstrap_server, command_config) as admin:
        names = admin.list_topics(with_internal=not exclude_internal)
    if as_json:
        say(json.dumps({"topics": names}))
    elif names:
        say("\n".join(names))


@app.command(epilog="Example: cordwood topics create --topic orders --partitions 3")
def create(  # noqa: PLR0913  # tidy: allow[parameters] an option each, Kafka's and ours
    *,
    topic: Topic,
    partitions: Partitions = -1,
    replication_factor: Factor = -1,
    replica_assignment: Assignment = None,
    placement: HowPlaced = Placement.CLUSTER,
    config: Configs = None,
    if_not_exists: IfNotExists = False,
    validate_only: ValidateOnly = False,
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
    as_json: AsJson = False,
) -> None:
    """Make a topic."""
    from cordwood.core.errors import TopicAlreadyExistsError  # noqa: PLC0415  # help needs none

    assignments = assignments_in(replica_assignment)
    configs = pairs_in(config)
    with admin_to(bootstrap_server, command_config) as admin:
        if placement is Placement.TEXTBOOK:
            assignments = _textbook(admin, partitions, replication_factor)
        if assignments:
            partitions = replication_factor = -1
        try:
            made = admin.create_topic(
                topic,
                partitions=partitions,
                replication_factor=replication_factor,
                assignments=assignments,
                configs=configs,
                validate_only=validate_only,
            )
        except TopicAlreadyExistsError:
            if not if_not_exists:
                raise
            tell(f"topic {topic} is there already")
            return
    say(made.to_json() if as_json else _made(made, is_there=not validate_only))


def assignments_in(text: str | None) -> dict[int, Sequence[int]]:
    """Read the brokers of each partition."""
    try:
        return {
            partition: [int(broker) for broker in brokers.split(":")]
            for partition, brokers in enumerate(text.split(",") if text else ())
        }
    except ValueError:
        raise typer.BadParameter(
            f"{text!r} is no list of brokers, such as 0:1,1:2 for two partitions on two each"
        ) from None


def _textbook(admin: "Admin", partitions: int, factor: int) -> dict[int, Sequence[int]]:
    """Place replicas here, so that any cluster does as the textbook has it."""
    from cordwood.broker.placement import Extent, textbook  # noqa: PLC0415  # help needs none of it

    if partitions < 1 or factor < 1:
        raise typer.BadParameter("--placement=textbook needs --partitions and --replication-factor")
    brokers = [each.node_id for each in admin.describe_cluster().brokers]
    return dict(enumerate(textbook(brokers, Extent(partitions, factor))))


def _made(topic: "CreatedTopic", *, is_there: bool) -> str:
    done = f"created, id {topic.topic_id}" if is_there else "can be created"
    return (
        f"{topic.name}: {done}, partitions {topic.partitions},"
        f" replication factor {topic.replication_factor}"
    )


@app.command(epilog="Example: cordwood topics describe --topic orders")
def describe(
    *,
    topics: OnlyTopics = None,
    exclude_internal: WithoutInternal = False,
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
    as_json: AsJson = False,
) -> None:
    """Print what topics consist of, in the lines of Kafka's own tool."""
    with admin_to(bootstrap_server, command_config) as admin:
        names = topics or admin.list_topics(with_internal=not exclude_internal)
        ensure_topics(admin, names)
        found = [(each, _set_configs(admin, each.name)) for each in admin.describe_topics(names)]
    if as_json:
        say(json.dumps({"topics": [asdict(each) | {"configs": more} for each, more in found]}))
        return
    for each, configs in found:
        say("\n".join(_lines(each, configs)))


def _set_configs(admin: "Admin", topic: str) -> dict[str, str | None]:
    """Return what somebody has set for a topic."""
    entries = admin.describe_configs(("topic", topic)).entries
    return {name: entry.value for name, entry in entries.items() if entry.source == "topic"}


def _lines(topic: "TopicDescription", configs: Mapping[str, str | None]) -> list[str]:
    shown = ",".join(f"{name}={value}" for name, value in configs.items())
    factor = len(topic.partitions[0].replicas) if topic.partitions else 0
    head = (
        f"Topic: {topic.name}\tTopicId: {topic.topic_id}"
        f"\tPartitionCount: {len(topic.partitions)}\tReplicationFactor: {factor}\tConfigs: {shown}"
    )
    return [
        head,
        *(
            f"\tTopic: {topic.name}\tPartition: {each.partition}"
            f"\tLeader: {each.leader if each.leader >= 0 else 'none'}"
            f"\tReplicas: {_joined(each.replicas)}\tIsr: {_joined(each.in_sync)}"
            for each in topic.partitions
        ),
    ]


def _joined(brokers: Sequence[int]) -> str:
    return ",".join(map(str, brokers))


@app.command(epilog="Example: cordwood topics alter --topic orders --partitions 6")
def alter(
    *,
    topic: Topic,
    partitions: Annotated[int, typer.Option(min=1, help="How many there are to be.")],
    validate_only: ValidateOnly = False,
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
) -> None:
    """Give a topic more partitions; `cordwood configs alter` changes its settings."""
    with admin_to(bootstrap_server, command_config) as admin:
        ensure_topics(admin, [topic])
        admin.create_partitions(topic, partitions, validate_only=validate_only)
    say(f"{topic}: {'would have' if validate_only else 'has'} {partitions} partitions")


@app.command(epilog="Example: cordwood topics delete --topic orders")
def delete(
    *,
    topics: Topics,
    if_exists: IfExists = False,
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
) -> None:
    """Delete topics with everything in them."""
    with admin_to(bootstrap_server, command_config) as admin:
        known = set(admin.list_topics(with_internal=True))
        if if_exists:
            topics = [each for each in topics if each in known]
        ensure_topics(admin, topics)
        for topic in topics:
            admin.delete_topic(topic)
            say(f"{topic}: deleted")


@app.command(
    epilog="Example: cordwood topics delete-records --offset-json-file offsets.json, of"
    ' {"partitions": [{"topic": "orders", "partition": 0, "offset": 100}], "version": 1}'
)
def delete_records(
    *,
    offset_json_file: OffsetFile,
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
    as_json: AsJson = False,
) -> None:
    """Delete the records before offsets, -1 being the end, as Kafka's own file says them."""
    wanted = offsets_in(offset_json_file, Path(absolute(offset_json_file)).read_bytes())
    with admin_to(bootstrap_server, command_config) as admin:
        ensure_topics(admin, {topic for topic, _ in wanted})
        starts = admin.delete_records(wanted)
    if as_json:
        found = [{**each._asdict(), "log_start": starts[each]} for each in sorted(starts)]
        say(json.dumps({"partitions": found}))
        return
    for partition in sorted(starts):
        say(f"{partition}: starts at {starts[partition]}")


def offsets_in(path: str, text: bytes) -> dict[tuple[str, int], int]:
    """Read the file of `delete-records`."""
    from cordwood.core.errors import SettingError  # noqa: PLC0415  # help needs none of it

    try:
        told = json.loads(text)
        found = [
            ((str(each["topic"]), int(each["partition"])), int(each["offset"]))
            for each in told["partitions"]
        ]
    except (ValueError, KeyError, TypeError) as error:
        raise SettingError(
            f"{path} cannot be read: {error!r}",
            key="offset-json-file",
            remedy='write {"partitions": [{"topic": "t", "partition": 0, "offset": 1}]}',
        ) from None
    if len(dict(found)) < len(found) or told.get("version", 1) != 1:
        raise SettingError(
            f"{path} names a partition twice, or has another version than 1",
            key="offset-json-file",
            remedy="name each partition once",
        )
    return dict(found)
