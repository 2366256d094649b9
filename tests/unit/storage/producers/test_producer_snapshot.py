"""Producer snapshots have Kafka's bytes, and damaged ones are rejected."""

from struct import pack

import pytest

from cordwood.core.binary import crc32c
from cordwood.core.errors import DamagedFileError
from cordwood.storage.producers.producer_snapshot import decode_snapshot, encode_snapshot
from cordwood.storage.producers.producer_state_entry import BatchMetadata, ProducerStateEntry

PATH = "/logs/orders-0/00000000000000000043.snapshot"
GOLDEN = bytes.fromhex(
    "0001 7b74335c 00000001 0000000000000007 0001 00000005 000000000000002a 00000000"
    "00000000000003e8 ffffffff ffffffffffffffff"
)
SEVEN = ProducerStateEntry(7, 1, (BatchMetadata(5, 42, 0, 1000),), last_timestamp=1000)
OPEN = ProducerStateEntry(8, 0, (BatchMetadata(9, 50, 4, 7),), 3, 7, transaction_first_offset=46)
MARKED = ProducerStateEntry(9, 2, (), 4, 1234)


def snapshot(body: bytes, *, version: int = 1) -> bytes:
    return pack(">hI", version, crc32c(body)) + body


def test_snapshot_is_the_bytes_that_kafka_writes() -> None:
    assert encode_snapshot([SEVEN]) == GOLDEN
    assert decode_snapshot(GOLDEN, path=PATH) == [SEVEN]


def test_snapshot_may_be_empty() -> None:
    assert encode_snapshot([]) == bytes.fromhex("0001 48674bc7 00000000")
    assert decode_snapshot(encode_snapshot([]), path=PATH) == []


def test_snapshot_keeps_everything_but_earlier_batches() -> None:
    earlier = OPEN._replace(batches=(BatchMetadata(4, 45, 0, 6), *OPEN.batches))

    found = decode_snapshot(encode_snapshot([SEVEN, earlier, MARKED]), path=PATH)

    assert found == [SEVEN, OPEN, MARKED]


def test_snapshot_has_no_transaction_where_the_offset_is_negative() -> None:
    data = encode_snapshot([SEVEN._replace(transaction_first_offset=-7)])

    assert decode_snapshot(data, path=PATH) == [SEVEN]


def test_snapshot_is_read_when_more_follows_that_the_checksum_covers() -> None:
    assert decode_snapshot(snapshot(GOLDEN[6:] + b"more"), path=PATH) == [SEVEN]


@pytest.mark.parametrize(
    ("data", "problem"),
    (
        (b"", "too short .position 0, expected 10 bytes, found 0"),
        (GOLDEN[:9], "too short"),
        (GOLDEN[:-1], "checksum is wrong .position 2"),
        (GOLDEN[:-1] + b"\0", "checksum is wrong"),
        (GOLDEN + b"\0", "checksum is wrong"),
        (snapshot(GOLDEN[6:-1]), "too short .position 55, expected 56 bytes, found 55"),
        (snapshot(b"\xff\xff\xff\xff"), "the count is negative .position 6"),
        (snapshot(b"\x7f\xff\xff\xff"), "too short"),
        (
            snapshot(GOLDEN[6:], version=2),
            "the version is unknown .position 0, expected 1, found 2",
        ),
    ),
)
def test_snapshot_is_rejected_when_it_is_damaged(data: bytes, problem: str) -> None:
    with pytest.raises(DamagedFileError, match=problem) as caught:
        decode_snapshot(data, path=PATH)

    assert caught.value.path == PATH
