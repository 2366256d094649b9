"""Records of `__transaction_state` (Kafka: `TransactionLog`).

    key    i16 0 | transactional id
    value  version 0, or version 1 from level 1 of `transaction.version` on, with tagged fields:
           0 previous producer id, 1 next producer id, 2 level of the client

The partitions are null in the state Empty; other states have a list, which may be empty. Kafka
writes the topics in the order of a hash map, this module in the order of their names.
"""

from collections import defaultdict
from collections.abc import Iterable
from itertools import repeat
from typing import Final, cast

from cordwood.coordination.coordinator_record import CoordinatorRecord
from cordwood.coordination.transactions.transaction_metadata import TransactionMetadata
from cordwood.coordination.transactions.transaction_state import TransactionState
from cordwood.core.errors import InvalidRecordError
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.protocol.messages.internal import (
    PartitionsSchema,
    TransactionLogKey,
    TransactionLogValue,
)

RECORD_TYPE: Final = 0
_STORED: Final = frozenset(TransactionState) - {
    TransactionState.DEAD,
    TransactionState.PREPARE_EPOCH_FENCE,
}


def transaction_record(metadata: TransactionMetadata, *, version: int) -> CoordinatorRecord:
    """Return the record of a transactional id; of an expired one it is a tombstone."""
    key = TransactionLogKey(transactional_id=metadata.transactional_id)
    if metadata.state is TransactionState.DEAD:
        return CoordinatorRecord(RECORD_TYPE, key, None)
    is_tagged = version > 0
    value = TransactionLogValue(
        producer_id=metadata.producer_id,
        previous_producer_id=metadata.previous_producer_id if is_tagged else -1,
        next_producer_id=metadata.next_producer_id if is_tagged else -1,
        producer_epoch=metadata.producer_epoch,
        transaction_timeout_ms=metadata.timeout_ms,
        transaction_status=metadata.state,
        transaction_partitions=_stored_partitions(metadata),
        transaction_last_update_timestamp_ms=metadata.last_update_ms,
        transaction_start_timestamp_ms=metadata.start_ms,
        client_transaction_version=metadata.client_version if is_tagged else 0,
    )
    return CoordinatorRecord(RECORD_TYPE, key, value, version)


def read_transaction(record: CoordinatorRecord) -> TransactionMetadata:
    """Return the metadata in a record that is not a tombstone."""
    transactional_id, value = transactional_id_of(record), record.value
    assert isinstance(value, TransactionLogValue), f"a record of type {record.type}"
    if value.transaction_status not in _STORED:
        raise InvalidRecordError(
            f"transactional id {transactional_id}: the record has the state "
            f"{value.transaction_status}, which is never written"
        )
    return TransactionMetadata(
        transactional_id,
        value.producer_id,
        value.transaction_timeout_ms,
        value.transaction_last_update_timestamp_ms,
        producer_epoch=value.producer_epoch,
        previous_producer_id=value.previous_producer_id,
        next_producer_id=value.next_producer_id,
        state=TransactionState(value.transaction_status),
        partitions=partitions_of_topics(
            (each.topic, each.partition_ids) for each in value.transaction_partitions or ()
        ),
        start_ms=value.transaction_start_timestamp_ms,
        client_version=value.client_transaction_version,
    )


def transactional_id_of(record: CoordinatorRecord) -> str:
    """Return the transactional id of a record."""
    assert isinstance(record.key, TransactionLogKey), f"a record of type {record.type}"
    return record.key.transactional_id


def partitions_of_topics(topics: Iterable[tuple[str, Iterable[int]]]) -> frozenset[TopicPartition]:
    """Return the partitions of topics with their numbers; a transaction may have thousands."""
    found: set[TopicPartition] = set()
    for topic, numbers in topics:
        typed = cast("Iterable[PartitionId]", numbers)
        # Without the constructor of named tuples, which is a function of Python.
        pairs = zip(repeat(TopicName(topic)), typed)
        found.update(map(tuple.__new__, repeat(TopicPartition), pairs))
    return frozenset(found)


def topics_of_partitions(partitions: Iterable[TopicPartition]) -> list[tuple[str, list[int]]]:
    """Return the topics of partitions with their numbers, both in order."""
    topics = defaultdict[str, list[int]](list)
    for topic, number in partitions:
        topics[topic].append(number)
    return [(topic, sorted(topics[topic])) for topic in sorted(topics)]


def _stored_partitions(metadata: TransactionMetadata) -> list[PartitionsSchema] | None:
    if metadata.state is TransactionState.EMPTY:
        return None
    return [
        PartitionsSchema(topic=topic, partition_ids=numbers)
        for topic, numbers in topics_of_partitions(metadata.partitions)
    ]
