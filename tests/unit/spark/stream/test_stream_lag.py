"""The lag of a stream in time."""

from pathlib import Path

from cordwood.core.system import SystemFiles
from cordwood.core.types import TimestampMs
from cordwood.spark.source.source_options import SourceOptions
from cordwood.spark.source.source_view import SourceView, open_sources
from cordwood.spark.stream.stream_lag import StreamLag, unread
from cordwood.testing.virtual_clock import VirtualClock
from tests.unit.spark.stream.stream_samples import T0, T1, write_log
from tests.unit.storage.segment_samples import v2

FILES = SystemFiles()


def viewed(folder: Path) -> tuple[SourceOptions, SourceView]:
    write_log(folder, v2(0, 3, timestamp=1000), v2(4, 9, timestamp=5000))
    options = SourceOptions(paths=(str(folder),))
    with open_sources(FILES, options) as sources:
        return options, sources.view()


def test_lag_is_the_age_of_the_oldest_unread_record(tmp_path: Path) -> None:
    options, view = viewed(tmp_path)
    clock = VirtualClock(TimestampMs(9000))
    lag = StreamLag(FILES, options, clock)

    assert lag.behind_ms({T0: 0}, view) == 8000
    assert lag.behind_ms({T0: 10}, view) == 0
    assert lag.behind_ms({T0: 4}, view) == 4000


def test_record_is_looked_up_once_in_ten_seconds(tmp_path: Path) -> None:
    options, view = viewed(tmp_path)
    clock = VirtualClock(TimestampMs(9000))
    lag = StreamLag(FILES, options, clock)
    lag.behind_ms({T0: 0}, view)

    clock.advance(seconds=1)
    assert lag.behind_ms({T0: 4}, view) == 9000
    clock.advance(seconds=9)
    assert lag.behind_ms({T0: 4}, view) == 14_000


def test_unread_partitions_begin_at_offsets_that_exist(tmp_path: Path) -> None:
    _, view = viewed(tmp_path)

    assert unread({T0: 4, T1: 7}, view) == {T0: 4}
    assert unread({T0: 10}, view) == {}
