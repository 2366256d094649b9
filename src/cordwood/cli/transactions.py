"""`cordwood transactions`: list, describe and abort them (Kafka: `TransactionsCommand`)."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Final

import typer

from cordwood.cli.cluster_options import (
    AsJson,
    BootstrapServer,
    CommandConfig,
    connect_admin,
    ensure_topics,
)
from cordwood.cli.table_lines import table_lines
from cordwood.cli.terminal import print_output

if TYPE_CHECKING:
    from cordwood.client.admin.transaction_types import (
        ActiveProducer,
        TransactionDescription,
    )
    from cordwood.client.blocking import Admin
    from cordwood.core.types import TopicPartition

app = typer.Typer(
    help="List, describe and abort transactions, and find those that hang.", no_args_is_help=True
)

_MINUTE_MS: Final = 60_000

TransactionalId = Annotated[str, typer.Option(help="Transactional id.")]
Topic = Annotated[str, typer.Option(help="Topic name.")]
OnlyTopic = Annotated[
    str | None, typer.Option("--topic", help="Search this topic.  [default: all]")
]
Partition = Annotated[int, typer.Option(min=0, help="Partition number.")]
StartOffset = Annotated[
    int, typer.Option(min=0, help="First offset of the transaction, as `find-hanging` prints it.")
]
MaxMinutes = Annotated[
    int,
    typer.Option(
        "--max-transaction-timeout", min=0, help="Minutes after which an open transaction hangs."
    ),
]
Pattern = Annotated[
    str | None,
    typer.Option(
        "--transactional-id-pattern", help="Only ids that match this regular expression entirely."
    ),
]
Running = Annotated[
    int | None,
    typer.Option("--running-longer-than", min=0, help="Only transactions older than this, in ms."),
]


@app.command("list", epilog="Example: cordwood transactions list --bootstrap-server localhost:9092")
def list_transactions(
    *,
    transactional_id_pattern: Pattern = None,
    running_longer_than: Running = None,
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
    as_json: AsJson = False,
) -> None:
    """Print all transactional ids with the state of their latest transaction."""
    with connect_admin(bootstrap_server, command_config) as admin:
        found = admin.list_transactions(
            pattern=transactional_id_pattern, min_duration_ms=running_longer_than
        )
    rows = [
        {
            "TransactionalId": each.transactional_id,
            "ProducerId": each.producer_id,
            "TransactionState": each.state,
        }
        for each in found
    ]
    _print(("TransactionalId", "ProducerId", "TransactionState"), rows, as_json=as_json)


@app.command(epilog="Example: cordwood transactions describe --transactional-id etl")
def describe(
    *,
    transactional_id: TransactionalId,
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
    as_json: AsJson = False,
) -> None:
    """Print the latest transaction of a transactional id."""
    with connect_admin(bootstrap_server, command_config) as admin:
        (found,) = admin.describe_transactions([transactional_id])
    row = {
        "CoordinatorId": found.coordinator,
        "TransactionalId": found.transactional_id,
        "ProducerId": found.producer_id,
        "ProducerEpoch": found.epoch,
        "TransactionState": found.state,
        "TransactionTimeoutMs": found.timeout_ms,
        "CurrentTransactionStartTimeMs": "None" if found.start_ms is None else found.start_ms,
        "TopicPartitions": ",".join(map(str, found.partitions)),
    }
    _print(tuple(row), [row], as_json=as_json)


@app.command("find-hanging", epilog="Example: cordwood transactions find-hanging --topic orders")
def find_hanging(
    *,
    topic: OnlyTopic = None,
    max_transaction_timeout: MaxMinutes = 15,
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
    as_json: AsJson = False,
) -> None:
    """Print open transactions that no coordinator will end; `abort` ends them."""
    from cordwood.core.system import SystemClock  # noqa: PLC0415  # help needs none of it

    now_ms = SystemClock().now_ms()
    with connect_admin(bootstrap_server, command_config) as admin:
        if topic is not None:
            ensure_topics(admin, [topic])
        names = admin.list_topics(with_internal=True) if topic is None else [topic]
        hanging = search(admin, names, older_than_ms=now_ms - max_transaction_timeout * _MINUTE_MS)
    rows = [
        {
            "Topic": partition.topic,
            "Partition": partition.partition,
            "ProducerId": each.producer_id,
            "ProducerEpoch": each.epoch,
            "CoordinatorEpoch": -1 if each.coordinator_epoch is None else each.coordinator_epoch,
            "StartOffset": each.transaction_start,
            "LastTimestamp": each.last_timestamp,
            "Duration(min)": (now_ms - each.last_timestamp) // _MINUTE_MS,
        }
        for partition, each in hanging
    ]
    titles = (
        *("Topic", "Partition", "ProducerId", "ProducerEpoch", "CoordinatorEpoch"),
        *("StartOffset", "LastTimestamp", "Duration(min)"),
    )
    _print(titles, rows, as_json=as_json)


@app.command(
    epilog="Example: cordwood transactions abort --topic orders --partition 0 --start-offset 17"
)
def abort(
    *,
    topic: Topic,
    partition: Partition,
    start_offset: StartOffset,
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
) -> None:
    """Abort a hanging transaction of one partition, by a marker to its leader."""
    from cordwood.core.errors import InvalidRequestError  # noqa: PLC0415  # help needs none of it

    with connect_admin(bootstrap_server, command_config) as admin:
        ensure_topics(admin, [topic])
        (producers,) = admin.describe_producers([(topic, partition)]).values()
        open_here = [each for each in producers if each.transaction_start == start_offset]
        if not open_here:
            raise InvalidRequestError(
                f"{topic}-{partition}: no open transaction begins at offset {start_offset};"
                " `cordwood transactions find-hanging` prints those that hang"
            )
        admin.abort_transaction(
            (topic, partition),
            producer_id=open_here[0].producer_id,
            epoch=open_here[0].epoch,
            coordinator_epoch=open_here[0].coordinator_epoch or 0,
        )


def search(
    admin: "Admin", topics: Sequence[str], *, older_than_ms: int
) -> "list[tuple[TopicPartition, ActiveProducer]]":
    """Return the hanging transactions in all partitions of these topics."""
    from cordwood.client.admin.hanging_transactions import (  # noqa: PLC0415  # help needs none
        is_hanging,
        open_transactions,
    )

    partitions = [
        (each.name, part.partition)
        for each in admin.describe_topics(topics)
        for part in each.partitions
    ]
    producers = admin.describe_producers(partitions)
    candidates = list(open_transactions(producers, older_than_ms=older_than_ms))
    known = _known(admin, sorted({each.producer_id for _, each in candidates}))
    return [
        (partition, each)
        for partition, each in candidates
        if is_hanging(partition, each, known=known.get(each.producer_id))
    ]


def _known(admin: "Admin", producer_ids: Sequence[int]) -> "Mapping[int, TransactionDescription]":
    """Return the coordinators' views by producer id."""
    if not producer_ids:
        return {}
    listed = admin.list_transactions(producer_ids=producer_ids)
    described = admin.describe_transactions(each.transactional_id for each in listed)
    return {each.producer_id: each for each in described}


def _print(titles: Sequence[str], rows: Iterable[Mapping[str, object]], *, as_json: bool) -> None:
    """Print rows as a table, or each as a JSON object."""
    if not as_json:
        print_output("\n".join(table_lines(titles, [tuple(row.values()) for row in rows])))
        return
    for row in rows:
        print_output(json.dumps(row))
