"""The state of a sink on the brokers: its intent record and its open transactions.

A query that was given up leaves both. `settle_sink` does what the next start of the query would do
before its first batch: it commits the transactions of a decided batch, and aborts all others.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from cordwood.client.blocking import Admin
from cordwood.spark.sink.exactly_once.batch_preparation import (
    DriverMemory,
    SinkPlan,
    prepare_batch,
)
from cordwood.spark.sink.exactly_once.intent_record import IntentRecord, join_record
from cordwood.spark.sink.exactly_once.record_access import only_topic
from cordwood.spark.sink.exactly_once.sink_client import SinkClient
from cordwood.spark.sink.exactly_once.sink_names import SinkNames
from cordwood.spark.sink.exactly_once.sink_requests import ONGOING

#: A settling driver writes at most a record, so its transaction timeout hardly matters.
_TIMEOUT_MS = 60_000


class LeftTransaction(NamedTuple):
    """An open transaction of a task."""

    transactional_id: str
    start_ms: int | None
    partitions: tuple[str, ...]
    #: Whether the record has decided that it is committed.
    is_decided: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkStatus:
    """The intent record, the topic that keys it, and the open transactions, oldest first."""

    record: IntentRecord | None
    record_topic: str | None
    transactions: tuple[LeftTransaction, ...]


def sink_status(admin: Admin, names: SinkNames) -> SinkStatus:
    """Return the state of a sink."""
    topic, metadata = only_topic(names.group, admin.list_group_offsets(names.group))
    record = join_record(metadata)
    return SinkStatus(
        record=record, record_topic=topic, transactions=_open_transactions(admin, names, record)
    )


def _open_transactions(
    admin: Admin, names: SinkNames, record: IntentRecord | None
) -> tuple[LeftTransaction, ...]:
    is_live = record is not None and not record.is_withdrawn
    decided = {each[:3] for each in record.handles(names)} if record and is_live else set()
    listed = (each.transactional_id for each in admin.list_transactions(states=[ONGOING]))
    own = [each for each in listed if names.parse_task(each) is not None]
    found = [
        LeftTransaction(
            each.transactional_id,
            each.start_ms,
            tuple(map(str, each.partitions)),
            (each.transactional_id, each.producer_id, each.epoch) in decided,
        )
        for each in admin.describe_transactions(own)
        if each.state == ONGOING
    ]
    return tuple(sorted(found, key=lambda each: each.start_ms or 0))


def settle_sink(
    config: Mapping[str, object], names: SinkNames, *, record_topic: str | None
) -> None:
    """Commit the transactions of a decided batch, and abort all others of the sink.

    A query that still runs is fenced, and fails. Without a topic the record is looked for again,
    since the fence has ended a decision that was under way.
    """
    client = SinkClient(config, record_topic=record_topic)
    try:
        plan = SinkPlan(names=names, timeout_ms=_TIMEOUT_MS)
        client.run(prepare_batch(plan, DriverMemory()))
    finally:
        client.close()
