"""Encoding of records as Protobuf messages."""

from typing import Any

import pytest

pytest.importorskip("google.protobuf", reason="the extra spark is not installed")

from cordwood.spark.formats.protobuf_encoder import ProtobufEncoder
from tests.unit.spark.formats.protobuf_samples import FIRST, file_of, given

pytestmark = pytest.mark.spark

SOURCE = given(_7=file_of(FIRST))


def test_record_is_encoded_with_schema_id_and_message_indexes() -> None:
    assert ProtobufEncoder(SOURCE, 7).encode({"id": 7}).value == b"\0\0\0\0\7\0\x08\7"
    assert ProtobufEncoder(SOURCE, 7, "Line").encode({"at": 1}).value == b"\0\0\0\0\7\4\2\0\x08\1"


def test_null_record_is_a_tombstone() -> None:
    assert ProtobufEncoder(SOURCE, 7).encode(None) == (None, None)


@pytest.mark.parametrize("record", ({"gone": 1}, {"id": "x"}, {"id": 1 << 70}))
def test_record_that_does_not_fit_has_an_error(record: dict[str, Any]) -> None:
    found = ProtobufEncoder(SOURCE, 7).encode(record)

    assert found.value is None
    assert (found.error or "").startswith("schema 7: ")
