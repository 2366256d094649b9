"""Markers of transactions, written at the leaders of their partitions.

Kafka: `TransactionMarkerChannelManager`, `KafkaApis.handleWriteTxnMarkersRequest`.

    led by this broker       appended directly
    led by another broker    in the next WriteTxnMarkers to it, with those of other transactions
    without a leader         LEADER_NOT_AVAILABLE: tried again
    not in the image         none: the topic does not exist any more

A marker in `__consumer_offsets` goes through the group coordinator, which then applies or drops the
offsets of the transaction. The caller tries partitions with an error again, at their leaders of
that time. It cancels an attempt when the coordinator of the transaction loses its partition.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from cordwood.broker.coordinators.coordinator_log import append_marker
from cordwood.broker.coordinators.txn_markers_request import MOST_PARTITIONS, MarkerErrors
from cordwood.broker.loop_turns import LoopTurns, TurnQueue
from cordwood.broker.metadata.metadata_cache import MetadataCache
from cordwood.broker.metadata.metadata_image import NO_LEADER
from cordwood.broker.partitions.hosted_partitions import HostedPartitions
from cordwood.broker.peers.peer_request_queue import PeerRequestQueue
from cordwood.broker.pending_results import wait_for
from cordwood.coordination.ports import TransactionMarker
from cordwood.core.errors import (
    CoordinatorLoadInProgressError,
    CoordinatorNotAvailableError,
    KafkaError,
    LeaderNotAvailableError,
    NotCoordinatorError,
    NotLeaderOrFollowerError,
)
from cordwood.core.ports import Pending
from cordwood.core.types import NO_LEADER_EPOCH, TopicPartition

if TYPE_CHECKING:
    import asyncio

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


class _SentMarker(NamedTuple):
    """A marker on its way to another broker."""

    partitions: Sequence[TopicPartition]
    result: "asyncio.Future[MarkerErrors | KafkaError]"

    async def errors(self) -> MarkerErrors:
        """Wait for the result; an error of the request is that of each partition."""
        result = await self.result
        return dict.fromkeys(self.partitions, result) if isinstance(result, KafkaError) else result


class TransactionMarkerSender:
    """The MarkerSender port; `remote` has the markers for other brokers."""

    def __init__(
        self,
        partitions: HostedPartitions,
        metadata: MetadataCache,
        turns: TurnQueue,
        end_in_groups: EndTransactionInGroups,
        *,
        remote: PeerRequestQueue[TransactionMarker, MarkerErrors],
    ) -> None:
        self._partitions = partitions
        self._metadata = metadata
        self._turns = turns
        self._end_in_groups = end_in_groups
        self._remote = remote

    async def send(self, marker: TransactionMarker) -> Mapping[TopicPartition, KafkaError]:
        """Try each partition once; return the errors of those that have no marker yet."""
        turns = LoopTurns(self._turns)
        pending: dict[TopicPartition, Pending[int]] = {}
        errors: dict[TopicPartition, KafkaError] = {}
        elsewhere: dict[int, list[TopicPartition]] = {}
        for number, name in enumerate(marker.partitions):
            if turns.is_over and number >= FEW:
                await turns.pause()
            leader = self._leader_of(name)
            try:
                if leader == self._partitions.node_id:
                    pending[name] = self.write(name, marker)
                elif leader is not None:
                    _ensure_leader(name, leader)
                    elsewhere.setdefault(leader, []).append(name)
            except KafkaError as error:
                errors[name] = error.with_traceback(None)
        sent = [*self._send_to_leaders(marker, elsewhere)]
        try:
            errors |= await _errors_of(pending, turns)
            for each in sent:
                errors |= await each.errors()
        finally:
            for each in sent:  # without effect on those that have ended
                each.result.cancel()
        return errors

    def write(self, name: TopicPartition, marker: TransactionMarker) -> Pending[int]:
        """Append the marker to one partition, which this broker leads."""
        if name.topic != OFFSETS_TOPIC:
            partition = self._partitions.get(name.topic, name.partition)
            return append_marker(partition, marker, leader_epoch=NO_LEADER_EPOCH)
        try:
            return self._end_in_groups(name.partition, marker)
        except _NO_COORDINATOR as error:
            raise NotLeaderOrFollowerError(str(error)) from None

    def _send_to_leaders(
        self, marker: TransactionMarker, elsewhere: Mapping[int, Sequence[TopicPartition]]
    ) -> Iterator[_SentMarker]:
        for leader, names in elsewhere.items():
            for at in range(0, len(names), MOST_PARTITIONS):
                some = names[at : at + MOST_PARTITIONS]
                part = marker._replace(partitions=frozenset(some))
                yield _SentMarker(some, self._remote.add(leader, part))

    def _leader_of(self, name: TopicPartition) -> int | None:
        """Return the leader of a partition; None if the partition does not exist."""
        topic = self._metadata.image.topics.get(name.topic)
        if topic is None or name.partition >= len(topic.partitions):
            return None
        return topic.partitions[name.partition].leader


def _ensure_leader(name: TopicPartition, leader: int) -> None:
    if leader == NO_LEADER:
        raise LeaderNotAvailableError(f"{name} has no leader")


async def _errors_of(
    pending: Mapping[TopicPartition, Pending[int]], turns: LoopTurns
) -> dict[TopicPartition, KafkaError]:
    """Wait until all appends count, or have failed; return the errors."""
    errors: dict[TopicPartition, KafkaError] = {}
    for name, each in pending.items():
        if turns.is_over_at_light():
            await turns.pause()
        try:
            await wait_for(each)
        except KafkaError as error:
            errors[name] = error.with_traceback(None)
    return errors
