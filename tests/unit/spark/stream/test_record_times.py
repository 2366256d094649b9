"""Times of the records at which a stream continues."""

from pathlib import Path

from cordwood.core.system import SystemFiles
from cordwood.spark.source.coverage import AvailableRange, BrokerSource, PartitionDirectory
from cordwood.spark.source.source_options import SourceOptions
from cordwood.spark.stream.record_times import times_in_directories, times_on_brokers
from tests.unit.client.fake_broker import served
from tests.unit.spark.stream.stream_samples import T0, T1, write_log
from tests.unit.storage.segment_samples import v2

FILES = SystemFiles()


def test_directory_has_the_time_of_a_batch(tmp_path: Path) -> None:
    write_log(tmp_path, v2(0, 3, timestamp=100), v2(4, 9, timestamp=200))
    available = {T0: [AvailableRange(0, 10, PartitionDirectory(f"{tmp_path}/t-0"))]}

    assert times_in_directories(FILES, {T0: 3}, available=available) == {T0: 100}
    assert times_in_directories(FILES, {T0: 4}, available=available) == {T0: 200}


def test_position_of_no_directory_has_no_time(tmp_path: Path) -> None:
    write_log(tmp_path, v2(0, 3, timestamp=100))
    ranges = [
        AvailableRange(0, 4, PartitionDirectory(f"{tmp_path}/t-0")),
        AvailableRange(0, 9, BrokerSource()),
    ]

    assert times_in_directories(FILES, {T0: 4, T1: 0}, available={T0: ranges}) == {}


def test_brokers_have_the_time_of_a_batch() -> None:
    with served(t=2) as fake:
        fake.append("t", v2(0, 3, timestamp=100))
        fake.append("t", v2(0, 3, timestamp=300), 1)

        found = times_on_brokers(SourceOptions(servers=fake.address), {T0: 0, T1: 2})

    assert found == {T0: 100, T1: 300}


def test_no_position_needs_no_broker() -> None:
    assert times_on_brokers(SourceOptions(servers="127.0.0.1:1"), {}) == {}
