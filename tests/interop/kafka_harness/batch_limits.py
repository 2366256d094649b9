"""The size limit of group batches, found in a running Kafka and in a log of ours.

The metadata of a commit are made longer until the batch of the commit is rejected.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from cordwood.coordination.client_context import ClientContext
from cordwood.coordination.group_shard import GroupShard
from cordwood.coordination.outcome import Ticket
from cordwood.coordination.ports import InternalLog
from cordwood.core.errors import KafkaError
from cordwood.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from tests.interop.kafka_harness.ordered_changes import alter_configs, wait_until
from tests.interop.kafka_harness.ordered_kafka import COUNTS, OrderedKafka

COMMIT_VERSION: Final = 8
TOPIC: Final = "__consumer_offsets"
#: The longest metadata that are tried; a commit takes up to 4,096.
LONGEST: Final = 2_000
_LIMIT: Final = "max.message.bytes"
_TOPIC_RESOURCE: Final = 2
_OFFSETS: Final = (_TOPIC_RESOURCE, TOPIC)


@contextmanager
def limited(kafka: OrderedKafka, max_message_bytes: int) -> Iterator[None]:
    """Limit the batches of groups in a running Kafka."""
    alter_configs(kafka, _OFFSETS, {_LIMIT: max_message_bytes})
    wait_until(lambda: not is_stored(kafka, LONGEST))
    try:
        yield
    finally:
        alter_configs(kafka, _OFFSETS, {_LIMIT: None})
        wait_until(lambda: is_stored(kafka, LONGEST))


def is_stored(kafka: OrderedKafka, length: int) -> bool:
    """Return whether a running Kafka stores a commit with metadata of a length."""
    found = kafka.ask(commit_of(length), COMMIT_VERSION, answer=OffsetCommitResponse)
    return not found.topics[0].partitions[0].error_code


def is_appended(shard: GroupShard, log: InternalLog, length: int) -> bool:
    """Return whether a log of ours takes the records of such a commit."""
    context = ClientContext(COMMIT_VERSION)
    outcome = shard.offset_commit(commit_of(length), context, ticket=Ticket(1), now_ms=0)
    try:
        log.append(outcome.records)
    except KafkaError:
        return False
    return True


def longest(is_accepted: Callable[[int], bool]) -> int:
    """Return the longest metadata that are accepted."""
    low, high = 0, LONGEST
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if is_accepted(middle) else (low, middle - 1)
    return low


def commit_of(length: int) -> OffsetCommitRequest:
    """Return a commit of a simple group with metadata of a length."""
    partition = OffsetCommitRequestPartition(
        partition_index=0, committed_offset=0, committed_metadata="m" * length
    )
    topic = OffsetCommitRequestTopic(name=next(iter(COUNTS)), partitions=[partition])
    return OffsetCommitRequest(group_id="limited", member_id="", topics=[topic])
