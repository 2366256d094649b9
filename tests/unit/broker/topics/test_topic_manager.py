"""Tests of topic creation, growth and deletion."""

import errno
import threading

import pytest

from cordwood.broker.hosting.partition_states import directory_id_of, read_state
from cordwood.broker.metadata.metadata_image import NO_LEADER
from cordwood.broker.metadata.topic_znodes import decode_topic
from cordwood.broker.topics.topic_planning import NewPartitions
from cordwood.broker.topics.topic_selection import TopicReference
from cordwood.broker.topics.topic_validation import NewTopic
from cordwood.core.errors import (
    KafkaError,
    UnknownTopicOrPartitionError,
)
from cordwood.core.metadata_paths import partition_state_path, topic_path
from cordwood.core.partition_state import PartitionState
from cordwood.core.system import ThreadWorker
from cordwood.storage.manager import log_creation
from cordwood.testing.file_faults import FaultScript, FileFault
from cordwood.testing.virtual_clock import VirtualClock
from tests.unit.broker.broker_samples import BrokerHarness, run
from tests.unit.broker.topic_samples import (
    create,
)
from tests.unit.storage.manager_samples import partition


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


class ThreadOfSyncs(FaultScript):
    """A script without faults that notes which fsyncs run on the test's thread."""

    def __init__(self, clock: VirtualClock) -> None:
        super().__init__(clock)
        self.here: list[str] = []
        self.elsewhere: list[str] = []
        self._thread = threading.get_ident()

    def begin(self, call: str, path: str, *, changes: bool = False) -> FileFault | None:
        if call in {"sync", "sync_directory"}:
            is_here = threading.get_ident() == self._thread
            (self.here if is_here else self.elsewhere).append(path)
        return super().begin(call, path, changes=changes)


def test_topics_are_changed_without_an_fsync_on_the_loop() -> None:
    worker = ThreadWorker()
    harness = BrokerHarness(worker=worker)
    script = harness.storage.files.script = ThreadOfSyncs(harness.storage.clock)

    create(harness, NewTopic(name="orders", partitions=8))
    run(harness.broker.topics.grow([NewPartitions("orders", 16)]))
    script.elsewhere.clear()
    run(harness.broker.topics.delete([TopicReference("orders")]))
    worker.close()

    assert script.here == []
    assert sorted(script.elsewhere) == ["/a", "/b"]


def test_directory_that_cannot_be_synced_after_a_deletion_is_offline() -> None:
    harness = BrokerHarness()
    create(harness, NewTopic(name="orders"), NewTopic(name="other"))
    harness.storage.files.script.add(FileFault(on="sync_directory", path="/a"))

    run(harness.broker.topics.delete([TopicReference("orders")]))
    create(harness, NewTopic(name="orders"))

    assert [each.is_online for each in harness.manager.directories] == [False, True]
    assert harness.metadata.image.topics["orders"].leaderless() == [partition(0)]
