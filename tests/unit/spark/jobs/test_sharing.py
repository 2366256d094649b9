"""What tasks do, each given its rows here; `tests/spark` lets them be given by Spark."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

pytest.importorskip("pyspark", reason="the extra spark is not installed")

import pyarrow as pa

from cordwood.compaction.job import CleaningFailedError
from cordwood.compaction.parts import parts_of
from cordwood.core.types import Offset
from cordwood.spark.jobs.sharing import (
    Made,
    Work,
    collected,
    made_of,
    make_whole,
    rewritten,
    settled_in,
    surveyed,
)
from cordwood.spark.message_rows import messages
from cordwood.storage.names import segment_name
from tests.unit.compaction.cleaning import CleanedLog
from tests.unit.compaction.compaction_samples import batch
from tests.unit.compaction.in_parts import told_alike
from tests.unit.storage.log_samples import DIRECTORY

pytestmark = pytest.mark.spark

TEXTS = ("a1 b1 -1", "b2 c- d1", "a3 e- c4")


def filled() -> tuple[CleanedLog, Work]:
    cleaned = CleanedLog()
    for text in TEXTS:
        cleaned.put(batch(0, text), is_rolled=True)
    plan = cleaned.plan()
    assert plan is not None
    return cleaned, Work(cleaned.job(plan), plan.size)


def rows(*numbers: int) -> Iterator[pa.RecordBatch]:
    yield pa.record_batch({"id": pa.array(numbers, pa.int64())})


def said(answers: Iterator[pa.RecordBatch]) -> list[tuple[int, object]]:
    """Return what rows say."""
    return list(messages(answers))


def damaged(cleaned: CleanedLog) -> None:
    name = segment_name(Offset(3), ".log")
    cleaned.place.files.open(f"{DIRECTORY}/{name}", writable=True).pwrite(b"\xff", 66)


def shared(cleaned: CleanedLog, work: Work) -> object:
    """Do in one place what tasks do in many: a task each for parts, one bucket and one group."""
    files = cleaned.place.files
    groups = surveyed(work, lambda _: None, files=files)
    assert isinstance(groups, list)
    parts = parts_of(groups, part_bytes=1)
    told = collected(work, files, parts, 1, rows(*range(len(parts))))
    settled = settled_in(work, told)
    written = rewritten(work, files, groups, settled)
    return made_of(work.job, [answer for _, answer in said(written)])


def test_whole_log_is_made_in_a_directory_of_its_own() -> None:
    cleaned, work = filled()
    told = list[int]()

    made = make_whole(work, told.append, files=cleaned.place.files)

    assert isinstance(made, Made)
    assert told == [work.size]
    assert f"{0:020}.log.cleaned" in cleaned.place.files.list(made.attempts[0])
    assert told_alike(made.cleaning) == told_alike(cleaned.run_job(work.job))


def test_log_that_is_shared_out_comes_to_the_same() -> None:
    cleaned, work = filled()

    made = shared(cleaned, work)

    assert isinstance(made, Made)
    assert told_alike(made.cleaning) == told_alike(cleaned.run_job(work.job))


@pytest.mark.parametrize(
    "make", (shared, lambda cleaned, work: make_whole(work, int, files=cleaned.place.files))
)
def test_damage_is_an_answer_and_leaves_nothing(make: Callable[[CleanedLog, Work], object]) -> None:
    cleaned, work = filled()
    damaged(cleaned)

    answer = make(cleaned, work)

    assert isinstance(answer, CleaningFailedError)
    assert "00000000000000000003.log: " in str(answer)
    assert not any("cleaning" in name for name in cleaned.place.files.list(DIRECTORY))


def test_task_without_rows_tells_nothing() -> None:
    cleaned, work = filled()

    assert list(settled_in(work, iter(()))) == []
    assert list(rewritten(work, cleaned.place.files, [], iter(()))) == []


def test_group_that_cannot_be_written_is_an_answer() -> None:
    cleaned, work = filled()
    gone = replace(work.job, directory="/gone")

    answer = make_whole(Work(gone, work.size), int, files=cleaned.place.files)

    assert isinstance(answer, CleaningFailedError)
