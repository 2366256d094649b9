"""Planning of a batch: packs of splits, one a task."""

from pathlib import Path

import pytest

from cordwood.core.system import SystemFiles
from cordwood.spark.source.coverage import OffsetRange
from cordwood.spark.source.source_view import open_sources
from cordwood.spark.stream.batch_planning import (
    LEAST_SPLIT_BYTES,
    BatchPlan,
    plan_batch,
    task_bytes,
)
from cordwood.spark.stream.stream_options import parse_stream_options
from tests.unit.spark.stream.stream_samples import T0, T1, records, write_log
from tests.unit.storage.segment_samples import v2

FILES = SystemFiles()


def planned(folder: Path, *ranges: OffsetRange, **more: str) -> BatchPlan:
    options = parse_stream_options({"path": str(folder), **more})
    with open_sources(FILES, options.source) as sources:
        return plan_batch(FILES, ranges, view=sources.view(), options=options)


def test_small_batch_of_several_partitions_is_one_task(tmp_path: Path) -> None:
    write_log(tmp_path, records(0, 4))
    write_log(tmp_path, records(0, 4), partition=1)

    plan = planned(tmp_path, OffsetRange(T0, 1, 4), OffsetRange(T1, 0, 2))

    (pack,) = plan.packs
    assert [each.range for each in pack] == [OffsetRange(T0, 1, 4), OffsetRange(T1, 0, 2)]
    assert plan.size == 5 * len(v2(0))


def test_large_partition_is_cut_within_a_batch(tmp_path: Path) -> None:
    batches = [v2(number, size=1 << 20) for number in range(20)]
    write_log(tmp_path, *batches)

    plan = planned(tmp_path, OffsetRange(T0, 0, 20))

    assert len(plan.packs) >= 4
    assert plan.packs[0][0].range.start == 0
    assert sum(each.range.end - each.range.start for pack in plan.packs for each in pack) == 20


def test_split_bytes_set_the_size_of_a_task(tmp_path: Path) -> None:
    write_log(tmp_path, records(0, 40))

    plan = planned(tmp_path, OffsetRange(T0, 0, 40), splitBytes=str(10 * len(v2(0))))

    assert len(plan.packs) == 4


def test_min_partitions_sets_the_number_of_tasks(tmp_path: Path) -> None:
    write_log(tmp_path, records(0, 40))

    plan = planned(tmp_path, OffsetRange(T0, 0, 40), minPartitions="5")

    assert len(plan.packs) >= 5


def test_max_records_limits_the_offsets_of_a_task(tmp_path: Path) -> None:
    write_log(tmp_path, records(0, 9))

    plan = planned(tmp_path, OffsetRange(T0, 0, 9), maxRecordsPerPartition="4")

    assert [[each.range.end for each in pack] for pack in plan.packs] == [[4], [8], [9]]


def test_recorded_gap_is_counted(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    write_log(tmp_path / "logs", records(4, 9), base_offset=4)

    plan = planned(
        tmp_path / "logs",
        OffsetRange(T0, 1, 9),
        gap="record",
        gapTable=str(tmp_path / "gaps"),
    )

    assert plan.gaps == {T0: 3}


@pytest.mark.parametrize(
    ("total", "expected"),
    (
        (0, LEAST_SPLIT_BYTES),
        (LEAST_SPLIT_BYTES, LEAST_SPLIT_BYTES),
        (80 << 20, 10 << 20),
        (4 << 30, 64 << 20),
    ),
)
def test_task_has_as_many_bytes_as_pay_for_it(total: int, expected: int) -> None:
    assert task_bytes(total) == expected


def test_no_range_is_no_task(tmp_path: Path) -> None:
    write_log(tmp_path, records(0, 4))

    assert planned(tmp_path).packs == []
