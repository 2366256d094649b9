"""Bytes before a value: schema id and message indexes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cordwood.core.errors import CorruptMessageError
from cordwood.spark.formats.schema_framing import (
    HEADER_BYTES,
    frame_header,
    message_indexes,
    read_frame,
    read_message_indexes,
)


@given(st.integers(0, (1 << 31) - 1), st.binary(max_size=4))
def test_schema_id_is_read_as_it_was_written(number: int, rest: bytes) -> None:
    assert read_frame(frame_header(number) + rest) == (number, None)


@given(st.lists(st.integers(0, 1 << 20), min_size=1, max_size=8), st.binary(max_size=4))
def test_message_indexes_are_read_as_they_were_written(indexes: list[int], rest: bytes) -> None:
    value = bytes(HEADER_BYTES) + message_indexes(indexes) + rest

    found, at = read_message_indexes(value, HEADER_BYTES)

    assert found == indexes
    assert value[at:] == rest


@pytest.mark.parametrize(
    ("indexes", "written"), (([0], "00"), ([1], "0202"), ([0, 0], "040000"), ([1, 64], "04028001"))
)
def test_message_indexes_have_the_bytes_of_the_wire_format(
    indexes: list[int], written: str
) -> None:
    assert message_indexes(indexes).hex() == written


@pytest.mark.parametrize("written", ("", "04", "0480", "01", "0201", "ffffffffff"))
def test_invalid_message_indexes_are_rejected(written: str) -> None:
    with pytest.raises(CorruptMessageError, match="message index"):
        read_message_indexes(bytes.fromhex(written), 0)
