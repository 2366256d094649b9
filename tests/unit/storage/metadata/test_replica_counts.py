"""Replica counts in the metadata of a log directory."""

import json

import pytest

from cordwood.core.metadata_paths import topic_path
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.core.uuids import Uuid, format_uuid
from cordwood.core.znodes import ZNode
from cordwood.storage.checkpoints.metadata_file_format import METADATA_FILE, encode_line
from cordwood.storage.metadata.replica_counts import read_replica_counts
from cordwood.testing.memory_files import MemoryFiles
from tests.unit.workbench.metadata_samples import (
    TOPIC_ID,
    metadata_batch,
    partition,
    partition_change,
    topic,
)
from tests.unit.workbench.test_topic_settings_lookup import FOLDER, LOG, directory

T0 = TopicPartition(TopicName("t"), PartitionId(0))


def _own(replicas: str) -> bytes:
    node = {"version": 3, "topic_id": format_uuid(Uuid(TOPIC_ID)), "partitions": {"0": replicas}}
    line = encode_line({topic_path("t"): ZNode(json.dumps(node).encode())})
    return b"cordwood.metadata 1\n" + line


def test_own_metadata_have_the_replicas_of_a_topic() -> None:
    counts = read_replica_counts(directory({}, {METADATA_FILE: _own("12")}), FOLDER)

    assert counts(T0, None) == 2
    assert counts(T0._replace(partition=PartitionId(1)), None) is None
    assert counts(T0._replace(topic=TopicName("u")), None) is None


def test_kafkas_metadata_have_the_replicas_of_a_topic() -> None:
    records = metadata_batch(topic("t"), partition(0, 1, 2), partition(1, 1))
    counts = read_replica_counts(directory({LOG: records}), FOLDER)

    assert counts(T0, None) == 2
    assert counts(T0._replace(partition=PartitionId(1)), Uuid(TOPIC_ID)) == 1


def test_moved_partition_has_its_new_replicas() -> None:
    records = metadata_batch(topic("t"), partition(0, 1), partition_change(0, 2, 3, 4))

    assert read_replica_counts(directory({LOG: records}), FOLDER)(T0, None) == 3


@pytest.mark.parametrize(
    "files",
    (
        directory({LOG: metadata_batch(topic("t"), partition(0, 1))}),
        directory({}, {METADATA_FILE: _own("1")}),
    ),
)
def test_topic_with_another_id_has_no_count(files: MemoryFiles) -> None:
    assert read_replica_counts(files, FOLDER)(T0, Uuid(bytes(16))) is None


def test_damaged_or_missing_metadata_have_no_counts() -> None:
    damaged = directory({}, {METADATA_FILE: b"x"})

    assert read_replica_counts(damaged, FOLDER)(T0, None) is None
    assert read_replica_counts(directory({}), FOLDER)(T0, None) is None
