"""Segments are converted independently: in any order, by any process, even twice."""

import pytest

from cordwood.core.errors import LogDirectoryError
from cordwood.records.compression import Codec
from cordwood.storage.checkpoints.checkpoint_files import LOG_START_OFFSETS
from cordwood.storage.reader.path_resolution import reader_of
from cordwood.testing.memory_files import MemoryFiles
from cordwood.testing.seeded_random import SeededRandom
from cordwood.workbench.convert.batch_converter import ConvertOptions
from cordwood.workbench.convert.convert import WORK, convert, open_conversion
from cordwood.workbench.convert.segment_converter import (
    SegmentTask,
    convert_segments,
    is_converted,
)
from cordwood.workbench.file_window import ignore_bytes
from tests.unit.storage.log_samples import headers_of
from tests.unit.workbench.convert_samples import log_directory

WANTED = ConvertOptions(codec=Codec.SNAPPY)
FOLDER = f"/new/{WORK}/t-0"


def tasks(files: MemoryFiles) -> list[SegmentTask]:
    with open_conversion(files, ["/d"], out="/new", options=WANTED) as conversion:
        return conversion.remaining


def convert_each(files: MemoryFiles, *chosen: SegmentTask) -> None:
    random = SeededRandom(1)
    convert_segments(files, chosen, options=WANTED, random=random, on_bytes=ignore_bytes)


def test_converted_segment_has_its_indexes() -> None:
    files = log_directory()
    task = tasks(files)[0]
    told: list[int] = []

    convert_segments(files, [task], options=WANTED, random=SeededRandom(1), on_bytes=told.append)

    stem = f"{task.base_offset:020}"
    assert is_converted(files, task)
    assert {f"{stem}.log", f"{stem}.index", f"{stem}.timeindex"} <= set(files.list(FOLDER))
    assert files.stat(f"{FOLDER}/{stem}.log").modified_ms == task.modified_ms
    assert sum(told) == task.size


def test_converted_segment_is_not_converted_again() -> None:
    files = log_directory()
    task = tasks(files)[0]
    random = SeededRandom(1)
    convert_segments(files, [task], options=WANTED, random=random, on_bytes=ignore_bytes)
    told: list[int] = []

    convert_segments(files, [task], options=WANTED, random=random, on_bytes=told.append)

    assert told == []
    assert task not in tasks(files)


def test_attempt_that_ends_after_its_conversion_leaves_no_files() -> None:
    """The driver of the attempt died, and another driver finished the conversion meanwhile."""
    files = log_directory()
    task = tasks(files)[0]
    trees: list[list[str]] = []

    def finish(_size: int) -> None:
        if not trees:
            convert(files, ["/d"], out="/new", options=WANTED, random=SeededRandom(2))
            trees.append([*files.list("/new"), *files.list("/new/t-0")])

    with pytest.raises(FileNotFoundError):
        convert_segments(files, [task], options=WANTED, random=SeededRandom(1), on_bytes=finish)

    assert [*files.list("/new"), *files.list("/new/t-0")] == trees[0]
    assert not [name for name in trees[0] if name.startswith(WORK)]


def test_batch_that_is_twice_in_its_segment_is_named_as_that() -> None:
    files, path = log_directory(), f"/d/t-0/{0:020}.log"
    data = files.open(path).pread(files.stat(path).size, 0)
    first = headers_of(data)[0]
    files.remove(path)
    files.create(path).append(data[: first.size] + data)

    with pytest.raises(
        LogDirectoryError, match=f"{first.size} bytes are batches with offsets that earlier batches"
    ) as refused:
        convert_each(files, *tasks(files))

    assert refused.value.path == path
    assert "cordwood log salvage" in refused.value.remedy


@pytest.mark.parametrize("number", (0, 1))
def test_segment_that_has_vanished_is_not_converted_to_nothing(number: int) -> None:
    """Retention takes the first one, and moves the log start; a middle one cannot vanish."""
    files = log_directory()
    planned = tasks(files)
    files.remove(f"/d/t-0/{planned[number].base_offset:020}.log")

    if number:
        with pytest.raises(
            LogDirectoryError, match="have changed since the conversion was planned"
        ):
            convert_each(files, *planned)
    else:
        convert_each(files, *planned)

    assert not is_converted(files, planned[number])
    assert [is_converted(files, task) for task in planned[number + 1 :]] == (
        [False] if number else [True, True]
    )


def test_segment_that_was_truncated_is_named() -> None:
    files = log_directory()
    last = tasks(files)[-1]
    file = files.open(f"/d/t-0/{last.base_offset:020}.log", writable=True)
    file.truncate(last.size // 2)

    with pytest.raises(LogDirectoryError, match=f"{last.planned_bytes} bytes planned, "):
        convert_each(files, last)


def test_rest_of_a_segment_is_converted_after_its_beginning_was_deleted() -> None:
    files = log_directory()
    first = tasks(files)[0]
    files.create(f"/d/{LOG_START_OFFSETS}").append(b"0\n1\nt 0 7\n")

    convert_each(files, first)

    found = next(reader_of(files, FOLDER).batches()).header
    assert found.base_offset <= 7 <= found.last_offset
