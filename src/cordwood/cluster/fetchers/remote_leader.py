"""Leader of partitions on another broker, as a follower's requests reach it.

Kafka: `RemoteLeaderEndPoint`. Fetches use an incremental session (KIP-227). From version 13 on they
identify topics by id; a topic without an id needs version 12. From version 15 on they have the
epoch of this broker (KIP-903).
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Final, NamedTuple

from cordwood.client.consumer.fetch_session_handler import FetchSessionHandler
from cordwood.cluster.channels.broker_channel import BrokerChannel
from cordwood.cluster.fetchers.fetcher_settings import FetcherSettings
from cordwood.cluster.partition.leader_messages import (
    epoch_answers,
    epoch_request,
    fetch_answers,
    fetch_targets,
    offset_answers,
    offsets_request,
)
from cordwood.cluster.partition.partition_fetch_state import FetchPhase
from cordwood.cluster.partition.replica_fetcher import LeaderAnswer, SentPartitions
from cordwood.core.errors import UnsupportedVersionError, error_from_code
from cordwood.core.types import TopicName, TopicPartition
from cordwood.core.uuids import NO_UUID, Uuid
from cordwood.protocol.messages.fetch import (
    FetchRequest,
    FetchResponse,
    PartitionData,
    ReplicaState,
)
from cordwood.protocol.messages.list_offsets import ListOffsetsResponse
from cordwood.protocol.messages.offset_for_leader_epoch import OffsetForLeaderEpochResponse

#: The latest version that Kafka 3.9 uses between brokers.
MOST_FETCH_VERSION: Final = 17
#: The first one by which a leader detects divergence. Kafka has it since 2.7.
_FIRST_WITH_DIVERGENCE: Final = 12
_FIRST_BY_ID: Final = 13
_FIRST_WITH_REPLICA_STATE: Final = 15
_NO_REPLICA: Final = -1


class FetchingBroker(NamedTuple):
    """This broker in its requests; its epoch changes with each registration."""

    node_id: int
    broker_epoch: Callable[[], int]


class ReceivedAnswer(NamedTuple):
    """The answer for one partition; that of a fetch has the data with the records."""

    answer: LeaderAnswer
    data: PartitionData | None = None


class RemoteLeader:
    """One leader; requests are sent one after the other."""

    def __init__(
        self, channel: BrokerChannel, settings: FetcherSettings, follower: FetchingBroker
    ) -> None:
        self._channel = channel
        self._settings = settings
        self._follower = follower
        self._session = FetchSessionHandler()

    async def ask(
        self, sent: SentPartitions, log_starts: Mapping[TopicPartition, int]
    ) -> Iterator[ReceivedAnswer]:
        """Send a request and return the answers of its response, those that have changed.

        No answers if the session has to begin again. Raises KafkaError without a usable response.
        """
        node_id, timeout_ms = self._follower.node_id, self._settings.socket_timeout_ms
        if sent.phase is FetchPhase.FETCHING:
            return await self._fetch(sent, log_starts)
        if sent.phase is FetchPhase.ASKING_EPOCH:
            epochs = await self._channel.send(
                epoch_request(sent, node_id=node_id),
                OffsetForLeaderEpochResponse,
                timeout_ms=timeout_ms,
            )
            return map(ReceivedAnswer, epoch_answers(epochs))
        offsets = await self._channel.send(
            offsets_request(sent, node_id=node_id), ListOffsetsResponse, timeout_ms=timeout_ms
        )
        return map(ReceivedAnswer, offset_answers(offsets))

    def restart_session(self) -> None:
        """Let the next response have all partitions, because bounds of the last one were not used.

        A session leaves out a partition whose bounds it has sent.
        """
        self._session.restart()

    def close(self) -> None:
        """Close the connection; a request that waits gets NetworkError."""
        self._channel.close()

    async def _fetch(
        self, sent: SentPartitions, log_starts: Mapping[TopicPartition, int]
    ) -> Iterator[ReceivedAnswer]:
        names = {state.topic_id: name.topic for name, state in sent.partitions.items()}
        is_answered = False
        try:
            response, is_incremental = await self._send_fetch(sent, log_starts, names)
            is_answered = self._session.handle_response(response.session_id, response.error_code)
        finally:
            if not is_answered:
                self._session.end()
        if response.error_code:
            if is_incremental and not is_answered:
                return iter(())
            raise error_from_code(response.error_code)
        return (ReceivedAnswer(*each) for each in fetch_answers(response, names))

    async def _send_fetch(
        self,
        sent: SentPartitions,
        log_starts: Mapping[TopicPartition, int],
        names: Mapping[Uuid, TopicName],
    ) -> tuple[FetchResponse, bool]:
        """Return the response, and whether the request was an incremental one."""
        version = await self._version(has_ids=NO_UUID not in names)
        has_state = version >= _FIRST_WITH_REPLICA_STATE
        settings, (node_id, broker_epoch) = self._settings, self._follower
        session = self._session.request(
            fetch_targets(sent, log_starts, max_bytes=settings.max_bytes)
        )
        request = FetchRequest(
            replica_id=_NO_REPLICA if has_state else node_id,
            replica_state=ReplicaState(replica_id=node_id, replica_epoch=broker_epoch())
            if has_state
            else None,
            max_wait_ms=settings.wait_max_ms,
            min_bytes=settings.min_bytes,
            max_bytes=settings.response_max_bytes,
            session_id=session.session_id,
            session_epoch=session.epoch,
            topics=session.topics,
            forgotten_topics=session.forgotten,
        )
        response = await self._channel.send(
            request, FetchResponse, timeout_ms=settings.socket_timeout_ms, most_version=version
        )
        return response, session.epoch > 0

    async def _version(self, *, has_ids: bool) -> int:
        timeout_ms = self._settings.socket_timeout_ms
        known = await self._channel.version(FetchRequest, timeout_ms=timeout_ms)
        if known < _FIRST_WITH_DIVERGENCE:
            raise UnsupportedVersionError(
                f"the leader has version {known} of Fetch, replicas need {_FIRST_WITH_DIVERGENCE}; "
                "upgrade it to Kafka 2.7 or later"
            )
        return min(known, MOST_FETCH_VERSION if has_ids else _FIRST_BY_ID - 1)
