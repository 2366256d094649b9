"""Completed fetches: positions, control records, aborted records and checksums."""

import pytest

from cordwood.client.consumer.completed_fetch import CompletedFetch
from cordwood.client.serializers import BYTES, Deserializers, text
from cordwood.client.topic_partitions import partitions_of
from cordwood.core.errors import CorruptMessageError
from cordwood.records.decoder import AbortedTransaction
from tests.unit.client.samples import marker, placed

(PARTITION,) = partitions_of([("t", 1)])


def values(
    data: bytes, offset: int = 0, aborted: tuple[AbortedTransaction, ...] | None = None
) -> list[bytes | None]:
    found = CompletedFetch(partition=PARTITION, data=data, offset=offset, aborted=aborted)
    return [record.value for record in found.records(BYTES)]


def test_records_have_their_partition_and_offset() -> None:
    found = CompletedFetch(partition=PARTITION, data=placed(5, b"v"), offset=5)

    (record,) = found.records(Deserializers(text, text))

    assert record.topic == "t"
    assert record.partition == 1
    assert record.offset == 5
    assert record.key == "k"
    assert record.value == "v"
    assert record.timestamp == 9
    assert record.leader_epoch == 3


def test_records_before_the_position_are_left_out() -> None:
    assert values(placed(0, b"a", b"b", b"c"), offset=2) == [b"c"]


def test_null_values_stay_null() -> None:
    assert values(placed(0, None)) == [None]


def test_incomplete_batch_ends_the_records() -> None:
    data = placed(0, b"a") + placed(1, b"b")[:-1]

    assert values(data) == [b"a"]
    assert CompletedFetch(partition=PARTITION, data=data, offset=0).end == (1, 3)


def test_markers_move_the_end_and_are_not_handed_out() -> None:
    data = placed(0, b"a", producer_id=7) + marker(1, 7, is_commit=True)

    assert values(data, aborted=()) == [b"a"]
    assert CompletedFetch(partition=PARTITION, data=data, offset=0).end[0] == 2


def test_aborted_records_are_left_out_up_to_their_marker() -> None:
    data = (
        placed(0, b"lost", producer_id=7)
        + placed(1, b"kept", producer_id=8)
        + marker(2, 7, is_commit=False)
        + placed(3, b"later", producer_id=7)
    )

    assert values(data, aborted=(AbortedTransaction(7, 0),)) == [b"kept", b"later"]
    assert values(data) == [b"lost", b"kept", b"later"]


def test_damage_is_raised_after_the_records_before_it() -> None:
    data = bytearray(placed(0, b"a") + placed(1, b"b"))
    data[-1] ^= 1
    found = CompletedFetch(partition=PARTITION, data=data, offset=0).records(BYTES)

    assert next(found).value == b"a"
    with pytest.raises(CorruptMessageError) as caught:
        next(found)
    assert "t-1" in caught.value.__notes__[0]


def test_checksums_are_not_checked_when_disabled() -> None:
    data = bytearray(placed(0, b"a"))
    data[17] ^= 1

    found = CompletedFetch(partition=PARTITION, data=data, offset=0, check_crcs=False)

    assert [record.value for record in found.records(BYTES)] == [b"a"]
