"""Fetch of an offset range from a broker."""

from collections.abc import Iterator
from functools import partial

import pyarrow as pa
import pytest

from cordwood.core.errors import OffsetOutOfRangeError, RequestTimedOutError
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.protocol.messages.fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from cordwood.protocol.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from cordwood.records.decoder import ReadRequest, Selection
from cordwood.records.plain_decoder import PlainDecoder
from cordwood.spark.source.broker_fetch import fetch_range
from cordwood.spark.source.broker_offsets import open_consumer
from cordwood.spark.source.coverage import OffsetRange
from cordwood.spark.source.source_options import SourceOptions
from cordwood.workbench.partition_columns import LossFiller, no_rows
from tests.unit.client.fake_broker import FakeBroker, served
from tests.unit.client.samples import batch, marker

T0 = TopicPartition(TopicName("t"), PartitionId(0))
SHORT_TIMEOUTS = {"default.api.timeout.ms": "200", "fetch.max.wait.ms": "5"}


def _values(
    fake: FakeBroker, start: int, end: int, *, in_place_of: LossFiller = no_rows
) -> list[bytes]:
    request = ReadRequest(
        columns=("value",), selection=Selection(first_offset=start, last_offset=end - 1)
    )
    with open_consumer(SourceOptions(servers=fake.address, client=SHORT_TIMEOUTS)) as consumer:
        batches = fetch_range(
            consumer,
            OffsetRange(T0, start, end),
            decoder=PlainDecoder(),
            request=request,
            in_place_of=in_place_of,
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


def test_offsets_that_the_log_has_lost_are_replaced() -> None:
    lost = []

    def in_place_of(start: int, end: int) -> Iterator[pa.RecordBatch]:
        lost.append((start, end))
        yield pa.record_batch({"value": [b"spare"]})

    with served(t=1) as fake:
        fake.append("t", batch(b"0"))
        fake.script(FetchRequest, _out_of_range)
        fake.script(ListOffsetsRequest, partial(_begins_at, 1))
        fake.append("t", batch(b"1"))
        found = _values(fake, 0, 2, in_place_of=in_place_of)

    assert found == [b"spare", b"1"]
    assert lost == [(0, 1)]


def test_offsets_that_were_replaced_are_not_read_from_their_batch() -> None:
    def in_place_of(start: int, end: int) -> Iterator[pa.RecordBatch]:
        yield pa.record_batch({"value": [b"spare %d" % each for each in range(start, end)]})

    with served(t=1) as fake:
        fake.append("t", batch(b"0", b"1", b"2"))
        fake.script(FetchRequest, _out_of_range)
        fake.script(ListOffsetsRequest, partial(_begins_at, 2))
        found = _values(fake, 0, 3, in_place_of=in_place_of)

    assert found == [b"spare 0", b"spare 1", b"2"]


def _out_of_range(request: FetchRequest) -> FetchResponse:
    (topic,) = request.topics
    response = PartitionData(
        partition_index=0,
        error_code=OffsetOutOfRangeError.code,
        high_watermark=-1,
        aborted_transactions=None,
        records=b"",
    )
    answer = FetchableTopicResponse(topic="t", topic_id=topic.topic_id, partitions=[response])
    return FetchResponse(responses=[answer])


def _begins_at(offset: int, _: ListOffsetsRequest) -> ListOffsetsResponse:
    response = ListOffsetsPartitionResponse(partition_index=0, error_code=0, offset=offset)
    return ListOffsetsResponse(topics=[ListOffsetsTopicResponse(name="t", partitions=[response])])


def test_range_that_receives_no_data_fails_with_its_position() -> None:
    with served(t=1) as fake:
        fake.append("t", batch(b"0"))

        with pytest.raises(
            RequestTimedOutError, match=r"offsets 0 to 2 of t-0: no data from offset 1 on"
        ):
            _values(fake, 0, 3)
