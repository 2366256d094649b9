"""Average bytes of an offset on brokers."""

from cordwood.spark.source.offset_resolution import PartitionExtent
from cordwood.spark.stream.average_sizes import AverageSizes, averages_of
from cordwood.testing.virtual_clock import VirtualClock
from tests.unit.spark.stream.stream_samples import T0, T1


def test_average_is_the_size_by_the_offsets() -> None:
    extents = {T0: PartitionExtent(10, 20), T1: PartitionExtent(5, 5)}

    assert averages_of({T0: 500, T1: 70}, extents) == {T0: 50.0}


def test_partition_without_a_size_has_no_average() -> None:
    assert averages_of({}, {T0: PartitionExtent(10, 20)}) == {}


def test_directories_alone_have_no_averages() -> None:
    assert AverageSizes(None, VirtualClock()).of({T0: PartitionExtent(0, 9)}) == {}
