"""The kernels write the bytes of the plain encoder, and reject the same input."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cordwood.core.binary import INT64_MAX
from cordwood.core.errors import InvalidRecordError
from cordwood.records.kernels.record_encoder import KernelEncoder
from cordwood.records.record_encoder import PlainEncoder, RecordColumns, RecordEncoder
from tests.unit.records.encode_samples import Row, byte_column, columns_of, numbers

KERNEL = KernelEncoder()
PLAIN = PlainEncoder()
BYTES = st.none() | st.binary(max_size=80)
HEADERS = st.lists(st.tuples(st.text(max_size=3), BYTES), max_size=3).map(tuple)
ROWS = st.builds(Row, st.integers(0, INT64_MAX), BYTES, BYTES, HEADERS)


@given(st.lists(ROWS, min_size=1, max_size=12), st.data())
def test_kernel_writes_the_same_as_the_plain_encoder(rows: list[Row], data: st.DataObject) -> None:
    columns = columns_of(*rows)
    chosen = numbers(*data.draw(st.lists(st.integers(0, len(rows) - 1))))
    most = data.draw(st.integers(1, 600))

    mine = list(KERNEL.encode(columns, chosen, most_bytes=most))

    assert mine == list(PLAIN.encode(columns, chosen, most_bytes=most))


@given(st.lists(BYTES), st.integers(1, 1_000))
def test_kernel_chooses_the_partitions_of_the_plain_encoder(
    keys: list[bytes | None], count: int
) -> None:
    column = byte_column(keys)

    assert bytes(KERNEL.partitions(column, count)) == bytes(PLAIN.partitions(column, count))


def broken() -> dict[str, RecordColumns]:
    """Columns that refer outside their data, each in another way."""
    sound = columns_of(Row(1, b"key", b"value", (("name", b"content"),)))
    headers = sound.headers
    far = headers.values._replace(starts=numbers(-1))
    return {
        "a key behind the end": sound._replace(keys=sound.keys._replace(starts=numbers(9))),
        "a value before its bytes": sound._replace(values=sound.values._replace(starts=far.starts)),
        "headers that are not there": sound._replace(headers=headers._replace(counts=numbers(2))),
        "a header's value before its bytes": sound._replace(headers=headers._replace(values=far)),
        "a key for another row": sound._replace(keys=byte_column([b"a", b"b"])),
        "headers of another row": sound._replace(headers=headers._replace(starts=numbers(0, 0))),
    }


@pytest.mark.parametrize("columns", broken().values(), ids=broken().keys())
def test_kernel_rejects_columns_that_refer_outside_their_data(columns: RecordColumns) -> None:
    with pytest.raises(InvalidRecordError, match="lies outside its columns"):
        list(KERNEL.encode(columns, numbers(0), most_bytes=100))


@pytest.mark.parametrize("row", (-1, 1))
def test_kernel_rejects_a_row_outside_the_columns(row: int) -> None:
    with pytest.raises(InvalidRecordError, match="lies outside its columns"):
        list(KERNEL.encode(columns_of(Row()), numbers(row), most_bytes=100))


def test_kernel_yields_the_batches_before_a_rejected_row() -> None:
    batches = KERNEL.encode(columns_of(Row()), numbers(0, 1), most_bytes=100)

    assert next(batches).record_count == 1
    with pytest.raises(InvalidRecordError):
        next(batches)


def test_kernel_rejects_a_key_outside_its_data_when_it_computes_partitions() -> None:
    keys = byte_column([b"key"])._replace(data=b"")

    with pytest.raises(InvalidRecordError, match="lies outside its columns"):
        KERNEL.partitions(keys, 4)


@pytest.mark.parametrize("encoder", (KERNEL, PLAIN))
def test_partitions_of_no_partition_are_rejected(encoder: RecordEncoder) -> None:
    with pytest.raises(AssertionError, match="a topic has a partition"):
        encoder.partitions(byte_column([b"key"]), 0)
