"""Completed fetches as Arrow record batches."""

import pytest

from cordwood.client.consumer.column_batches import column_batches
from cordwood.client.topic_partitions import partitions_of
from cordwood.core.errors import InvalidRecordError
from cordwood.records.record_batch import HEADER_SIZE
from tests.unit.client.samples import fetched, marker, placed

(PARTITION,) = partitions_of([("t", 0)])


def test_columns_begin_at_the_position_and_have_no_markers() -> None:
    data = placed(0, b"a", b"b", producer_id=7) + marker(2, 7, is_commit=True)
    records = fetched(data, 1, aborted=())

    ((partition, columns),) = column_batches(records, ["offset", "value"])

    assert partition == PARTITION
    assert columns.to_pylist() == [{"offset": 1, "value": b"b"}]


def test_invalid_record_is_raised() -> None:
    data = bytearray(placed(0, b"a"))
    data[HEADER_SIZE] ^= 2  # the length of the record
    records = fetched(data, check_crcs=False)

    with pytest.raises(InvalidRecordError):
        list(column_batches(records))
