"""Hashes are the same on every machine, and differ for different inputs."""

import random

import pytest

from cordwood.compaction.key_hash import (
    SALT_FACTOR,
    SEED_SALT,
    fold,
    joined_streams,
    key_hash,
    record_hash,
    stream_with,
)

SAMPLES = 2000


@pytest.mark.parametrize(
    ("key", "expected"),
    (
        (b"", 0x8759A21893663F5E),
        (b"k", 0x115928CB7A458C4F),
        (b"key", 0xF61259F93324ED6E),
        (b"key-1", 0xB47A34AFCE74F496),
        (b"key-0001", 0x2A6819EC646BEA5C),
        (b"key-000000000001", 0x10D000BCF680F3AA),
        (b"key-000000000001 and more of it than two words", 0xD3950C5AEBCE7D14),
    ),
)
def test_key_hash_is_the_same_on_every_machine(key: bytes, expected: int) -> None:
    assert key_hash(key) == expected
    assert key_hash(memoryview(key)) == expected


@pytest.mark.parametrize("size", (1, 3, 4, 7, 8, 15, 16, 17, 32, 33))
def test_key_hash_flips_half_its_bits_with_one_of_the_key(size: int) -> None:
    chance = random.Random(size)
    flips = [0] * 64

    for _ in range(SAMPLES):
        key = bytearray(chance.randbytes(size))
        before = key_hash(key)
        key[chance.randrange(size)] ^= 1 << chance.randrange(8)
        for bit in range(64):
            flips[bit] += (before ^ key_hash(key)) >> bit & 1

    assert all(0.42 < count / SAMPLES < 0.58 for count in flips)


def test_key_hash_distinguishes_lengths_of_a_repeated_byte() -> None:
    hashes = {key_hash(bytes([byte]) * size) for byte in (0, 7) for size in range(1, 500)}

    assert len(hashes) == 998


def test_key_hash_depends_on_the_seed() -> None:
    assert len({key_hash(b"key", seed) for seed in range(100)}) == 100


def test_collision_constructed_for_one_seed_is_none_under_another() -> None:
    salt = fold(SEED_SALT, SALT_FACTOR).to_bytes(8, "big")
    keys = [salt + number.to_bytes(8, "big") for number in range(100)]

    assert len({key_hash(key) for key in keys}) == 1
    assert len({key_hash(key, 1) for key in keys}) == 100


def test_record_hash_counts_offset_time_and_bytes() -> None:
    body = b"\x04k1\x04v1\x00"
    hashes = {
        record_hash(body, offset=5, timestamp=1000),
        record_hash(body, offset=6, timestamp=1000),
        record_hash(body, offset=5, timestamp=-1),
        record_hash(body[1:], offset=5, timestamp=1000),
    }

    assert record_hash(body, offset=5, timestamp=1000) == 0x81D9E4076D9CBD1F
    assert len(hashes) == 4


def test_stream_depends_on_the_order() -> None:
    assert stream_with(stream_with(0, 3), 4) != stream_with(stream_with(0, 4), 3)


def test_joined_streams_equal_the_hash_of_one_stream() -> None:
    hashes = [key_hash(bytes([number])) for number in range(9)]
    whole = first = second = 0
    for hashed in hashes:
        whole = stream_with(whole, hashed)
    for hashed in hashes[:5]:
        first = stream_with(first, hashed)
    for hashed in hashes[5:]:
        second = stream_with(second, hashed)

    assert joined_streams(first, second, records=4) == whole
