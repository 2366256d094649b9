"""Encoding of records in Avro, and the errors of records that do not fit."""

import json
from typing import Any

import pytest

pytest.importorskip("fastavro", reason="the extra spark is not installed")

from cordwood.spark.formats.avro_encoder import AvroEncoder
from cordwood.spark.formats.schema_source import AVRO, given_schemas
from tests.unit.spark.formats.test_avro_decoder import ADA, SECOND, decoder, framed

pytestmark = pytest.mark.spark


def encoder() -> AvroEncoder:
    """Return an encoder with schema 2, as the decoder of two schemas reads it."""
    return AvroEncoder(given_schemas({2: json.dumps(SECOND)}, AVRO), 2)


def test_record_is_encoded_with_its_schema_id() -> None:
    found = encoder().encode(ADA)

    assert found.value == framed(2, SECOND, ADA)
    assert decoder(SECOND, SECOND).decode(found.value) == (2, ADA, None)


def test_null_record_is_a_tombstone() -> None:
    assert encoder().encode(None) == (None, None)


def test_absent_field_has_its_default() -> None:
    assert encoder().encode({"id": 7}).value == framed(2, SECOND, {"id": 7, "by": None})


@pytest.mark.parametrize(
    "record",
    ({"by": "ada"}, {"id": "7"}, {"id": 7, "by": 7}, {"id": 7, "more": 1}, {"id": 1 << 70}),
)
def test_record_that_does_not_fit_has_an_error(record: dict[str, Any]) -> None:
    found = encoder().encode(record)

    assert found.value is None
    assert (found.error or "").startswith("schema 2: ")
