"""Markers of transactions for the partitions that this broker leads.

Kafka: `TransactionMarkerChannelManager`, `KafkaApis.handleWriteTxnMarkersRequest`. A marker in
`__consumer_offsets` goes through the group coordinator, which then applies or drops the offsets of
the transaction. A partition whose topic does not exist any more needs no marker.
"""

from collections.abc import Mapping
from typing import Final, Protocol

from cordwood.broker.coordinators.coordinator_log import append_marker
from cordwood.broker.loop_turns import LoopTurns, TurnQueue
from cordwood.broker.metadata.metadata_cache import MetadataCache
from cordwood.broker.partitions.hosted_partitions import HostedPartitions
from cordwood.broker.pending_results import wait_for
from cordwood.coordination.ports import TransactionMarker
from cordwood.core.errors import (
    CoordinatorLoadInProgressError,
    CoordinatorNotAvailableError,
    KafkaError,
    NotCoordinatorError,
    NotLeaderOrFollowerError,
)
from cordwood.core.ports import Pending
from cordwood.core.types import NO_LEADER_EPOCH, TopicPartition

OFFSETS_TOPIC: Final = "__consumer_offsets"

#: The partitions that get their marker in one turn of the loop, also if it has no time left. The
#: producer's next transaction waits for them, and would wait for all requests that take long.
FEW: Final = 4

_NO_COORDINATOR: Final = (
    CoordinatorLoadInProgressError,
    CoordinatorNotAvailableError,
    NotCoordinatorError,
)


class EndTransactionInGroups(Protocol):
    """Appends a marker to a partition of `__consumer_offsets` and applies it to the groups."""

    def __call__(self, partition: int, marker: TransactionMarker, /) -> Pending[int]:
        """Return the offset of the marker, once it counts."""


class LocalMarkerSender:
    """The MarkerSender port for a cluster of one broker."""

    def __init__(
        self,
        partitions: HostedPartitions,
        metadata: MetadataCache,
        turns: TurnQueue,
        end_in_groups: EndTransactionInGroups,
    ) -> None:
        self._partitions = partitions
        self._metadata = metadata
        self._turns = turns
        self._end_in_groups = end_in_groups

    async def send(self, marker: TransactionMarker) -> Mapping[TopicPartition, KafkaError]:
        """Try each partition once; return the errors of those that have no marker yet."""
        turns = LoopTurns(self._turns)
        pending: dict[TopicPartition, Pending[int]] = {}
        errors: dict[TopicPartition, KafkaError] = {}
        for number, name in enumerate(marker.partitions):
            if turns.is_over and number >= FEW:
                await turns.pause()
            if not self._exists(name):
                continue
            try:
                pending[name] = self.write(name, marker)
            except KafkaError as error:
                errors[name] = error.with_traceback(None)
        for name, each in pending.items():
            if turns.is_over_at_light():
                await turns.pause()
            try:
                await wait_for(each)
            except KafkaError as error:
                errors[name] = error.with_traceback(None)
        return errors

    def write(self, name: TopicPartition, marker: TransactionMarker) -> Pending[int]:
        """Append the marker to one partition."""
        if name.topic != OFFSETS_TOPIC:
            partition = self._partitions.get(name.topic, name.partition)
            return append_marker(partition, marker, leader_epoch=NO_LEADER_EPOCH)
        try:
            return self._end_in_groups(name.partition, marker)
        except _NO_COORDINATOR as error:
            raise NotLeaderOrFollowerError(str(error)) from None

    def _exists(self, name: TopicPartition) -> bool:
        topic = self._metadata.image.topics.get(name.topic)
        return topic is not None and name.partition < len(topic.partitions)
