"""Hashes in kernels are those of plain Python, without their missing sign."""

import random

import pytest

from cordwood.compaction import key_hash
from cordwood.compaction.kernels.key_hashes import hash_of, record_hash, signed_word, stream_with
from cordwood.records.kernels.kernel_definition import Bytes, inlined
from tests.unit.records.kernels.words import source_of


@inlined
def hashed(source: Bytes, at: int, size: int, seed: int) -> int:
    return hash_of(source, at, size, seed)


@inlined
def hashed_record(source: Bytes, end: int, offset: int, timestamp: int) -> int:
    return record_hash(source, 1, end, offset, timestamp)


@inlined
def streamed(stream: int, record: int) -> int:
    return stream_with(stream, record)


@pytest.mark.parametrize("size", range(70))
@pytest.mark.parametrize("seed", (0, 7, (1 << 64) - 3))
def test_kernel_hash_equals_the_plain_hash_at_every_size(size: int, seed: int) -> None:
    data = random.Random(size).randbytes(size)

    found = hashed(source_of(b"." + data), 1, size, signed_word(seed))

    assert found == signed_word(key_hash.key_hash(data, seed))


@pytest.mark.parametrize(("offset", "timestamp"), ((0, 0), (5, -1), ((1 << 63) - 1, 1 << 50)))
def test_kernel_record_hash_equals_the_plain_one(offset: int, timestamp: int) -> None:
    body = b"\x04k1\x04v1\x00"

    found = hashed_record(source_of(b"." + body), 1 + len(body), offset, timestamp)

    expected = key_hash.record_hash(body, offset=offset, timestamp=timestamp)
    assert found == signed_word(expected)


def test_kernel_stream_hash_equals_the_plain_one() -> None:
    stream, record = key_hash.key_hash(b"stream"), key_hash.key_hash(b"record")

    found = streamed(signed_word(stream), signed_word(record))

    assert found == signed_word(key_hash.stream_with(stream, record))
