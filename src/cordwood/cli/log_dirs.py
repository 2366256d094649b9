"""`cordwood log-dirs`: log directories of brokers, with sizes (Kafka: `LogDirsCommand`)."""

from typing import TYPE_CHECKING, Annotated

import typer

from cordwood.cli.cluster_options import (
    AsJson,
    BootstrapServer,
    CommandConfig,
    connect_admin,
    ensure_topics,
)
from cordwood.cli.row_output import Row, print_rows

if TYPE_CHECKING:
    from collections.abc import Collection

    from cordwood.client.admin.admin_types import LogDirDescription

app = typer.Typer(help="Describe the log directories of brokers.", no_args_is_help=True)

#: Sizes are numbers of bytes in JSON, and have a unit in a table.
_SIZES = {"SIZE-BYTES": "SIZE", "TOTAL-BYTES": "TOTAL", "USABLE-BYTES": "USABLE"}
_TITLES = ("BROKER", "LOG-DIR", "PARTITIONS", "SIZE-BYTES", "TOTAL-BYTES", "USABLE-BYTES", "ERROR")
_TITLES_OF_REPLICAS = (
    "BROKER",
    "LOG-DIR",
    "TOPIC",
    "PARTITION",
    "SIZE-BYTES",
    "OFFSET-LAG",
    "FUTURE",
)

BrokerList = Annotated[
    str | None, typer.Option(metavar="ID,ID", help="Ids of brokers.  [default: all]")
]
TopicList = Annotated[
    str | None,
    typer.Option(metavar="TOPIC,TOPIC", help="Print the replicas of these topics, one a line."),
]


@app.callback()
def _family() -> None:
    """Keep the verb, although there is only one."""


@app.command(epilog="Example: cordwood log-dirs describe --topic-list orders")
def describe(
    *,
    broker_list: BrokerList = None,
    topic_list: TopicList = None,
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
    as_json: AsJson = False,
) -> None:
    """Print the log directories of brokers, with the size of their partitions and their disks."""
    ids = None if broker_list is None else parse_ids(broker_list)
    topics = [] if topic_list is None else topic_list.split(",")
    with connect_admin(bootstrap_server, command_config) as admin:
        ensure_topics(admin, topics)
        if ids is None:
            ids = sorted(each.node_id for each in admin.describe_cluster().brokers)
        found = [each for node_id in ids for each in admin.describe_log_dirs(node_id)]
    if topics:
        titles = _TITLES_OF_REPLICAS
        rows = [row for each in found for row in _replica_rows(each, topics)]
    else:
        titles, rows = _TITLES, [_row(each) for each in found]
    print_rows(
        rows if as_json else [_with_units(row) for row in rows],
        as_json=as_json,
        titles=[_SIZES.get(each, each) for each in titles],
    )


def parse_ids(text: str) -> list[int]:
    """Parse broker ids, separated by commas."""
    ids = [each.strip() for each in text.split(",")]
    if not all(each.isdecimal() for each in ids):
        raise typer.BadParameter(
            f"{text!r} is not a list of broker ids; give 1,2", param_hint="'--broker-list'"
        )
    return [int(each) for each in ids]


def _with_units(row: Row) -> Row:
    """Return the row of a table, in which sizes have units."""
    from cordwood.workbench.quantities import size_text  # noqa: PLC0415  # help needs none of it

    return {
        _SIZES.get(title, title): size_text(value)
        if title in _SIZES and isinstance(value, int)
        else value
        for title, value in row.items()
    }


def _row(directory: "LogDirDescription") -> Row:
    """Return the row of a directory; a size that the broker does not report is None."""
    values = (
        directory.node_id,
        directory.path,
        len(directory.partitions),
        sum(each.size for each in directory.partitions),
        directory.total_bytes if directory.total_bytes >= 0 else None,
        directory.usable_bytes if directory.usable_bytes >= 0 else None,
        directory.error,
    )
    return dict(zip(_TITLES, values, strict=True))


def _replica_rows(directory: "LogDirDescription", topics: "Collection[str]") -> list[Row]:
    return [
        dict(
            zip(
                _TITLES_OF_REPLICAS,
                (
                    *(directory.node_id, directory.path, each.topic, each.partition),
                    *(each.size, each.offset_lag, "yes" if each.is_future else "no"),
                ),
                strict=True,
            )
        )
        for each in sorted(directory.partitions, key=lambda each: (each.topic, each.partition))
        if each.topic in topics
    ]
