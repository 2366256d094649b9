"""Topic ids of the partitions of a log directory."""

import pytest

from cordwood.core.ports import FileStat
from cordwood.core.uuids import Uuid, format_uuid
from cordwood.storage.checkpoints.partition_metadata_file import (
    PARTITION_METADATA,
    write_partition_metadata,
)
from cordwood.storage.metadata.metadata_lookup import METADATA_LOG
from cordwood.testing.memory_files import MemoryFiles
from cordwood.workbench.verify.topic_id_checks import check_topic_ids
from cordwood.workbench.verify.verify import verify
from tests.unit.storage.reader_samples import name
from tests.unit.workbench.metadata_samples import TOPIC_ID, metadata_batch, topic

OLD, NEW = Uuid(b"old " * 4), Uuid(b"new " * 4)


def with_ids(files: MemoryFiles, **ids: Uuid | None) -> MemoryFiles:
    files.make_directory("/d")
    for partition, topic_id in ids.items():
        path = f"/d/{partition.replace('_', '-')}"
        files.make_directory(path)
        files.create(f"{path}/{name(0)}")
        if topic_id is not None:
            write_partition_metadata(files, path, topic_id=topic_id)
    return files


def test_partitions_of_a_topic_with_several_ids_are_damage() -> None:
    files = with_ids(MemoryFiles(), t_0=OLD, t_1=NEW, t_2=NEW, u_0=OLD)

    (found,) = verify(files, ["/d"]).damages

    assert (found.path, found.cause) == ("/d", "partitions of topic t have 2 topic ids")
    assert found.found == "b2xkIG9sZCBvbGQgb2xkIA of t-0; bmV3IG5ldyBuZXcgbmV3IA of t-1, t-2"


@pytest.mark.parametrize("other", (OLD, None))
def test_partitions_with_one_id_or_none_are_valid(other: Uuid | None) -> None:
    assert check_topic_ids(with_ids(MemoryFiles(), t_0=OLD, t_1=other), "/d") == ()


def test_unreadable_topic_id_is_a_finding_of_its_partition_only() -> None:
    files = with_ids(MemoryFiles(), t_0=OLD, t_1=None)
    files.create(f"/d/t-1/{PARTITION_METADATA}").append(b"x")

    assert [each.path for each in verify(files, ["/d"]).damages] == [f"/d/t-1/{PARTITION_METADATA}"]


class RecreatedTopic(MemoryFiles):
    """Files in which the other partition has the new id after the directory was listed twice."""

    looks = 0

    def stat(self, path: str) -> FileStat:
        if path == "/d":
            self.looks += 1
            if self.looks == 2:
                write_partition_metadata(self, "/d/t-0", topic_id=NEW)
        return super().stat(path)


def test_topic_recreated_during_verification_is_valid() -> None:
    assert check_topic_ids(with_ids(RecreatedTopic(), t_0=OLD, t_1=NEW), "/d") == ()


def test_partition_with_another_id_than_the_metadata_is_damage() -> None:
    files = with_ids(MemoryFiles(), t_0=OLD, u_0=Uuid(TOPIC_ID), v_0=OLD)
    files.make_directory(f"/d/{METADATA_LOG}")
    log = files.create(f"/d/{METADATA_LOG}/{name(0)}")
    log.append(metadata_batch(topic("t"), topic("u")))

    (found,) = check_topic_ids(files, "/d")

    cause = f"partitions of topic t have another topic id than /d/{METADATA_LOG}"
    assert (found.path, found.cause) == ("/d", cause)
    assert (found.expected, found.found) == (
        format_uuid(Uuid(TOPIC_ID)),
        f"{format_uuid(OLD)} of t-0",
    )
