"""Committed offsets of a shard: one method for each request and event (Kafka's own name).

Requests are decided against the groups of the shard and the topics of the cluster. The offsets of
deleted topics, and expired ones, end in parts: each is one batch, and a timer begins the next part.
"""

from collections.abc import Callable
from typing import Final, TypeAlias

from cordwood.coordination.client_context import ClientContext
from cordwood.coordination.coordinator_record import (
    CoordinatorRecord,
    StoredMarker,
    StoredRecord,
)
from cordwood.coordination.groups.group import OffsetCommitter
from cordwood.coordination.groups.group_registry import GroupRegistry
from cordwood.coordination.groups.group_settings import GroupSettings
from cordwood.coordination.offsets import offset_commit, offset_delete, offset_fetch
from cordwood.coordination.offsets.committed_offset import OFFSET_COMMIT_TYPES, offset_tombstone
from cordwood.coordination.offsets.committed_run import CommittedRun
from cordwood.coordination.offsets.known_partitions import known_by_id, known_by_name
from cordwood.coordination.offsets.offset_commit import OffsetCommit
from cordwood.coordination.offsets.offset_expiration import ExpirationRound
from cordwood.coordination.offsets.offset_store import OffsetStore
from cordwood.coordination.offsets.partition_results import PartitionResults, TopicResult
from cordwood.coordination.offsets.tombstone_part import part_of
from cordwood.coordination.offsets.topic_deletion import deleted_topics, offsets_of_topics
from cordwood.coordination.outcome import (
    Answer,
    CoordinatorEvent,
    Outcome,
    Ticket,
    TimerChange,
    TimerKey,
    TransactionalProducer,
    counted,
)
from cordwood.coordination.topic_view import TopicFacts, Topics, TopicView
from cordwood.core.errors import InvalidGroupIdError, KafkaError
from cordwood.core.types import NO_TIMESTAMP
from cordwood.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from cordwood.protocol.messages.offset_delete import OffsetDeleteRequest
from cordwood.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchResponse
from cordwood.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)

#: The first word of all timers of this module.
OFFSETS_TIMER: Final = "offsets"

_CHECK: Final[TimerKey] = (OFFSETS_TIMER, "check")
_NEXT_PART: Final[TimerKey] = (OFFSETS_TIMER, "expire")
_DELETED_TOPICS: Final[TimerKey] = (OFFSETS_TIMER, "deleted-topics")
_RETRY_MS: Final = 1_000
_TOPIC_IDS_SINCE: Final = 10

SessionKeeper: TypeAlias = Callable[[OffsetCommitter, str, int], list[TimerChange]]
"""Returns the timers of a member that has committed, by its group's id and the time."""


class OffsetMetadataManager:
    """The committed offsets of the groups of one partition."""

    def __init__(
        self,
        groups: GroupRegistry,
        settings: GroupSettings,
        *,
        keep_session: SessionKeeper = lambda *_: [],
    ) -> None:
        self._groups = groups
        self._settings = settings
        self._keep_session = keep_session
        self._store = OffsetStore()
        self._topics: TopicView = Topics()
        self._deleted = list[TopicFacts]()
        self._expiration = ExpirationRound(
            groups, self._store, retention_ms=settings.offsets_retention_ms
        )

    # -- requests

    def commit(
        self, request: OffsetCommitRequest, client: ClientContext, *, ticket: Ticket, now_ms: int
    ) -> Outcome:
        """Commit offsets outside of a transaction."""
        results = PartitionResults()
        if client.api_version >= _TOPIC_IDS_SINCE:
            known = known_by_id(request.topics, self._topics, results=results)
        else:
            known = known_by_name(request.topics, self._topics, results=results)
        if not known:
            return Outcome.answer(ticket, _commit_response(results.followed_by([])))
        committer = OffsetCommitter(
            request.member_id,
            request.group_instance_id,
            request.generation_id_or_member_epoch,
            is_transactional=False,
            api_version=client.api_version,
        )
        retention_ms = request.retention_time_ms
        expire_ms = NO_TIMESTAMP if retention_ms == NO_TIMESTAMP else now_ms + retention_ms
        committed = offset_commit.commit(
            self._commit_of(request.group_id, committer, now_ms, expire_ms=expire_ms),
            known,
            groups=self._groups,
        )
        timers: list[TimerChange] = []
        if committed.is_accepted:
            timers = self._keep_session(committer, request.group_id, now_ms)
        response = _commit_response(results.followed_by(committed.topics))
        return Outcome(
            records=committed.records,
            answers=[Answer(ticket, response)],
            timers=timers,
            events=counted(CoordinatorEvent.OFFSETS_COMMITTED, committed.records),
        )

    def commit_transactional(
        self, request: TxnOffsetCommitRequest, client: ClientContext, *, ticket: Ticket, now_ms: int
    ) -> Outcome:
        """Commit offsets with the transaction of a producer, which has been verified before."""
        results = PartitionResults()
        known = known_by_name(request.topics, self._topics, results=results)
        if not known:
            return Outcome.answer(ticket, _txn_response(results.followed_by([])))
        if not request.group_id:
            failed = offset_commit.failed(known, InvalidGroupIdError.code)
            return Outcome.answer(ticket, _txn_response(results.followed_by(failed)))
        committer = OffsetCommitter(
            request.member_id,
            request.group_instance_id,
            request.generation_id,
            is_transactional=True,
            api_version=client.api_version,
        )
        committed = offset_commit.commit(
            self._commit_of(request.group_id, committer, now_ms), known, groups=self._groups
        )
        response = _txn_response(results.followed_by(committed.topics))
        return Outcome(
            records=committed.records,
            answers=[Answer(ticket, response)],
            producer=TransactionalProducer(request.producer_id, request.producer_epoch),
            events=counted(CoordinatorEvent.OFFSETS_COMMITTED, committed.records),
        )

    def fetch(
        self, request: OffsetFetchRequest, api_version: int, *, is_part_of_all: bool = False
    ) -> OffsetFetchResponse:
        """Return the committed offsets of groups."""
        state = offset_fetch.CommittedOffsets(self._store, self._groups, self._topics)
        return offset_fetch.fetch(request, api_version, state=state, is_part_of_all=is_part_of_all)

    def committed_partitions(self, group_id: str) -> dict[str, list[int]]:
        """Return the partitions of a group that have a committed offset, by topic."""
        return {topic: [*each] for topic, each in self._store.of_group(group_id).items()}

    def delete(self, request: OffsetDeleteRequest, *, ticket: Ticket) -> Outcome:
        """Delete offsets of topics that no member subscribes to; raise the error of the group."""
        records, response = offset_delete.delete(
            request, self._groups, store=self._store, view=self._topics
        )
        events = counted(CoordinatorEvent.OFFSETS_DELETED, records)
        return Outcome(records=records, answers=[Answer(ticket, response)], events=events)

    def count_offsets(self, group_id: str) -> int:
        """Return the number of committed offsets of a group."""
        return sum(map(len, self._store.of_group(group_id).values()))

    def tombstones_of(self, group_id: str) -> list[CoordinatorRecord]:
        """Return the records that delete all offsets of a group, also the pending ones."""
        return [offset_tombstone(each) for each in self._store.partitions_of(group_id)]

    # -- records and events

    def replay(self, stored: StoredRecord) -> None:
        """Apply a record of an offset, whose group exists."""
        self._store.replay(stored)

    def replay_run(self, run: CommittedRun) -> None:
        """Apply commits of one group, which exists."""
        self._store.replay_run(run)

    def replay_marker(self, marker: StoredMarker) -> None:
        """Apply the end of a transaction."""
        self._store.replay_marker(marker)

    def finish_load(self, now_ms: int) -> Outcome:
        """Begin the checks for expired offsets."""
        return Outcome(timers=[self._next_check(now_ms)])

    def on_timer(self, key: TimerKey, now_ms: int) -> Outcome:
        """Expire offsets, or delete those of deleted topics."""
        if key == _DELETED_TOPICS:
            return self._delete_part(now_ms)
        if key == _CHECK:
            self._expiration.begin()
        return self._expire_part(now_ms)

    def on_topics(self, view: TopicView, now_ms: int) -> Outcome:
        """Take the topics of the cluster; delete the offsets of topics that it had before."""
        deleted = deleted_topics(view.changed(self._topics), self._topics, after=view)
        known = self._store.topics() if deleted else ()
        self._deleted += [each for each in deleted if each.name in known]
        self._topics = view
        return self._delete_part(now_ms) if self._deleted else Outcome()

    def _commit_of(
        self,
        group_id: str,
        committer: OffsetCommitter,
        now_ms: int,
        *,
        expire_ms: int = NO_TIMESTAMP,
    ) -> OffsetCommit:
        max_metadata = self._settings.offset_metadata_max_bytes
        return OffsetCommit(group_id, committer, now_ms, max_metadata, expire_ms)

    def _next_check(self, now_ms: int) -> TimerChange:
        return TimerChange(_CHECK, now_ms + self._settings.offsets_retention_check_interval_ms)

    def _expire_part(self, now_ms: int) -> Outcome:
        records = self._expiration.next_part(now_ms)
        is_over = self._expiration.is_over
        next_timer = self._next_check(now_ms) if is_over else TimerChange(_NEXT_PART, now_ms)
        expired = [each for each in records if each.type in OFFSET_COMMIT_TYPES]
        events = counted(CoordinatorEvent.OFFSETS_EXPIRED, expired)
        outcome = Outcome(records=records, timers=[next_timer], events=events)
        if records:
            outcome.on_failure = self._check_later
        return outcome

    def _check_later(self, _error: KafkaError, now_ms: int) -> Outcome:
        """Begin the round again at the next check, as Kafka does."""
        return Outcome(timers=[self._next_check(now_ms)])

    def _delete_part(self, now_ms: int) -> Outcome:
        part = part_of(offsets_of_topics(self._store.maps(), self._deleted))
        records = [offset_tombstone(each) for each in part.keys]
        if part.is_whole:
            finished, self._deleted = self._deleted, []
            timers = list[TimerChange]()
        else:
            finished, timers = [], [TimerChange(_DELETED_TOPICS, now_ms)]
        events = counted(CoordinatorEvent.OFFSETS_OF_TOPIC_DELETED, records)
        outcome = Outcome(records=records, timers=timers, events=events)
        if records:
            outcome.on_failure = lambda _, at_ms: self._delete_later(finished, at_ms)
        return outcome

    def _delete_later(self, topics: list[TopicFacts], now_ms: int) -> Outcome:
        self._deleted += topics
        return Outcome(timers=[TimerChange(_DELETED_TOPICS, now_ms + _RETRY_MS)])


def _commit_response(topics: list[TopicResult]) -> OffsetCommitResponse:
    return OffsetCommitResponse(
        topics=[
            OffsetCommitResponseTopic(
                name=topic.name,
                topic_id=topic.topic_id,
                partitions=[
                    OffsetCommitResponsePartition(partition_index=number, error_code=code)
                    for number, code in topic.partitions
                ],
            )
            for topic in topics
        ]
    )


def _txn_response(topics: list[TopicResult]) -> TxnOffsetCommitResponse:
    return TxnOffsetCommitResponse(
        topics=[
            TxnOffsetCommitResponseTopic(
                name=topic.name,
                partitions=[
                    TxnOffsetCommitResponsePartition(partition_index=number, error_code=code)
                    for number, code in topic.partitions
                ],
            )
            for topic in topics
        ]
    )
