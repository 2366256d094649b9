"""Tests of new partitions: stored once, created on the worker, then published."""

import asyncio
import errno

import pytest

from cordwood.broker.metadata.metadata_image import NO_LEADER
from cordwood.broker.topics.topic_planning import NewPartitions
from cordwood.broker.topics.topic_validation import NewTopic
from cordwood.core.errors import (
    KafkaStorageError,
)
from cordwood.testing.file_faults import FileFault
from tests.unit.broker.broker_samples import BrokerHarness, run, turns
from tests.unit.broker.topic_samples import (
    BusyHarness,
    CountedMetadata,
    begin,
    begin_creation,
    create,
    directories_of,
)


def test_partition_whose_log_cannot_be_created_has_no_leader() -> None:
    harness = BrokerHarness()
    fault = FileFault(on="create", path="*/orders-1/*", code=errno.ENOSPC, times=99)
    harness.storage.files.script.add(fault)

    create(harness, NewTopic(name="orders", partitions=2))

    partitions = harness.broker.metadata.image.topics["orders"].partitions
    assert [each.leader for each in partitions] == [1, NO_LEADER]
    with pytest.raises(KafkaStorageError):
        _ = harness.broker.partitions.get("orders", 1).log
    assert any("orders-1 cannot be served" in event for event in harness.storage.events)


def test_other_tasks_run_while_many_partitions_are_created() -> None:
    harness, seen = BrokerHarness(), list[int]()

    async def scene() -> None:
        async with asyncio.TaskGroup() as group:
            new = [NewTopic(name="orders", partitions=100)]
            creating = group.create_task(harness.broker.topics.create(new))
            while not creating.done():
                await asyncio.sleep(0)
                seen.append(len(harness.manager.logs))

    run(scene())

    assert {*seen} >= {0, 20, 40, 60, 80, 100}
    assert seen.count(100) >= 5


@pytest.mark.parametrize("moment", (2, 7, 9, 11, 13))
def test_partition_whose_directory_fails_during_creation_has_no_leader(moment: int) -> None:
    harness = BrokerHarness()

    async def scene() -> None:
        async with asyncio.TaskGroup() as group:
            new = [NewTopic(name="orders", partitions=100)]
            group.create_task(harness.broker.topics.create(new))
            await turns(moment)
            harness.manager.fail(harness.manager.directories[0], OSError("gone"))

    run(scene())

    topic = harness.broker.metadata.image.topics["orders"]
    usable = [name for name in topic.names() if name in harness.manager.logs]
    assert {*topic.leaderless()} == {*topic.names()} - {*usable}
    assert len(usable) >= 50


def test_topic_has_no_leaders_when_no_directory_is_left() -> None:
    harness = BrokerHarness()
    for directory in harness.manager.directories:
        harness.manager.fail(directory, OSError("gone"))

    create(harness, NewTopic(name="orders"))

    assert harness.broker.metadata.image.topics["orders"].partitions[0].leader == NO_LEADER


def test_new_topic_is_stored_with_its_directories_by_one_change() -> None:
    store = CountedMetadata()
    harness = BrokerHarness(store=store)
    before = store.written

    create(harness, NewTopic(name="orders", partitions=3))

    assert store.written - before == 1
    assert directories_of(harness, 3) == ["/a", "/b", "/a"]


def test_directory_of_a_log_that_was_created_elsewhere_is_corrected() -> None:
    store = CountedMetadata()
    harness = BrokerHarness(store=store)
    before = store.written
    full = FileFault(on="create", path="/a/orders-0/*", code=errno.ENOSPC)
    harness.storage.files.script.add(full)

    create(harness, NewTopic(name="orders", partitions=2))

    assert store.written - before == 2
    assert directories_of(harness, 2) == ["/b", "/b"]


def test_leader_lost_while_its_topic_grows_stays_lost() -> None:
    harness = BusyHarness()

    async def scene() -> None:
        await harness.finish(begin_creation(harness, "orders"))
        growing = begin(harness.broker.topics.grow([NewPartitions("orders", 2)]))
        await harness.work()
        harness.manager.fail(harness.manager.directories[0], OSError("gone"))
        await harness.finish(growing)

    run(scene())

    topic = harness.metadata.image.topics["orders"]
    assert [each.leader for each in topic.partitions] == [NO_LEADER, 1]


def test_new_topic_takes_two_fsyncs_a_partition_and_one_a_directory() -> None:
    harness = BrokerHarness()
    syncs = harness.storage.files.script.add(FileFault(on="sync*", code=0, times=999))

    create(harness, NewTopic(name="orders", partitions=20))

    assert syncs.met == 2 * 20 + 2


def test_no_log_is_created_that_is_not_stored() -> None:
    harness = BrokerHarness()
    harness.store.refuse(KafkaStorageError("no room"))

    with pytest.raises(KafkaStorageError, match="no room"):
        create(harness, NewTopic(name="orders"))

    assert not harness.broker.metadata.image.topics
    assert not harness.manager.logs
