"""`cordwood topics`: list, create, describe, alter and delete topics (Kafka: `TopicCommand`)."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cordwood.cli.arguments import absolute_path, parse_pairs
from cordwood.cli.cluster_options import (
    AsJson,
    BootstrapServer,
    CommandConfig,
    connect_admin,
    ensure_topics,
)
from cordwood.cli.terminal import print_message, print_output

if TYPE_CHECKING:
    from cordwood.client.admin.admin_types import CreatedTopic, TopicDescription
    from cordwood.client.blocking import Admin

app = typer.Typer(help="Create, describe, alter and delete topics.", no_args_is_help=True)


class ReplicaPlacement(StrEnum):
    """Where replicas are placed: by the cluster, or by the textbook rule, computed here."""

    CLUSTER = "cluster"
    TEXTBOOK = "textbook"


Topic = Annotated[str, typer.Option(help="Topic name.")]
Topics = Annotated[list[str], typer.Option("--topic", help="Topic name. Repeatable.")]
OnlyTopics = Annotated[
    list[str] | None,
    typer.Option("--topic", help="Describe this topic. Repeatable.  [default: all]"),
]
WithoutInternal = Annotated[
    bool, typer.Option("--exclude-internal", help="Leave out internal topics.")
]
Partitions = Annotated[
    int, typer.Option(min=-1, help="Number of partitions; -1 uses the broker's default.")
]
Factor = Annotated[
    int,
    typer.Option(
        "--replication-factor",
        min=-1,
        help="Number of replicas; -1 uses the broker's default.",
    ),
]
Assignment = Annotated[
    str | None,
    typer.Option(
        "--replica-assignment",
        metavar="0:1,1:2",
        help="Broker ids: separate brokers with colons, partitions with commas.",
    ),
]
PlacementOption = Annotated[
    ReplicaPlacement,
    typer.Option("--placement", help="Let the cluster place replicas, or use the textbook rule."),
]
Configs = Annotated[
    list[str] | None,
    typer.Option("--config", metavar="NAME=VALUE", help="Set one topic setting. Repeatable."),
]
IfNotExists = Annotated[
    bool, typer.Option("--if-not-exists", help="Do nothing if the topic already exists.")
]
IfExists = Annotated[
    bool, typer.Option("--if-exists", help="Do nothing for a topic that does not exist.")
]
ValidateOnly = Annotated[
    bool, typer.Option("--validate-only", help="Validate the request and change nothing.")
]
OffsetFile = Annotated[
    str, typer.Option(metavar="FILE", help="JSON file with the offset of each partition.")
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
    with connect_admin(bootstrap_server, command_config) as admin:
        names = admin.list_topics(with_internal=not exclude_internal)
    if as_json:
        print_output(json.dumps({"topics": names}))
    elif names:
        print_output("\n".join(names))


@app.command(epilog="Example: cordwood topics create --topic orders --partitions 3")
def create(  # noqa: PLR0913  # tidy: allow[parameters] an option each, Kafka's and ours
    *,
    topic: Topic,
    partitions: Partitions = -1,
    replication_factor: Factor = -1,
    replica_assignment: Assignment = None,
    placement: PlacementOption = ReplicaPlacement.CLUSTER,
    config: Configs = None,
    if_not_exists: IfNotExists = False,
    validate_only: ValidateOnly = False,
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
    as_json: AsJson = False,
) -> None:
    """Create a topic."""
    from cordwood.core.errors import TopicAlreadyExistsError  # noqa: PLC0415  # help needs none

    assignments = parse_assignments(replica_assignment)
    configs = parse_pairs(config)
    with connect_admin(bootstrap_server, command_config) as admin:
        if placement is ReplicaPlacement.TEXTBOOK:
            assignments = _textbook(admin, partitions, replication_factor)
        if assignments:
            partitions = replication_factor = -1
        try:
            created = admin.create_topic(
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
            print_message(f"topic {topic} already exists")
            return
    text = created.to_json() if as_json else _creation_line(created, is_created=not validate_only)
    print_output(text)


def parse_assignments(text: str | None) -> dict[int, Sequence[int]]:
    """Parse the brokers of each partition."""
    try:
        return {
            partition: [int(broker) for broker in brokers.split(":")]
            for partition, brokers in enumerate(text.split(",") if text else ())
        }
    except ValueError:
        raise typer.BadParameter(
            f"{text!r} is not a list of broker ids; give 0:1,1:2 for two partitions with two each"
        ) from None


def _textbook(admin: "Admin", partitions: int, factor: int) -> dict[int, Sequence[int]]:
    """Return the textbook placement, computed here so that it works with any cluster."""
    from cordwood.broker.metadata.replica_placer import PlacementSpec, textbook  # noqa: PLC0415  # help needs none of it

    if partitions < 1 or factor < 1:
        raise typer.BadParameter("--placement=textbook needs --partitions and --replication-factor")
    brokers = [each.node_id for each in admin.describe_cluster().brokers]
    return dict(enumerate(textbook(brokers, PlacementSpec(partitions, factor))))


def _creation_line(topic: "CreatedTopic", *, is_created: bool) -> str:
    done = f"created, id {topic.topic_id}" if is_created else "can be created"
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
    """Print partitions, replicas and settings of topics, in the format of kafka-topics.sh."""
    with connect_admin(bootstrap_server, command_config) as admin:
        names = topics or admin.list_topics(with_internal=not exclude_internal)
        ensure_topics(admin, names)
        found = [(each, _set_configs(admin, each.name)) for each in admin.describe_topics(names)]
    if as_json:
        print_output(
            json.dumps({"topics": [asdict(each) | {"configs": more} for each, more in found]})
        )
        return
    for each, configs in found:
        print_output("\n".join(_lines(each, configs)))


def _set_configs(admin: "Admin", topic: str) -> dict[str, str | None]:
    """Return the settings that are set on the topic itself."""
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
            f"\tReplicas: {_join(each.replicas)}\tIsr: {_join(each.in_sync)}"
            for each in topic.partitions
        ),
    ]


def _join(brokers: Sequence[int]) -> str:
    return ",".join(map(str, brokers))


@app.command(epilog="Example: cordwood topics alter --topic orders --partitions 6")
def alter(
    *,
    topic: Topic,
    partitions: Annotated[int, typer.Option(min=1, help="New number of partitions.")],
    validate_only: ValidateOnly = False,
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
) -> None:
    """Increase the number of partitions; use `cordwood configs alter` to change settings."""
    with connect_admin(bootstrap_server, command_config) as admin:
        ensure_topics(admin, [topic])
        admin.create_partitions(topic, partitions, validate_only=validate_only)
    print_output(f"{topic}: {'would have' if validate_only else 'has'} {partitions} partitions")


@app.command(epilog="Example: cordwood topics delete --topic orders")
def delete(
    *,
    topics: Topics,
    if_exists: IfExists = False,
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
) -> None:
    """Delete topics and all their records."""
    with connect_admin(bootstrap_server, command_config) as admin:
        known = set(admin.list_topics(with_internal=True))
        if if_exists:
            topics = [each for each in topics if each in known]
        ensure_topics(admin, topics)
        for topic in topics:
            admin.delete_topic(topic)
            print_output(f"{topic}: deleted")


@app.command(
    epilog="Example: cordwood topics delete-records --offset-json-file offsets.json, with"
    ' {"partitions": [{"topic": "orders", "partition": 0, "offset": 100}], "version": 1}'
)
def delete_records(
    *,
    offset_json_file: OffsetFile,
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
    as_json: AsJson = False,
) -> None:
    """Delete the records before the given offsets; offset -1 deletes all records."""
    offsets = parse_offsets(offset_json_file, Path(absolute_path(offset_json_file)).read_bytes())
    with connect_admin(bootstrap_server, command_config) as admin:
        ensure_topics(admin, {topic for topic, _ in offsets})
        starts = admin.delete_records(offsets)
    if as_json:
        found = [{**each._asdict(), "log_start": starts[each]} for each in sorted(starts)]
        print_output(json.dumps({"partitions": found}))
        return
    for partition in sorted(starts):
        print_output(f"{partition}: starts at {starts[partition]}")


def parse_offsets(path: str, text: bytes) -> dict[tuple[str, int], int]:
    """Parse the file of `delete-records`."""
    from cordwood.core.errors import SettingError  # noqa: PLC0415  # help needs none of it

    try:
        parsed = json.loads(text)
        found = [
            ((str(each["topic"]), int(each["partition"])), int(each["offset"]))
            for each in parsed["partitions"]
        ]
    except (ValueError, KeyError, TypeError) as error:
        raise SettingError(
            f"{path}: cannot be parsed ({error!r})",
            key="offset-json-file",
            remedy='write {"partitions": [{"topic": "t", "partition": 0, "offset": 1}]}',
        ) from None
    if len(dict(found)) < len(found) or parsed.get("version", 1) != 1:
        raise SettingError(
            f"{path}: contains a partition twice, or a version other than 1",
            key="offset-json-file",
            remedy="give each partition once, and version 1",
        )
    return dict(found)
