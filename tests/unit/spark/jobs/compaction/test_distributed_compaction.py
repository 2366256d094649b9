"""Tasks of a distributed pass, with rows from the test; `tests/spark` runs them in Spark."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

pytest.importorskip("pyspark", reason="the extra spark is not installed")

import pyarrow as pa

from cordwood.compaction.cleaning_job import CleaningFailedError
from cordwood.compaction.passes.pass_parts import split_into_parts
from cordwood.core.types import Offset
from cordwood.spark.jobs.compaction.distributed_compaction import (
    CompactionTask,
    PassOutput,
    collect_keys,
    join_groups,
    rewrite_group,
    run_whole_pass,
    settle_bucket,
    survey_log,
)
from cordwood.spark.runtime.message_rows import read_messages
from cordwood.storage.files.file_names import segment_name
from tests.unit.compaction.cleaned_log import CleanedLog
from tests.unit.compaction.compaction_samples import batch
from tests.unit.compaction.distributed_run import comparable_result
from tests.unit.storage.log_samples import DIRECTORY

pytestmark = pytest.mark.spark

TEXTS = ("a1 b1 -1", "b2 c- d1", "a3 e- c4")


def filled() -> tuple[CleanedLog, CompactionTask]:
    cleaned = CleanedLog()
    for text in TEXTS:
        cleaned.put(batch(0, text), is_rolled=True)
    plan = cleaned.plan()
    assert plan is not None
    return cleaned, CompactionTask(cleaned.job(plan), plan.size)


def rows(*numbers: int) -> Iterator[pa.RecordBatch]:
    yield pa.record_batch({"id": pa.array(numbers, pa.int64())})


def said(answers: Iterator[pa.RecordBatch]) -> list[tuple[int, object]]:
    """Return the messages of rows."""
    return list(read_messages(answers))


def damaged(cleaned: CleanedLog) -> None:
    name = segment_name(Offset(3), ".log")
    cleaned.place.files.open(f"{DIRECTORY}/{name}", writable=True).pwrite(b"\xff", 66)


def shared(cleaned: CleanedLog, work: CompactionTask) -> object:
    """Run the phases of a distributed pass in this process, with one bucket and one group."""
    files = cleaned.place.files
    groups = survey_log(work, lambda _: None, files=files)
    assert isinstance(groups, list)
    parts = split_into_parts(groups, part_bytes=1)
    told = collect_keys(work, files, parts, 1, rows(*range(len(parts))))
    settled = settle_bucket(work, told)
    written = rewrite_group(work, files, groups, settled)
    return join_groups(work.job, [answer for _, answer in said(written)])


def test_whole_log_is_written_into_an_attempt_directory() -> None:
    cleaned, work = filled()
    reported = list[int]()

    made = run_whole_pass(work, reported.append, files=cleaned.place.files)

    assert isinstance(made, PassOutput)
    assert reported == [work.size]
    assert f"{0:020}.log.cleaned" in cleaned.place.files.list(made.attempts[0])
    assert comparable_result(made.cleaning) == comparable_result(cleaned.run_job(work.job))


def test_distributed_pass_has_the_same_result() -> None:
    cleaned, work = filled()

    made = shared(cleaned, work)

    assert isinstance(made, PassOutput)
    assert comparable_result(made.cleaning) == comparable_result(cleaned.run_job(work.job))


@pytest.mark.parametrize(
    "make", (shared, lambda cleaned, work: run_whole_pass(work, int, files=cleaned.place.files))
)
def test_damage_is_reported_and_leaves_no_files(
    make: Callable[[CleanedLog, CompactionTask], object],
) -> None:
    cleaned, work = filled()
    damaged(cleaned)

    answer = make(cleaned, work)

    assert isinstance(answer, CleaningFailedError)
    assert "00000000000000000003.log: " in str(answer)
    assert not any("cleaning" in name for name in cleaned.place.files.list(DIRECTORY))


def test_task_without_rows_sends_no_messages() -> None:
    cleaned, work = filled()

    assert list(settle_bucket(work, iter(()))) == []
    assert list(rewrite_group(work, cleaned.place.files, [], iter(()))) == []


def test_group_that_cannot_be_written_is_a_result() -> None:
    cleaned, work = filled()
    gone = replace(work.job, directory="/gone")

    answer = run_whole_pass(CompactionTask(gone, work.size), int, files=cleaned.place.files)

    assert isinstance(answer, CleaningFailedError)
