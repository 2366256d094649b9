"""Both ways to build the records of a fetch give the same records."""

import pytest

from cordwood.client.consumer.columnar_records import records_from_columns
from cordwood.client.serializers import BYTES, Deserializers, text
from cordwood.core.errors import InvalidRecordError
from cordwood.records.batch_builder import BatchBuilder, BatchFields
from cordwood.records.compression import Codec
from cordwood.records.decoder import AbortedTransaction
from cordwood.records.plain_decoder import PlainDecoder
from cordwood.records.record_batch import HEADER_SIZE
from tests.unit.client.samples import fetched, marker, placed


def with_headers() -> bytes:
    builder = BatchBuilder(BatchFields(codec=Codec.LZ4, log_append_time_ms=77))
    builder.append(None, b"v", headers=[("h", b"1"), ("ü", None)])
    builder.append(b"k", None)
    builder.append(b"", b"", headers=[("h", b"")])
    return bytes(builder.build())


ABORTED = (AbortedTransaction(7, 0),)
SETS = {
    "plain": fetched(placed(5, b"a", b"b", None), 6),
    "headers": fetched(with_headers()),
    "aborted": fetched(
        placed(0, b"lost", producer_id=7) + marker(1, 7, is_commit=False) + placed(2, b"kept"),
        aborted=ABORTED,
    ),
    "cut off": fetched(placed(0, b"a") + placed(1, b"b")[:-1]),
    "empty": fetched(b""),
}


@pytest.mark.parametrize("name", tuple(SETS))
def test_records_from_columns_equal_those_from_record_sets(name: str) -> None:
    records = SETS[name]

    quick = list(records_from_columns(records, BYTES, decoder=PlainDecoder()))

    assert quick == list(records.records(BYTES))


def test_deserializers_are_called_either_way() -> None:
    read = Deserializers(text, len)
    records = fetched(placed(0, b"a", b"bb", None))

    quick = list(records_from_columns(records, read, decoder=PlainDecoder()))

    assert [each.value for each in quick] == [1, 2, None]
    assert quick == list(records.records(read))


def test_invalid_value_is_raised_after_earlier_records() -> None:
    records = records_from_columns(
        fetched(placed(0, b"1", b"x")), Deserializers(text, int), decoder=PlainDecoder()
    )

    assert next(records).value == 1
    with pytest.raises(ValueError, match="'x'"):
        next(records)


def test_invalid_record_is_raised_after_earlier_records() -> None:
    first, second = placed(0, b"a"), bytearray(placed(1, b"b"))
    second[HEADER_SIZE] ^= 2  # the length of the record
    damaged = fetched(first + second, check_crcs=False)
    records = records_from_columns(damaged, BYTES, decoder=PlainDecoder())

    assert next(records).value == b"a"
    with pytest.raises(InvalidRecordError):
        next(records)
