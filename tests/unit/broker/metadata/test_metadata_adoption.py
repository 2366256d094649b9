"""Tests of metadata at startup: opened, or adopted from log directories."""

import pytest

from cordwood.broker.config.config_resources import ALL_BROKERS
from cordwood.broker.metadata.file_metadata_store import FileMetadataStore
from cordwood.broker.metadata.metadata_adoption import AdoptionReport, open_metadata
from cordwood.broker.metadata.metadata_copies import CopyPlace
from cordwood.broker.metadata.producer_id_manager import block_after
from cordwood.broker.metadata.topic_znodes import StoredTopic, decode_topic
from cordwood.core.errors import InconsistentTopicIdError, LogDirectoryError
from cordwood.core.metadata_paths import (
    BROKER,
    GROUP,
    TOPIC,
    decode_texts,
    partition_state_path,
    topic_path,
)
from cordwood.core.partition_state import decode_state
from cordwood.core.producer_id_block import BLOCK_PATH, format_block
from cordwood.core.uuids import Uuid
from cordwood.core.znodes import CreateZNode
from cordwood.storage.checkpoints.metadata_file_format import METADATA_FILE
from cordwood.storage.checkpoints.partition_metadata_file import write_partition_metadata
from cordwood.storage.files.atomic_write import exists
from cordwood.storage.manager.log_directories import DirectoryOwner, open_directories
from cordwood.storage.manager.log_directory import LogDirectory
from cordwood.testing.file_faults import FileFault
from cordwood.testing.memory_files import MemoryFiles
from cordwood.testing.seeded_random import SeededRandom
from tests.unit.workbench.metadata_samples import (
    TOPIC_ID,
    config,
    metadata_batch,
    partition,
    partition_change,
    producers,
    topic,
    topic_gone,
)

OTHER_ID = Uuid(bytes(range(1, 17)))


class ForeignDirectories:
    """Two log directories written by another broker."""

    def __init__(self) -> None:
        self.files = MemoryFiles()
        for path in ("/a", "/b"):
            self.files.make_directory(path)
        self.files.sync_directory("/")

    def add(self, path: str, topic_id: bytes | None = TOPIC_ID) -> None:
        """Create a partition's directory."""
        self.files.make_directory(path)
        if topic_id is not None:
            write_partition_metadata(self.files, path, topic_id=Uuid(topic_id))

    def add_metadata(self, *records: bytes) -> None:
        """Write Kafka's metadata log."""
        self.files.make_directory("/a/__cluster_metadata-0")
        self.files.sync_directory("/a")
        self.add_metadata_segment(0, *records)

    def add_metadata_segment(self, base_offset: int, *records: bytes) -> None:
        """Write a later segment of Kafka's metadata log."""
        log = self.files.create(f"/a/__cluster_metadata-0/{base_offset:020}.log")
        log.append(metadata_batch(*records, at=base_offset))
        log.sync()
        self.files.sync_directory("/a/__cluster_metadata-0")

    def directories(self) -> tuple[LogDirectory, ...]:
        owner = DirectoryOwner(cluster_id="c", node_id=1, random=SeededRandom(1), on_event=str)
        return open_directories(self.files, ["/a", "/b"], owner=owner)

    def add_own_metadata(self, path: str, *nodes: CreateZNode) -> None:
        """Write a copy of our metadata."""
        FileMetadataStore.create(
            [CopyPlace(self.files, path, path)], changes=nodes, on_event=str
        ).close()

    def open(self) -> tuple[FileMetadataStore, AdoptionReport | None]:
        return open_metadata(self.directories(), node_id=1, random=SeededRandom(1), on_event=str)


def leader_epoch(store: FileMetadataStore, topic: str, number: int) -> int:
    path = partition_state_path(topic, number)
    node = store.get(path)
    assert node is not None
    return decode_state(node.data, path=path).leader_epoch


def kept(store: FileMetadataStore, name: str) -> StoredTopic:
    node = store.get(topic_path(name))
    assert node is not None
    return decode_topic(node.data, path="")


def test_new_directories_get_empty_metadata() -> None:
    foreign = ForeignDirectories()

    store, adopted = foreign.open()

    assert adopted is None
    assert store.children("/brokers/topics") == []
    assert exists(foreign.files, f"/a/{METADATA_FILE}")
    assert exists(foreign.files, f"/b/{METADATA_FILE}")


def test_metadata_are_opened_in_any_directory() -> None:
    foreign = ForeignDirectories()
    foreign.add_own_metadata("/b", CreateZNode("/x"))

    store, adopted = foreign.open()

    assert adopted is None
    assert store.children("/") == ["x"]


def test_metadata_are_not_created_while_a_failed_directory_may_have_them() -> None:
    foreign = ForeignDirectories()
    foreign.files.script.add(FileFault(on="open", path="/a/meta.properties"))

    with pytest.raises(LogDirectoryError, match="/a: cannot be used, and may have the"):
        foreign.open()


def test_topics_are_adopted_from_directories() -> None:
    foreign = ForeignDirectories()
    foreign.add("/a/orders-0")
    foreign.add("/b/orders-2", None)
    foreign.add("/b/old-0", None)

    store, adopted = foreign.open()

    assert kept(store, "orders") == (TOPIC_ID, [(1,)] * 3)
    assert len(kept(store, "old").replicas) == 1
    assert adopted is not None
    assert str(adopted) == (
        "2 topics with 4 partitions from directories; their settings are unknown, so no record of"
        " them is deleted or compacted until cleanup.policy, retention.ms and retention.bytes of"
        " each topic are set; without a log here, so they begin empty: orders-1"
    )


def test_topics_without_known_settings_keep_all_records() -> None:
    foreign = ForeignDirectories()
    foreign.add("/a/orders-0")

    store, _ = foreign.open()

    node = store.get("/config/topics/orders")
    assert node is not None
    assert decode_texts(node.data, path="") == {
        "cleanup.policy": "delete",
        "retention.bytes": "-1",
        "retention.ms": "-1",
    }


def test_directories_of_two_topics_with_one_name_are_rejected() -> None:
    foreign = ForeignDirectories()
    foreign.add("/a/orders-0")
    foreign.add("/b/orders-1", OTHER_ID)

    with pytest.raises(InconsistentTopicIdError, match="/b/orders-1"):
        foreign.open()


def test_deleted_and_stray_directories_are_not_topics() -> None:
    foreign = ForeignDirectories()
    unique = "0d6c2e8ad1454c4f9d0e5a4a3c2b1f00"
    for suffix in ("delete", "stray", "future"):
        foreign.add(f"/a/orders-0.{unique}-{suffix}")

    store, adopted = foreign.open()

    assert (store.children("/brokers/topics"), adopted) == ([], None)


def test_topics_and_settings_are_adopted_from_kafka_s_metadata() -> None:
    foreign = ForeignDirectories()
    foreign.add("/a/orders-0")
    foreign.add("/b/stray-0", OTHER_ID)
    foreign.add_metadata(
        topic("orders"),
        partition(0, 1, 2),
        partition(1, 2),
        partition_change(1, 1),
        config(TOPIC, "orders", "retention.ms", "5"),
        config(TOPIC, "orders", "message.format.version", "2.8"),
        config(BROKER, "1", "log.retention.ms", "6"),
        config(BROKER, "2", "log.retention.ms", "8"),
        config(BROKER, "", "log.retention.ms", "7"),
        config(GROUP, "billing/x", "consumer.session.timeout.ms", "50000"),
        config(GROUP, "other", "no.such", "1"),
        producers(4000),
    )

    store, adopted = foreign.open()

    assert store.children("/brokers/topics") == ["orders"]
    assert kept(store, "orders") == (TOPIC_ID, [(1,), (1,)])
    assert store.children("/config/topics") == ["orders"]
    assert store.children("/config/brokers") == ["1", "<default>"]
    assert store.children("/config/groups") == ["billing%2Fx"]
    block = store.get(BLOCK_PATH)
    assert block is not None
    assert block_after(block.data) == range(4000, 5000)
    assert adopted is not None
    assert adopted.source == "/a/__cluster_metadata-0"
    assert (adopted.elsewhere, adopted.shared) == (["orders-1"], ["orders-0"])
    assert adopted.ignored == [
        (
            "/config/topics/orders: message.format.version is ignored:"
            " Unknown topic config name: message.format.version"
        ),
        "/config/groups/other: no.such is ignored: Unknown group config name: no.such",
    ]


def test_adopted_metadata_are_opened_at_the_next_start() -> None:
    foreign = ForeignDirectories()
    foreign.add("/a/orders-0")
    directories = foreign.directories()
    open_metadata(directories, node_id=1, random=SeededRandom(1), on_event=str)[0].close()

    store, adopted = open_metadata(directories, node_id=1, random=SeededRandom(2), on_event=str)

    assert adopted is None
    assert kept(store, "orders").topic_id == TOPIC_ID


def test_topics_that_kafka_has_created_since_are_adopted_too() -> None:
    foreign = ForeignDirectories()
    foreign.add("/a/orders-0")
    foreign.open()[0].close()
    foreign.files.crash()
    foreign.add("/b/later-0", OTHER_ID)
    foreign.add("/b/unknown-0", Uuid(bytes(range(2, 18))))
    foreign.add_metadata(
        topic("orders"),
        topic("later", OTHER_ID),
        topic("gone", bytes(range(3, 19))),
        partition(0, 1, topic_id=OTHER_ID),
        config(TOPIC, "later", "retention.ms", "5"),
        config(BROKER, "", "log.retention.ms", "7"),
    )

    store, adopted = foreign.open()

    assert store.children("/brokers/topics") == ["later", "orders"]
    assert store.children("/config/topics") == ["later", "orders"]
    assert store.children("/config/brokers") == []
    assert adopted is not None
    assert (adopted.topics, adopted.partitions) == (1, 1)


def test_adopted_partition_begins_the_epoch_after_kafkas() -> None:
    foreign = ForeignDirectories()
    foreign.add("/a/orders-0")
    foreign.add_metadata(
        topic("orders"), partition(0, 1, leader_epoch=7), partition(1, 1), partition_change(0, 1)
    )

    store, _ = foreign.open()

    assert [leader_epoch(store, "orders", number) for number in (0, 1)] == [9, 1]


def test_partition_that_kafka_has_led_since_begins_the_epoch_after_kafkas() -> None:
    foreign = ForeignDirectories()
    foreign.add("/a/orders-0")
    foreign.add_metadata(topic("orders"), partition(0, 1, leader_epoch=7))
    foreign.open()[0].close()
    foreign.files.crash()
    foreign.add_metadata_segment(20, partition_change(0), partition_change(0))

    for _ in range(2):
        store, _ = foreign.open()
        assert leader_epoch(store, "orders", 0) == 10
        store.close()
        foreign.files.crash()


def test_epoch_of_another_topic_of_the_same_name_does_not_count() -> None:
    foreign = ForeignDirectories()
    foreign.add("/a/orders-0")
    foreign.add_metadata(topic("orders"), partition(0, 1, leader_epoch=7))
    foreign.open()[0].close()
    foreign.files.crash()
    foreign.add_metadata_segment(
        20,
        topic_gone(),
        topic("orders", OTHER_ID),
        partition(0, 1, topic_id=OTHER_ID, leader_epoch=30),
    )

    store, _ = foreign.open()

    assert leader_epoch(store, "orders", 0) == 8


@pytest.mark.parametrize(("end", "first"), ((9000, 9000), (3000, 6000)))
def test_producer_ids_that_kafka_has_allocated_since_are_skipped(end: int, first: int) -> None:
    foreign = ForeignDirectories()
    block = CreateZNode(BLOCK_PATH, format_block(range(5000, 6000), 1))
    foreign.add_own_metadata("/a", block)
    foreign.add_metadata(producers(end))

    store, _ = foreign.open()

    node = store.get(BLOCK_PATH)
    assert node is not None
    assert block_after(node.data).start == first


def test_only_the_metadata_file_is_written() -> None:
    foreign = ForeignDirectories()
    foreign.add("/a/orders-0", None)
    foreign.add_metadata(topic("orders"), partition(0, 1))
    directories = foreign.directories()
    before = {path: foreign.files.list(path) for path in ("/a", "/b", "/a/orders-0")}

    open_metadata(directories, node_id=1, random=SeededRandom(1), on_event=str)

    after = {path: foreign.files.list(path) for path in before}
    copies = {path: sorted([*before[path], METADATA_FILE]) for path in ("/a", "/b")}
    assert after == {**before, **copies}


def test_long_lists_are_abbreviated() -> None:
    names = [f"orders-{index}" for index in range(23)]
    adopted = AdoptionReport(
        source="x",
        topics=1,
        partitions=23,
        has_settings=True,
        elsewhere=names,
        shared=[],
        ignored=[],
    )

    assert str(adopted).endswith("orders-19 and 3 more")


def texts_of_all_brokers(foreign: ForeignDirectories) -> dict[str, str]:
    """Open the metadata with an initial text, and return the texts of all brokers."""
    store, _ = open_metadata(
        foreign.directories(),
        node_id=1,
        random=SeededRandom(1),
        initial_texts={"min.insync.replicas": "1"},
        on_event=str,
    )
    node = store.get(ALL_BROKERS.path)
    return {} if node is None else decode_texts(node.data, path="")


def test_new_metadata_have_the_initial_texts() -> None:
    assert texts_of_all_brokers(ForeignDirectories()) == {"min.insync.replicas": "1"}


def test_adopted_texts_override_the_initial_ones() -> None:
    foreign = ForeignDirectories()
    foreign.add_metadata(
        config(BROKER, "", "min.insync.replicas", "2"), config(BROKER, "", "num.io.threads", "5")
    )

    assert texts_of_all_brokers(foreign) == {"min.insync.replicas": "2", "num.io.threads": "5"}


def test_opened_metadata_are_not_given_the_initial_texts() -> None:
    foreign = ForeignDirectories()
    foreign.add_own_metadata("/b")

    assert texts_of_all_brokers(foreign) == {}
