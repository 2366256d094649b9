"""Completed fetches: positions, control records, aborted records and checksums."""

import pytest

from cordwood.client.consumer.completed_fetch import completed_fetch
from cordwood.client.serializers import BYTES, Deserializers, text
from cordwood.client.topic_partitions import partitions_of
from cordwood.records.decoder import AbortedTransaction
from tests.unit.client.samples import fetched, marker, placed

(PARTITION,) = partitions_of([("t", 1)])


def values(
    data: bytes, offset: int = 0, aborted: tuple[AbortedTransaction, ...] | None = None
) -> list[bytes | None]:
    found, _ = completed_fetch(PARTITION, data, offset=offset, aborted=aborted)
    return [record.value for record in found.records(BYTES)]


def damage_of(data: bytes | bytearray, offset: int = 0) -> str:
    """Return the error of a damaged fetch."""
    return str(completed_fetch(PARTITION, data, offset=offset)[1])


def changed(data: bytes, at: int, value: bytes) -> bytes:
    return data[:at] + value + data[at + len(value) :]


def test_records_have_their_partition_and_offset() -> None:
    found, damage = completed_fetch(PARTITION, placed(5, b"v"), offset=5)

    (record,) = found.records(Deserializers(text, text))

    assert record.topic == "t"
    assert record.partition == 1
    assert record.offset == 5
    assert record.key == "k"
    assert record.value == "v"
    assert record.timestamp == 9
    assert record.leader_epoch == 3
    assert damage is None


def test_records_before_the_position_are_left_out() -> None:
    assert values(placed(0, b"a", b"b", b"c"), offset=2) == [b"c"]


def test_null_values_stay_null() -> None:
    assert values(placed(0, None)) == [None]


def test_incomplete_batch_ends_the_records() -> None:
    data = placed(0, b"a") + placed(1, b"b")[:-1]

    assert values(data) == [b"a"]
    assert fetched(data).end == (1, 3)


def test_markers_move_the_end_and_are_not_handed_out() -> None:
    data = placed(0, b"a", producer_id=7) + marker(1, 7, is_commit=True)

    assert values(data, aborted=()) == [b"a"]
    assert fetched(data).end[0] == 2


def test_aborted_records_are_left_out_up_to_their_marker() -> None:
    data = (
        placed(0, b"lost", producer_id=7)
        + placed(1, b"kept", producer_id=8)
        + marker(2, 7, is_commit=False)
        + placed(3, b"later", producer_id=7)
    )

    assert values(data, aborted=(AbortedTransaction(7, 0),)) == [b"kept", b"later"]
    assert values(data) == [b"lost", b"kept", b"later"]


def test_wrong_checksum_ends_the_records_with_an_error() -> None:
    data = bytearray(placed(0, b"a") + placed(1, b"b"))
    data[-1] ^= 1

    found, damage = completed_fetch(PARTITION, data, offset=0)

    assert [each.value for each in found.records(BYTES)] == [b"a"]
    assert found.end == (1, 3)
    assert str(damage).startswith("t-1: the batch at offset 1 is damaged: the checksum is wrong")


@pytest.mark.parametrize("position", (0, 1, 700))
@pytest.mark.parametrize("delta", (-2, -100))
def test_damaged_last_offset_delta_does_not_skip_the_batch(position: int, delta: int) -> None:
    """K-A1: the checksum is verified before a field decides that a batch is skipped."""
    first = placed(position, b"a")
    second = changed(placed(position + 1, b"b"), 23, delta.to_bytes(4, signed=True))

    assert "checksum" in damage_of(first + second, position)
    assert values(first + second, position) == [b"a"]


@pytest.mark.parametrize(
    ("at", "value", "reason"),
    (
        (16, b"\x09", "unknown magic"),
        (8, (5).to_bytes(4), "a batch size that cannot be right"),
        (8, (-1).to_bytes(4, signed=True), "a batch size that cannot be right"),
        (8, (1 << 20).to_bytes(4), "the last batch is cut off"),
        (0, bytes(8), "a batch that ends before the position"),
    ),
)
def test_damaged_header_is_an_error_with_partition_and_offset(
    at: int, value: bytes, reason: str
) -> None:
    assert damage_of(changed(placed(5, b"v"), at, value), 5).startswith(
        f"t-1: the batch at offset 5 is damaged: {reason}"
    )


def test_checksums_are_not_checked_when_disabled() -> None:
    data = changed(placed(0, b"a"), 17, b"!")

    found, damage = completed_fetch(PARTITION, data, offset=0, check_crcs=False)

    assert [record.value for record in found.records(BYTES)] == [b"a"]
    assert damage is None
