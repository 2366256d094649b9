"""The checksum of v0 and v1 messages, against the one everybody has."""

import zlib

import numpy as np
import pytest

from cordwood.records.kernels.crc32 import crc32

DATA = bytes(range(256)) + b"\xff" * 20
SOURCE = np.frombuffer(DATA, np.uint8)


@pytest.mark.parametrize("size", (0, 1, 7, 8, 9, 15, 16, 17, 250))
def test_crc_equals_zlib_at_every_length(size: int) -> None:
    assert crc32(SOURCE, 0, size) == zlib.crc32(DATA[:size])


def test_crc_is_that_of_the_check_value() -> None:
    source = np.frombuffer(b"..123456789..", np.uint8)

    assert crc32(source, 2, 11) == 0xCBF43926


@pytest.mark.parametrize("start", (1, 13, 255))
def test_crc_may_start_at_any_position(start: int) -> None:
    assert crc32(SOURCE, start, len(DATA)) == zlib.crc32(DATA[start:])
