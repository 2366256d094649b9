"""Serializers and deserializers."""

from typing import cast

import pytest

from cordwood.client.serializers import Plain, as_is, from_json, plain, text, to_json
from cordwood.core.errors import SettingError


@pytest.mark.parametrize("value", ("ä", "ä".encode(), bytearray("ä".encode())))
def test_plain_accepts_bytes_and_text(value: Plain) -> None:
    assert plain(value) == b"\xc3\xa4"


def test_plain_copies_a_view_whose_bytes_may_change() -> None:
    data = bytearray(b"now")

    made = plain(memoryview(data))
    data[:] = b"new"

    assert made == b"now"


def test_plain_rejects_a_value_that_needs_a_serializer() -> None:
    with pytest.raises(SettingError, match="int is neither"):
        plain(cast("Plain", 7))


def test_json_round_trips() -> None:
    value = {"name": "ä", "count": 1}

    assert from_json(to_json(value)) == value
    assert to_json(value) == '{"name":"ä","count":1}'.encode()


def test_text_and_bytes_are_read_as_they_are() -> None:
    assert text(b"\xc3\xa4") == "ä"
    assert as_is(b"\xff") == b"\xff"
