"""`cordwood topics`: list, create, describe, alter and delete topics (Kafka: `TopicCommand`)."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from cordwood.cli.arguments import absolute_path, parse_pairs
from cordwood.cli.cluster_options import (
    AsJson,
    BootstrapServer,
    CommandConfig,
    connect_admin,
    ensure_topics,
)
from cordwood.cli.replica_moves import (
    Moves,
    move_of,
    moves_of,
    replication_factor,
    under_replicated,
)
from cordwood.cli.terminal import print_message, print_output
from cordwood.cli.topic_selection import given_topic, given_topics, is_topic_name, select_topics
from cordwood.core.counts import counted

if TYPE_CHECKING:
    from cordwood.client.admin.admin_types import (
        CreatedTopic,
        PartitionReassignment,
        TopicDescription,
    )
    from cordwood.client.blocking import Admin

    Described: TypeAlias = tuple[TopicDescription, dict[str, str | None]]

app = typer.Typer(help="Create, describe, alter and delete topics.", no_args_is_help=True)


class ReplicaPlacement(StrEnum):
    """Where replicas are placed: by the cluster, or by the textbook rule, computed here."""

    CLUSTER = "cluster"
    TEXTBOOK = "textbook"


Topic = Annotated[str | None, typer.Argument(metavar="TOPIC", help="Topic name.")]
TopicOption = Annotated[
    str | None, typer.Option("--topic", help="Topic name, instead of the argument.")
]
Topics = Annotated[
    list[str] | None,
    typer.Argument(metavar="TOPIC", help="Topic names, or regular expressions."),
]
TopicOptions = Annotated[
    list[str] | None,
    typer.Option("--topic", help="Topic name, or regular expression. Repeatable."),
]
UnderReplicated = Annotated[
    bool,
    typer.Option(
        "--under-replicated-partitions", help="Print only partitions with replicas out of sync."
    ),
]
Unavailable = Annotated[
    bool,
    typer.Option("--unavailable-partitions", help="Print only partitions without a leader."),
]
WithOverrides = Annotated[
    bool,
    typer.Option("--topics-with-overrides", help="Print only topics with settings, no partitions."),
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
    names: Topics = None,
    *,
    topic: TopicOptions = None,
    exclude_internal: WithoutInternal = False,
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
    as_json: AsJson = False,
) -> None:
    """Print the names of all topics, or of those that are selected."""
    with connect_admin(bootstrap_server, command_config) as admin:
        found = _selected(admin, given_topics(names, topic), with_internal=not exclude_internal)
    if as_json:
        print_output(json.dumps({"topics": found}))
    elif found:
        print_output("\n".join(found))


def _selected(admin: "Admin", wanted: Sequence[str], *, with_internal: bool) -> list[str]:
    """Return the selected topics; all without a selection."""
    existing = admin.list_topics(with_internal=with_internal or bool(wanted))
    return select_topics(wanted, existing) if wanted else existing


@app.command(epilog="Example: cordwood topics create orders --partitions 3")
def create(  # noqa: PLR0913  # tidy: allow[parameters] an option each, Kafka's and ours
    name: Topic = None,
    *,
    topic: TopicOption = None,
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

    name = given_topic(name, topic)
    assignments = parse_assignments(replica_assignment)
    configs = parse_pairs(config)
    with connect_admin(bootstrap_server, command_config) as admin:
        if placement is ReplicaPlacement.TEXTBOOK:
            assignments = _textbook(admin, partitions, replication_factor)
        if assignments:
            partitions = replication_factor = -1
        try:
            created = admin.create_topic(
                name,
                partitions=partitions,
                replication_factor=replication_factor,
                assignments=assignments,
                configs=configs,
                validate_only=validate_only,
            )
        except TopicAlreadyExistsError:
            if not if_not_exists:
                raise
            print_message(f"topic {name} already exists")
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


@app.command(epilog="Example: cordwood topics describe orders")
def describe(  # noqa: PLR0913  # tidy: allow[parameters] an option each, Kafka's and ours
    names: Topics = None,
    *,
    topic: TopicOptions = None,
    under_replicated_partitions: UnderReplicated = False,
    unavailable_partitions: Unavailable = False,
    topics_with_overrides: WithOverrides = False,
    exclude_internal: WithoutInternal = False,
    if_exists: IfExists = False,
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
    as_json: AsJson = False,
) -> None:
    """Print partitions, replicas and settings of topics, in the format of kafka-topics.sh."""
    with connect_admin(bootstrap_server, command_config) as admin:
        wanted = _existing(admin, given_topics(names, topic), if_exists=if_exists)
        if wanted is None:
            return
        selected = _selected(admin, wanted, with_internal=not exclude_internal)
        found = [(each, _set_configs(admin, each.name)) for each in admin.describe_topics(selected)]
        moves = moves_of(admin)
    if under_replicated_partitions or unavailable_partitions:
        found = in_trouble(found, only_unavailable=not under_replicated_partitions, moves=moves)
    if topics_with_overrides:
        found = [(replace(each, partitions=()), configs) for each, configs in found if configs]
    if as_json:
        print_output(
            json.dumps({"topics": [asdict(each) | {"configs": more} for each, more in found]})
        )
        return
    for each, configs in found:
        print_output("\n".join(_lines(each, configs, moves)))


def _existing(admin: "Admin", wanted: list[str], *, if_exists: bool) -> list[str] | None:
    """Return the wanted topics, with `--if-exists` without missing ones; None if none is left."""
    if not (wanted and if_exists):
        return wanted
    existing = admin.list_topics(with_internal=True)
    return [each for each in wanted if not is_topic_name(each) or each in existing] or None


def in_trouble(
    found: "Iterable[Described]", *, only_unavailable: bool, moves: Moves
) -> "list[Described]":
    """Return the topics with partitions in trouble, with these partitions alone."""
    troubled = []
    for topic, configs in found:
        late = () if only_unavailable else [*under_replicated(topic, moves)]
        partitions = tuple(each for each in topic.partitions if each.leader < 0 or each in late)
        if partitions:
            troubled.append((replace(topic, partitions=partitions), configs))
    return troubled


def _set_configs(admin: "Admin", topic: str) -> dict[str, str | None]:
    """Return the settings that are set on the topic itself."""
    entries = admin.describe_configs(("topic", topic)).entries
    return {name: entry.value for name, entry in entries.items() if entry.source == "topic"}


def _lines(topic: "TopicDescription", configs: Mapping[str, str | None], moves: Moves) -> list[str]:
    shown = ",".join(f"{name}={value}" for name, value in configs.items())
    first = next(iter(topic.partitions), None)
    factor = 0 if first is None else replication_factor(first, move_of(topic, first, moves=moves))
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
            f"{_move_text(move_of(topic, each, moves=moves))}"
            for each in topic.partitions
        ),
    ]


def _move_text(move: "PartitionReassignment | None") -> str:
    """Return the columns of a partition that moves, as Kafka's tool prints them."""
    if move is None:
        return ""
    return f"\tAdding Replicas: {_join(move.adding)}\tRemoving Replicas: {_join(move.removing)}"


def _join(brokers: Sequence[int]) -> str:
    return ",".join(map(str, brokers))


@app.command(epilog="Example: cordwood topics alter orders --partitions 6")
def alter(
    name: Topic = None,
    *,
    topic: TopicOption = None,
    partitions: Annotated[int, typer.Option(min=1, help="New number of partitions.")],
    validate_only: ValidateOnly = False,
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
) -> None:
    """Increase the number of partitions; use `cordwood configs alter` to change settings."""
    name = given_topic(name, topic)
    with connect_admin(bootstrap_server, command_config) as admin:
        ensure_topics(admin, [name])
        admin.create_partitions(name, partitions, validate_only=validate_only)
    has = "would have" if validate_only else "has"
    print_output(f"{name}: {has} {counted(partitions, 'partition')}")


@app.command(epilog="Example: cordwood topics delete orders")
def delete(
    names: Topics = None,
    *,
    topic: TopicOptions = None,
    if_exists: IfExists = False,
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
) -> None:
    """Delete topics and all their records."""
    wanted = given_topics(names, topic)
    if not wanted:
        raise typer.BadParameter("no topic is given; name it: TOPIC, or --topic TOPIC")
    with connect_admin(bootstrap_server, command_config) as admin:
        wanted = _existing(admin, wanted, if_exists=if_exists) or []
        for each in select_topics(wanted, admin.list_topics(with_internal=True)):
            admin.delete_topic(each)
            print_output(f"{each}: deleted")


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
