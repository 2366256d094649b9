"""Requests of a transactional producer, and the errors of their responses."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from cordwood.client.group.offset_messages import offset_topics
from cordwood.client.group_offset import GroupMetadata, GroupOffset
from cordwood.client.network.response_errors import error_of
from cordwood.client.producer.partition_queue import ProducerIdentity
from cordwood.client.topic_partitions import by_topic
from cordwood.core.errors import (
    InvalidProducerEpochError,
    InvalidProducerIdMappingError,
    InvalidTransactionTimeoutError,
    InvalidTxnStateError,
    KafkaError,
    ProducerFencedError,
    TransactionAbortableError,
)
from cordwood.core.types import TopicPartition
from cordwood.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
)
from cordwood.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
)

_FENCED: Final = (
    "a later producer with this transactional id has fenced it, or its transaction timed out;"
    " close this producer, and give each running producer an id of its own"
)
_REMEDIES: Final[Mapping[int, str]] = {
    ProducerFencedError.code: _FENCED,
    InvalidProducerIdMappingError.code: "the id has expired, or has another producer; close this"
    " producer and create another one",
    InvalidTxnStateError.code: "close this producer and create another one",
    TransactionAbortableError.code: "call `abort`, and repeat the transaction",
    InvalidTransactionTimeoutError.code: "lower transaction_timeout_ms, or raise"
    " transaction.max.timeout.ms of the brokers",
}


def coordinator_error(code: int, subject: str) -> KafkaError:
    """Return the error of a coordinator's response, with its remedy.

    INVALID_PRODUCER_EPOCH of a coordinator means that the producer is fenced, as in Java.
    """
    if code == InvalidProducerEpochError.code:
        code = ProducerFencedError.code
    return error_of(code, subject=subject, remedy=_REMEDIES.get(code, ""))


def add_partitions_request(
    transactional_id: str, identity: ProducerIdentity, *, partitions: Iterable[TopicPartition]
) -> AddPartitionsToTxnRequest:
    """Return a request of the versions that clients use."""
    return AddPartitionsToTxnRequest(
        transactional_id=transactional_id,
        producer_id=identity.producer_id,
        producer_epoch=identity.epoch,
        topics=[
            AddPartitionsToTxnTopic(name=topic, partitions=[each.partition for each in numbers])
            for topic, numbers in by_topic(partitions).items()
        ],
    )


def add_partitions_errors(response: AddPartitionsToTxnResponse) -> Iterator[tuple[str, int]]:
    """Yield each partition with its error code."""
    for topic in response.results_by_topic:
        for each in topic.results_by_partition:
            yield f"{topic.name}-{each.partition_index}", each.partition_error_code


def offset_commit_request(
    transactional_id: str,
    identity: ProducerIdentity,
    *,
    group: GroupMetadata,
    offsets: Mapping[TopicPartition, GroupOffset],
) -> TxnOffsetCommitRequest:
    """Return a commit of a group's offsets in the transaction."""
    return TxnOffsetCommitRequest(
        transactional_id=transactional_id,
        group_id=group.group_id,
        producer_id=identity.producer_id,
        producer_epoch=identity.epoch,
        generation_id=group.generation,
        member_id=group.member_id,
        group_instance_id=group.instance_id,
        topics=offset_topics(
            offsets,
            topic_of=lambda topic, partitions: TxnOffsetCommitRequestTopic(
                name=topic, partitions=partitions
            ),
            partition_of=TxnOffsetCommitRequestPartition,
        ),
    )


def offset_commit_errors(response: TxnOffsetCommitResponse) -> Iterator[tuple[str, int]]:
    """Yield each partition with its error code."""
    for topic in response.topics:
        for each in topic.partitions:
            yield f"{topic.name}-{each.partition_index}", each.error_code
