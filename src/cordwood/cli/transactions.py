"""`cordwood transactions`: list, describe and abort them (Kafka: `TransactionsCommand`)."""

from typing import TYPE_CHECKING, Annotated, Final

import typer

from cordwood.cli.cluster_options import (
    AsJson,
    BootstrapServer,
    CommandConfig,
    connect_admin,
    ensure_topics,
)
from cordwood.cli.given_names import given_name
from cordwood.cli.row_output import Row, print_rows

if TYPE_CHECKING:
    from cordwood.client.admin.transaction_types import ActiveProducer
    from cordwood.core.types import TopicPartition

app = typer.Typer(
    help="List, describe and abort transactions, and find those that hang.", no_args_is_help=True
)

_MINUTE_MS: Final = 60_000

IdArgument = Annotated[
    str | None,
    typer.Argument(metavar="ID", help="Transactional id, instead of --transactional-id."),
]
TransactionalId = Annotated[str | None, typer.Option(help="Transactional id.")]
TerminatedId = Annotated[
    str | None,
    typer.Option("--transactional-id", "--transactionalId", help="Transactional id."),
]
Topic = Annotated[str, typer.Option(help="Topic name.")]
OnlyTopic = Annotated[
    str | None, typer.Option("--topic", help="Search this topic.  [default: all]")
]
Partition = Annotated[int, typer.Option(min=0, help="Partition number.")]
OnlyPartition = Annotated[
    int | None,
    typer.Option("--partition", min=0, help="Search this partition of the topic.  [default: all]"),
]
Broker = Annotated[
    int | None,
    typer.Option("--broker-id", min=0, help="Ask the replicas of this broker, not the leaders."),
]
StartOffset = Annotated[
    int | None,
    typer.Option(min=0, help="First offset of the transaction, as `find-hanging` prints it."),
]
ProducerId = Annotated[
    int | None, typer.Option(min=0, help="Producer id of the transaction, instead of its offset.")
]
ProducerEpoch = Annotated[
    int | None, typer.Option(min=0, help="Epoch of the producer id.  [default: the leader's]")
]
CoordinatorEpoch = Annotated[
    int | None, typer.Option(min=0, help="Epoch of the coordinator.  [default: the leader's]")
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
    typer.Option(
        "--duration-filter",
        "--running-longer-than",
        help="Only transactions older than this, in ms; all if it is negative.",
    ),
]


@app.command("list", epilog="Example: cordwood transactions list --bootstrap-server localhost:9092")
def list_transactions(
    *,
    transactional_id_pattern: Pattern = None,
    duration_filter: Running = None,
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
    as_json: AsJson = False,
) -> None:
    """Print all transactional ids with the state of their latest transaction."""
    with connect_admin(bootstrap_server, command_config) as admin:
        found = admin.list_transactions(
            pattern=transactional_id_pattern, min_duration_ms=_duration(duration_filter)
        )
    rows = [
        {
            "TransactionalId": each.transactional_id,
            "Coordinator": each.coordinator,
            "ProducerId": each.producer_id,
            "TransactionState": each.state,
        }
        for each in found
    ]
    titles = ("TransactionalId", "Coordinator", "ProducerId", "TransactionState")
    print_rows(rows, as_json=as_json, titles=titles)


def _given_id(argument: str | None, option: str | None) -> str:
    """Return the transactional id that is given as the argument or as the option."""
    return given_name(
        argument, option, noun="transactional id", metavar="ID", flag="--transactional-id"
    )


def _duration(given: int | None) -> int | None:
    return None if given is None or given < 0 else given


@app.command(epilog="Example: cordwood transactions describe etl")
def describe(
    name: IdArgument = None,
    *,
    transactional_id: TransactionalId = None,
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
    as_json: AsJson = False,
) -> None:
    """Print the latest transaction of a transactional id."""
    from cordwood.core.system import SystemClock  # noqa: PLC0415  # help needs none of it

    given = _given_id(name, transactional_id)
    with connect_admin(bootstrap_server, command_config) as admin:
        (found,) = admin.describe_transactions([given])
    start_ms = found.start_ms
    duration_ms = None if start_ms is None else SystemClock().now_ms() - start_ms
    row = {
        "CoordinatorId": found.coordinator,
        "TransactionalId": found.transactional_id,
        "ProducerId": found.producer_id,
        "ProducerEpoch": found.epoch,
        "TransactionState": found.state,
        "TransactionTimeoutMs": found.timeout_ms,
        "CurrentTransactionStartTimeMs": start_ms,
        "TransactionDurationMs": duration_ms,
        "TopicPartitions": ",".join(map(str, found.partitions)),
    }
    print_rows([row], as_json=as_json)


@app.command(
    epilog="Example: cordwood transactions describe-producers --topic orders --partition 0"
)
def describe_producers(
    *,
    topic: Topic,
    partition: Partition,
    broker_id: Broker = None,
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
    as_json: AsJson = False,
) -> None:
    """Print the producers that the leader of a partition knows, with their open transactions."""
    with connect_admin(bootstrap_server, command_config) as admin:
        ensure_topics(admin, [topic])
        (found,) = admin.describe_producers([(topic, partition)], broker=broker_id).values()
    rows = [
        {
            "ProducerId": each.producer_id,
            "ProducerEpoch": each.epoch,
            "LatestCoordinatorEpoch": _epoch(each.coordinator_epoch),
            "LastSequence": each.last_sequence,
            "LastTimestamp": each.last_timestamp,
            "CurrentTransactionStartOffset": each.transaction_start,
        }
        for each in found
    ]
    titles = (
        *("ProducerId", "ProducerEpoch", "LatestCoordinatorEpoch"),
        *("LastSequence", "LastTimestamp", "CurrentTransactionStartOffset"),
    )
    print_rows(rows, as_json=as_json, titles=titles)


def _epoch(epoch: int | None) -> int:
    return -1 if epoch is None else epoch


@app.command("find-hanging", epilog="Example: cordwood transactions find-hanging --topic orders")
def find_hanging(  # noqa: PLR0913  # tidy: allow[parameters] an option each, Kafka's and ours
    *,
    topic: OnlyTopic = None,
    partition: OnlyPartition = None,
    broker_id: Broker = None,
    max_transaction_timeout: MaxMinutes = 15,
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
    as_json: AsJson = False,
) -> None:
    """Print open transactions that no coordinator will end; `abort` ends them."""
    from cordwood.cli import transactions_run  # noqa: PLC0415  # help needs none of it
    from cordwood.core.system import SystemClock  # noqa: PLC0415  # as above

    if partition is not None and topic is None:
        raise typer.BadParameter("--partition needs --topic")
    now_ms = SystemClock().now_ms()
    with connect_admin(bootstrap_server, command_config) as admin:
        if topic is not None:
            ensure_topics(admin, [topic])
        searched = transactions_run.partitions_to_search(
            admin, topic=topic, partition=partition, broker=broker_id
        )
        hanging = transactions_run.find_hanging(
            admin,
            searched,
            broker=broker_id,
            older_than_ms=now_ms - max_transaction_timeout * _MINUTE_MS,
        )
    titles = (
        *("Topic", "Partition", "ProducerId", "ProducerEpoch", "CoordinatorEpoch"),
        *("StartOffset", "LastTimestamp", "Duration(min)"),
    )
    rows = [_hanging_row(*each, now_ms=now_ms) for each in hanging]
    print_rows(rows, as_json=as_json, titles=titles)


def _hanging_row(partition: "TopicPartition", producer: "ActiveProducer", *, now_ms: int) -> Row:
    return {
        "Topic": partition.topic,
        "Partition": partition.partition,
        "ProducerId": producer.producer_id,
        "ProducerEpoch": producer.epoch,
        "CoordinatorEpoch": _epoch(producer.coordinator_epoch),
        "StartOffset": producer.transaction_start,
        "LastTimestamp": producer.last_timestamp,
        "Duration(min)": (now_ms - producer.last_timestamp) // _MINUTE_MS,
    }


@app.command(
    epilog="Example: cordwood transactions abort --topic orders --partition 0 --start-offset 17"
)
def abort(  # noqa: PLR0913  # tidy: allow[parameters] an option each, Kafka's
    *,
    topic: Topic,
    partition: Partition,
    start_offset: StartOffset = None,
    producer_id: ProducerId = None,
    producer_epoch: ProducerEpoch = None,
    coordinator_epoch: CoordinatorEpoch = None,
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
) -> None:
    """Abort a hanging transaction of one partition, by a marker to its leader."""
    from cordwood.cli import transactions_run  # noqa: PLC0415  # help needs none of it

    if (start_offset is None) == (producer_id is None):
        raise typer.BadParameter("give either --start-offset or --producer-id")
    place = (topic, partition)
    with connect_admin(bootstrap_server, command_config) as admin:
        ensure_topics(admin, [topic])
        if start_offset is not None:
            transactions_run.abort_at(admin, place, start_offset=start_offset)
        elif producer_id is not None:
            producer = transactions_run.AbortedProducer(
                producer_id, producer_epoch, coordinator_epoch
            )
            transactions_run.abort_producer(admin, place, producer=producer)


@app.command(
    "force-terminate",
    epilog="Example: cordwood transactions force-terminate etl",
)
@app.command("forceTerminateTransaction", hidden=True)
def force_terminate(
    name: IdArgument = None,
    *,
    transactional_id: TerminatedId = None,
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
) -> None:
    """Abort the open transaction of a transactional id, and reject its present producer."""
    given = _given_id(name, transactional_id)
    with connect_admin(bootstrap_server, command_config) as admin:
        admin.describe_transactions([given])  # an unknown id would be created
        admin.fence_producers([given])
