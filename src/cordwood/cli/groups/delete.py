"""`cordwood groups delete` and `delete-offsets`."""

from typing import TYPE_CHECKING, Annotated

import typer

from cordwood.cli.cluster_options import AsJson, BootstrapServer, CommandConfig, reachable_config
from cordwood.cli.groups.group_options import AllGroups, GroupArguments, Groups, Timeout
from cordwood.cli.groups.group_selection import given_group, given_groups, selected_groups
from cordwood.cli.groups.topic_scope import partitions_in
from cordwood.cli.row_output import print_rows
from cordwood.cli.terminal import print_message, print_output

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cordwood.client.blocking import Admin
    from cordwood.core.types import TopicPartition

GroupArgument = Annotated[
    str | None, typer.Argument(metavar="GROUP", help="Group id, instead of --group.")
]
Group = Annotated[str | None, typer.Option(help="Group id.")]
Topics = Annotated[
    list[str],
    typer.Option("--topic", metavar="TOPIC[:0,1]", help="Topic, or its partitions. Repeatable."),
]


def delete(
    groups: GroupArguments = None,
    *,
    group: Groups = None,
    all_groups: AllGroups = False,
    timeout: Timeout = None,
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
) -> None:
    """Delete groups without members, with all their offsets."""
    from cordwood.client.blocking import Admin  # noqa: PLC0415  # help needs none of it
    from cordwood.core.errors import KafkaError  # noqa: PLC0415  # as above

    selected = given_groups(groups, group, is_all=all_groups)
    is_partial = False
    config = reachable_config(bootstrap_server, command_config, default_api_timeout_ms=timeout)
    with Admin.from_config(config) as admin:
        for each in selected_groups(admin, selected):
            try:
                admin.delete_groups([each])
            except KafkaError as error:
                print_message(f"cordwood: {error}")
                is_partial = True
            else:
                print_output(f"{each}: deleted")
    if is_partial:
        raise typer.Exit(1)


def delete_offsets(  # noqa: PLR0913  # tidy: allow[parameters] an option each, Kafka's and ours
    name: GroupArgument = None,
    *,
    topics: Topics,
    group: Group = None,
    timeout: Timeout = None,
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
    as_json: AsJson = False,
) -> None:
    """Delete committed offsets of topics that no member of the group subscribes to."""
    from cordwood.client.blocking import Admin  # noqa: PLC0415  # help needs none of it
    from cordwood.client.topic_partitions import by_topic  # noqa: PLC0415  # as above

    group = given_group(name, group)
    rows: list[dict[str, object]] = []
    config = reachable_config(bootstrap_server, command_config, default_api_timeout_ms=timeout)
    with Admin.from_config(config) as admin:
        for partitions in by_topic(partitions_in(admin, topics)).values():
            status = _delete_offsets(admin, group, partitions)
            rows += [
                {"TOPIC": each.topic, "PARTITION": each.partition, "STATUS": status}
                for each in partitions
            ]
    print_rows(rows, as_json=as_json)
    if any(row["STATUS"] != "Successful" for row in rows):
        raise typer.Exit(1)


def _delete_offsets(admin: "Admin", group: str, partitions: "Sequence[TopicPartition]") -> str:
    """Delete the offsets of a topic; return the status of its partitions."""
    from cordwood.core.errors import GroupSubscribedToTopicError  # noqa: PLC0415  # as above

    try:
        admin.delete_group_offsets(group, partitions)
    except GroupSubscribedToTopicError as error:
        print_message(f"cordwood: {error}")
        return "Error: the group is subscribed to the topic"
    return "Successful"


def add_to(app: typer.Typer) -> None:
    """Register the commands."""
    app.command(epilog="Example: cordwood groups delete billing")(delete)
    app.command(
        "delete-offsets",
        epilog="Example: cordwood groups delete-offsets billing --topic orders:0,1",
    )(delete_offsets)
