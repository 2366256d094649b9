"""Partitions that a path refers to."""

import pytest

from cordwood.core.errors import LogDirectoryError
from cordwood.workbench.partition_paths import find_partition_paths, find_targets, is_log_directory
from tests.unit.storage.log_samples import DIRECTORY
from tests.unit.storage.reader_samples import directory, name, put
from tests.unit.storage.segment_samples import v2

FILES = directory(log=v2(0), log_1=v2(1), index_1=b"")


def test_partition_directory_selects_its_partition() -> None:
    (place,) = find_targets(FILES, DIRECTORY)

    assert (place.reader.source.path, place.only) == (DIRECTORY, None)
    assert not is_log_directory(FILES, DIRECTORY)


def test_log_directory_selects_its_partitions() -> None:
    (place,) = find_targets(FILES, "/d")

    assert place.reader.source.path == DIRECTORY
    assert is_log_directory(FILES, "/d")


def test_segment_file_selects_its_segment() -> None:
    (place,) = find_targets(FILES, f"{DIRECTORY}/{name(1, '.index')}")

    assert (place.reader.source.path, place.only) == (DIRECTORY, 1)
    assert not is_log_directory(FILES, f"{DIRECTORY}/{name(1)}")


@pytest.mark.parametrize("file_name", ("x", name(0, ".log.deleted")))
def test_other_files_are_rejected(file_name: str) -> None:
    files = directory(log=v2(0))
    put(files, file_name, b"")

    with pytest.raises(LogDirectoryError, match="not a segment file"):
        list(find_targets(files, f"{DIRECTORY}/{file_name}"))


@pytest.mark.parametrize(
    ("asked", "expected"), (("t", ["t-0", "t-2"]), ("t-0", ["t-0"]), ("t-2", ["t-2-1"]))
)
def test_topic_selects_its_partitions_in_all_directories(asked: str, expected: list[str]) -> None:
    files = directory(log=v2(0))
    for path in ("/e", "/e/t-2", "/e/t-2-1"):
        files.make_directory(path)

    found = find_partition_paths(files, asked, log_directories=["/e", "/d"])

    assert [path.rpartition("/")[2] for path in found] == expected


def test_missing_topic_is_rejected() -> None:
    with pytest.raises(LogDirectoryError, match="has no partition of x"):
        find_partition_paths(FILES, "x", log_directories=["/d"])
