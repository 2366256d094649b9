"""Tests of topic creation, growth and deletion."""

import asyncio
import errno

import pytest

from cordwood.broker.metadata.metadata_image import NO_LEADER
from cordwood.broker.metadata.topic_znodes import decode_topic
from cordwood.broker.topics.partition_states import directory_id_of, read_state
from cordwood.broker.topics.topic_manager import NewPartitions, PlannedTopic
from cordwood.broker.topics.topic_selection import TopicReference
from cordwood.broker.topics.topic_validation import NewTopic
from cordwood.core.errors import KafkaError, KafkaStorageError, UnknownTopicOrPartitionError
from cordwood.core.metadata_paths import partition_state_path, topic_path
from cordwood.core.partition_state import PartitionState
from cordwood.storage.manager import log_creation
from cordwood.testing.file_faults import FileFault
from tests.unit.broker.broker_samples import BrokerHarness, run, turns
from tests.unit.storage.manager_samples import partition


def create(harness: BrokerHarness, *new: NewTopic, validate_only: bool = False) -> list[str]:
    """Create topics; return their names or the error messages."""
    outcomes = run(harness.broker.topics.create(new, validate_only=validate_only))
    return [
        each.image.name if isinstance(each, PlannedTopic) else type(each).__name__
        for each in outcomes
    ]


def test_created_topic_is_stored_created_on_disk_and_published() -> None:
    harness = BrokerHarness()

    create(harness, NewTopic(name="orders", partitions=2, configs=[("retention.ms", "5")]))

    topic = harness.broker.metadata.image.topics["orders"]
    node = harness.store.get(topic_path("orders"))
    assert node is not None
    assert decode_topic(node.data, path="") == (topic.topic_id, [(1,), (1,)])
    assert harness.store.children("/config/topics") == ["orders"]
    assert [harness.broker.partitions.get("orders", each).topic_id for each in (0, 1)] == [
        topic.topic_id,
        topic.topic_id,
    ]
    assert harness.manager.topic_id(partition(1)) == topic.topic_id
    assert harness.broker.configs.config_for("orders").retention_ms == 5


def test_states_of_new_partitions_are_stored_with_their_directories() -> None:
    harness = BrokerHarness()
    create(harness, NewTopic(name="orders", partitions=2))
    run(harness.broker.topics.grow([NewPartitions("orders", 3)]))

    states = [read_state(harness.store, partition(each)) for each in range(3)]

    assert states == [
        PartitionState(1, 0, (1,), directory_id_of(harness.manager, log))
        for log in (harness.manager.logs[partition(each)] for each in range(3))
    ]
    assert all(state is not None and state.directory is not None for state in states)


def test_states_of_deleted_topics_are_removed() -> None:
    harness = BrokerHarness()
    create(harness, NewTopic(name="orders", partitions=2))

    run(harness.broker.topics.delete([TopicReference("orders")]))

    assert harness.store.children("/brokers/topics") == []
    assert harness.store.get(partition_state_path("orders", 0)) is None


def test_topic_without_settings_has_no_node_for_them() -> None:
    harness = BrokerHarness()

    create(harness, NewTopic(name="orders"))

    assert harness.store.children("/config/topics") == []


def test_topics_are_checked_each_for_itself() -> None:
    harness = BrokerHarness()
    create(harness, NewTopic(name="a.b"))

    outcomes = create(
        harness,
        NewTopic(name="a_b"),
        NewTopic(name="c_d"),
        NewTopic(name="e", configs=[("no.such", "1")]),
        NewTopic(name="f", replication_factor=2),
    )

    assert outcomes == [
        "InvalidTopicError",
        "c_d",
        "InvalidConfigError",
        "InvalidReplicationFactorError",
    ]
    assert [*harness.broker.metadata.image.topics] == ["a.b", "c_d"]


def test_validate_only_creates_no_topic() -> None:
    harness = BrokerHarness()

    assert create(harness, NewTopic(name="orders"), validate_only=True) == ["orders"]

    assert harness.store.children("/brokers/topics") == []
    assert not harness.manager.logs


def test_no_log_is_created_that_is_not_stored() -> None:
    harness = BrokerHarness()
    harness.store.refuse(KafkaStorageError("no room"))

    with pytest.raises(KafkaStorageError, match="no room"):
        create(harness, NewTopic(name="orders"))

    assert not harness.broker.metadata.image.topics
    assert not harness.manager.logs


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


def test_log_is_created_once_the_disk_allows_it() -> None:
    harness = BrokerHarness()
    fault = FileFault(on="create", path="*/orders-1/*", code=errno.ENOSPC, times=99)
    harness.storage.files.script.add(fault)
    create(harness, NewTopic(name="orders", partitions=2))
    run(harness.broker.topics.retry())
    refused = harness.broker.metadata.image.topics["orders"]

    harness.storage.files.script.reset()
    run(harness.broker.topics.retry())

    assert refused.leaderless() == [partition(1)]
    assert not harness.broker.metadata.image.topics["orders"].leaderless()
    assert harness.broker.partitions.get("orders", 1).log.bounds.log_end == 0


def test_retry_creates_logs_until_one_fails() -> None:
    harness = BrokerHarness()
    full = FileFault(on="create", path="*/orders-*", code=errno.ENOSPC, times=999)
    harness.storage.files.script.add(full)
    create(harness, NewTopic(name="orders", partitions=60))
    harness.storage.files.script.reset()
    harness.storage.files.script.add(
        FileFault(on="create", path="*/orders-30/*", code=errno.ENOSPC, times=99)
    )

    run(harness.broker.topics.retry())

    leaderless = harness.broker.metadata.image.topics["orders"].leaderless()
    assert leaderless == [partition(30), *map(partition, range(40, 60))]


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


def test_partitions_of_a_failed_directory_are_not_created_elsewhere() -> None:
    harness = BrokerHarness()
    create(harness, NewTopic(name="orders", partitions=2))
    harness.manager.fail(harness.manager.directories[0], OSError("gone"))
    before = harness.broker.metadata.image

    run(harness.broker.topics.retry())

    assert harness.broker.metadata.image is before


def test_topic_has_no_leaders_when_no_directory_is_left() -> None:
    harness = BrokerHarness()
    for directory in harness.manager.directories:
        harness.manager.fail(directory, OSError("gone"))

    create(harness, NewTopic(name="orders"))

    assert harness.broker.metadata.image.topics["orders"].partitions[0].leader == NO_LEADER


def test_partitions_of_a_directory_that_fails_have_no_leader() -> None:
    harness = BrokerHarness()
    create(harness, NewTopic(name="orders", partitions=2), NewTopic(name="other"))

    harness.manager.fail(harness.manager.directories[0], OSError("gone"))

    topics = harness.broker.metadata.image.topics
    leaders = [each.leader for topic in topics.values() for each in topic.partitions]
    assert sorted(leaders) == [NO_LEADER, NO_LEADER, 1]


def test_logs_of_no_topic_are_lost_without_a_word() -> None:
    harness = BrokerHarness()
    log_creation.create(harness.manager, partition(0), topic_id=None)
    before = harness.metadata.image

    harness.manager.fail(harness.manager.directories[0], OSError("gone"))

    assert harness.metadata.image is before


def test_missing_topics_are_created_with_the_settings() -> None:
    harness = BrokerHarness(given={"num.partitions": "3", "offsets.topic.num.partitions": "4"})

    run(harness.broker.topics.create_missing(["orders", "__consumer_offsets"]))

    topics = harness.broker.metadata.image.topics
    assert {name: len(topic.partitions) for name, topic in topics.items()} == {
        "orders": 3,
        "__consumer_offsets": 4,
    }
    assert harness.broker.configs.config_for("__consumer_offsets").is_compacted


def test_topic_gets_more_partitions() -> None:
    harness = BrokerHarness()
    create(harness, NewTopic(name="orders", partitions=1))
    before = harness.broker.metadata.image.topics["orders"]

    run(harness.broker.topics.grow([NewPartitions("orders", 3)]))

    topic = harness.broker.metadata.image.topics["orders"]
    assert (topic.topic_id, len(topic.partitions)) == (before.topic_id, 3)
    assert harness.broker.partitions.get("orders", 2).log.partition == partition(2)
    node = harness.store.get(topic_path("orders"))
    assert node is not None
    assert len(decode_topic(node.data, path="").replicas) == 3


def test_topic_grows_only_if_valid_and_not_validate_only() -> None:
    harness = BrokerHarness()
    create(harness, NewTopic(name="orders", partitions=2))
    wanted = [NewPartitions("orders", 2), NewPartitions("x", 2)]

    refused = run(harness.broker.topics.grow(wanted))
    run(harness.broker.topics.grow([NewPartitions("orders", 5)], validate_only=True))

    assert [each.code for each in refused if isinstance(each, KafkaError)] == [37, 3]
    assert len(harness.broker.metadata.image.topics["orders"].partitions) == 2


def test_empty_selection_deletes_no_topic() -> None:
    harness = BrokerHarness()
    before = harness.metadata.image

    run(harness.broker.topics.delete([TopicReference("x")]))

    assert harness.metadata.image is before


def test_deleted_topic_frees_its_name_immediately_and_its_files_later() -> None:
    harness = BrokerHarness()
    create(harness, NewTopic(name="orders", configs=[("retention.ms", "5")]))

    selection = run(harness.broker.topics.delete([TopicReference("orders"), TopicReference("x")]))

    assert [*selection.topic_ids] == ["orders"]
    assert [said for said, _ in selection.rejected] == [TopicReference("x")]
    assert (
        harness.store.children("/brokers/topics") == harness.store.children("/config/topics") == []
    )
    with pytest.raises(UnknownTopicOrPartitionError):
        harness.broker.partitions.get("orders", 0)
    assert len(harness.storage.names("/a", ending="-delete")) == 1
    harness.storage.clock.advance(ms=60_000)
    assert harness.storage.names("/a") == []


def test_topic_may_be_recreated_immediately_after_its_deletion() -> None:
    harness = BrokerHarness()
    create(harness, NewTopic(name="orders", configs=[("retention.ms", "5")]))
    before = harness.broker.metadata.image.topics["orders"]

    run(harness.broker.topics.delete([TopicReference("orders")]))
    create(harness, NewTopic(name="orders"))

    topic = harness.broker.metadata.image.topics["orders"]
    assert topic.topic_id != before.topic_id
    assert harness.broker.partitions.get("orders", 0).topic_id == topic.topic_id
    assert harness.broker.configs.config_for("orders").retention_ms != 5


def test_topic_is_deleted_even_if_its_files_cannot_be_moved() -> None:
    harness = BrokerHarness()
    create(harness, NewTopic(name="orders"))
    harness.storage.files.script.add(FileFault(on="rename", code=errno.ENOSPC))

    run(harness.broker.topics.delete([TopicReference("orders")]))

    assert not harness.broker.metadata.image.topics
    assert any("its files remain" in event for event in harness.storage.events)
