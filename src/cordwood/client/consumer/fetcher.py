"""Fetcher: prefetches records for a consumer (Java: `Fetcher`).

Each broker gets one fetch request at a time, for every partition that it leads, that has a position
and whose buffer has room.

An unresolved position is looked up first: the group's committed offset, if there is one
(`initial_positions.py`), else an offset of the log. If a partition has a new leader epoch, the
position is validated in the leader's log before the next fetch (`position_validation.py`).
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from cordwood.client.consumer.completed_fetch import completed_fetch
from cordwood.client.consumer.fetch_session_handler import (
    FetchSessionHandler,
    FetchSessionRequest,
    FetchTarget,
)
from cordwood.client.consumer.initial_positions import CommittedLookup, InitialPositions
from cordwood.client.consumer.offset_fetcher import LATEST, FoundOffset, list_offsets
from cordwood.client.consumer.position_errors import SEEK, PositionErrors
from cordwood.client.consumer.position_validation import PositionValidation
from cordwood.client.consumer.subscription_state import SubscriptionState, TopicPartitionState
from cordwood.client.network.cluster import Cluster
from cordwood.client.network.network_client import NetworkClient
from cordwood.client.network.owned_tasks import WakeupSignal
from cordwood.client.network.response_errors import error_of
from cordwood.client.settings import ISOLATIONS, ConsumerSettings
from cordwood.core.errors import (
    KafkaError,
    OffsetOutOfRangeError,
    UnknownTopicOrPartitionError,
)
from cordwood.core.types import TopicPartition
from cordwood.protocol.messages.fetch import FetchRequest, FetchResponse, PartitionData
from cordwood.records.decoder import AbortedTransaction


class _RequestedPartition(NamedTuple):
    """Partition in a fetch request, with its generation at that time."""

    position: TopicPartitionState
    generation: int
    target: FetchTarget


class Fetcher:
    """Background task of one consumer."""

    def __init__(
        self, client: NetworkClient, settings: ConsumerSettings, subscriptions: SubscriptionState
    ) -> None:
        self.arrived = WakeupSignal(client.runtime)
        self._client = client
        self._settings = settings
        self._runtime = client.runtime
        self._subscriptions = subscriptions
        self._isolation = ISOLATIONS.index(settings.isolation_level)
        self._sessions: dict[int, FetchSessionHandler] = {}
        self._busy: set[int] = set()
        self._looking_up: set[int | None] = set()
        self._initial: InitialPositions | None = None
        self._requested_topics: set[str] = set()
        self._woken = WakeupSignal(client.runtime)
        self._errors = PositionErrors(client, settings, self.arrived)
        self._validation = PositionValidation(client, self._errors, self._woken)
        client.on_change = self._woken.set
        client.topics.in_use = lambda: [each.partition.topic for each in subscriptions]
        client.tasks.start(self._run())

    def read_committed_offsets(self, committed: CommittedLookup) -> None:
        """Begin at the committed offsets of a group."""
        self._initial = InitialPositions(self._client, self._errors, self._woken, committed)

    def wake(self) -> None:
        """Re-evaluate the positions."""
        self._woken.set()

    def wake_for(self, position: TopicPartitionState) -> None:
        """Re-evaluate the positions because one has room again.

        While its leader is busy this waits for the end of the fetch. A consumer that empties many
        partitions would otherwise compare all positions for each of them.
        """
        if self._client.cluster.leader_of(*position.partition) not in self._busy:
            self._woken.set()

    def end_sessions(self) -> None:
        """Close the fetch sessions of all brokers (Java: `AbstractFetch.maybeCloseFetchSessions`).

        The responses are not awaited: each would come after the fetch that waits now.
        """
        for leader, session in self._sessions.items():
            last, connection = session.last_request(), self._client.ready(leader)
            if last is not None and connection is not None:
                connection.send_last(_fetch_request(self._settings, last))

    async def _run(self) -> None:
        while True:
            now_ms = self._runtime.now_ms()
            self._resolve_positions(now_ms)
            by_leader: dict[int, list[_RequestedPartition]] = {}
            for position in self._subscriptions:
                leader = self._leader_of(position) if _is_readable(position, now_ms) else None
                if leader is not None:
                    requested = _RequestedPartition(
                        position, position.generation, self._target_of(position)
                    )
                    by_leader.setdefault(leader, []).append(requested)
            for leader, all_requested in by_leader.items():
                if leader not in self._busy and self._client.ready(leader) is not None:
                    self._busy.add(leader)
                    self._client.tasks.start(self._fetch(leader, all_requested))
            pauses = [
                each.not_before_ms for each in self._subscriptions if each.not_before_ms > now_ms
            ]
            await self._woken.wait(min(pauses, default=None))

    # Fetching.

    def _leader_of(self, position: TopicPartitionState) -> int | None:
        """Return the broker to fetch from, once the position is validated in that broker's log."""
        state = self._client.cluster.partition(*position.partition)
        if state is None:
            self._request_metadata_soon(position.partition.topic)
            return None
        return self._validation.leader_of(position, state)

    def _target_of(self, position: TopicPartitionState) -> FetchTarget:
        topic, _ = position.partition
        return FetchTarget(
            position.fetch_offset,
            position.validated_epoch,
            self._settings.max_partition_fetch_bytes,
            self._client.cluster.topic_id(topic),
        )

    async def _fetch(self, leader: int, requested: Sequence[_RequestedPartition]) -> None:
        session = self._sessions.setdefault(leader, FetchSessionHandler())
        targets = {each.position.partition: each.target for each in requested}
        try:
            response = await self._client.send(
                leader, _fetch_request(self._settings, session.request(targets)), kind=FetchResponse
            )
            if not session.handle_response(response.session_id, response.error_code):
                raise error_of(response.error_code, subject=f"fetch session with broker {leader}")
            if response.error_code:
                raise error_of(response.error_code, subject=f"fetch from broker {leader}")
            self._handle_response(response, self._current(requested))
        except KafkaError as error:
            session.end()
            for position in self._current(requested).values():
                self._errors.retry_later(position, error)
        finally:
            self._busy.discard(leader)
            self._woken.set()

    def _current(
        self, requested: Iterable[_RequestedPartition]
    ) -> dict[TopicPartition, TopicPartitionState]:
        """Return the partitions whose position still waits for this request's answer.

        After a change of leader two requests for one offset can be in flight. The first answer
        moves the fetch offset; the second one is dropped (Java: `FetchCollector`).
        """
        return {
            each.position.partition: each.position
            for each in requested
            if each.position in self._subscriptions
            and each.position.generation == each.generation
            and each.position.fetch_offset == each.target.offset
        }

    def _handle_response(
        self, response: FetchResponse, current: Mapping[TopicPartition, TopicPartitionState]
    ) -> None:
        names = self._client.cluster.names_by_id()
        results = [
            (topic.topic or names.get(topic.topic_id, ""), each)
            for topic in response.responses
            for each in topic.partitions
        ]
        self._client.update_leaders(
            (
                (topic, each.partition_index, each.current_leader)
                for topic, each in results
                if each.current_leader is not None
            ),
            response.node_endpoints,
        )
        for topic, each in results:
            position = current.get((topic, each.partition_index))  # type: ignore[call-overload]  # a tuple equals the named tuple
            if position is not None:
                self._handle_partition(position, each)

    def _handle_partition(self, position: TopicPartitionState, result: PartitionData) -> None:
        """Buffer a partition's records, or handle its error."""
        if result.error_code == OffsetOutOfRangeError.code:
            reason = f"{position.partition}: the log has no offset {position.fetch_offset}"
            self._errors.reset(position, reason)
        elif result.error_code:
            subject = f"{position.partition} at offset {position.fetch_offset}"
            self._errors.retry_later(position, error_of(result.error_code, subject=subject))
        else:
            position.backoff = None
            position.high_watermark = result.high_watermark
            position.last_stable_offset = result.last_stable_offset
            position.log_start_offset = result.log_start_offset
            if result.records is not None and len(result.records):  # type: ignore[arg-type]  # a decoded response holds a view
                self._add_completed_fetch(position, result)

    def _add_completed_fetch(self, position: TopicPartitionState, result: PartitionData) -> None:
        """Buffer the batches before any damage; `poll` raises the damage after their records."""
        aborted = [
            AbortedTransaction(each.producer_id, each.first_offset)
            for each in result.aborted_transactions or ()
        ]
        records, damage = completed_fetch(
            position.partition,
            result.records,  # type: ignore[arg-type]  # a decoded response holds a view
            offset=position.fetch_offset,
            aborted=tuple(aborted) if self._isolation else None,
            check_crcs=self._settings.check_crcs,
        )
        if len(records.data):
            position.add_fetched(records)
            self.arrived.set()
        if damage is not None:
            self._errors.report(position, damage)

    # Resolving and validating positions.

    def _resolve_positions(self, now_ms: float) -> None:
        """Look up unresolved positions by leader, so that no leader delays another."""
        by_leader: dict[int | None, list[TopicPartitionState]] = {}
        for position in self._subscriptions:
            if position.offset is not None or position.problem or now_ms < position.not_before_ms:
                continue
            if position.needs_committed and self._initial is not None:
                self._initial.look_up_soon(position)
                continue
            if position.reset_target is None:
                self._init_reset_target(position)
            if position.reset_target is None:
                continue
            if self._client.cluster.partition(*position.partition) is None:
                self._request_metadata_soon(position.partition.topic)
                continue
            leader = self._client.cluster.leader_of(*position.partition)
            by_leader.setdefault(leader, []).append(position)
        for leader, positions in by_leader.items():
            if leader not in self._looking_up:
                self._looking_up.add(leader)
                self._client.tasks.start(self._look_up(leader, positions))

    def _init_reset_target(self, position: TopicPartitionState) -> None:
        """Apply `auto_offset_reset` to a partition without a position."""
        position.reset_target = self._errors.reset_target
        if position.reset_target is None:
            text = f"{position.partition} has no position"
            self._errors.report(position, OffsetOutOfRangeError(f"{text}; {SEEK}"))

    async def _look_up(self, leader: int | None, unknown: list[TopicPartitionState]) -> None:
        targets = {
            each.partition: each.reset_target for each in unknown if each.reset_target is not None
        }
        generations = {each.partition: each.generation for each in unknown}
        cluster = self._client.cluster
        try:
            found = await list_offsets(self._client, targets, isolation_level=self._isolation)
            late = {each: LATEST for each, offset in found.items() if offset.offset < 0}
            if late:  # every record is older than the timestamp: continue at the end
                found |= await list_offsets(self._client, late, isolation_level=self._isolation)
            for position in unknown:
                is_current = position.generation == generations[position.partition]
                if is_current and position.partition in found:
                    _seek_to_found(position, found[position.partition], cluster)
        except KafkaError as error:
            for position in unknown:
                if position.generation == generations[position.partition]:
                    self._errors.report(position, error)
        finally:
            self._looking_up.discard(leader)
            self._woken.set()
            self.arrived.set()

    def _request_metadata_soon(self, topic: str) -> None:
        if topic not in self._requested_topics:
            self._requested_topics.add(topic)
            self._client.tasks.start(self._request_metadata(topic))

    async def _request_metadata(self, topic: str) -> None:
        """Request the metadata of a topic that is unknown or has new partitions."""
        try:
            await self._client.topic(topic, timeout_ms=self._settings.default_api_timeout_ms)
            if self._without_metadata(topic):
                await self._client.retry_until_timeout(self._client.refresh)
            for position in self._without_metadata(topic):
                text = f"partition {position.partition} does not exist"
                self._errors.report(position, UnknownTopicOrPartitionError(text))
        except KafkaError as error:
            for position in self._without_metadata(topic):
                self._errors.report(position, error)
        finally:
            self._requested_topics.discard(topic)
            self._woken.set()

    def _without_metadata(self, topic: str) -> list[TopicPartitionState]:
        cluster = self._client.cluster
        of_topic = [each for each in self._subscriptions if each.partition.topic == topic]
        return [each for each in of_topic if cluster.partition(*each.partition) is None]


def _seek_to_found(position: TopicPartitionState, found: FoundOffset, cluster: Cluster) -> None:
    """Seek to an offset that was looked up; `cluster` was known before the lookup.

    The offset is validated if the leader changes, and perhaps loses records, before the next fetch.
    """
    position.seek(found.offset, epoch=found.leader_epoch)
    state = cluster.partition(*position.partition)
    if state is not None:
        position.validated_epoch = state.leader_epoch


def _fetch_request(settings: ConsumerSettings, session: FetchSessionRequest) -> FetchRequest:
    return FetchRequest(
        max_wait_ms=settings.fetch_max_wait_ms,
        min_bytes=settings.fetch_min_bytes,
        max_bytes=settings.fetch_max_bytes,
        isolation_level=ISOLATIONS.index(settings.isolation_level),
        session_id=session.session_id,
        session_epoch=session.epoch,
        topics=session.topics,
        forgotten_topics=session.forgotten,
    )


def _is_readable(position: TopicPartitionState, now_ms: float) -> bool:
    return (
        position.offset is not None
        and position.problem is None
        and not position.is_paused
        and position.has_room
        and now_ms >= position.not_before_ms
    )
