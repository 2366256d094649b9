"""A torn batch with whole batches in its values is not damage before whole batches."""

import pytest

from cordwood.records.batch_header import read_header
from cordwood.records.compression import Codec
from cordwood.records.torn_batch import is_torn
from tests.adversary.batch_bytes import BatchFacts, RecordContent, old_messages, v2_batch

INNER = v2_batch(BatchFacts(7, 7), (RecordContent(7, 1, b"inner", b"inner"),), (1, 1)).data
RECORDS = tuple(
    RecordContent(each, 1, b"key", INNER if each == 1 else b"value", (("h", b"1"),))
    for each in range(3)
)


def batch(codec: Codec = Codec.NONE) -> bytes:
    return v2_batch(BatchFacts(0, 2, attributes=codec), RECORDS, (1, 1)).data


def message(magic: int) -> bytes:
    (only,) = old_messages(magic, Codec.NONE, (RecordContent(0, 1, b"key", INNER + b"x" * 9),))
    return only.data


def torn(data: bytes, size: int) -> bool:
    header = read_header(data)
    assert header is not None
    return is_torn(data[:size], header)


@pytest.mark.parametrize("data", (batch(), message(0), message(1)), ids=("v2", "v0", "v1"))
def test_batch_is_torn_behind_a_batch_in_its_value(data: bytes) -> None:
    end = data.index(INNER) + len(INNER)

    assert all(torn(data, size) for size in range(end, len(data)))
    assert not torn(data, len(data))


def test_compressed_batch_shows_no_sizes() -> None:
    data = batch(Codec.GZIP)

    assert not torn(data, len(data) - 1)


@pytest.mark.parametrize("at", (10, 62), ids=("size of the batch", "size of a record"))
def test_wrong_size_before_a_whole_batch_is_no_tear(at: int) -> None:
    data = bytearray(batch() + INNER)
    data[at] ^= 0x40

    assert not torn(bytes(data), len(data))


@pytest.mark.parametrize("data", (message(0), message(1)), ids=("v0", "v1"))
def test_message_with_a_wrong_size_is_no_tear(data: bytes) -> None:
    wrong = bytearray(data + INNER)
    wrong[9] ^= 0x40

    assert not torn(bytes(wrong), len(wrong))
