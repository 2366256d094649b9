"""Bytes of offset ranges in segments and on brokers."""

from pathlib import Path

from cordwood.core.system import SystemFiles
from cordwood.spark.source.coverage import (
    AvailableRange,
    BrokerSource,
    OffsetRange,
    PartitionDirectory,
)
from cordwood.spark.stream.byte_sizes import SourceByteSizes
from tests.unit.spark.stream.stream_samples import T0, records, write_log
from tests.unit.storage.segment_samples import v2

ALL = OffsetRange(T0, 0, 100)


def of_segments(folder: Path) -> SourceByteSizes:
    write_log(folder, records(0, 100))
    source = PartitionDirectory(f"{folder}/t-0")
    return SourceByteSizes(SystemFiles(), {T0: [AvailableRange(0, 100, source)]}, {})


def of_brokers(average: float | None = None) -> SourceByteSizes:
    available = {T0: [AvailableRange(0, 100, BrokerSource())]}
    averages = {} if average is None else {T0: average}
    return SourceByteSizes(SystemFiles(), available, averages)


def test_segments_know_their_bytes(tmp_path: Path) -> None:
    sizes = of_segments(tmp_path)

    assert sizes.size_of(ALL) == 100 * len(v2(0))
    assert sizes.size_of(OffsetRange(T0, 10, 30)) == 20 * len(v2(0))


def test_range_of_segments_is_cut_at_its_bytes(tmp_path: Path) -> None:
    sizes = of_segments(tmp_path)

    assert sizes.end_within(ALL, 30 * len(v2(0))) == 30
    assert sizes.end_within(ALL, 1) == 1
    assert sizes.end_within(ALL, 1 << 30) == 100


def test_brokers_have_an_average() -> None:
    sizes = of_brokers(50.0)

    assert sizes.size_of(ALL) == 5000
    assert sizes.end_within(ALL, 1000) == 20
    assert sizes.end_within(ALL, 1) == 1


def test_end_on_brokers_is_within_a_range_of_small_records(tmp_path: Path) -> None:
    write_log(tmp_path, records(0, 10))
    source = PartitionDirectory(f"{tmp_path}/t-0")
    available = {T0: [AvailableRange(0, 10, source), AvailableRange(0, 20, BrokerSource())]}
    sizes = SourceByteSizes(SystemFiles(), available, {T0: 0.25})

    assert sizes.end_within(OffsetRange(T0, 0, 11), 10 * len(v2(0))) == 11
    assert of_brokers(0.25).end_within(OffsetRange(T0, 0, 1), 0) == 1


def test_size_on_brokers_is_assumed_without_an_average() -> None:
    assert of_brokers().size_of(OffsetRange(T0, 0, 10)) == 1280


def test_range_over_two_sources_is_the_sum_of_both(tmp_path: Path) -> None:
    write_log(tmp_path, records(0, 10))
    source = PartitionDirectory(f"{tmp_path}/t-0")
    available = {T0: [AvailableRange(0, 10, source), AvailableRange(0, 20, BrokerSource())]}
    sizes = SourceByteSizes(SystemFiles(), available, {T0: 10.0})
    whole = OffsetRange(T0, 0, 20)

    assert sizes.size_of(whole) == 10 * len(v2(0)) + 100
    assert sizes.end_within(whole, 10 * len(v2(0)) + 50) == 15
