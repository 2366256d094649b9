"""The lines of a batch's records, valid or not, as Kafka's dump tool prints them."""

import pytest

from cordwood.core.binary import INT32_MAX
from cordwood.core.errors import InvalidRecordError
from cordwood.records.batch_builder import BatchBuilder, BatchFields
from cordwood.records.compression import Codec
from cordwood.records.decoder import Selection
from cordwood.records.record_batch import RecordBatch
from cordwood.records.record_lines import (
    NOTHING,
    LineStyle,
    PlainLineWriter,
    RecordLines,
    java_increment,
)
from tests.unit.records.segments import changed

PLAIN = PlainLineWriter()


def batch_of(fields: BatchFields | None = None) -> bytes:
    """A record with everything, one with nothing."""
    builder = BatchBuilder(fields or BatchFields(base_offset=10))
    builder.append(b"k1", b"v1", timestamp=1000, headers=(("a", b"1"), ("b", None)))
    builder.append(None, None, timestamp=1005)
    return bytes(builder.build())


def lines(data: bytes, style: LineStyle | None = None, previous: int = 9) -> RecordLines:
    return PLAIN.write(RecordBatch(data), style or LineStyle(), previous=previous)


def test_line_shows_sizes_sequence_and_header_keys() -> None:
    assert lines(batch_of()).text == (
        b"| offset: 10 CreateTime: 1000 keySize: 2 valueSize: 2 sequence: -1 headerKeys: [a,b]\n"
        b"| offset: 11 CreateTime: 1005 keySize: -1 valueSize: -1 sequence: -1 headerKeys: []\n"
    )


def test_line_shows_data_on_request() -> None:
    text = lines(batch_of(), LineStyle(has_data=True)).text

    assert [line.partition(b"]")[2] for line in text.splitlines()] == [b" key: k1 payload: v1", b""]


def test_line_without_metadata_begins_with_a_bar_or_is_empty() -> None:
    style = LineStyle(has_metadata=False, has_data=True)
    builder = BatchBuilder()
    builder.append(None, b"v", timestamp=1)

    assert lines(batch_of(), style).text == b"| key: k1 payload: v1\n\n"
    assert lines(bytes(builder.build()), style).text == b"| payload: v\n"


def test_line_has_the_time_of_the_log_and_the_sequence_of_its_producer() -> None:
    fields = BatchFields(
        log_append_time_ms=7, producer_id=1, producer_epoch=0, base_sequence=INT32_MAX
    )

    text = lines(batch_of(fields)).text

    assert b" LogAppendTime: 7 " in text
    assert [b" sequence: %d " % number in text for number in (INT32_MAX, 0)] == [True, True]


def test_gaps_are_where_offsets_do_not_follow() -> None:
    assert lines(batch_of()).gaps == []
    assert lines(batch_of(), previous=-1).gaps == [(-1, 10)]
    assert lines(batch_of(), previous=NOTHING).gaps == []
    assert lines(batch_of()).last_offset == 11


def test_lines_are_limited_to_the_selection() -> None:
    found = lines(batch_of(), LineStyle(selection=Selection(first_offset=11)), previous=NOTHING)

    assert found.text.startswith(b"| offset: 11 ")
    assert found.gaps == []


@pytest.mark.parametrize(
    ("at", "new", "whole"),
    (
        (57, b"\xff\xff\xff\xff", 0),
        (57, b"\0\0\0\1", 0),
        (57, b"\0\0\0\3", 2),
        (61, b"\x7e", 0),
        (61, b"\x01", 0),
        (61, b"\x18", 0),
        (65, b"\x7e", 0),
        (71, b"\x01", 0),
        (71, b"\x7e", 0),
        (71, b"\0", 0),
        (72, b"\x01", 0),
    ),
)
def test_fault_ends_the_lines(at: int, new: bytes, whole: int) -> None:
    found = lines(changed(batch_of(), at, new))

    assert isinstance(found.error, InvalidRecordError)
    assert found.text.count(b"\n") == whole


def test_compressed_batch_is_read_whole_before_a_line_is_written() -> None:
    packed = batch_of(BatchFields(codec=Codec.GZIP))

    assert lines(packed, previous=-1).text.count(b"\n") == 2
    assert lines(changed(packed, 57, b"\0\0\0\3")).text == b""


def test_batch_with_a_record_count_of_zero_has_no_lines() -> None:
    assert lines(changed(batch_of(), 57, b"\0\0\0\0")) == RecordLines(b"", 9, [])


def test_line_ends_before_text_that_cannot_be_formatted() -> None:
    def refuse(_data: bytes) -> bytes:
        raise InvalidRecordError("no number")

    found = lines(batch_of(), LineStyle(has_data=True, value_text=refuse))

    assert found.text.endswith(b"headerKeys: [a,b]")
    assert "no number" in str(found.error)


@pytest.mark.parametrize(
    ("sequence", "increment", "later"),
    ((5, 2, 7), (INT32_MAX, 1, 0), (INT32_MAX - 1, 3, 1), (-5, 2, -3), (3, -1, -2147483646)),
)
def test_sequence_is_counted_as_java_counts(sequence: int, increment: int, later: int) -> None:
    assert java_increment(sequence, increment) == later
