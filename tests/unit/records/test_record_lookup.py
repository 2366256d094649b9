"""The first record of a batch at or after a timestamp, found record by record."""

import pytest

from cordwood.core.errors import BadRecordsError
from cordwood.records.compression import Codec
from cordwood.records.record_lookup import (
    PlainRecordFinder,
    RecordPosition,
    plain_record_finder,
)
from tests.unit.records.inspected import UNSOUND, at_start, three
from tests.unit.records.segments import legacy

FINDER = PlainRecordFinder()


def find(data: bytes | bytearray, timestamp: int, first_offset: int = 0) -> RecordPosition | None:
    return FINDER.find(at_start(data), timestamp=timestamp, first_offset=first_offset)


@pytest.mark.parametrize("codec", Codec)
@pytest.mark.parametrize(
    ("timestamp", "first_offset", "expected"),
    (
        (0, 0, (1005, 7)),
        (1005, 0, (1005, 7)),
        (1006, 0, (1009, 8)),
        (1001, 9, (1001, 9)),
        (1002, 9, None),
        (1010, 0, None),
        (0, 10, None),
    ),
)
def test_finder_returns_the_first_record_that_qualifies(
    codec: Codec, timestamp: int, first_offset: int, expected: tuple[int, int] | None
) -> None:
    assert find(three(codec, base_offset=7), timestamp, first_offset) == expected


def test_finder_compares_the_timestamp_of_the_log_for_log_append_time() -> None:
    data = three(log_append_time_ms=5000)

    assert find(data, 5000, 1) == (5000, 1)
    assert find(data, 5001) is None


def test_finder_reads_wrappers() -> None:
    assert find(legacy(1, b"a", b"b", codec=Codec.GZIP), 0, 1) is not None


def test_finder_stops_before_an_invalid_record_that_it_does_not_need() -> None:
    data = UNSOUND["deltas that stand still"]

    assert find(data, 1000) == (1000, 0)
    with pytest.raises(BadRecordsError):
        find(data, 1001)


def test_plain_finder_serves_every_size() -> None:
    assert isinstance(plain_record_finder(1 << 20), PlainRecordFinder)
