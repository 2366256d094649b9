"""A log directory gets the files that Apache Kafka needs to start on it."""

import json

import pytest

from cordwood.core.errors import (
    InconsistentTopicIdError,
    InvalidTopicError,
    LogDirectoryError,
    SettingError,
)
from cordwood.core.metadata_paths import BROKER, GROUP, TOPIC, config_path, encode_texts
from cordwood.core.partition_state import PartitionState, state_nodes
from cordwood.core.ports import Ports
from cordwood.core.producer_id_block import BLOCK_PATH, format_block
from cordwood.core.types import TimestampMs
from cordwood.core.uuids import Uuid
from cordwood.core.znodes import ZNode
from cordwood.records.batch_stream import batches
from cordwood.records.record_batch import RecordBatch
from cordwood.storage.checkpoints.meta_properties import read_meta_properties
from cordwood.storage.checkpoints.metadata_file_format import encode_line
from cordwood.storage.checkpoints.partition_metadata_file import (
    read_partition_metadata,
    write_partition_metadata,
)
from cordwood.storage.files.atomic_write import read_whole
from cordwood.storage.metadata.cluster_metadata_log import ClusterMetadata
from cordwood.storage.producers.producer_snapshot import encode_snapshot
from cordwood.storage.producers.producer_state_entry import ProducerStateEntry
from cordwood.testing.memory_files import MemoryFiles
from cordwood.testing.seeded_random import SeededRandom
from cordwood.testing.virtual_clock import VirtualClock
from cordwood.workbench.adopt import BOOTSTRAP, AdoptOptions, AdoptReport, adopt
from tests.unit.workbench.salvage_samples import batch

T = Uuid(b"t" * 16)


def directory(*partitions: str) -> MemoryFiles:
    files = MemoryFiles()
    files.make_directory("/logs")
    for name in partitions:
        files.make_directory(f"/logs/{name}")
        files.create(f"/logs/{name}/00000000000000000000.log").append(batch())
    return files


def run(files: MemoryFiles, options: AdoptOptions | None = None) -> AdoptReport:
    ports = Ports(files=files, clock=VirtualClock(TimestampMs(5)), random=SeededRandom(1))
    return adopt(ports, "/logs", options=options or AdoptOptions())


def test_new_directory_gets_everything() -> None:
    files = directory("t-0", "t-1", "u-0")

    report = run(
        files, AdoptOptions(node_id=4, cluster_id="c", configs={"t": {"retention.ms": "7"}})
    )

    assert (report.topics, report.missing) == ({"t": 2, "u": 1}, ())
    meta = read_meta_properties(files, "/logs")
    assert meta is not None
    assert (meta.version, meta.cluster_id, meta.node_id) == (1, "c", 4)
    first, second = (read_partition_metadata(files, f"/logs/t-{number}") for number in (0, 1))
    assert first is not None
    assert first == second != read_partition_metadata(files, "/logs/u-0")
    assert bytes(first) in read_whole(files, f"/logs/{BOOTSTRAP}")
    assert b"retention.ms\x027" in read_whole(files, f"/logs/{BOOTSTRAP}")


def test_existing_ids_are_kept() -> None:
    files = directory("t-0", "t-1")
    write_partition_metadata(files, "/logs/t-1", topic_id=T)
    files.create("/logs/meta.properties").append(b"cluster.id=mine\nbroker.id=9\n")
    files.create("/logs/t-0/leader-epoch-checkpoint").append(b"0\n1\n3 0\n")

    report = run(files)

    assert (report.cluster_id, report.node_id) == ("mine", 9)
    assert read_partition_metadata(files, "/logs/t-0") == T
    assert bytes((0, 0, 0, 3)) in read_whole(files, f"/logs/{BOOTSTRAP}")


@pytest.mark.parametrize(
    ("options", "words"),
    (
        (AdoptOptions(node_id=5), "another node-id .given 5, found 9.*leave --node-id out"),
        (AdoptOptions(cluster_id="c"), "another cluster-id .given c, found mine"),
    ),
)
def test_other_id_than_the_existing_one_is_rejected(options: AdoptOptions, words: str) -> None:
    files = directory("t-0")
    files.create("/logs/meta.properties").append(b"cluster.id=mine\nbroker.id=9\n")

    with pytest.raises(SettingError, match=words):
        run(files, options)

    assert BOOTSTRAP not in files.list("/logs")


def test_leader_epoch_without_a_record_is_kept() -> None:
    files = directory("t-0")
    files.create("/logs/t-0/leader-epoch-checkpoint").append(b"0\n1\n3 0\n")
    state = PartitionState(1, 11, (1,))
    nodes = {node.path: ZNode(node.data) for node in state_nodes("t", [state])}
    files.create("/logs/cordwood.metadata").append(b"cordwood.metadata 1\n" + encode_line(nodes))

    run(files)

    assert bytes((0, 0, 0, 11)) in read_whole(files, f"/logs/{BOOTSTRAP}")


def allocated(files: MemoryFiles) -> int:
    """Return the next producer id in the checkpoint, 0 without one."""
    metadata = ClusterMetadata()
    for each in batches(read_whole(files, f"/logs/{BOOTSTRAP}")):
        assert isinstance(each, RecordBatch)
        if not each.is_control:
            metadata.apply_all(record.value for record in each.records())
    return metadata.next_producer_id


def add_producer(files: MemoryFiles, offset: int, producer_id: int) -> None:
    """Write a producer snapshot of partition t-0."""
    state = ProducerStateEntry(producer_id, 0, (), -1, 5, -1)
    files.create(f"/logs/t-0/{offset:020}.snapshot").append(encode_snapshot([state]))


@pytest.mark.parametrize(("in_log", "expected"), ((4, 5000), (7000, 7001)))
def test_kafka_hands_out_no_producer_id_that_was_handed_out_before(
    in_log: int, expected: int
) -> None:
    files = directory("t-0", "t-1")
    add_producer(files, 3, 9999)
    add_producer(files, 7, in_log)
    nodes = {BLOCK_PATH: ZNode(format_block(range(4000, 5000), 1))}
    files.create("/logs/cordwood.metadata").append(b"cordwood.metadata 1\n" + encode_line(nodes))

    run(files)

    assert allocated(files) == expected


def test_producer_snapshot_that_is_damaged_is_ignored() -> None:
    files = directory("t-0")
    files.create("/logs/t-0/00000000000000000003.snapshot").append(b"x")

    run(files)

    assert allocated(files) == 0


def test_options_override_topic_settings_of_the_metadata() -> None:
    files = directory("t-0")
    kept = encode_texts({"retention.ms": "7", "segment.ms": "8"})
    nodes = {config_path(TOPIC, "t"): ZNode(kept)}
    files.create("/logs/cordwood.metadata").append(b"cordwood.metadata 1\n" + encode_line(nodes))

    run(files, AdoptOptions(configs={"t": {"retention.ms": "9"}}))

    data = read_whole(files, f"/logs/{BOOTSTRAP}")
    assert b"retention.ms\x029" in data
    assert b"segment.ms\x028" in data
    assert b"retention.ms\x027" not in data


def test_broker_settings_of_the_metadata_are_kept() -> None:
    files = directory("t-0")
    nodes = {
        config_path(BROKER, name): ZNode(encode_texts({key: "7"}))
        for name, key in (("", "log.retention.ms"), ("1", "log.segment.bytes"), ("2", "not.ours"))
    }
    files.create("/logs/cordwood.metadata").append(b"cordwood.metadata 1\n" + encode_line(nodes))

    run(files, AdoptOptions(node_id=1))

    data = read_whole(files, f"/logs/{BOOTSTRAP}")
    assert b"\x04\x01\x11log.retention.ms\x027" in data
    assert b"\x04\x021\x12log.segment.bytes\x027" in data
    assert b"not.ours" not in data


def test_settings_of_groups_are_kept() -> None:
    files = directory("t-0")
    nodes = {config_path(GROUP, "a/b"): ZNode(encode_texts({"consumer.session.timeout.ms": "5"}))}
    files.create("/logs/cordwood.metadata").append(b"cordwood.metadata 1\n" + encode_line(nodes))

    run(files, AdoptOptions(node_id=1))

    assert b"\x20\x04a/b\x1cconsumer.session.timeout.ms\x025" in read_whole(
        files, f"/logs/{BOOTSTRAP}"
    )


def test_partitions_without_a_log_are_reported() -> None:
    assert run(directory("t-2")).missing == ("t-0", "t-1")


def test_partitions_of_one_topic_have_one_id() -> None:
    files = directory("t-0", "t-1")
    write_partition_metadata(files, "/logs/t-0", topic_id=T)
    write_partition_metadata(files, "/logs/t-1", topic_id=Uuid(b"u" * 16))

    with pytest.raises(InconsistentTopicIdError):
        run(files)


@pytest.mark.parametrize("name", ("__cluster_metadata-0", BOOTSTRAP))
def test_directory_with_metadata_of_kafka_is_rejected(name: str) -> None:
    files = directory("t-0")
    make = files.create if name == BOOTSTRAP else files.make_directory
    make(f"/logs/{name}")

    with pytest.raises(LogDirectoryError, match="already"):
        run(files)
    assert "meta.properties" not in files.list("/logs")


def test_old_metadata_of_kafka_have_to_be_moved_away_after_a_broker_of_cordwood() -> None:
    """Kafka would begin with its own leader epochs, below those that clients have seen."""
    files = directory("t-0")
    files.create(f"/logs/{BOOTSTRAP}")
    files.make_directory("/logs/__cluster_metadata-0")
    files.create("/logs/cordwood.metadata")

    with pytest.raises(LogDirectoryError) as raised:
        run(files)

    assert f"move __cluster_metadata-0 and {BOOTSTRAP} away and adopt again" in str(raised.value)


def test_directory_in_use_is_rejected() -> None:
    files = directory("t-0")
    files.lock("/logs/.lock")

    with pytest.raises(LogDirectoryError, match="in use"):
        run(files)


@pytest.mark.parametrize(
    ("topic", "key", "value"),
    (
        ("v", "retention.ms", "1"),
        ("t", "retention.mss", "1"),
        ("t", "log.retention.ms", "1"),
        ("t", "retention.ms", "x"),
    ),
)
def test_invalid_topic_setting_is_rejected(topic: str, key: str, value: str) -> None:
    with pytest.raises(SettingError):
        run(directory("t-0"), AdoptOptions(configs={topic: {key: value}}))


def test_invalid_topic_name_is_rejected() -> None:
    files = directory("t-0", "ü-0")

    with pytest.raises(InvalidTopicError):
        run(files)

    assert files.list("/logs") == ["t-0", "ü-0"]


def test_report_reads_as_json() -> None:
    assert json.loads(run(directory("t-0")).to_json())["topics"] == {"t": 1}
