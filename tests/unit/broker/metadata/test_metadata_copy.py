"""A copy of the metadata is extended by synced lines, and replaced atomically."""

import pytest

from cordwood.broker.metadata.metadata_copies import CopyPlace
from cordwood.broker.metadata.metadata_copy import MetadataCopy
from cordwood.storage.files.atomic_write import read_whole, write_atomically
from cordwood.testing.memory_files import MemoryFiles

PLACE = CopyPlace(MemoryFiles(), "", "a")


@pytest.fixture
def files() -> MemoryFiles:
    files = MemoryFiles()
    write_atomically(files, PLACE.path, data=b"old\n")
    return files


def copy_in(files: MemoryFiles) -> MetadataCopy:
    return MetadataCopy(PLACE._replace(files=files))


def test_synced_line_survives_a_crash(files: MemoryFiles) -> None:
    copy = copy_in(files)

    copy.append(b"new\n")
    copy.sync()
    files.crash()

    assert read_whole(files, PLACE.path) == b"old\nnew\n"


def test_rest_of_an_incomplete_line_is_truncated(files: MemoryFiles) -> None:
    copy = copy_in(files)
    copy.append(b"ne")

    copy.truncate_to(4)
    files.crash()

    assert read_whole(files, PLACE.path) == b"old\n"


def test_prepared_file_replaces_the_old_one(files: MemoryFiles) -> None:
    copy = copy_in(files)
    copy.append(b"new\n")
    copy.prepare(b"other\n")
    before = read_whole(files, PLACE.path)

    copy.replace()
    copy.append(b"more\n")
    copy.sync()
    files.crash()

    assert before == b"old\nnew\n"
    assert read_whole(files, PLACE.path) == b"other\nmore\n"
