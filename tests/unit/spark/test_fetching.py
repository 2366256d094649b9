"""A range of offsets from a broker."""

import pytest

from cordwood.core.errors import RequestTimedOutError
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.records.chunk import Request, Selection
from cordwood.records.plain import PlainDecoder
from cordwood.spark.brokers import connected
from cordwood.spark.fetching import fetch_range
from cordwood.spark.holdings import Range
from cordwood.spark.options import SourceOptions
from tests.unit.client.fake_broker import FakeBroker, served
from tests.unit.client.samples import batch, marker

T0 = TopicPartition(TopicName("t"), PartitionId(0))
IMPATIENT = {"default.api.timeout.ms": "200", "fetch.max.wait.ms": "5"}


def _values(fake: FakeBroker, start: int, end: int) -> list[bytes]:
    request = Request(
        columns=("value",), selection=Selection(first_offset=start, last_offset=end - 1)
    )
    with connected(SourceOptions(servers=fake.address, client=IMPATIENT)) as consumer:
        batches = fetch_range(
            consumer, Range(T0, start, end), decoder=PlainDecoder(), request=request
        )
        return [value for each in batches for value in each.column("value").to_pylist()]


def test_range_is_read_from_its_first_offset_to_its_last() -> None:
    with served(t=1) as fake:
        fake.append("t", batch(b"0", b"1", b"2"))
        fake.append("t", batch(b"3", b"4", b"5"))

        assert _values(fake, 1, 5) == [b"1", b"2", b"3", b"4"]


def test_range_ends_where_its_last_offsets_are_markers() -> None:
    with served(t=1) as fake:
        fake.append("t", batch(b"0"))
        fake.append("t", marker(1, 7, is_commit=True))

        assert _values(fake, 0, 2) == [b"0"]


def test_range_ends_where_its_last_offsets_were_compacted_away() -> None:
    with served(t=1) as fake:
        fake.append("t", batch(b"0"))
        fake.ends["t", 0] = 5
        fake.append("t", batch(b"5"))

        assert _values(fake, 0, 4) == [b"0"]


def test_range_of_which_nothing_comes_any_more_says_how_far_it_got() -> None:
    with served(t=1) as fake:
        fake.append("t", batch(b"0"))

        with pytest.raises(
            RequestTimedOutError, match=r"offsets 0 to 2 of t-0 nothing .* offset 1"
        ):
            _values(fake, 0, 3)
