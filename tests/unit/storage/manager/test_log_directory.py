"""A log directory is locked, read, failed and closed."""

import pytest

from cordwood.core.errors import KafkaStorageError, LogDirectoryError
from cordwood.core.types import Offset, PartitionId, TopicName, TopicPartition
from cordwood.storage.checkpoints.checkpoint_files import RECOVERY_POINTS
from cordwood.storage.checkpoints.clean_shutdown_file import CLEAN_SHUTDOWN
from cordwood.storage.checkpoints.meta_properties import MetaProperties, write_meta_properties
from cordwood.storage.files.atomic_write import read_whole
from cordwood.storage.files.file_names import DirectorySuffix
from cordwood.storage.manager.log_directory import LogDirectory
from cordwood.testing.file_faults import FileFault
from cordwood.testing.memory_files import MemoryFiles

PATH = "/var/logs"
ORDERS = TopicPartition(TopicName("orders"), PartitionId(3))
CHECKPOINTS = [
    "cleaner-offset-checkpoint",
    "log-start-offset-checkpoint",
    "recovery-point-offset-checkpoint",
    "replication-offset-checkpoint",
]


@pytest.fixture
def files() -> MemoryFiles:
    return MemoryFiles()


def test_directory_has_a_lock_and_four_checkpoints_when_it_is_new(files: MemoryFiles) -> None:
    opened = LogDirectory.open(files, PATH)

    assert files.list(PATH) == [".lock", *CHECKPOINTS]
    assert [files.stat(f"{PATH}/{name}").size for name in CHECKPOINTS] == [0, 0, 0, 0]
    assert opened.meta is None
    assert not opened.is_clean
    assert opened.partitions() == {}


def test_directory_is_the_same_when_its_name_ends_with_a_slash(files: MemoryFiles) -> None:
    opened = LogDirectory.open(files, f"{PATH}/")

    assert opened.path == PATH
    assert files.list(PATH) == [".lock", *CHECKPOINTS]


def test_directory_survives_a_crash_when_it_is_new(files: MemoryFiles) -> None:
    LogDirectory.open(files, PATH)

    files.crash()

    assert files.stat(PATH).is_directory


def test_directory_rejects_a_second_owner(files: MemoryFiles) -> None:
    first = LogDirectory.open(files, PATH)

    with pytest.raises(LogDirectoryError, match="/var/logs: is in use by another process; stop"):
        LogDirectory.open(files, PATH)
    first.close(broker_epoch=1)

    assert LogDirectory.open(files, PATH).is_online


def test_directory_can_be_opened_again_when_opening_has_failed(files: MemoryFiles) -> None:
    files.script.add(FileFault(on="create", path="*checkpoint"))
    with pytest.raises(OSError, match="Input/output error"):
        LogDirectory.open(files, PATH)

    assert LogDirectory.open(files, PATH).is_online


def test_directory_has_the_owner_of_its_meta_properties(files: MemoryFiles) -> None:
    LogDirectory.open(files, PATH).close(broker_epoch=1)
    meta = MetaProperties(cluster_id="c", node_id=1)

    write_meta_properties(files, PATH, meta=meta)

    assert LogDirectory.open(files, PATH).meta == meta


@pytest.mark.parametrize("is_loaded", (True, False))
def test_directory_is_clean_once_when_its_logs_were_closed(
    files: MemoryFiles, *, is_loaded: bool
) -> None:
    first = LogDirectory.open(files, PATH)
    first.is_loaded = is_loaded
    first.close(broker_epoch=17)

    second = LogDirectory.open(files, PATH)
    files.crash(range(len(files.pending())))

    assert second.is_clean is is_loaded
    assert not LogDirectory.open(files, PATH).is_clean


def test_directory_is_not_touched_again_when_it_has_been_closed(files: MemoryFiles) -> None:
    first = LogDirectory.open(files, PATH)
    first.is_loaded = True
    first.close(broker_epoch=1)
    LogDirectory.open(files, PATH)

    first.close(broker_epoch=1)

    assert CLEAN_SHUTDOWN not in files.list(PATH)
    with pytest.raises(KafkaStorageError, match="/var/logs has been closed"):
        first.ensure_online()


def test_directory_is_not_clean_when_it_has_failed(files: MemoryFiles) -> None:
    directory = LogDirectory.open(files, PATH)
    directory.is_loaded = True

    directory.fail(OSError(5, "first"))
    directory.fail(OSError(5, "second"))
    directory.close(broker_epoch=1)

    with pytest.raises(KafkaStorageError, match=r"/var/logs is offline: .*first"):
        directory.ensure_online()
    assert not LogDirectory.open(files, PATH).is_clean


def test_directory_reads_its_checkpoints(files: MemoryFiles) -> None:
    first = LogDirectory.open(files, PATH)
    first.ensure_online()
    first.write_checkpoint(RECOVERY_POINTS, {ORDERS: Offset(12)})
    first.close(broker_epoch=1)

    assert LogDirectory.open(files, PATH).checkpoints[RECOVERY_POINTS] == {ORDERS: 12}
    assert read_whole(files, f"{PATH}/{RECOVERY_POINTS}") == b"0\n1\norders 3 12\n"


def test_directory_reports_a_damaged_checkpoint_and_treats_it_as_empty(
    files: MemoryFiles,
) -> None:
    LogDirectory.open(files, PATH).close(broker_epoch=1)
    files.open(f"{PATH}/{RECOVERY_POINTS}", writable=True).append(b"seven\n")

    opened = LogDirectory.open(files, PATH)

    assert opened.checkpoints[RECOVERY_POINTS] == {}
    assert [error.path for error in opened.damaged] == [f"{PATH}/{RECOVERY_POINTS}"]


def test_directory_finds_partitions_and_ignores_other_files(files: MemoryFiles) -> None:
    opened = LogDirectory.open(files, PATH)
    for name in ("orders-3", "orders-3.0d6c2e8ad1454c4f9d0e5a4a3c2b1f00-delete"):
        files.make_directory(f"{PATH}/{name}")
    files.make_directory(f"{PATH}/__cluster_metadata-0")

    found = opened.partitions()

    assert [(each.partition, each.suffix) for each in found.values()] == [
        (ORDERS, DirectorySuffix.NONE),
        (ORDERS, DirectorySuffix.DELETE),
    ]


def test_directory_rejects_names_of_other_directories(files: MemoryFiles) -> None:
    opened = LogDirectory.open(files, PATH)
    files.make_directory(f"{PATH}/photographs")

    with pytest.raises(LogDirectoryError, match="'photographs' does not have the form"):
        opened.partitions()


def test_clean_directory_stays_clean_when_no_log_was_loaded(files: MemoryFiles) -> None:
    first = LogDirectory.open(files, PATH)
    first.is_loaded = True
    first.close(broker_epoch=1)

    LogDirectory.open(files, PATH).close(broker_epoch=1)

    assert LogDirectory.open(files, PATH).is_clean


def test_directory_that_could_not_be_opened_is_offline_and_has_no_lock(files: MemoryFiles) -> None:
    failed = LogDirectory.failed(files, PATH, error=OSError(5, "gone"))

    failed.close(broker_epoch=1)

    assert not failed.is_online
    assert files.list("/") == []
