"""Segments are converted independently: in any order, by any process, even twice."""

import pytest

from cordwood.records.compression import Codec
from cordwood.testing.memory_files import MemoryFiles
from cordwood.testing.seeded_random import SeededRandom
from cordwood.workbench.convert.batch_converter import ConvertOptions
from cordwood.workbench.convert.convert import WORK, convert, open_conversion
from cordwood.workbench.convert.segment_converter import (
    SegmentTask,
    convert_segment,
    is_converted,
)
from cordwood.workbench.file_window import ignore_bytes
from tests.unit.workbench.convert_samples import log_directory

WANTED = ConvertOptions(codec=Codec.SNAPPY)
FOLDER = f"/new/{WORK}/t-0"


def tasks(files: MemoryFiles) -> list[SegmentTask]:
    with open_conversion(files, ["/d"], out="/new", options=WANTED) as conversion:
        return conversion.remaining


def test_converted_segment_has_its_indexes() -> None:
    files = log_directory()
    task = tasks(files)[0]
    told: list[int] = []

    convert_segment(files, task, options=WANTED, random=SeededRandom(1), on_bytes=told.append)

    stem = f"{task.base_offset:020}"
    assert is_converted(files, task)
    assert {f"{stem}.log", f"{stem}.index", f"{stem}.timeindex"} <= set(files.list(FOLDER))
    assert files.stat(f"{FOLDER}/{stem}.log").modified_ms == task.modified_ms
    assert sum(told) == task.size


def test_converted_segment_is_not_converted_again() -> None:
    files = log_directory()
    task = tasks(files)[0]
    random = SeededRandom(1)
    convert_segment(files, task, options=WANTED, random=random, on_bytes=ignore_bytes)
    told: list[int] = []

    convert_segment(files, task, options=WANTED, random=random, on_bytes=told.append)

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
        convert_segment(files, task, options=WANTED, random=SeededRandom(1), on_bytes=finish)

    assert [*files.list("/new"), *files.list("/new/t-0")] == trees[0]
    assert not [name for name in trees[0] if name.startswith(WORK)]
