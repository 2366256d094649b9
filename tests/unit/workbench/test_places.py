"""What a path stands for."""

import pytest

from cordwood.core.errors import LogDirectoryError
from cordwood.workbench.places import is_log_directory, paths_of, places_at
from tests.unit.storage.log_samples import DIRECTORY
from tests.unit.storage.reader_samples import directory, name, put
from tests.unit.storage.segment_samples import v2

FILES = directory(log=v2(0), log_1=v2(1), index_1=b"")


def test_partition_stands_for_itself() -> None:
    (place,) = places_at(FILES, DIRECTORY)

    assert (place.reader.source.path, place.only) == (DIRECTORY, None)
    assert not is_log_directory(FILES, DIRECTORY)


def test_log_directory_stands_for_its_partitions() -> None:
    (place,) = places_at(FILES, "/d")

    assert place.reader.source.path == DIRECTORY
    assert is_log_directory(FILES, "/d")


def test_file_stands_for_its_segment() -> None:
    (place,) = places_at(FILES, f"{DIRECTORY}/{name(1, '.index')}")

    assert (place.reader.source.path, place.only) == (DIRECTORY, 1)
    assert not is_log_directory(FILES, f"{DIRECTORY}/{name(1)}")


@pytest.mark.parametrize("file_name", ("x", name(0, ".log.deleted")))
def test_other_files_are_refused(file_name: str) -> None:
    files = directory(log=v2(0))
    put(files, file_name, b"")

    with pytest.raises(LogDirectoryError, match="no file of a segment"):
        list(places_at(files, f"{DIRECTORY}/{file_name}"))


@pytest.mark.parametrize(
    ("asked", "expected"), (("t", ["t-0", "t-2"]), ("t-0", ["t-0"]), ("t-2", ["t-2-1"]))
)
def test_topic_stands_for_its_partitions_in_all_directories(
    asked: str, expected: list[str]
) -> None:
    files = directory(log=v2(0))
    for path in ("/e", "/e/t-2", "/e/t-2-1"):
        files.make_directory(path)

    found = paths_of(files, asked, log_directories=["/e", "/d"])

    assert [path.rpartition("/")[2] for path in found] == expected


def test_topic_that_is_not_there_is_refused() -> None:
    with pytest.raises(LogDirectoryError, match="has no partition of x"):
        paths_of(FILES, "x", log_directories=["/d"])
