"""Columns of encoded values."""

import datetime as dt
import time
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pytest

from cordwood.spark.formats.value_encoder import EncodedValue, encode_batches


class Numbers:
    """Encodes numbers from 0 on."""

    def encode(self, record: int) -> EncodedValue:
        if record < 0:
            return EncodedValue(None, "negative")
        return EncodedValue(str(record).encode(), None)


class Sizes:
    """Encodes the sizes of maps."""

    def encode(self, record: dict[str, int]) -> EncodedValue:
        return EncodedValue(str(len(record)).encode(), None)


def encoded(**columns: list[Any]) -> dict[str, list[Any]]:
    """Return the columns of a batch with the encoded `record` as `value`."""
    (found,) = encode_batches("record", "value", Numbers, iter([pa.record_batch(columns)]))
    return dict(found.to_pydict())


def test_record_that_does_not_fit_has_an_error_and_no_value() -> None:
    found = encoded(key=[b"a", b"b"], record=[7, -1])

    assert found == {
        "key": [b"a", b"b"],
        "record": [7, -1],
        "value": [b"7", None],
        "error": [None, "negative"],
    }


def test_map_with_a_key_twice_is_an_error_of_its_row() -> None:
    twice = pa.array([[("a", 1)], [("a", 1), ("a", 2)]], pa.map_(pa.string(), pa.int64()))
    batch = pa.record_batch({"record": twice})

    (found,) = encode_batches("record", "value", Sizes, iter([batch]))

    assert found.column("value").to_pylist() == [b"1", None]
    assert found.column("error").to_pylist()[1].startswith("a map has a key twice")


def test_earlier_error_of_a_row_is_kept() -> None:
    found = encoded(record=[7, 8], error=["no schema id", None], value=[b"?", b"x"])

    assert found["value"] == [None, b"8"]
    assert found["error"] == ["no schema id", None]


class Times:
    """Encodes the texts of records."""

    def encode(self, record: object) -> EncodedValue:
        return EncodedValue(str(record).encode(), None)


@pytest.fixture(name="_far_zone")
def fixture_far_zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Set the time zone of this machine to one far from UTC."""
    monkeypatch.setenv("TZ", "Pacific/Apia")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("_far_zone")
@pytest.mark.parametrize(
    ("kind", "nested"),
    (
        (pa.struct([("at", pa.timestamp("us"))]), lambda at: {"at": at}),
        (pa.list_(pa.timestamp("us")), lambda at: [at]),
        (pa.map_(pa.string(), pa.timestamp("us")), lambda at: {"at": at}),
    ),
)
def test_timestamp_without_a_time_zone_is_of_utc(
    kind: pa.DataType, nested: Callable[[dt.datetime], object]
) -> None:
    plain = dt.datetime(2024, 2, 29, 12, 0, 0, 5)  # noqa: DTZ001  # the subject of the test
    batch = pa.record_batch({"record": pa.array([nested(plain)], kind)})

    (found,) = encode_batches("record", "value", Times, iter([batch]))

    (value,) = found.column("value").to_pylist()
    aware = pa.scalar(plain, pa.timestamp("us", "UTC")).as_py()
    assert value.decode() == str(nested(aware))
    assert found.column("record").to_pylist() == batch.column("record").to_pylist()
