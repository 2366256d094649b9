"""Paths are resolved to readers, and other paths are rejected with a remedy."""

import pytest

from cordwood.core.errors import LogDirectoryError
from cordwood.storage.checkpoints.checkpoint_files import CLEANER_OFFSETS, LOG_START_OFFSETS
from cordwood.storage.reader.partition_reader import PartitionCheckpoints
from cordwood.storage.reader.path_resolution import (
    foreign_directories,
    open_reader,
    partition_of,
    partition_paths,
    read_checkpoints_of,
)
from cordwood.testing.memory_files import MemoryFiles
from tests.unit.storage.reader_samples import name
from tests.unit.storage.segment_samples import v2


def log_directory(*partitions: str) -> MemoryFiles:
    """Return files of a log directory /d, each partition with a segment of two records."""
    files = MemoryFiles()
    files.make_directory("/d")
    for each in partitions:
        files.make_directory(f"/d/{each}")
        files.create(f"/d/{each}/{name(0)}").append(v2(0, 1))
    return files


def write(files: MemoryFiles, path: str, text: str = "") -> None:
    files.create(path).append(text.encode())


def error_text(files: MemoryFiles, path: str, *, of_directory: bool = False) -> str:
    opening = partition_paths if of_directory else open_reader
    with pytest.raises(LogDirectoryError) as refused:
        opening(files, path)
    assert refused.value.path == path
    return str(refused.value)


def test_partition_is_opened() -> None:
    files = log_directory("orders-0")

    assert open_reader(files, "/d/orders-0").offsets() == (0, 2, 0)


def test_partition_is_opened_from_a_directory_of_any_name() -> None:
    files = log_directory("copy", "orders-0.0123-delete")

    assert open_reader(files, "/d/copy").offsets() == (0, 2, 0)
    assert open_reader(files, "/d/orders-0.0123-delete").offsets() == (0, 2, 0)


@pytest.mark.parametrize("ending", (".log.swap", ".log.deleted"))
def test_partition_is_opened_when_its_only_log_has_a_suffix(ending: str) -> None:
    files = log_directory()
    files.make_directory("/d/t-0")
    write(files, f"/d/t-0/{name(0, ending)}")

    assert open_reader(files, "/d/t-0").offsets() == (0, 0, 0)


def test_checkpoints_are_read_at_every_use() -> None:
    files = log_directory("orders-0")
    found = open_reader(files, "/d/orders-0")

    before = found.offsets()
    write(files, f"/d/{LOG_START_OFFSETS}", "0\n2\norders 0 1\nother 0 7\n")
    write(files, f"/d/{CLEANER_OFFSETS}", "0\n1\norders 0 5\n")

    assert before.log_start == 0
    assert found.offsets().log_start == 1
    assert found.checkpoints() == PartitionCheckpoints(log_start=1, cleaned_to=5)


def test_checkpoints_are_empty_when_damaged_or_of_another_partition() -> None:
    files = log_directory("orders-0", "copy", "orders-0.0123-delete")
    write(files, f"/d/{LOG_START_OFFSETS}", "0\n1\norders 0 -5\n")
    write(files, f"/d/{CLEANER_OFFSETS}", "nonsense")

    for each in ("orders-0", "copy", "orders-0.0123-delete"):
        assert read_checkpoints_of(files, f"/d/{each}") == PartitionCheckpoints()


def test_error_for_a_missing_path_names_similar_ones() -> None:
    files = log_directory("orders-0", "orders-1", "x-0", "y-0", "z-0")
    files.make_directory("/empty")

    assert (
        error_text(files, "/d/order-0") == "/d/order-0: does not exist; did you mean /d/orders-0?"
    )
    assert "; /d has orders-0, orders-1, x-0 and 2 more" in error_text(files, "/d/Kunden")
    assert "; /nowhere does not exist either" in error_text(files, "/nowhere/orders-0")
    assert "; /empty is empty: check the path" in error_text(files, "/empty/a")
    assert "does not exist" in error_text(files, f"/d/orders-0/{name(0)}/x")


def test_error_for_a_file_names_its_directory() -> None:
    files = log_directory("orders-0")
    write(files, "/d/notes")

    assert error_text(files, f"/d/orders-0/{name(0)}").endswith(
        "is a file; open the directory of a partition: /d/orders-0"
    )
    assert error_text(files, "/d/notes").endswith("is a file; open the directory of a partition")
    assert "is a file; open the log dir" in error_text(files, "/d/notes", of_directory=True)


def test_error_for_a_log_directory_names_its_partitions() -> None:
    few = log_directory("orders-0", "orders-1", "lost+found")
    many = log_directory(*(f"orders-{number}" for number in range(5)))

    assert error_text(few, "/d") == (
        "/d: is a log directory, not the directory of a partition; give one of its partitions: "
        "orders-0, orders-1; in Python, cordwood.open_directory opens all"
    )
    assert "partitions: orders-0, orders-1, orders-2 and 2 more;" in error_text(many, "/d")


def test_error_for_a_directory_without_segments_names_the_missing_files() -> None:
    files = log_directory()
    assert "/d: is empty; give the directory of a partition" in error_text(files, "/d")

    write(files, "/d/notes")

    assert "has no segment in it: no file like 000" in error_text(files, "/d")


def test_partitions_are_those_that_kafka_would_load() -> None:
    files = log_directory(
        "b-0",
        "a-1",
        "__cluster_metadata-0",
        "remote-log-index-cache",
        "a-0.0123-delete",
        "a-0.0123-stray",
        "a-0.0123-future",
    )
    write(files, "/d/meta.properties")

    assert partition_paths(files, "/d") == ["/d/a-1", "/d/b-0"]


def test_partitions_are_none_in_a_log_directory_without_any() -> None:
    files = log_directory()
    write(files, "/d/meta.properties")

    assert partition_paths(files, "/d") == []


def test_log_directory_is_rejected_when_it_is_another_directory() -> None:
    files = log_directory("orders-0")
    files.make_directory("/empty")
    files.make_directory("/home")
    write(files, "/home/notes")

    assert error_text(files, "/d/orders-0", of_directory=True) == (
        "/d/orders-0: is the directory of one partition, not a log directory; "
        "open it with cordwood.open_log, or all partitions of /d"
    )
    assert "/empty: is empty; give" in error_text(files, "/empty", of_directory=True)
    assert "has neither partitions nor" in error_text(files, "/home", of_directory=True)


def test_directories_that_are_no_partitions_are_skipped_and_named() -> None:
    files = log_directory("orders-0", "lost+found", "backup", "remote-log-index-cache")

    assert partition_paths(files, "/d") == ["/d/orders-0"]
    assert foreign_directories(files, "/d") == ["backup", "lost+found"]


def test_log_directory_is_rejected_when_it_has_only_other_directories() -> None:
    files = log_directory("backup")

    with pytest.raises(LogDirectoryError, match="/d: has no partitions in it, only backup; give"):
        partition_paths(files, "/d")


def test_partition_is_that_of_the_name() -> None:
    assert str(partition_of("/d/my-orders-12")) == "my-orders-12"
    assert str(partition_of("/d/orders-1.0123-future")) == "orders-1"
    assert partition_of("/d/copy") is None
