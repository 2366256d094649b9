"""Reads and writes of the intent record, as steps."""

from collections.abc import Mapping

from cordwood.client.group_offset import GroupOffset
from cordwood.client.transaction_handle import TransactionHandle
from cordwood.core.errors import SparkError
from cordwood.core.types import TopicPartition
from cordwood.spark.sink.exactly_once.intent_record import (
    IntentRecord,
    count_parts,
    join_record,
    split_record,
)
from cordwood.spark.sink.exactly_once.sink_names import SinkNames
from cordwood.spark.sink.exactly_once.sink_requests import (
    CountPartitions,
    End,
    EndResult,
    ReadRecord,
    Steps,
    WriteRecord,
    ask,
)


def read_record(names: SinkNames) -> Steps[IntentRecord | None]:
    """Return the record, after every decision that was under way."""
    metadata = yield from ask(ReadRecord(names.group))
    return join_record(metadata)


def write_record(
    names: SinkNames, driver: TransactionHandle, *, record: IntentRecord
) -> Steps[TransactionHandle]:
    """Replace the record in a transaction of the driver; return the driver's next identity.

    The record is decided when the transaction is committed. Then the stable record is read back: no
    transaction of a task is committed while a reader could still see the former record.
    """
    partitions = yield from ask(CountPartitions(count_parts(record)))
    parts = tuple(split_record(record, partitions=partitions))
    yield from ask(WriteRecord(driver, names.group, record.batch, parts))
    answers = yield from ask(End((driver,), commit=True))
    result, after = answers[driver]
    if result is not EndResult.ENDED:
        raise fenced(names, f"the decision on batch {record.batch} was rejected ({result})")
    written = yield from read_record(names)
    if written != record:
        raise fenced(names, f"batch {record.batch} has another record than this driver's")
    return after


def only_topic(
    group: str, offsets: Mapping[TopicPartition, GroupOffset]
) -> tuple[str | None, dict[int, str]]:
    """Return the topic of a group's offsets, and their metadata; SparkError if there are more."""
    topics: dict[str, dict[int, str]] = {}
    for each, offset in offsets.items():
        topics.setdefault(each.topic, {})[each.partition] = offset.metadata
    if len(topics) > 1:
        raise SparkError(
            f"the group {group!r} has offsets of {len(topics)} topics",
            remedy="delete the offsets of topics that the sink no longer writes to with `cordwood"
            " groups delete-offsets`",
        )
    return next(iter(topics.items()), (None, {}))


def fenced(names: SinkNames, problem: str) -> SparkError:
    """Return the error of a driver that another one has replaced."""
    return SparkError(
        f"{problem}: another driver has taken over the sink {names.sink!r}",
        remedy="stop this query if a later run of it is active; if two queries run, give each its"
        " own transactionalIdPrefix and checkpointLocation",
    )
