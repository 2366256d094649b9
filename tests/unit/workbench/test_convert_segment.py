"""One segment at a time: by anybody, in any order, twice."""

import pytest

from cordwood.records.compression import Codec
from cordwood.testing.files import MemoryFiles
from cordwood.testing.random import SeededRandom
from cordwood.workbench.convert import WORK, begun, convert
from cordwood.workbench.convert_batches import Wanted
from cordwood.workbench.convert_segment import (
    ConvertTools,
    SegmentTask,
    convert_segment,
    is_converted,
)
from tests.unit.workbench.convert_samples import log_directory

WANTED = Wanted(codec=Codec.SNAPPY)
FOLDER = f"/new/{WORK}/t-0"


def tasks(files: MemoryFiles) -> list[SegmentTask]:
    with begun(files, ["/d"], out="/new", wanted=WANTED) as conversion:
        return conversion.left


def test_segment_is_there_with_its_indexes_once_it_is_converted() -> None:
    files = log_directory()
    task = tasks(files)[0]
    told: list[int] = []

    convert_segment(ConvertTools(files, SeededRandom(1)), task, wanted=WANTED, tell=told.append)

    stem = f"{task.base_offset:020}"
    assert is_converted(files, task)
    assert {f"{stem}.log", f"{stem}.index", f"{stem}.timeindex"} <= set(files.list(FOLDER))
    assert files.stat(f"{FOLDER}/{stem}.log").modified_ms == task.modified_ms
    assert sum(told) == task.size


def test_segment_that_is_there_is_left_alone() -> None:
    files = log_directory()
    task = tasks(files)[0]
    tools = ConvertTools(files, SeededRandom(1))
    convert_segment(tools, task, wanted=WANTED, tell=lambda _size: None)
    told: list[int] = []

    convert_segment(tools, task, wanted=WANTED, tell=told.append)

    assert told == []
    assert task not in tasks(files)


def test_attempt_that_outlives_its_conversion_leaves_nothing() -> None:
    """Its driver has died, and another one has done all of it meanwhile."""
    files = log_directory()
    task = tasks(files)[0]
    orphan, other = (ConvertTools(files, SeededRandom(seed)) for seed in (1, 2))
    trees: list[list[str]] = []

    def finish(_size: int) -> None:
        if not trees:
            convert(other, ["/d"], out="/new", wanted=WANTED)
            trees.append([*files.list("/new"), *files.list("/new/t-0")])

    with pytest.raises(FileNotFoundError):
        convert_segment(orphan, task, wanted=WANTED, tell=finish)

    assert [*files.list("/new"), *files.list("/new/t-0")] == trees[0]
    assert not [name for name in trees[0] if name.startswith(WORK)]
