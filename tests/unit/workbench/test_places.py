"""What a path stands for."""

import pytest

from cordwood.core.errors import LogDirectoryError
from cordwood.workbench.places import is_log_directory, places_at
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
