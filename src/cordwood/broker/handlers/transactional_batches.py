"""Transactional batches of a Produce request, verified before the first append.

Kafka: `ReplicaManager.handleProduceAppend`. The batches of a request are of one producer, and one
request to the coordinator serves all of them.
"""

from collections.abc import Mapping
from typing import Final, TypeAlias

from cordwood.broker.coordinators.transaction_verifier import TransactionalBatch, Verified
from cordwood.broker.loop_turns import LoopTurns
from cordwood.broker.network.request_context import RequestContext
from cordwood.broker.partitions.hosted_partitions import TopicRef
from cordwood.broker.services import BrokerServices
from cordwood.core.errors import CordwoodError, KafkaError
from cordwood.protocol.messages.produce import PartitionProduceData, ProduceRequest
from cordwood.records.batch_header import BatchHeader, read_header

BatchKey: TypeAlias = tuple[TopicRef, int]
"""The topic of a batch, as the request names it, and the number of its partition."""

_FIRST_BY_ID: Final = 13


async def verify_batches(
    broker: BrokerServices, context: RequestContext, request: ProduceRequest, *, turns: LoopTurns
) -> Mapping[BatchKey, Verified]:
    """Return the guard of each transactional batch, or the error instead of its append."""
    if request.transactional_id is None:
        return {}
    found: dict[BatchKey, TransactionalBatch] = {}
    for topic in request.topics:
        is_by_id = context.api_version >= _FIRST_BY_ID
        reference: TopicRef = topic.topic_id if is_by_id else topic.name
        async for data in turns.of(topic.partitions):
            header = _transactional_header(data)
            if header is None:
                continue
            try:
                partition = broker.partitions.get(reference, data.index)
            except KafkaError:  # which the append reports
                continue
            found[reference, data.index] = TransactionalBatch(partition, header)
    if not found:
        return {}
    try:
        verified = await broker.coordinators.verifier.verify_batches(
            request.transactional_id, [*found.values()], api_version=context.api_version
        )
    except KafkaError as error:
        return dict.fromkeys(found, error.with_traceback(None))
    finally:
        turns.begin()
    return dict(zip(found, verified, strict=True))


def _transactional_header(data: PartitionProduceData) -> BatchHeader | None:
    """Return the header of a transactional batch; an invalid one is left to the append."""
    if not isinstance(data.records, memoryview):
        return None
    try:
        header = read_header(data.records)
    except CordwoodError:
        return None
    return header if header is not None and header.is_transactional else None
