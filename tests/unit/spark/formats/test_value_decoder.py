"""Columns of decoded values."""

import pyarrow as pa

from cordwood.spark.formats.value_decoder import DecodedValue, decode_batches, decoded_columns

ORDER = pa.struct([("id", pa.int32())])


class Numbers:
    """Decodes one digit; any other value has an error."""

    record_type = ORDER

    def decode(self, value: bytes | None) -> DecodedValue:
        if value is None or not value.isdigit():
            return DecodedValue(None, None, f"not a digit: {value!r}")
        return DecodedValue(1, {"id": int(value)}, None)


def test_record_that_does_not_fit_the_type_has_an_error() -> None:
    rows = [DecodedValue(1, {"id": 1}, None), DecodedValue(1, {"id": 1 << 40}, None)]

    ids, records, errors = decoded_columns(rows, ORDER)

    assert ids.to_pylist() == [1, 1]
    assert records.to_pylist() == [{"id": 1}, None]
    assert errors[0].as_py() is None
    assert errors[1].as_py().startswith("schema 1: ")


def test_batches_keep_their_columns() -> None:
    batch = pa.record_batch({"offset": [3, 4], "value": [b"7", b"?"]})

    (found,) = decode_batches("value", Numbers, iter([batch]))

    assert found.schema.names == ["offset", "value", "schema_id", "record", "error"]
    assert found.column("record").to_pylist() == [{"id": 7}, None]
    assert found.column("error").to_pylist() == [None, "not a digit: b'?'"]
    assert found.column("value").to_pylist() == batch.column("value").to_pylist()
