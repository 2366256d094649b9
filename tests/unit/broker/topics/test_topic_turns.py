"""Tests of the order of topic requests, and of their deadlines."""

import asyncio

import pytest

from cordwood.broker.metadata.producer_id_manager import block_allocator
from cordwood.broker.metadata.topic_znodes import decode_topic
from cordwood.broker.topics.request_deadline import RequestDeadline
from cordwood.broker.topics.topic_planning import Grown, NewPartitions, Planned, PlannedTopic
from cordwood.broker.topics.topic_selection import TopicReference, TopicSelection
from cordwood.broker.topics.topic_validation import NewTopic
from cordwood.core.errors import (
    InvalidTopicError,
    KafkaStorageError,
    RequestTimedOutError,
    TopicAlreadyExistsError,
    UnknownTopicOrPartitionError,
)
from cordwood.core.metadata_paths import topic_path
from tests.unit.broker.broker_samples import BrokerHarness, run, turns
from tests.unit.broker.topic_samples import (
    BusyHarness,
    begin,
    begin_creation,
)


def deadline(harness: BrokerHarness, timeout_ms: int) -> RequestDeadline:
    return RequestDeadline(harness.time, harness.time, timeout_ms=timeout_ms)


def test_metadata_changes_while_logs_are_created() -> None:
    harness = BusyHarness()
    new_block = block_allocator(harness.writer, 1)

    async def allocate() -> range:
        return await new_block()

    async def scene() -> tuple[bool, range]:
        creating = begin_creation(harness, "orders")
        await harness.work()
        (block,) = await harness.finish(begin(allocate()))
        was_created = creating.done()
        await harness.finish(creating)
        return was_created, block

    assert run(scene()) == (False, range(1000))


def test_topic_in_creation_exists_for_others_but_is_not_published() -> None:
    harness = BusyHarness()

    async def scene() -> list[type[object]]:
        creating = begin_creation(harness, "a.b")
        await harness.work()
        (refused,) = await harness.finish(begin_creation(harness, "a.b", "a_b"))
        assert "a.b" not in harness.metadata.image.topics
        await harness.finish(creating)
        assert "a.b" in harness.metadata.image.topics
        return [type(each) for each in refused]

    assert run(scene()) == [TopicAlreadyExistsError, InvalidTopicError]


def test_topic_that_two_clients_need_is_created_once() -> None:
    harness = BusyHarness()

    async def scene() -> list[list[Planned]]:
        missing = harness.broker.topics.create_missing
        first = begin(missing(["orders"]))
        await harness.work()
        return await harness.finish(first, begin(missing(["orders"])))

    (created,), (refused,) = run(scene())
    assert isinstance(created, PlannedTopic)
    assert isinstance(refused, TopicAlreadyExistsError)
    assert "orders" in harness.metadata.image.topics


@pytest.mark.parametrize("is_by_id", (False, True))
def test_deletion_waits_for_the_creation(*, is_by_id: bool) -> None:
    harness = BusyHarness()

    async def scene() -> TopicSelection:
        creating = begin_creation(harness, "orders")
        await harness.work()
        node = harness.store.get(topic_path("orders"))
        assert node is not None
        stored = decode_topic(node.data, path="")
        reference = TopicReference(None, stored.topic_id) if is_by_id else TopicReference("orders")
        deleting = begin(harness.broker.topics.delete([reference]))
        await harness.finish(creating)
        (selection,) = await harness.finish(deleting)
        return selection

    assert [*run(scene()).topic_ids] == ["orders"]
    assert not harness.metadata.image.topics
    assert not harness.manager.logs


def test_growth_waits_for_the_creation() -> None:
    harness = BusyHarness()

    async def scene() -> None:
        creating = begin_creation(harness, "orders")
        await harness.work()
        growing = begin(harness.broker.topics.grow([NewPartitions("orders", 3)]))
        await harness.finish(creating)
        await harness.finish(growing)

    run(scene())

    assert len(harness.metadata.image.topics["orders"].partitions) == 3


def test_name_is_reused_only_after_the_deletion_is_synced() -> None:
    harness = BusyHarness()

    async def scene() -> list[bool]:
        await harness.finish(begin_creation(harness, "orders"))
        deleting = begin(harness.broker.topics.delete([TopicReference("orders")]))
        await harness.work()
        creating = begin_creation(harness, "orders")
        await turns(9)
        was_deleted = deleting.done()
        await harness.finish(deleting)
        was_created = creating.done()
        await harness.finish(creating)
        return [was_deleted, was_created]

    assert run(scene()) == [False, False]
    assert [*harness.metadata.image.topics] == ["orders"]


def test_cancelled_creation_is_completed() -> None:
    harness = BusyHarness()

    async def scene() -> None:
        creating = begin_creation(harness, "orders")
        await harness.work()
        creating.cancel()
        with pytest.raises(asyncio.CancelledError):
            await creating
        await harness.finish(begin(harness.broker.topics.stop()))

    run(scene())

    assert not harness.metadata.image.topics["orders"].leaderless()


def test_failure_of_a_cancelled_creation_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    harness = BusyHarness()
    harness.store.refuse(KafkaStorageError("no room"))

    async def scene() -> None:
        creating = begin_creation(harness, "orders")
        await turns()
        creating.cancel()
        await harness.finish(begin(harness.broker.topics.stop()))

    run(scene())

    assert "a change of topics failed" in caplog.text


def test_creation_that_takes_too_long_is_answered_and_completed() -> None:
    harness = BusyHarness()
    new = [NewTopic(name="orders"), NewTopic(name="?")]

    async def scene() -> list[Planned]:
        topics = harness.broker.topics
        creating = begin(topics.create(new, deadline=deadline(harness, 50)))
        await harness.work()
        harness.time.advance(ms=50)
        outcomes = await creating
        await harness.finish(begin(topics.stop()))
        return outcomes

    assert [type(each) for each in run(scene())] == [RequestTimedOutError, InvalidTopicError]
    assert [*harness.metadata.image.topics] == ["orders"]


def test_growth_that_takes_too_long_is_answered_and_completed() -> None:
    harness = BusyHarness()

    async def scene() -> list[Grown]:
        topics = harness.broker.topics
        await harness.finish(begin_creation(harness, "orders"))
        wanted = [NewPartitions("orders", 2), NewPartitions("x", 2)]
        growing = begin(topics.grow(wanted, deadline=deadline(harness, 50)))
        await harness.work()
        harness.time.advance(ms=50)
        outcomes = await growing
        await harness.finish(begin(topics.stop()))
        return outcomes

    expected = [RequestTimedOutError, UnknownTopicOrPartitionError]
    assert [type(each) for each in run(scene())] == expected
    assert len(harness.metadata.image.topics["orders"].partitions) == 2


def test_deletion_that_takes_too_long_is_answered_and_completed() -> None:
    harness = BusyHarness()

    async def scene() -> TopicSelection:
        topics = harness.broker.topics
        await harness.finish(begin_creation(harness, "orders"))
        references = [TopicReference("orders"), TopicReference("x")]
        deleting = begin(topics.delete(references, deadline=deadline(harness, 50)))
        await turns()
        harness.time.advance(ms=50)
        selection = await deleting
        await harness.finish(begin(topics.stop()))
        return selection

    selection = run(scene())
    assert not selection.topic_ids
    assert [(each.name, type(error)) for each, error in selection.rejected] == [
        ("orders", RequestTimedOutError),
        ("x", UnknownTopicOrPartitionError),
    ]
    assert not harness.manager.logs


def test_request_whose_turn_comes_too_late_has_no_effect() -> None:
    harness = BusyHarness()

    async def scene() -> None:
        topics = harness.broker.topics
        first = begin_creation(harness, "orders")
        await turns()
        late = begin(topics.create([NewTopic(name="late")], deadline=deadline(harness, 50)))
        deletion = topics.delete([TopicReference("orders")], deadline=deadline(harness, 50))
        deleting = begin(deletion)
        await turns()
        harness.time.advance(ms=50)
        for each in (late, deleting):
            with pytest.raises(RequestTimedOutError):
                await each
        await harness.finish(first, begin(topics.stop()))

    run(scene())

    assert [*harness.metadata.image.topics] == ["orders"]


def test_request_without_time_has_no_effect() -> None:
    harness = BrokerHarness()
    new = [NewTopic(name="orders")]

    with pytest.raises(RequestTimedOutError):
        run(harness.broker.topics.create(new, deadline=deadline(harness, 0)))

    assert harness.store.children("/brokers/topics") == []
