"""The offsets of a shard keep sessions alive, and begin a round again after a rejected append."""

from cordwood.coordination.client_context import ClientContext
from cordwood.coordination.groups.group import OffsetCommitter
from cordwood.coordination.groups.group_registry import GroupRegistry
from cordwood.coordination.groups.group_settings import GroupSettings
from cordwood.coordination.offsets.offset_metadata_manager import OffsetMetadataManager
from cordwood.coordination.outcome import CoordinatorEvent, EventCount, Ticket, TimerChange
from cordwood.coordination.topic_view import Topics
from cordwood.core.errors import NotEnoughReplicasError
from tests.unit.coordination.offset_samples import (
    ORDERS,
    OffsetsUnderTest,
    commit_request,
    txn_request,
)

SESSION = TimerChange(("session", "g"), 10)


def test_accepted_commit_keeps_the_session() -> None:
    def keep(committer: OffsetCommitter, group_id: str, now_ms: int) -> list[TimerChange]:
        return [TimerChange(("session", group_id, committer.member_id), now_ms + 10)]

    manager = OffsetMetadataManager(GroupRegistry(), GroupSettings(), keep_session=keep)
    manager.on_topics(Topics((ORDERS,)), 0)
    client, request = ClientContext(9), commit_request(("orders", 0, 5), member_id="m")

    accepted = manager.commit(request, client, ticket=Ticket(1), now_ms=5)
    request.generation_id_or_member_epoch = 3
    rejected = manager.commit(request, client, ticket=Ticket(2), now_ms=5)

    assert accepted.timers == [TimerChange(("session", "g", "m"), 15)]
    assert not rejected.timers


def test_rejected_round_begins_again_at_the_next_check() -> None:
    offsets = OffsetsUnderTest(
        GroupSettings(offsets_retention_ms=1, offsets_retention_check_interval_ms=100)
    )
    offsets.commit(commit_request(("orders", 0, 5)))
    outcome = offsets.manager.on_timer(("offsets", "check"), 1_000)
    assert outcome.on_failure is not None

    (timer,) = outcome.on_failure(NotEnoughReplicasError(), 1_001).timers

    assert timer == TimerChange(("offsets", "check"), 1_101)
    assert len(offsets.manager.on_timer(timer.key, 1_101).records) == 2


def test_tombstones_of_a_group_cover_its_offsets() -> None:
    offsets = OffsetsUnderTest()
    offsets.commit(commit_request(("orders", 0, 5), ("payments", 1, 5)))

    assert [each.value for each in offsets.manager.tombstones_of("g")] == [None, None]


def test_commits_and_deletions_are_counted() -> None:
    offsets = OffsetsUnderTest()
    two = commit_request(("orders", 0, 5), ("payments", 1, 5))

    committed = offsets.commit(two)
    in_transaction = offsets.commit_transactional(txn_request(("orders", 0, 7)))
    deleted = offsets.delete(("payments", 1))

    assert offsets.manager.count_offsets("g") == 1
    assert committed.events == (EventCount(CoordinatorEvent.OFFSETS_COMMITTED, 2),)
    assert in_transaction.events == (EventCount(CoordinatorEvent.OFFSETS_COMMITTED, 1),)
    assert deleted.events == (EventCount(CoordinatorEvent.OFFSETS_DELETED, 1),)


def test_expired_offsets_and_those_of_deleted_topics_are_counted() -> None:
    offsets = OffsetsUnderTest(GroupSettings(offsets_retention_ms=1))
    offsets.commit(commit_request(("orders", 0, 5), ("payments", 1, 5)))

    of_topic = offsets.apply(offsets.manager.on_topics(Topics((ORDERS,), version=2), 10))
    expired = offsets.manager.on_timer(("offsets", "check"), 1_000)

    assert of_topic.events == (EventCount(CoordinatorEvent.OFFSETS_OF_TOPIC_DELETED, 1),)
    assert expired.events == (EventCount(CoordinatorEvent.OFFSETS_EXPIRED, 1),)
