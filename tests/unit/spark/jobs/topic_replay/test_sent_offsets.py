"""Source offsets of sent records."""

import pytest

from cordwood.core.errors import LogDirectoryError
from cordwood.spark.jobs.topic_replay.sent_offsets import SentOffsets, SentOffsetsFile
from cordwood.testing.memory_files import MemoryFiles


def _file(files: MemoryFiles) -> SentOffsetsFile:
    return SentOffsetsFile(files, "/d/state.0.sent")


def _files() -> MemoryFiles:
    files = MemoryFiles()
    files.make_directory("/d")
    return files


def test_records_have_the_offsets_of_the_source() -> None:
    sent = SentOffsets(10, ((5, 8), (20, 21)))

    assert [sent.offset_of(number) for number in range(10, sent.end)] == [5, 6, 7, 20]
    assert [sent.number_of(offset) for offset in (5, 7, 20, 9)] == [10, 12, 13, None]


def test_number_after_the_offsets_is_an_error() -> None:
    with pytest.raises(IndexError):
        SentOffsets(10, ((5, 8),)).offset_of(13)


def test_file_has_the_last_two_windows() -> None:
    files = _files()
    file = _file(files)
    file.begin(0, None)

    for window in ([(0, 4)], [(4, 8)], [(9, 12), (15, 16)]):
        file.write(window)

    assert _file(files).read() == SentOffsets(4, ((4, 8), (9, 12), (15, 16)))


def test_file_continues_after_the_last_record() -> None:
    files = _files()
    file = _file(files)
    file.begin(7, 99)

    file.write([(101, 103)])

    assert _file(files).read() == SentOffsets(6, ((99, 100), (101, 103)))


def test_file_that_does_not_exist_has_no_offsets() -> None:
    assert _file(_files()).read() is None


@pytest.mark.parametrize("content", ("{", "[]", '{"before": 1}', '{"before": 1, "spans": [1]}'))
def test_damaged_file_is_named(content: str) -> None:
    files = _files()
    files.create("/d/state.0.sent").append(content.encode())

    with pytest.raises(LogDirectoryError, match=r"state.0.sent: not the progress of a replay"):
        _file(files).read()
